import type { Input, RemovedInvitation } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';

/** Withdraws an invitation. */
export async function withdrawInvitation(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id }: Input<'removeInvitation'>,
): Promise<z.output<typeof RemovedInvitation>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  await deps.db.transaction(async (trx) => {
    const row = await trx
      .deleteFrom('invitations')
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .returning('email')
      .executeTakeFirst();
    if (!row) throw new Problem('invitation_not_found');
    const subject = { invitationId: id, email: row.email };
    await recordEvent(trx, deps.now(), { type: 'invitation.removed', projectId: project.id, by: caller, subject });
  });
  return { id, removed: true };
}
