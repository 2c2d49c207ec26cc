import type { Input, Member } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { lockMembers } from '../../access/lock-members.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';

/** Gives a member another role. */
export async function changeMember(
  deps: Pick<Deps, 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { projectId, userId, role }: Input<'changeMember'>,
): Promise<z.output<typeof Member>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const member = await deps.db.transaction(async (trx) => {
    const members = await lockMembers(trx, project, caller, userId, 'owner');
    if (role !== 'owner') members.requireOtherOwner(userId);
    await trx
      .updateTable('project_members')
      .set({ role })
      .where('project_id', '=', project.id)
      .where('user_id', '=', userId)
      .execute();
    const subject = { userId, role };
    await recordEvent(trx, deps.now(), { type: 'member.changed', projectId: project.id, by: caller, subject });
    return trx
      .selectFrom('users')
      .select(['id as userId', 'name', 'email'])
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
  });
  await deps.accessChanges.publish({ kind: 'project', id: project.id });
  return { ...member, role };
}
