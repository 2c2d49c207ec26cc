import type { RemovedMember } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { recordEvent } from '../audit/record-event.ts';
import { openProject } from '../projects/open-project.ts';
import { lockMembers } from './lock-members.ts';

/**
 * Takes somebody out of a project: an owner anybody, everybody themselves. What they made stays,
 * but their API keys are dead there: those that are tied to the project, and the others for it.
 * @throws Problem project_not_found, role_missing, member_not_found, last_owner
 */
export async function removeMember(
  deps: Deps,
  caller: SessionCaller,
  projectId: string,
  userId: string,
): Promise<z.output<typeof RemovedMember>> {
  const isOwn = userId === caller.userId;
  const project = await openProject(deps, caller, projectId, isOwn ? 'files:read' : 'project:manage');
  await deps.db.transaction(async (trx) => {
    const members = await lockMembers(trx, project, caller, userId, isOwn ? 'member' : 'owner');
    members.requireOtherOwner(userId);
    await trx
      .deleteFrom('project_members')
      .where('project_id', '=', project.id)
      .where('user_id', '=', userId)
      .execute();
    const event = { projectId: project.id, by: caller, subject: { userId } };
    await recordEvent(trx, deps.now(), { type: 'member.removed', ...event });
  });
  await deps.accessChanges.publish({ kind: 'project', id: project.id });
  return { userId, removed: true };
}
