import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { unseal } from '../../settings/secret-box.ts';
import type { Factor } from './factor.ts';
import { findTotpStep } from './totp.ts';

/**
 * Uses up a code of the app. RFC 6238 §5.2: each code counts once, and none older than the last one counts.
 * @returns whether it was right
 * @throws Problem invalid_second_factor if it was already used
 */
export async function spendTotp(
  { db, now, secret }: Pick<Deps, 'db' | 'now' | 'secret'>,
  factor: Factor,
  code: string,
): Promise<boolean> {
  const step = findTotpStep(unseal(secret, factor.secret), code, now());
  if (step === undefined) return false;
  const { numUpdatedRows } = await db.kysely
    .updateTable('two_factors')
    .set({ last_step: step })
    .where('id', '=', factor.id)
    .where(({ eb, or }) => or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) {
    throw new Problem('invalid_second_factor', 'This code was used already: wait for the next.');
  }
  return true;
}
