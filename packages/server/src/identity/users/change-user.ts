import type { Answer, Input } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { type Actor, recordEvent } from '../../events/record-event.ts';
import { lockUser } from '../lock-user.ts';
import { endSessionsAndResets } from '../sessions/end-sessions.ts';
import { selectAccounts, toUserAccount } from './user-account.ts';

/**
 * Disables an account: all its sessions end, nobody can sign in to it, and its API keys stop working. Or enables it
 * again: its keys work again, but its sessions do not come back.
 */
export async function changeUser(
  { db, now, accessChanges, signInLimits }: Pick<Deps, 'db' | 'now' | 'accessChanges' | 'signInLimits'>,
  by: Actor,
  { userId, disabled }: Input<'changeUser'>,
): Promise<Answer<'changeUser'>> {
  const at = now();
  const account = await db.transaction(async (trx) => {
    const user = await lockUser(trx, userId, { keepsOwner: disabled });
    if (disabled !== (user.disabled_at !== null)) await change(trx);
    return selectAccounts(trx, at).where('id', '=', userId).executeTakeFirstOrThrow();
  });
  await accessChanges.publish({ kind: 'user', id: userId });
  // Also once it is enabled: requests in between were counted, but no message was sent.
  await signInLimits.allowResets(account.email);
  return toUserAccount(account);

  async function change(trx: Transaction<Schema>): Promise<void> {
    if (disabled) await endSessionsAndResets(trx, userId);
    const type = disabled ? 'account.disabled' : 'account.enabled';
    await recordEvent(trx, at, { type, projectId: null, by, subject: { userId } });
    const disabled_at = disabled ? new Date(at) : null;
    await trx.updateTable('users').set({ disabled_at }).where('id', '=', userId).execute();
  }
}
