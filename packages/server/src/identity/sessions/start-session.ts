import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Visitor } from '../../access/caller.ts';
import { expiryOf } from '../../access/session-lifetime.ts';
import { hashSessionToken } from '../../access/session-token.ts';
import type { Schema } from '../../db/schema.ts';
import type { InBrowser } from '../browser.ts';

/** How many sessions an account can have. */
export const maxSessions = 100;

/** Where a session is used from. */
export type SessionOrigin = InBrowser<{ address?: Visitor['address'] | undefined }>;

/**
 * Starts a session of an account that `keepEnabledUser` has locked, or that this transaction creates. Of more than
 * `maxSessions`, those that would expire first end.
 * @param at Unix milliseconds
 * @param replaced the session that the caller ends next, if any: it does not count, and the new one began when it did
 * @returns its token: 24 random bytes in base64url, of which only the SHA-256 is stored
 */
export async function startSession(
  trx: Kysely<Schema>,
  at: number,
  userId: string,
  { address, browser }: SessionOrigin,
  replaced?: { id: string; created_at: Date },
): Promise<string> {
  const startedAt = replaced?.created_at ?? new Date(at);
  const token = randomBytes(24).toString('base64url');
  // What is beyond the limit once the new session is there, which the statement itself does not see.
  let surplus = trx
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .orderBy('expires_at', 'desc')
    .orderBy('id', 'desc')
    .offset(maxSessions - 1);
  if (replaced) surplus = surplus.where('id', '<>', replaced.id);
  // Another sign-in may be ending some of it already: this one waits for nobody.
  const ending = trx.selectFrom('sessions').select('id').where('id', 'in', surplus).forUpdate().skipLocked();
  await trx
    .with('started', (db) =>
      db.insertInto('sessions').values({
        id: uuidv7(),
        user_id: userId,
        token: hashSessionToken(token),
        expires_at: expiryOf(startedAt, at),
        ip_address: address ?? '',
        user_agent: browser.userAgent ?? '',
        created_at: startedAt,
        updated_at: new Date(at),
      }),
    )
    .deleteFrom('sessions')
    .where('id', 'in', ending)
    .execute();
  return token;
}
