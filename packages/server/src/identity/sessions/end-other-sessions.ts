import type { Answer } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { lockAccount } from '../lock-account.ts';
import { endSessions } from './end-sessions.ts';

/** Ends all sessions of the caller except the present one. */
export async function endOtherSessions(
  { db, now, accessChanges }: Pick<Deps, 'db' | 'now' | 'accessChanges'>,
  caller: SessionCaller,
): Promise<Answer<'endOtherSessions'>> {
  const ended = await db.transaction(async (trx) => {
    await lockAccount(trx, caller.userId);
    const endedSessions = await endSessions(trx, caller.userId, caller.sessionId);
    const subject = { endedSessions };
    await recordEvent(trx, now(), { type: 'session.revoked', projectId: null, by: caller, subject });
    return { endedSessions };
  });
  await accessChanges.publish({ kind: 'sessions', id: caller.userId });
  return ended;
}
