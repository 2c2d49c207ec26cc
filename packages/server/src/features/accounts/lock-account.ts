import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * For a transaction that changes an account and what belongs to it. Whoever removes an account locks it first, too, so
 * neither waits for the other in a circle.
 */
export async function lockAccount(trx: Kysely<Schema>, userId: string): Promise<void> {
  await trx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute();
}
