import type { RemovedInvitation } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { openProject } from '../projects/open-project.ts';

/** Withdraws an invitation. @throws Problem project_not_found, role_missing, invitation_not_found */
export async function removeInvitation(
  deps: Deps,
  caller: SessionCaller,
  projectId: string,
  id: string,
): Promise<z.output<typeof RemovedInvitation>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const row = await deps.db.kysely
    .deleteFrom('invitations')
    .where('project_id', '=', project.id)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  if (!row) throw new Problem('invitation_not_found');
  return { id: row.id, removed: true };
}
