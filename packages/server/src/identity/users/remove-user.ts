import type { Answer, Input } from '@cadiz/contract';
import { sql, type Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { lockProjectsOf } from '../lock-account.ts';
import { lockUser } from '../lock-user.ts';

/**
 * Deletes an account with its sessions, memberships, invitations, API keys and tickets. Its uploads stay. Each of its
 * projects records that it has lost the member.
 */
export async function removeUser(
  { db, now, accessChanges }: Pick<Deps, 'db' | 'now' | 'accessChanges'>,
  by: Actor,
  { userId }: Input<'removeUser'>,
): Promise<Answer<'removeUser'>> {
  await db.transaction(async (trx) => {
    await lockUser(trx, userId, { keepsOwner: true });
    await lockProjectsOf(trx, userId);
    await requireOtherOwners(trx, userId);
    const left = await endMemberships(trx, userId);
    await trx.deleteFrom('users').where('id', '=', userId).execute();
    const at = now();
    for (const { projectId, revokedKeys } of left) {
      await recordEvent(trx, at, { type: 'member.removed', projectId, by, subject: { userId, revokedKeys } });
    }
    await recordEvent(trx, at, { type: 'account.deleted', projectId: null, by, subject: { userId } });
  });
  await accessChanges.publish({ kind: 'user', id: userId });
  return { userId, removed: true };
}

async function requireOtherOwners(trx: Transaction<Schema>, userId: string): Promise<void> {
  const owned = trx
    .selectFrom('project_members')
    .select('project_id')
    .where('user_id', '=', userId)
    .where('role', '=', 'owner');
  // Their rows are locked, so that if two owners leave at once, one stays.
  const owners = await trx
    .selectFrom('project_members')
    .select(['project_id', 'user_id'])
    .where('role', '=', 'owner')
    .where('project_id', 'in', owned)
    .orderBy('project_id')
    .orderBy('user_id')
    .forUpdate()
    .execute();
  const kept = new Set(owners.filter((owner) => owner.user_id !== userId).map((owner) => owner.project_id));
  const orphaned = new Set(owners.map((owner) => owner.project_id).filter((id) => !kept.has(id)));
  if (orphaned.size === 0) return;
  throw new Problem('last_owner', `${orphaned.size} projects have no other owner, such as ${[...orphaned][0]}.`);
}

/** @returns the projects, and how many keys of the account each loses that were alive */
function endMemberships(
  trx: Transaction<Schema>,
  userId: string,
): Promise<{ projectId: string; revokedKeys: number }[]> {
  const revokedKeys = sql<number>`(
    select count(*) from api_keys
    where api_keys.project_id = project_members.project_id and created_by = ${userId} and revoked_at is null)`;
  return trx
    .deleteFrom('project_members')
    .where('user_id', '=', userId)
    .returning(['project_id as projectId', revokedKeys.as('revokedKeys')])
    .execute();
}
