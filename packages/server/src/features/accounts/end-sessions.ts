import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import { hashSessionToken } from './session-store.ts';

/**
 * Ends the sessions of somebody, except one, and with them every open way to a new password and every sign-in that waits
 * for its second factor. A session is looked up at each request, so it is over at once in every process.
 * @returns how many there were
 */
export async function endSessions(trx: Kysely<Schema>, userId: string, except?: string): Promise<number> {
  await trx.deleteFrom('password_resets').where('user_id', '=', userId).execute();
  // Better Auth keeps the account as the value of such a sign-in.
  await trx.deleteFrom('verifications').where('value', '=', userId).execute();
  let ending = trx.deleteFrom('sessions').where('user_id', '=', userId);
  if (except !== undefined) ending = ending.where('id', '<>', except);
  return Number((await ending.executeTakeFirst()).numDeletedRows);
}

/** Ends what the cookies of an answer, which nobody has got yet, are for: a session, or a sign-in that waits for its second factor. */
export async function endMade(kysely: Kysely<Schema>, cookies: readonly string[]): Promise<void> {
  // `name=value.signature; …`, where the row has the SHA-256 of the value.
  const hashes = cookies.map((line) => hashSessionToken(/=([^.;]*)/.exec(line)?.[1] ?? ''));
  if (hashes.length === 0) return;
  await kysely.deleteFrom('sessions').where('token', 'in', hashes).execute();
  await kysely.deleteFrom('verifications').where('identifier', 'in', hashes).execute();
}
