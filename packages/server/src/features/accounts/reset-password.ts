import type { PasswordReset, ResetPasswordRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, Visitor } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { recordEvent } from '../audit/record-event.ts';
import { requireUncommonPassword } from './common-passwords.ts';
import { lockAccount } from './lock-account.ts';
import { hashResetToken } from './request-password-reset.ts';
import { setPassword } from './set-password.ts';

/**
 * Sets a password with the token of a message, and uses it up: every session of the account ends, its passkeys are
 * removed, and its API keys revoked when that is asked for. Absent, used, replaced and expired tokens are one answer.
 * @throws Problem invalid_reset_token, password_too_common, too_many_attempts, too_many_sign_ins
 */
export async function resetPassword(
  { db, now, accounts, accessChanges }: Deps,
  { address }: Visitor,
  { token, newPassword, revokeApiKeys }: z.output<typeof ResetPasswordRequest>,
): Promise<z.output<typeof PasswordReset>> {
  const { passwords, limits } = accounts;
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
    const ended = await db.transaction(async (trx) => {
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
      const set = { userId, hash, at: new Date(at), revokeApiKeys, removesPasskeys: true };
      const result = await setPassword(trx, set);
      const by = { kind: 'nobody' as const, address };
      await recordEvent(trx, at, { type: 'password.reset', projectId: null, by, subject: { userId, ...result } });
      return result;
    });
    await limits.forgive(address, owner.email);
    if (ended.revokedApiKeys > 0) await accessChanges.publish({ kind: 'user', id: owner.id });
    return ended;
  });
}
