import type { Answer, Input } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { lockUser } from '../lock-user.ts';
import { endSessions } from '../sessions/end-sessions.ts';

/** Ends all sessions of an account. */
export async function endUserSessions(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  by: Actor,
  { userId }: Input<'endUserSessions'>,
): Promise<Answer<'endUserSessions'>> {
  return db.transaction(async (trx) => {
    await lockUser(trx, userId);
    const endedSessions = await endSessions(trx, userId);
    const subject = { userId, endedSessions };
    await recordEvent(trx, now(), { type: 'session.revoked', projectId: null, by, subject });
    return { endedSessions };
  });
}
