import type { Transaction } from 'kysely';
import { keepProject } from '../db/keep-rows.ts';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import type { SessionCaller } from './caller.ts';
import type { OpenProject } from './open-project.ts';

/**
 * Keeps the members of a project unchanged until the transaction ends: if two owners remove each other at the same
 * moment, one of them is no longer an owner and is refused, so one owner always stays.
 * @param asks `owner` if only an owner may do it: the caller's cached role is not enough
 * @throws Problem member_not_found (`userId`), role_missing
 */
export async function lockMembers(
  trx: Transaction<Schema>,
  project: OpenProject,
  caller: SessionCaller,
  userId: string,
  asks: 'owner' | 'member',
): Promise<{ requireOtherOwner(userId: string): void }> {
  await keepProject(trx, project.id);
  const members = await trx
    .selectFrom('project_members')
    .select(['user_id', 'role'])
    .where('project_id', '=', project.id)
    .orderBy('user_id')
    .forUpdate()
    .execute();
  const own = members.find((member) => member.user_id === caller.userId);
  if (asks === 'owner' && own?.role !== 'owner') throw new Problem('role_missing');
  if (!members.some((member) => member.user_id === userId)) throw new Problem('member_not_found');
  return {
    requireOtherOwner(except) {
      if (!members.some(({ user_id, role }) => role === 'owner' && user_id !== except)) throw new Problem('last_owner');
    },
  };
}
