import type { Kysely } from 'kysely';
import { hashSessionToken } from '../../access/session-token.ts';
import type { Schema } from '../../db/schema.ts';

/**
 * Ends the sessions of an account, except one, along with every sign-in that waits for its second factor. Each request
 * looks its session up, so an ended one stops working at once in every process. Waiting sign-ins are deleted first: if
 * one is being finished at this moment, its session exists afterwards, and ends here, too. Tokens for a new password
 * stay: with a session alone, nobody can take them from the owner of the e-mail address.
 * @returns how many there were
 */
export async function endSessions(trx: Kysely<Schema>, userId: string, except?: string): Promise<number> {
  await trx.deleteFrom('verifications').where('value', '=', userId).execute();
  let ending = trx.deleteFrom('sessions').where('user_id', '=', userId);
  if (except !== undefined) ending = ending.where('id', '<>', except);
  return Number((await ending.executeTakeFirst()).numDeletedRows);
}

/**
 * Ends the sessions of an account, as `endSessions` does, and deletes every token for a new password. Have messages sent
 * again after the transaction: `SignInLimits.allowResets`, or `openAccount`.
 * @returns how many sessions there were
 */
export async function endSessionsAndResets(trx: Kysely<Schema>, userId: string, except?: string): Promise<number> {
  await trx.deleteFrom('password_resets').where('user_id', '=', userId).execute();
  return endSessions(trx, userId, except);
}

/** Ends the session that a browser keeps, if any. @returns whether there was one */
export async function endKeptSession(trx: Kysely<Schema>, token: string | undefined): Promise<boolean> {
  if (token === undefined) return false;
  const ending = trx.deleteFrom('sessions').where('token', '=', hashSessionToken(token));
  return (await ending.executeTakeFirst()).numDeletedRows > 0n;
}
