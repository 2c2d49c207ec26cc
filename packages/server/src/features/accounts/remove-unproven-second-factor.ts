import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';

/**
 * Takes a second factor away that was set up before the e-mail address of the account was proven: it may be that of
 * somebody who has never owned the address, and would keep its owner out for good. To come after the sessions have ended.
 * @returns whether codes were asked for
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
