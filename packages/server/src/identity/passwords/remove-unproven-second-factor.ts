import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * Removes a second factor that was set up before the e-mail address of the account was verified: it may belong to somebody
 * who never owned the address, and would lock its owner out for good. Call it after the sessions have ended.
 * @returns whether sign-ins asked for its codes
 */
export async function removeUnprovenSecondFactor(trx: Kysely<Schema>, userId: string): Promise<boolean> {
  const removed = await trx
    .deleteFrom('two_factors')
    .where('user_id', '=', userId)
    .where('address_proven', '=', false)
    .returning('verified')
    .executeTakeFirst();
  if (!removed) return false;
  await trx.updateTable('users').set({ two_factor_enabled: false }).where('id', '=', userId).execute();
  return removed.verified;
}
