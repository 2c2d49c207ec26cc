import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { type EndAccessDeps, endAccess } from '../sessions/end-access.ts';
import { removeAllPasskeys } from './remove-all-passkeys.ts';

/**
 * Removes all passkeys of somebody who may have lost one, or whose account somebody else had access to. All their
 * sessions end, and their tokens for a new password are deleted.
 * @throws Problem user_not_found, passkey_not_found
 */
export async function removePasskeys(
  deps: EndAccessDeps,
  by: Actor,
  userId: string,
): Promise<{ removedPasskeys: number; endedSessions: number }> {
  return endAccess(deps, userId, async (trx, endedSessions) => {
    const removedPasskeys = await removeAllPasskeys(trx, userId);
    if (removedPasskeys === 0) throw new Problem('passkey_not_found', 'The account has no passkeys.');
    const removed = { removedPasskeys, endedSessions };
    const subject = { userId, ...removed };
    await recordEvent(trx, deps.now(), { type: 'passkey.removed', projectId: null, by, subject });
    return removed;
  });
}
