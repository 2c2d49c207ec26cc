import type { Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { findOwnAccount, withOwnPassword } from '../passwords/with-own-password.ts';
import { spendBackupCode } from './backup-codes.ts';
import { countGuess, type Factor, forgetFailures, requireFactor } from './factor.ts';
import { spendTotp } from './spend-totp.ts';

export type BothFactorsDeps = Pick<Deps, 'db' | 'now' | 'secret' | 'passwords' | 'signInLimits'>;

/**
 * Does something that weakens a second factor, and therefore requires it as well: the password, and a code of the app
 * or a backup code. Wrong codes count together with those at sign-in.
 * @throws Problem second_factor_not_set_up, wrong_password, invalid_second_factor, second_factor_locked,
 *   too_many_attempts, too_many_sign_ins, and what the work throws
 */
export async function withBothFactors<T>(
  deps: BothFactorsDeps,
  caller: SessionCaller,
  { password, code }: Input<'disableSecondFactor'>,
  work: (factor: Factor) => Promise<T>,
): Promise<T> {
  const { userId } = caller;
  await requireFactor(deps.db.kysely, userId);
  const account = await findOwnAccount(deps, caller);
  // The password comes first: a person who does not know it uses up no code.
  return withOwnPassword(deps, account, password, async () => {
    const factor = await countGuess(deps, userId);
    const isTotp = /^\d+$/.test(code);
    const isRight = isTotp ? await spendTotp(deps, factor, code) : await spendBackupCode(deps, factor, code);
    if (!isRight) throw new Problem('invalid_second_factor');
    await forgetFailures(deps.db.kysely, factor);
    return work(factor);
  });
}
