import type { Kysely } from 'kysely';
import { hashSessionToken } from '../../access/session-token.ts';
import type { Schema } from '../../db/schema.ts';

/**
 * Ends the sessions of an account, except one, along with every token for a new password and every sign-in that waits
 * for its second factor. Each request looks its session up, so an ended one stops working at once in every process.
 * Waiting sign-ins are deleted first: if one is being finished at this moment, its session exists afterwards, and ends
 * here, too.
 * @returns how many there were
 */
export async function endSessions(trx: Kysely<Schema>, userId: string, except?: string): Promise<number> {
  await trx.deleteFrom('password_resets').where('user_id', '=', userId).execute();
  await trx.deleteFrom('verifications').where('value', '=', userId).execute();
  let ending = trx.deleteFrom('sessions').where('user_id', '=', userId);
  if (except !== undefined) ending = ending.where('id', '<>', except);
  return Number((await ending.executeTakeFirst()).numDeletedRows);
}

/** Ends the session that a browser keeps, if any. @returns whether there was one */
export async function endKeptSession(trx: Kysely<Schema>, token: string | undefined): Promise<boolean> {
  if (token === undefined) return false;
  const ending = trx.deleteFrom('sessions').where('token', '=', hashSessionToken(token));
  return (await ending.executeTakeFirst()).numDeletedRows > 0n;
}
