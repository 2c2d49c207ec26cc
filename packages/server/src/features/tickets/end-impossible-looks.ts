import { clockToleranceMilliseconds } from '../../clock-tolerance.ts';
import type { Deps } from '../../deps.ts';
import { issueTimeSql } from '../../store/store-key.ts';

/** Looks now at uploads that the service records, and that a clock that was wrong has issued or seen later than now. */
export async function endImpossibleLooks({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  const latest = now() + clockToleranceMilliseconds;
  await db.pool.query(
    `update ticket_reservations set look_at = $1, seen_at = null
     where look_at > $1 and facts is not null and (seen_at > $2 or ${issueTimeSql} > $3)`,
    [new Date(now()), new Date(latest), latest],
  );
}
