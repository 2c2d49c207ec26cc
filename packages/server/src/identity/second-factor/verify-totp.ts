import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { findSessionCallerByToken } from '../../access/find-session-caller.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { confirmSecondFactor } from './confirm-second-factor.ts';
import { finishSignIn, type SecondStepDeps } from './finish-sign-in.ts';
import { spendTotp } from './spend-totp.ts';

/** Accepts a code of the app. It finishes a sign-in or, for somebody who is signed in, the setup. */
export async function verifyTotp(
  deps: SecondStepDeps,
  visitor: InBrowser<Visitor>,
  { code }: Input<'verifyTotp'>,
): Promise<Keeping<Answer<'verifyTotp'>>> {
  const { address, requestId, browser } = visitor;
  await deps.signInLimits.countAddress(address);
  const { session } = browser.kept;
  const caller = session === undefined ? undefined : await findSessionCallerByToken(deps, session);
  if (caller) return confirmSecondFactor(deps, { ...caller, address, requestId, browser }, code);
  return finishSignIn(deps, visitor, { method: 'totp', spend: (factor) => spendTotp(deps, factor, code) });
}
