import type { PasswordReset, ResetPasswordRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { Answered } from './auth.ts';
import { requireUncommonPassword } from './common-passwords.ts';
import { lockAccount } from './lock-account.ts';
import { proveEmail } from './prove-email.ts';
import { removeUnprovenSecondFactor } from './remove-unproven-second-factor.ts';
import { hashResetToken } from './request-password-reset.ts';
import { setPassword } from './set-password.ts';

/**
 * Sets a password with the token from a message, which uses the token up, and gives the account back to the owner of its
 * e-mail address: every session ends, the passkeys are removed, and the API keys are revoked unless the owner keeps them.
 * A second factor that was set up before the address was verified is removed, since it may be a stranger's; any other stays and is
 * asked for, since a mailbox is no second factor. A linked issuer stays: linking required the same address, verified. The
 * address counts as verified from now on. Absent, used and expired tokens get the same answer.
 * @returns what was removed, and the cookie that makes this browser known at the account
 * @throws Problem invalid_reset_token, password_too_common, too_many_attempts, too_many_sign_ins
 */
export async function resetPassword(
  { db, now, accounts, accessChanges }: Pick<Deps, 'db' | 'accounts' | 'accessChanges' | 'now'>,
  { address }: Visitor,
  { token, newPassword, revokeApiKeys }: z.output<typeof ResetPasswordRequest>,
): Promise<Answered<z.output<typeof PasswordReset>>> {
  const { passwords, limits, devices } = accounts;
  await limits.countAddress(address);
  return passwords.withCapacity(async () => {
    const owner = await db.kysely
      .selectFrom('password_resets')
      .innerJoin('users', 'users.id', 'password_resets.user_id')
      .select(['users.id', 'users.name', 'users.email'])
      .where('token_hash', '=', hashResetToken(token))
      .where('password_resets.expires_at', '>', new Date(now()))
      .where('users.disabled_at', 'is', null)
      .executeTakeFirst();
    if (!owner) throw new Problem('invalid_reset_token');
    await requireUncommonPassword(newPassword, [owner.name, owner.email]);
    const hash = await passwords.hash(newPassword);
    const body = await db.transaction(async (trx) => {
      await lockAccount(trx, owner.id);
      // Deleting it is what uses it up: of two at the same moment, one finds nothing.
      const used = await trx
        .deleteFrom('password_resets')
        .where('token_hash', '=', hashResetToken(token))
        .returning('user_id')
        .executeTakeFirst();
      if (!used) throw new Problem('invalid_reset_token');
      const at = now();
      const userId = owner.id;
      const ended = await setPassword(trx, { userId, hash, at: new Date(at), revokeApiKeys, removesPasskeys: true });
      const removedSecondFactor = await removeUnprovenSecondFactor(trx, userId);
      await proveEmail(trx, userId);
      const result = { ...ended, removedSecondFactor };
      const by = { kind: 'nobody' as const, address };
      await recordEvent(trx, at, { type: 'password.reset', projectId: null, by, subject: { userId, ...result } });
      return result;
    });
    await limits.forgiveAddress(address);
    await limits.openAccount(owner.email);
    if (body.revokedApiKeys > 0) await accessChanges.publish({ kind: 'user', id: owner.id });
    return { body, cookies: await devices.remember(owner.id) };
  });
}
