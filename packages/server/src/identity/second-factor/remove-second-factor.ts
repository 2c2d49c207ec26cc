import type { EndedSessions } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { lockUser } from '../lock-user.ts';
import { endSessionsAndResets } from '../sessions/end-sessions.ts';

/**
 * Removes the second factor of somebody who has lost it: they can sign in with their password alone again. All their
 * sessions end, and their tokens for a new password are deleted.
 * @throws Problem user_not_found, second_factor_not_set_up
 */
export async function removeSecondFactor(
  { db, now, signInLimits }: Pick<Deps, 'db' | 'now' | 'signInLimits'>,
  by: Actor,
  userId: string,
): Promise<z.output<typeof EndedSessions>> {
  const { email, endedSessions } = await db.transaction(async (trx) => {
    const { email } = await lockUser(trx, userId);
    const { numDeletedRows } = await trx.deleteFrom('two_factors').where('user_id', '=', userId).executeTakeFirst();
    if (numDeletedRows === 0n) throw new Problem('second_factor_not_set_up');
    await trx.updateTable('users').set({ two_factor_enabled: false }).where('id', '=', userId).execute();
    const endedSessions = await endSessionsAndResets(trx, userId);
    const subject = { userId, endedSessions };
    await recordEvent(trx, now(), { type: 'second_factor.removed', projectId: null, by, subject });
    return { email, endedSessions };
  });
  await signInLimits.allowResets(email);
  return { endedSessions };
}
