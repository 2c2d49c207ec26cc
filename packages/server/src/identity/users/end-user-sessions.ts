import type { Answer, Input } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { lockUser } from '../lock-user.ts';
import { endSessionsAndResets } from '../sessions/end-sessions.ts';

/** Ends all sessions of an account, and deletes its tokens for a new password. */
export async function endUserSessions(
  { db, now, signInLimits }: Pick<Deps, 'db' | 'now' | 'signInLimits'>,
  by: Actor,
  { userId }: Input<'endUserSessions'>,
): Promise<Answer<'endUserSessions'>> {
  const { email, endedSessions } = await db.transaction(async (trx) => {
    const { email } = await lockUser(trx, userId);
    const endedSessions = await endSessionsAndResets(trx, userId);
    const subject = { userId, endedSessions };
    await recordEvent(trx, now(), { type: 'session.revoked', projectId: null, by, subject });
    return { email, endedSessions };
  });
  await signInLimits.allowResets(email);
  return { endedSessions };
}
