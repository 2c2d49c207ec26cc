import { toWideBlock, wideBlockFactor } from './address-block.ts';
import { createAdmission, createWindows, type Window, type Windows } from './bounded.ts';
import type { SharedCounts } from './shared-counts.ts';

/** The separate limits: three kinds of requests of a key or session, and the requests of an IP address without a valid one. */
export type RateLimitPolicy = 'uploads' | 'reads' | 'changes' | 'address' | 'invalid-keys';

/** How many requests one subject may make in a minute. */
export type RateLimitSettings = Record<RateLimitPolicy, number>;

/** What one subject has left. */
export interface Quota {
  policy: RateLimitPolicy;
  limit: number;
  remaining: number;
  /** How long until the full limit is available again. */
  resetSeconds: number;
  isExceeded: boolean;
}

/** Counts requests in memory. Processes that share a database also share their counts, about a second late. */
export interface RateLimits {
  /**
   * Counts one request, for an IPv6 /64 also on its /48; undefined if nothing is limited.
   * @param subject id of the key or session, or the block of the IP address
   * @param requests how many it counts as; several that do not fit together are not counted
   */
  take(policy: RateLimitPolicy, subject: string, requests?: number): Promise<Quota | undefined>;
  /** What `take` would return, without counting. */
  look(policy: RateLimitPolicy, subject: string): Promise<Quota | undefined>;
  /** Exchanges the counts since the last time with the other processes. */
  share(): Promise<void>;
}

export const rateLimitWindowSeconds = 60;

/** The number of keys and sessions is limited by people; IP addresses can be made up by anybody. */
const maxRemembered: Record<RateLimitPolicy, number> = {
  uploads: 100_000,
  reads: 100_000,
  changes: 100_000,
  address: 20_000,
  'invalid-keys': 20_000,
};
/** How many IP addresses each process shares in a minute: each is a row until its minute is over. */
const maxShared = 5_000;

/** @param settings undefined if nothing is limited */
export function createRateLimits(settings: RateLimitSettings | undefined, shared?: SharedCounts): RateLimits {
  if (!settings) return { take: async () => undefined, look: async () => undefined, share: async () => undefined };
  const windowsOf = (policy: RateLimitPolicy) => createWindows(maxRemembered[policy], rateLimitWindowSeconds);
  const windows: Record<RateLimitPolicy, Windows> = {
    uploads: windowsOf('uploads'),
    reads: windowsOf('reads'),
    changes: windowsOf('changes'),
    address: windowsOf('address'),
    'invalid-keys': windowsOf('invalid-keys'),
  };
  const admit = createAdmission(maxShared, rateLimitWindowSeconds);
  /** What this process has counted and the others do not know yet, by the names of `toName`. */
  let untold = new Map<string, number>();

  function count(policy: RateLimitPolicy, subject: string, limit: number, requests: number): Quota {
    const quota = toQuota(policy, limit, windows[policy].add(subject, requests), 0);
    // Only admitted requests count elsewhere, or a client that keeps trying would never be admitted again.
    if (shared && !quota.isExceeded) {
      const name = toName(policy, subject);
      if (!isOfAddresses(policy) || admit(name)) untold.set(name, (untold.get(name) ?? 0) + requests);
    }
    return quota;
  }

  function lookAt(policy: RateLimitPolicy, subject: string, limit: number, requests = 1): Quota {
    return toQuota(policy, limit, windows[policy].get(subject), requests);
  }

  return {
    async take(policy, subject, requests = 1) {
      const limit = settings[policy];
      const wide = toWideBlock(subject);
      if (wide !== undefined) {
        const ofAll = lookAt(policy, wide, limit * wideBlockFactor, requests);
        if (ofAll.isExceeded) return ofAll;
      }
      if (requests > 1) {
        const together = lookAt(policy, subject, limit, requests);
        if (together.isExceeded) return together;
      }
      const quota = count(policy, subject, limit, requests);
      // A refused request must not count against the neighbours.
      if (wide !== undefined && !quota.isExceeded) count(policy, wide, limit * wideBlockFactor, requests);
      return quota;
    },
    async look(policy, subject) {
      const limit = settings[policy];
      const wide = toWideBlock(subject);
      const ofAll = wide === undefined ? undefined : lookAt(policy, wide, limit * wideBlockFactor);
      return ofAll?.isExceeded ? ofAll : lookAt(policy, subject, limit);
    },
    async share() {
      if (!shared || untold.size === 0) return;
      const told = untold;
      // Counts that cannot be shared now are dropped: later, they would count against another minute.
      untold = new Map();
      for (const { name, used, secondsLeft } of await shared.add(told, rateLimitWindowSeconds)) {
        const [policy, subject] = fromName(name);
        windows[policy].set(subject, used + (untold.get(name) ?? 0), secondsLeft);
      }
    },
  };
}

/** @param next the number of requests to judge beyond those already counted */
function toQuota(policy: RateLimitPolicy, limit: number, window: Window | undefined, next: number): Quota {
  const used = window?.used ?? 0;
  const seconds = window ? (window.endsAt - performance.now()) / 1000 : rateLimitWindowSeconds;
  return {
    policy,
    limit,
    remaining: Math.max(limit - used, 0),
    resetSeconds: Math.max(Math.ceil(seconds), 1),
    isExceeded: used + next > limit,
  };
}

function isOfAddresses(policy: RateLimitPolicy): boolean {
  return policy === 'address' || policy === 'invalid-keys';
}

function toName(policy: RateLimitPolicy, subject: string): string {
  return `${policy} ${subject}`;
}

function fromName(name: string): [RateLimitPolicy, string] {
  const space = name.indexOf(' ');
  return [name.slice(0, space) as RateLimitPolicy, name.slice(space + 1)];
}
