import type { Transaction } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import type { UserRow } from './user-view.ts';

/**
 * Locks an account that somebody else manages: everything that refers to it waits until the transaction ends.
 * @param options.keepsOwner refuses the owner of the service, without whom everybody would be locked out
 * @throws Problem user_not_found, last_owner
 */
export async function lockUser(
  trx: Transaction<Schema>,
  userId: string,
  { keepsOwner } = { keepsOwner: false },
): Promise<UserRow> {
  const user = await trx.selectFrom('users').selectAll().where('id', '=', userId).forUpdate().executeTakeFirst();
  if (!user) throw new Problem('user_not_found');
  if (keepsOwner && user.role === 'owner') {
    throw new Problem('last_owner', 'This is the owner of the service, whose account stays.');
  }
  return user;
}
