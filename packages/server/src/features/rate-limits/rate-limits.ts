import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { SharedCounts } from './shared-counts.ts';

/** What is counted, each by itself: three kinds of requests of a key or a session, and what an address does without one. */
export type RateLimitPolicy = 'uploads' | 'reads' | 'changes' | 'address' | 'invalid-keys';

/** Requests that one subject may make in a minute. */
export type RateLimitSettings = Record<RateLimitPolicy, number>;

/** What is left to one subject. */
export interface Quota {
  policy: RateLimitPolicy;
  limit: number;
  remaining: number;
  /** Until all of it is there again. */
  resetSeconds: number;
  isExceeded: boolean;
}

/** Counts requests in memory. Where the database is shared, so are the counts, a second late. */
export interface RateLimits {
  /** Counts one request; undefined where nothing is limited. @param subject id of the key or session, or the address */
  take(policy: RateLimitPolicy, subject: string): Promise<Quota | undefined>;
  /** What `take` would say, without counting. */
  look(policy: RateLimitPolicy, subject: string): Promise<Quota | undefined>;
  /** Tells the other processes what was counted here since the last time, and learns what they counted. */
  share(): Promise<void>;
}

export const rateLimitWindowSeconds = 60;

/** @param settings undefined: nothing is limited */
export function createRateLimits(settings: RateLimitSettings | undefined, shared?: SharedCounts): RateLimits {
  if (!settings) return { take: async () => undefined, look: async () => undefined, share: async () => undefined };
  const limiterOf = (policy: RateLimitPolicy) =>
    new RateLimiterMemory({ points: settings[policy], duration: rateLimitWindowSeconds, keyPrefix: policy });
  const limiters: Record<RateLimitPolicy, RateLimiterMemory> = {
    uploads: limiterOf('uploads'),
    reads: limiterOf('reads'),
    changes: limiterOf('changes'),
    address: limiterOf('address'),
    'invalid-keys': limiterOf('invalid-keys'),
  };
  /** What this process counted and the others do not know yet, by the names that `toName` makes. */
  let untold = new Map<string, number>();

  function toQuota(policy: RateLimitPolicy, { consumedPoints, msBeforeNext }: RateLimiterRes, next: 0 | 1): Quota {
    const limit = settings?.[policy] ?? 0;
    const remaining = Math.max(limit - consumedPoints, 0);
    const resetSeconds = Math.max(Math.ceil(msBeforeNext / 1000), 1);
    return { policy, limit, remaining, resetSeconds, isExceeded: consumedPoints + next > limit };
  }

  return {
    take(policy, subject) {
      const count = (result: unknown) => {
        // The library rejects with its result when there is too much.
        if (!(result instanceof RateLimiterRes)) throw result;
        const quota = toQuota(policy, result, 0);
        // Only what was let through counts elsewhere, or a client that goes on asking would never be let in again.
        if (shared && !quota.isExceeded) {
          const name = toName(policy, subject);
          untold.set(name, (untold.get(name) ?? 0) + 1);
        }
        return quota;
      };
      return limiters[policy].consume(subject).then(count, count);
    },
    async look(policy, subject) {
      const result = await limiters[policy].get(subject);
      return toQuota(policy, result ?? new RateLimiterRes(0, rateLimitWindowSeconds * 1000, 0), 1);
    },
    async share() {
      if (!shared || untold.size === 0) return;
      const told = untold;
      // What cannot be told is dropped: told later, it would count against another minute.
      untold = new Map();
      for (const { name, used, secondsLeft } of await shared.add(told, rateLimitWindowSeconds)) {
        const [policy, subject] = fromName(name);
        await limiters[policy].set(subject, used + (untold.get(name) ?? 0), secondsLeft);
      }
    },
  };
}

function toName(policy: RateLimitPolicy, subject: string): string {
  return `${policy} ${subject}`;
}

function fromName(name: string): [RateLimitPolicy, string] {
  const space = name.indexOf(' ');
  return [name.slice(0, space) as RateLimitPolicy, name.slice(space + 1)];
}
