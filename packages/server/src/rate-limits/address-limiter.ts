import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Database } from '../db/open.ts';
import { toWideBlock, wideBlockFactor } from './address-block.ts';
import { createAdmission, createWindows } from './bounded.ts';
import { createSharedLimiter, type Limit } from './shared-limiter.ts';

/** Limits each IP address, by the blocks of `toAddressBlock`, exactly across all processes. */
export interface AddressLimiter {
  /** Counts one attempt, for an IPv6 /64 also on its /48. Throws a RateLimiterRes if the limit is exceeded. */
  consume(block: string): Promise<RateLimiterRes>;
  /** Uncounts one attempt. */
  reward(block: string): Promise<unknown>;
}

const maxRemembered = 20_000;
/** For each process in an hour, since an expired row stays for an hour. */
const maxRows = 20_000;
const hourSeconds = 3600;

/**
 * Counts in the table `sign_in_limits` across all processes, or in memory if there is only one process. Both hold a bounded number
 * of addresses: beyond `rows` new ones in an hour, a process counts further ones in memory.
 */
export function createAddressLimiter(
  db: Pick<Database, 'kind' | 'pool'>,
  keyPrefix: string,
  { points, duration }: Limit,
  rows = maxRows,
): AddressLimiter {
  const narrow = createLimiter(db, keyPrefix, { points, duration });
  const wide = createLimiter(db, `${keyPrefix}-48`, { points: points * wideBlockFactor, duration });
  const admit = createAdmission(rows, hourSeconds);
  const choose = ({ here, shared }: Limiter, block: string) => (shared && admit(block) ? shared : here);

  return {
    async consume(block) {
      const network = toWideBlock(block);
      // Checked first, so that a network over its limit creates no more rows.
      if (network !== undefined) await choose(wide, network).consume(network);
      try {
        return await choose(narrow, block).consume(block);
      } catch (refused) {
        // A refused attempt must not count against the neighbours.
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
  /** Undefined if there is only one process. */
  shared: AddressLimiter | undefined;
}

function createLimiter(db: Pick<Database, 'kind' | 'pool'>, keyPrefix: string, limit: Limit): Limiter {
  const shared = db.kind === 'embedded' ? undefined : createSharedLimiter(db, keyPrefix, limit);
  return { here: createMemoryLimiter(limit), shared };
}

/** A bounded replacement for `RateLimiterMemory`, which never evicts anything early and so has no limit on its size. */
function createMemoryLimiter({ points, duration }: Limit): AddressLimiter {
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
