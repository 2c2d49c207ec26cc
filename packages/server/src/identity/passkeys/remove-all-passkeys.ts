import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * Removes the passkeys of an account. To come after its sessions have ended: a session that adds one at that moment
 * looks afterwards whether it is still there.
 * @returns how many there were
 */
export async function removeAllPasskeys(trx: Kysely<Schema>, userId: string): Promise<number> {
  return Number((await trx.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirst()).numDeletedRows);
}
