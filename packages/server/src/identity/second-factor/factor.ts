import { type Kysely, type Selectable, sql } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/** The second factor of an account. Its secret and its backup codes are sealed (`secret-box.ts`). */
export type Factor = Selectable<Schema['two_factors']>;

const mostFailures = 10;
const lockedMilliseconds = 900_000;

/** Finds the second factor of an account, confirmed or not; undefined if the account has none. */
export function findFactor(kysely: Kysely<Schema>, userId: string): Promise<Factor | undefined> {
  return kysely.selectFrom('two_factors').selectAll().where('user_id', '=', userId).executeTakeFirst();
}

/** @throws Problem second_factor_not_set_up also if the first code has not been given yet */
export async function requireFactor(kysely: Kysely<Schema>, userId: string): Promise<Factor> {
  const factor = await findFactor(kysely, userId);
  if (!factor?.verified) throw new Problem('second_factor_not_set_up');
  return factor;
}

/**
 * Counts a code as wrong before it is compared, so that of many at once no more than ten are; `forgetFailures` takes
 * that back for a right one. The count restarts after a lock has ended.
 * @returns the second factor as it is now
 * @throws Problem second_factor_not_set_up, and second_factor_locked after ten wrong codes in a row
 *   (NIST SP 800-63B §3.2.2)
 */
export async function countGuess({ db, now }: Pick<Deps, 'db' | 'now'>, userId: string): Promise<Factor> {
  const at = now();
  const failures = sql<number>`case when locked_until is null then failed_verification_count + 1 else 1 end`;
  const lockedUntil = new Date(at + lockedMilliseconds);
  const counted = await db.kysely
    .updateTable('two_factors')
    .set({
      failed_verification_count: failures,
      locked_until: sql<Date | null>`case when ${failures} >= ${mostFailures} then ${lockedUntil}::timestamptz end`,
    })
    .where('user_id', '=', userId)
    .where('verified', '=', true)
    .where(({ eb, or }) => or([eb('locked_until', 'is', null), eb('locked_until', '<=', new Date(at))]))
    .returningAll()
    .executeTakeFirst();
  return counted ?? refuseGuess(await requireFactor(db.kysely, userId), at);
}

/** @throws Problem second_factor_locked */
function refuseGuess({ locked_until }: Factor, at: number): never {
  const seconds = Math.max(1, Math.ceil(((locked_until?.getTime() ?? 0) - at) / 1000));
  throw new Problem('second_factor_locked', undefined, { headers: { 'Retry-After': String(seconds) } });
}

/** A right code ends the series of wrong ones. */
export async function forgetFailures(trx: Kysely<Schema>, { id }: Factor): Promise<void> {
  await trx
    .updateTable('two_factors')
    .set({ failed_verification_count: 0, locked_until: null })
    .where('id', '=', id)
    .execute();
}
