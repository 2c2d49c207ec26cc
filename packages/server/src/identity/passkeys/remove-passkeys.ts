import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { lockUser } from '../lock-user.ts';
import { endSessionsAndResets } from '../sessions/end-sessions.ts';
import { removeAllPasskeys } from './remove-all-passkeys.ts';

/**
 * Removes all passkeys of somebody who may have lost one, or whose account somebody else had access to. All their
 * sessions end, and their tokens for a new password are deleted.
 * @throws Problem user_not_found, passkey_not_found
 */
export async function removePasskeys(
  { db, now, signInLimits }: Pick<Deps, 'db' | 'now' | 'signInLimits'>,
  by: Actor,
  userId: string,
): Promise<{ removedPasskeys: number; endedSessions: number }> {
  const { email, removed } = await db.transaction(async (trx) => {
    const { email } = await lockUser(trx, userId);
    const endedSessions = await endSessionsAndResets(trx, userId);
    const removedPasskeys = await removeAllPasskeys(trx, userId);
    if (removedPasskeys === 0) throw new Problem('passkey_not_found', 'The account has no passkeys.');
    const removed = { removedPasskeys, endedSessions };
    const subject = { userId, ...removed };
    await recordEvent(trx, now(), { type: 'passkey.removed', projectId: null, by, subject });
    return { email, removed };
  });
  await signInLimits.allowResets(email);
  return removed;
}
