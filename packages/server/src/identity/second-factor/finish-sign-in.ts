import type { Answer } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { keepEnabledUser } from '../keep-enabled-user.ts';
import { findVantage, rememberDevice } from '../known-devices.ts';
import { findPasswordHash, findSettledPasswordHash } from '../passwords/password-hash.ts';
import { recordRefusedSignIn, recordSignIn } from '../record-sign-in.ts';
import { endKeptSession } from '../sessions/end-sessions.ts';
import { startSession } from '../sessions/start-session.ts';
import { toUserView, type UserRow } from '../user-view.ts';
import { countAttempt, requireChallenge, takeChallenge } from './challenge.ts';
import { countGuess, type Factor, forgetFailures } from './factor.ts';

export type SecondStepDeps = Pick<Deps, 'db' | 'now' | 'secret' | 'signInLimits'>;

/** How somebody proves that they have the second factor. */
export interface Proof {
  method: 'totp' | 'backup_code';
  /** Uses up the code if it is right. @throws Problem invalid_second_factor */
  spend(factor: Factor): Promise<boolean>;
}

/**
 * Finishes a sign-in that waits for its second factor, and records its outcome.
 * @throws Problem invalid_second_factor, second_factor_expired, second_factor_locked, second_factor_not_set_up,
 *   account_disabled
 */
export async function finishSignIn(
  deps: SecondStepDeps,
  visitor: InBrowser<Visitor>,
  proof: Proof,
): Promise<Keeping<Answer<'verifyTotp'>>> {
  const { signInLimits } = deps;
  const { address, browser } = visitor;
  const { challenge, userId } = await requireChallenge(deps, browser.kept.challenge);
  const { user, token } = await enter(deps, visitor, { challenge, userId, proof }).catch(async (error: unknown) => {
    if (error instanceof Problem) {
      await recordRefusedSignIn(deps, visitor, { userId, method: proof.method });
    }
    throw error;
  });
  await signInLimits.forgiveAddress(address);
  await signInLimits.forgiveAccount(user.email, await findVantage(deps, browser.kept.device, user.email));
  return {
    answer: { user: toUserView(user) },
    keep: { session: token, challenge: null, device: await rememberDevice(deps, userId) },
  };
}

interface Attempt {
  challenge: string;
  userId: string;
  proof: Proof;
}

async function enter(
  deps: SecondStepDeps,
  visitor: InBrowser<Visitor>,
  attempt: Attempt,
): Promise<{ user: UserRow; token: string }> {
  const { challenge, userId, proof } = attempt;
  await countAttempt(deps, challenge);
  const factor = await countGuess(deps, userId);
  const hash = await findPasswordHash(deps.db.kysely, userId);
  if (!(await proof.spend(factor))) throw new Problem('invalid_second_factor');
  const entered = await open(deps, visitor, { ...attempt, factor, hash });
  if (!entered) throw new Problem('second_factor_expired');
  return entered;
}

/** @returns undefined if the password has been changed since the sign-in began, which ends it */
function open(
  { db, now }: SecondStepDeps,
  visitor: InBrowser<Visitor>,
  { challenge, userId, proof, factor, hash }: Attempt & { factor: Factor; hash: string | undefined },
): Promise<{ user: UserRow; token: string } | undefined> {
  const { browser } = visitor;
  return db.transaction(async (trx) => {
    const at = now();
    const user = await keepEnabledUser(trx, userId);
    const token = await startSession(trx, at, userId, visitor);
    const isSamePassword = (await findSettledPasswordHash(trx, userId)) === hash;
    if (!(await takeChallenge(trx, at, challenge)) || !isSamePassword) {
      await endKeptSession(trx, token);
      return undefined;
    }
    await endKeptSession(trx, browser.kept.session);
    await forgetFailures(trx, factor);
    await recordSignIn(trx, at, visitor, userId, { method: proof.method });
    return { user, token };
  });
}
