import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { lockUser } from '../lock-user.ts';
import { endSessionsAndResets } from './end-sessions.ts';

export type EndAccessDeps = Pick<Deps, 'db' | 'now' | 'signInLimits' | 'accessChanges'>;

/**
 * Ends all sessions of an account that somebody else manages, deletes its tokens for a new password, and does in the same
 * transaction what else it takes. Its next request for a new password sends a message again.
 * @throws Problem user_not_found, and what the work throws: then nothing has changed
 */
export async function endAccess<T>(
  { db, signInLimits, accessChanges }: EndAccessDeps,
  userId: string,
  work: (trx: Transaction<Schema>, endedSessions: number) => Promise<T>,
): Promise<T> {
  const { email, done } = await db.transaction(async (trx) => {
    const { email } = await lockUser(trx, userId);
    const endedSessions = await endSessionsAndResets(trx, userId);
    return { email, done: await work(trx, endedSessions) };
  });
  await accessChanges.publish({ kind: 'sessions', id: userId });
  await signInLimits.allowResets(email);
  return done;
}
