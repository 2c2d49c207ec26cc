import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { rememberDevice } from '../known-devices.ts';
import { lockAccount } from '../lock-account.ts';
import { proveEmail } from '../prove-email.ts';
import { requireUncommonPassword } from './common-passwords.ts';
import { removeUnprovenSecondFactor } from './remove-unproven-second-factor.ts';
import { hashResetToken } from './request-password-reset.ts';
import { setPassword } from './set-password.ts';

type ResetDeps = Pick<Deps, 'db' | 'now' | 'secret' | 'passwords' | 'signInLimits' | 'accessChanges'>;

/**
 * Sets a password with the token from a message, which uses up the token, and returns the account to the owner of its
 * e-mail address: every session ends, the passkeys are removed, and the API keys are revoked unless the owner keeps
 * them. A second factor that was set up before the address was verified is removed, since it may be a stranger's; any
 * other stays and is required, since a mailbox is no second factor. A linked issuer stays: linking required the same
 * address, verified. The address counts as verified from now on. Absent, used and expired tokens get the same answer.
 */
export async function resetPassword(
  deps: ResetDeps,
  visitor: InBrowser<Visitor>,
  request: Input<'resetPassword'>,
): Promise<Keeping<Answer<'resetPassword'>>> {
  const { passwords, signInLimits, accessChanges } = deps;
  await signInLimits.countAddress(visitor.address);
  return passwords.withCapacity(async () => {
    const owner = await findOwner(deps, request.token);
    await requireUncommonPassword(request.newPassword, [owner.name, owner.email]);
    const hash = await passwords.hash(request.newPassword);
    const answer = await giveBack(deps, visitor, owner.id, { ...request, hash });
    await accessChanges.publish({ kind: request.revokeApiKeys ? 'user' : 'sessions', id: owner.id });
    await signInLimits.forgiveAddress(visitor.address);
    await signInLimits.openAccount(owner.email);
    return { answer, keep: { device: await rememberDevice(deps, owner.id) } };
  });
}

/** The owner of the token. @throws Problem invalid_reset_token */
async function findOwner(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  token: string,
): Promise<{ id: string; name: string; email: string }> {
  const owner = await db.kysely
    .selectFrom('password_resets')
    .innerJoin('users', 'users.id', 'password_resets.user_id')
    .select(['users.id', 'users.name', 'users.email'])
    .where('token_hash', '=', hashResetToken(token))
    .where('password_resets.expires_at', '>', new Date(now()))
    .where('users.disabled_at', 'is', null)
    .executeTakeFirst();
  if (!owner) throw new Problem('invalid_reset_token');
  return owner;
}

/** @returns what was removed @throws Problem invalid_reset_token */
function giveBack(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { address, requestId }: Visitor,
  userId: string,
  { token, hash, revokeApiKeys }: { token: string; hash: string; revokeApiKeys: boolean },
): Promise<Answer<'resetPassword'>> {
  return db.transaction(async (trx) => {
    await lockAccount(trx, userId);
    // Deleting the token uses it up: of two concurrent requests, one finds nothing.
    const used = await trx
      .deleteFrom('password_resets')
      .where('token_hash', '=', hashResetToken(token))
      .returning('user_id')
      .executeTakeFirst();
    if (!used) throw new Problem('invalid_reset_token');
    const at = now();
    const by = { kind: 'nobody', address, requestId } as const;
    const next = { userId, hash, by, at: new Date(at), revokeApiKeys, removesPasskeys: true };
    const ended = await setPassword(trx, next);
    const result = { ...ended, removedSecondFactor: await removeUnprovenSecondFactor(trx, userId) };
    await proveEmail(trx, userId);
    await recordEvent(trx, at, { type: 'password.reset', projectId: null, by, subject: { userId, ...result } });
    return result;
  });
}
