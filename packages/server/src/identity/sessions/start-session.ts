import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Visitor } from '../../access/caller.ts';
import { idleSeconds } from '../../access/session-lifetime.ts';
import { hashSessionToken } from '../../access/session-token.ts';
import type { Schema } from '../../db/schema.ts';
import type { InBrowser } from '../browser.ts';

/** Where a session is used from. */
export type SessionOrigin = InBrowser<{ address?: Visitor['address'] | undefined }>;

/**
 * Starts a session of an account that `keepEnabledUser` has locked, or that this transaction creates.
 * @param at Unix milliseconds
 * @param since when its owner signed in
 * @returns its token: 24 random bytes in base64url, of which only the SHA-256 is stored
 */
export async function startSession(
  trx: Kysely<Schema>,
  at: number,
  userId: string,
  { address, browser }: SessionOrigin,
  since = new Date(at),
): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  await trx
    .insertInto('sessions')
    .values({
      id: uuidv7(),
      user_id: userId,
      token: hashSessionToken(token),
      expires_at: new Date(at + idleSeconds * 1000),
      ip_address: address ?? '',
      user_agent: browser.userAgent ?? '',
      created_at: since,
      updated_at: new Date(at),
    })
    .execute();
  return token;
}
