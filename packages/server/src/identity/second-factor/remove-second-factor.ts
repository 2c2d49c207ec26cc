import type { EndedSessions } from '@cadiz/contract';
import type { z } from 'zod';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { type EndAccessDeps, endAccess } from '../sessions/end-access.ts';

/**
 * Removes the second factor of somebody who has lost it: they can sign in with their password alone again. All their
 * sessions end, and their tokens for a new password are deleted.
 * @throws Problem user_not_found, second_factor_not_set_up
 */
export async function removeSecondFactor(
  deps: EndAccessDeps,
  by: Actor,
  userId: string,
): Promise<z.output<typeof EndedSessions>> {
  return endAccess(deps, userId, async (trx, endedSessions) => {
    const { numDeletedRows } = await trx.deleteFrom('two_factors').where('user_id', '=', userId).executeTakeFirst();
    if (numDeletedRows === 0n) throw new Problem('second_factor_not_set_up');
    await trx.updateTable('users').set({ two_factor_enabled: false }).where('id', '=', userId).execute();
    const subject = { userId, endedSessions };
    await recordEvent(trx, deps.now(), { type: 'second_factor.removed', projectId: null, by, subject });
    return { endedSessions };
  });
}
