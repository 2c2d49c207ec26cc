import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { rememberDevice } from '../known-devices.ts';
import { rotateSession } from '../sessions/rotate-session.ts';
import { requireUncommonPassword } from './common-passwords.ts';
import { setPassword } from './set-password.ts';
import { findOwnAccount, withOwnPassword } from './with-own-password.ts';

type ChangeDeps = Pick<Deps, 'db' | 'now' | 'secret' | 'passwords' | 'signInLimits' | 'accessChanges'>;

/**
 * Sets the caller's password and ends all their other sessions. A new session replaces the present one. Their API keys
 * are revoked only on request, since programs depend on them. The current password is required: a session that was left
 * open is not enough to take over the account.
 */
export async function changePassword(
  deps: ChangeDeps,
  caller: InBrowser<SessionCaller>,
  request: Input<'changePassword'>,
): Promise<Keeping<Answer<'changePassword'>>> {
  const { currentPassword, newPassword } = request;
  const account = await findOwnAccount(deps, caller);
  await requireUncommonPassword(newPassword, [account.name, account.email]);
  const { answer, session } = await withOwnPassword(deps, account, currentPassword, async (instead) =>
    replace(deps, caller, { ...request, instead, hash: await deps.passwords.hash(newPassword) }),
  );
  await deps.accessChanges.publish({ kind: request.revokeApiKeys ? 'user' : 'sessions', id: caller.userId });
  // Only to a verified address, or anybody could use an account of their own to send a stranger any number of messages.
  if (account.isEmailVerified) await deps.signInLimits.allowResets(account.email);
  return { answer, keep: { session, device: await rememberDevice(deps, caller.userId) } };
}

/**
 * @returns the token of the new session with the answer
 * @throws Problem wrong_password if somebody else has set another one in the meantime, session_required if the session
 *   has ended
 */
async function replace(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: InBrowser<SessionCaller>,
  { hash, instead, revokeApiKeys }: { hash: string; instead: string; revokeApiKeys: boolean },
): Promise<{ answer: Answer<'changePassword'>; session: string }> {
  const { userId, sessionId: except } = caller;
  return db.transaction(async (trx) => {
    const at = now();
    const next = { userId, hash, instead, by: caller, at: new Date(at), except, revokeApiKeys, removesPasskeys: false };
    const { endedSessions, revokedApiKeys } = await setPassword(trx, next);
    const session = await rotateSession(trx, at, caller);
    if (session === undefined) throw new Problem('session_required');
    const answer = { endedSessions, revokedApiKeys };
    await recordEvent(trx, at, { type: 'password.changed', projectId: null, by: caller, subject: answer });
    return { answer, session };
  });
}
