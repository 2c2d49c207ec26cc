import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * Locks an account before its transaction changes it and what belongs to it. Deleting an account takes the same lock first,
 * so the two cannot deadlock.
 */
export async function lockAccount(trx: Kysely<Schema>, userId: string): Promise<void> {
  await trx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute();
}
