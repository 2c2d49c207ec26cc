import type { Answer, Input } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { lockUser } from '../lock-user.ts';
import { endSessions } from '../sessions/end-sessions.ts';
import { toUserAccount } from './user-account.ts';

/**
 * Disables an account: all its sessions end, nobody can sign in to it, and its API keys stop working. Or enables it
 * again: its keys work again, but its sessions do not come back.
 */
export async function changeUser(
  { db, now, accessChanges }: Pick<Deps, 'db' | 'now' | 'accessChanges'>,
  by: Actor,
  { userId, disabled }: Input<'changeUser'>,
): Promise<Answer<'changeUser'>> {
  const changed = await db.transaction(async (trx) => {
    const user = await lockUser(trx, userId, { keepsOwner: disabled });
    if (disabled === (user.disabled_at !== null)) return user;
    const at = now();
    if (disabled) await endSessions(trx, userId);
    const type = disabled ? 'account.disabled' : 'account.enabled';
    await recordEvent(trx, at, { type, projectId: null, by, subject: { userId } });
    return trx
      .updateTable('users')
      .set({ disabled_at: disabled ? new Date(at) : null })
      .where('id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  await accessChanges.publish({ kind: 'user', id: userId });
  return toUserAccount(changed);
}
