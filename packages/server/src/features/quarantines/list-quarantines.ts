import type { Input, QuarantineList } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { toQuarantineView } from './quarantine-view.ts';

const most = 1000;

/** The quarantines of a project, the latest first, including those that have ended. */
export async function listQuarantines(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId }: Input<'listQuarantines'>,
): Promise<z.output<typeof QuarantineList>> {
  const project = await openProject(deps, caller, projectId, 'keys:manage');
  const rows = await deps.db.kysely
    .selectFrom('quarantines')
    .selectAll()
    .where('project_id', '=', project.id)
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
  return { quarantines: rows.map(toQuarantineView) };
}
