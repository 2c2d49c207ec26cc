import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import type { Database } from '../db/open.ts';

/** How long a count is kept at most: no window of a limiter, and no block, is longer. */
const longestMilliseconds = 24 * 3600_000;

export interface Limit {
  points: number;
  /** Seconds. */
  duration: number;
}

/** Counts in the table `sign_in_limits` for all processes together, or in memory if there is only one process. */
export function createSharedLimiter(
  { kind, pool }: Pick<Database, 'kind' | 'pool'>,
  keyPrefix: string,
  limit: Limit,
): RateLimiterAbstract {
  if (kind === 'embedded') return new RateLimiterMemory({ keyPrefix, ...limit });
  return new RateLimiterPostgres({
    keyPrefix,
    ...limit,
    storeClient: pool,
    storeType: 'pool',
    tableName: 'sign_in_limits',
    tableCreated: true,
    // The limiter of accounts cleans up this table for all limiters.
    clearExpiredByTimeout: keyPrefix === 'account',
  });
}

/** Counts one. @returns what the limiter refuses it with if the limit is exceeded; undefined otherwise */
export async function count(
  limiter: Pick<RateLimiterAbstract, 'consume'>,
  key: string,
): Promise<RateLimiterRes | undefined> {
  try {
    await limiter.consume(key);
    return undefined;
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}

/**
 * Forgets counts that end later than they can: they were begun by a clock that was wrong, and would add up until then. The
 * limiters go by the clock of their process.
 */
export async function endImpossibleCounts({
  db,
  now,
}: {
  db: Pick<Database, 'pool'>;
  now: () => number;
}): Promise<void> {
  await db.pool.query('delete from sign_in_limits where expire > $1', [now() + longestMilliseconds]);
}
