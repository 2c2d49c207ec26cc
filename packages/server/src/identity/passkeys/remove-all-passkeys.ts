import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * Removes the passkeys of an account. Call it after its sessions have ended: a session that is adding a passkey at that
 * moment checks afterwards whether it still exists.
 * @returns how many there were
 */
export async function removeAllPasskeys(trx: Kysely<Schema>, userId: string): Promise<number> {
  return Number((await trx.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirst()).numDeletedRows);
}
