import type { Kysely } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import type { UserRow } from './user-view.ts';

/**
 * Locks an account that somebody is about to sign in to: it cannot be disabled or deleted until the transaction ends.
 * Must come first in the transaction: see "The order of locks" in ARCHITECTURE.md.
 * @throws Problem account_disabled also if the account is gone
 */
export async function keepEnabledUser(trx: Kysely<Schema>, userId: string): Promise<UserRow> {
  const user = await trx.selectFrom('users').selectAll().where('id', '=', userId).forKeyShare().executeTakeFirst();
  if (!user || user.disabled_at !== null) throw new Problem('account_disabled');
  return user;
}
