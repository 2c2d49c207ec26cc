import type { Answer, Input } from '@cadiz/contract';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { type EndAccessDeps, endAccess } from '../sessions/end-access.ts';

/** Ends all sessions of an account, and deletes its tokens for a new password. */
export async function endUserSessions(
  deps: EndAccessDeps,
  by: Actor,
  { userId }: Input<'endUserSessions'>,
): Promise<Answer<'endUserSessions'>> {
  return endAccess(deps, userId, async (trx, endedSessions) => {
    const subject = { userId, endedSessions };
    await recordEvent(trx, deps.now(), { type: 'session.revoked', projectId: null, by, subject });
    return { endedSessions };
  });
}
