import { createBoundedCache } from '../bounded-cache.ts';
import { createForgetting } from './forgetting.ts';

/** How long a cached fact may outlive the fact itself, such as a membership. */
export const foundCacheMilliseconds = 10_000;

/**
 * Whether something found at `foundAt` may still be trusted (Unix milliseconds). A clock set back makes it older, not
 * newer.
 */
export function isFresh(foundAt: number, now: number, milliseconds = foundCacheMilliseconds): boolean {
  return foundAt <= now && now - foundAt < milliseconds;
}

/** From then on, what is used is looked up again meanwhile, so that nobody waits for it, and an outage finds it fresh. */
const renewalMilliseconds = foundCacheMilliseconds / 2;

/** When something cached was last looked up, with success or without (Unix milliseconds). */
export interface Renewable {
  askedAt: number;
}

/** Looks up something fresh again if it is due, once at a time. If that fails, the next one to find it expired is told. */
export function renew(cached: Renewable, now: number, ask: () => Promise<unknown>): void {
  if (isFresh(cached.askedAt, now, renewalMilliseconds)) return;
  cached.askedAt = now;
  ask().catch(() => undefined);
}

/** Things that exist in a project. Only hits are cached, so anything new counts at once. */
export interface FoundCache<T extends NonNullable<unknown>> {
  /** The value, as a promise only if it has to be queried; undefined if there is none. */
  find(projectId: string, id: string): Promise<T | undefined> | T | undefined;
  /**
   * Forgets everything found in a project, because some of it is gone or changed; takes the same time however much that
   * is.
   */
  forgetProject(projectId: string): void;
  forgetAll(): void;
}

const maxEntries = 100_000;

/** @param ask queries a value that is not cached */
export function createFoundCache<T extends NonNullable<unknown>>(
  ask: (projectId: string, id: string) => Promise<T | undefined>,
  now: () => number,
): FoundCache<T> {
  const known = createBoundedCache<Renewable & { value: T; foundAt: number; moment: number }>(maxEntries);
  const forgetting = createForgetting(() => known.clear());

  const askAndRemember = async (projectId: string, id: string): Promise<T | undefined> => {
    const moment = forgetting.moment();
    const value = await ask(projectId, id);
    if (value === undefined) {
      known.delete(projectId + id);
    } else if (!forgetting.isForgotten(moment, projectId)) {
      // A value that disappeared while this query ran must not be cached.
      const foundAt = now();
      known.set(projectId + id, { value, foundAt, askedAt: foundAt, moment });
    }
    return value;
  };

  return {
    find: (projectId, id) => {
      const hit = known.get(projectId + id);
      const at = now();
      if (hit === undefined || !isFresh(hit.foundAt, at) || forgetting.isForgotten(hit.moment, projectId))
        return askAndRemember(projectId, id);
      renew(hit, at, () => askAndRemember(projectId, id));
      return hit.value;
    },
    forgetProject: forgetting.forget,
    forgetAll: forgetting.forgetAll,
  };
}
