import type { ChangedPassword, ChangePasswordRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { requireUncommonPassword } from './common-passwords.ts';
import { setPassword } from './set-password.ts';
import { fromSession } from './sign-in-limits.ts';

/**
 * Sets the caller's password, and ends all their other sessions; their API keys too when they ask for it, since programs
 * depend on those. The current password is asked for, and guessing it is limited as at sign-in, but apart from what
 * strangers try there: a session that was left open is not enough to take the account.
 * @throws Problem wrong_password, password_too_common, too_many_attempts, too_many_sign_ins
 */
export async function changePassword(
  { db, now, accounts, accessChanges }: Pick<Deps, 'db' | 'accounts' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { currentPassword, newPassword, revokeApiKeys }: z.output<typeof ChangePasswordRequest>,
): Promise<z.output<typeof ChangedPassword>> {
  const { passwords, limits } = accounts;
  const user = await db.kysely
    .selectFrom('users')
    .leftJoin('accounts', (join) =>
      join.onRef('accounts.user_id', '=', 'users.id').on('accounts.provider_id', '=', 'credential'),
    )
    .select(['users.name', 'users.email', 'accounts.password'])
    .where('users.id', '=', caller.userId)
    .executeTakeFirst();
  if (!user?.password) throw new Problem('wrong_password', 'This account has no password: reset it to set the first.');
  await requireUncommonPassword(newPassword, [user.name, user.email]);
  const hash = user.password;
  const changed = await passwords.withCapacity(async () => {
    await limits.countAccount(user.email, fromSession);
    if (!(await passwords.verify({ hash, password: currentPassword }))) throw new Problem('wrong_password');
    const newHash = await passwords.hash(newPassword);
    return db.transaction(async (trx) => {
      const at = now();
      const { userId, sessionId: except } = caller;
      const { endedSessions, revokedApiKeys } = await setPassword(trx, {
        userId,
        hash: newHash,
        instead: hash,
        at: new Date(at),
        except,
        revokeApiKeys,
        removesPasskeys: false,
      });
      const ended = { endedSessions, revokedApiKeys };
      await recordEvent(trx, at, { type: 'password.changed', projectId: null, by: caller, subject: ended });
      return ended;
    });
  });
  await limits.forgiveAccount(user.email, fromSession);
  if (changed.revokedApiKeys > 0) await accessChanges.publish({ kind: 'user', id: caller.userId });
  return changed;
}
