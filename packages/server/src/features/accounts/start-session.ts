import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { idleSeconds } from '../../access/session-lifetime.ts';
import type { Schema } from '../../db/schema.ts';
import { hashSessionToken } from './session-store.ts';

export interface NewSession {
  userId: string;
  address: string;
  userAgent: string | null;
}

/**
 * The row of a session.
 * @param at Unix milliseconds
 * @returns its token, of which the row has the SHA-256: 24 random bytes
 */
export async function startSession(
  trx: Kysely<Schema>,
  at: number,
  { userId, address, userAgent }: NewSession,
): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  await trx
    .insertInto('sessions')
    .values({
      id: uuidv7(),
      user_id: userId,
      token: hashSessionToken(token),
      expires_at: new Date(at + idleSeconds * 1000),
      ip_address: address,
      user_agent: userAgent ?? '',
      created_at: new Date(at),
      updated_at: new Date(at),
    })
    .execute();
  return token;
}
