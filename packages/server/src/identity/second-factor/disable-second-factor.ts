import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { lockAccount } from '../lock-account.ts';
import { rotateSession } from '../sessions/rotate-session.ts';
import { type BothFactorsDeps, withBothFactors } from './with-both-factors.ts';

/** Removes the caller's second factor. A new session replaces the present one. */
export async function disableSecondFactor(
  deps: BothFactorsDeps,
  caller: InBrowser<SessionCaller>,
  proof: Input<'disableSecondFactor'>,
): Promise<Keeping<Answer<'disableSecondFactor'>>> {
  const session = await withBothFactors(deps, caller, proof, async () => {
    const token = await remove(deps, caller);
    if (token === undefined) throw new Problem('session_required');
    return token;
  });
  return { answer: { success: true }, keep: { session } };
}

/** @returns the token of the new session; undefined if the old one has ended in the meantime */
function remove({ db, now }: Pick<Deps, 'db' | 'now'>, caller: InBrowser<SessionCaller>): Promise<string | undefined> {
  const { userId } = caller;
  return db.transaction(async (trx) => {
    const at = now();
    await lockAccount(trx, userId);
    const token = await rotateSession(trx, at, caller);
    if (token === undefined) return undefined;
    await trx.deleteFrom('two_factors').where('user_id', '=', userId).execute();
    await trx
      .updateTable('users')
      .set({ two_factor_enabled: false, updated_at: new Date(at) })
      .where('id', '=', userId)
      .execute();
    await recordEvent(trx, at, { type: 'second_factor.removed', projectId: null, by: caller, subject: { userId } });
    return token;
  });
}
