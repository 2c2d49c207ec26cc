import type { Answer } from '@cadiz/contract';
import type { SessionCaller, Visitor } from '../../access/caller.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { unseal } from '../../settings/secret-box.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { lockAccount } from '../lock-account.ts';
import { rotateSession } from '../sessions/rotate-session.ts';
import { toUserView, type UserRow } from '../user-view.ts';
import { type Factor, findFactor } from './factor.ts';
import type { SecondStepDeps } from './finish-sign-in.ts';
import { findTotpStep } from './totp.ts';

type Owner = InBrowser<SessionCaller & Pick<Visitor, 'address'>>;

/**
 * Accepts the first code of a new second factor, which is in force from then on. A new session replaces the present
 * one. Whether the e-mail address is verified at this moment decides whether a reset by e-mail keeps the second factor.
 * @throws Problem second_factor_not_set_up, second_factor_set_up, invalid_second_factor, second_factor_expired
 */
export async function confirmSecondFactor(
  deps: SecondStepDeps,
  caller: Owner,
  code: string,
): Promise<Keeping<Answer<'verifyTotp'>>> {
  const factor = await findFactor(deps.db.kysely, caller.userId);
  if (!factor) throw new Problem('second_factor_not_set_up');
  if (factor.verified) throw new Problem('second_factor_set_up');
  const step = findTotpStep(unseal(deps.secret, factor.secret), code, deps.now());
  if (step === undefined) throw new Problem('invalid_second_factor');
  const confirmed = await confirm(deps, caller, factor, step);
  // Somebody who has just lost access to the account must not leave a second factor behind that locks its owner out.
  if (!confirmed) throw new Problem('second_factor_expired');
  await deps.signInLimits.forgiveAddress(caller.address);
  return { answer: { user: toUserView(confirmed.user) }, keep: { session: confirmed.token } };
}

/** @returns undefined if the session has ended in the meantime */
function confirm(
  { db, now }: SecondStepDeps,
  caller: Owner,
  factor: Factor,
  step: number,
): Promise<{ user: UserRow; token: string } | undefined> {
  const { userId, address, requestId } = caller;
  return db.transaction(async (trx) => {
    const at = now();
    await lockAccount(trx, userId);
    const token = await rotateSession(trx, at, caller);
    if (token === undefined) return undefined;
    const user = await trx
      .updateTable('users')
      .set({ two_factor_enabled: true, updated_at: new Date(at) })
      .where('id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow();
    const { numUpdatedRows } = await trx
      .updateTable('two_factors')
      .set({ verified: true, last_step: step, address_proven: user.email_verified })
      .where('id', '=', factor.id)
      // Another secret may have replaced it in the meantime.
      .where('secret', '=', factor.secret)
      .where('verified', '=', false)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw new Problem('invalid_second_factor');
    const by = { kind: 'session', userId, address, requestId } as const;
    await recordEvent(trx, at, { type: 'second_factor.added', projectId: null, by, subject: { userId } });
    return { user, token };
  });
}
