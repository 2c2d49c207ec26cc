import type { Kysely } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import type { Schema } from '../../db/schema.ts';
import type { InBrowser } from '../browser.ts';
import { endKeptSession } from './end-sessions.ts';
import { startSession } from './start-session.ts';

/**
 * Replaces the session of a caller with a new one, as any change to how an account is signed in to should. That is no
 * sign-in: the new session counts as begun when the old one was, so it is no fresher and lasts no longer.
 * @param at Unix milliseconds
 * @returns its token; undefined if the session has ended since the request was admitted. Then there is no new session,
 *   and the request must have no effect.
 */
export async function rotateSession(
  trx: Kysely<Schema>,
  at: number,
  caller: InBrowser<SessionCaller>,
): Promise<string | undefined> {
  const { userId, sessionId } = caller;
  if (sessionId === undefined) return undefined;
  const present = await trx
    .selectFrom('sessions')
    .select(['id', 'created_at'])
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!present) return undefined;
  const token = await startSession(trx, at, userId, caller, present);
  const ending = trx.deleteFrom('sessions').where('id', '=', sessionId).where('user_id', '=', userId);
  if ((await ending.executeTakeFirst()).numDeletedRows > 0n) return token;
  await endKeptSession(trx, token);
  return undefined;
}
