import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Database } from '../db/open.ts';
import { toWideBlock, wideBlockFactor } from './address-block.ts';
import { createAdmission, createWindows } from './bounded.ts';

/** Limits what each address may do, by the blocks of `toAddressBlock`, exactly for all processes. */
export interface AddressLimiter {
  /** Counts one. A /64 of IPv6 counts for its /48, too. Throws a RateLimiterRes when it is too much. */
  consume(block: string): Promise<RateLimiterRes>;
  /** Takes one back. */
  reward(block: string): Promise<unknown>;
}

export interface AddressLimit {
  points: number;
  /** Seconds. */
  duration: number;
}

const maxRemembered = 20_000;
/** By each process in an hour, since that is how long a row stays when it is over. */
const maxRows = 20_000;
const hourSeconds = 3600;

/**
 * Counts in the table `sign_in_limits` for all processes together, or in the memory of the only one. Either holds a bounded number of
 * addresses: beyond `rows` new ones in an hour, a process counts the others in its memory.
 */
export function createAddressLimiter(
  db: Pick<Database, 'kind' | 'pool'>,
  keyPrefix: string,
  { points, duration }: AddressLimit,
  rows = maxRows,
): AddressLimiter {
  const narrow = createLimiter(db, keyPrefix, { points, duration });
  const wide = createLimiter(db, `${keyPrefix}-48`, { points: points * wideBlockFactor, duration });
  const admit = createAdmission(rows, hourSeconds);
  const choose = ({ here, shared }: Limiter, block: string) => (shared && admit(block) ? shared : here);

  return {
    async consume(block) {
      const network = toWideBlock(block);
      // First, so that a network that is over its limit makes no more rows.
      if (network !== undefined) await choose(wide, network).consume(network);
      try {
        return await choose(narrow, block).consume(block);
      } catch (refused) {
        // What is refused to one counts for none of its neighbours.
        if (network !== undefined && refused instanceof RateLimiterRes) await choose(wide, network).reward(network);
        throw refused;
      }
    },
    async reward(block) {
      const network = toWideBlock(block);
      if (network !== undefined) await choose(wide, network).reward(network);
      await choose(narrow, block).reward(block);
    },
  };
}

interface Limiter {
  here: AddressLimiter;
  /** Undefined where there is one process alone. */
  shared: AddressLimiter | undefined;
}

function createLimiter(
  { kind, pool }: Pick<Database, 'kind' | 'pool'>,
  keyPrefix: string,
  limit: AddressLimit,
): Limiter {
  const here = createMemoryLimiter(limit);
  if (kind === 'embedded') return { here, shared: undefined };
  const shared = new RateLimiterPostgres({
    keyPrefix,
    ...limit,
    storeClient: pool,
    storeType: 'pool',
    tableName: 'sign_in_limits',
    tableCreated: true,
    // The limiters of accounts tidy the table for all.
    clearExpiredByTimeout: false,
  });
  return { here, shared };
}

/** As `RateLimiterMemory`, which forgets nothing before its time and so has no bound. */
function createMemoryLimiter({ points, duration }: AddressLimit): AddressLimiter {
  const windows = createWindows(maxRemembered, duration);
  return {
    async consume(block) {
      const { used, endsAt } = windows.add(block, 1);
      const result = new RateLimiterRes(Math.max(points - used, 0), endsAt - performance.now(), used);
      if (used > points) throw result;
      return result;
    },
    reward: async (block) => windows.add(block, -1),
  };
}
