import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { findSessionCallerByToken } from '../../access/find-session-caller.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { spendBackupCode } from './backup-codes.ts';
import { finishSignIn, type SecondStepDeps } from './finish-sign-in.ts';

/** Accepts a backup code in place of a code of the app, which finishes a sign-in. */
export async function verifyBackupCode(
  deps: SecondStepDeps,
  visitor: InBrowser<Visitor>,
  { code }: Input<'verifyBackupCode'>,
): Promise<Keeping<Answer<'verifyBackupCode'>>> {
  const { address, browser } = visitor;
  await deps.signInLimits.countAddress(address);
  const { session } = browser.kept;
  if (session !== undefined && (await findSessionCallerByToken(deps, session))) {
    throw new Problem('second_factor_expired');
  }
  return finishSignIn(deps, visitor, {
    method: 'backup_code',
    spend: (factor) => spendBackupCode(deps, factor, code),
  });
}
