import type { Kysely } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';

/**
 * Records that the e-mail address of an account is verified. Its second factor, if any, counts as set up by the owner
 * of the address from now on: to get the session in which an address is verified, a person had to give a code.
 * @returns the address
 * @throws Problem session_required if the account is gone
 */
export async function proveEmail(trx: Kysely<Schema>, userId: string): Promise<string> {
  const user = await trx
    .updateTable('users')
    .set({ email_verified: true })
    .where('id', '=', userId)
    .returning('email')
    .executeTakeFirst();
  if (!user) throw new Problem('session_required');
  await trx.deleteFrom('email_verifications').where('user_id', '=', userId).execute();
  await trx.updateTable('two_factors').set({ address_proven: true }).where('user_id', '=', userId).execute();
  return user.email;
}
