import { createBoundedCache } from '../bounded-cache.ts';

/** What one subject has used of its current window. */
export interface Window {
  used: number;
  /** A time of `performance.now()`, which never goes backwards. */
  endsAt: number;
}

/** Counts by subject, each in a window that starts with its first request. */
export interface Windows {
  /** Undefined if there is no current window. */
  get(subject: string): Window | undefined;
  /** @param count may be negative, to uncount something */
  add(subject: string, count: number): Window;
  set(subject: string, used: number, secondsLeft: number): void;
}

/**
 * Counts at most `max` subjects in memory; beyond that, the one counted longest ago is forgotten. So nobody can fill the memory by
 * making up subjects, as is possible with IPv6 addresses.
 */
export function createWindows(max: number, windowSeconds: number): Windows {
  const windows = createBoundedCache<Window>(max);
  const get = (subject: string) => {
    const window = windows.get(subject);
    return window && window.endsAt > performance.now() ? window : undefined;
  };
  return {
    get,
    add(subject, count) {
      const window = get(subject) ?? { used: 0, endsAt: performance.now() + windowSeconds * 1000 };
      window.used = Math.max(window.used + count, 0);
      windows.set(subject, window);
      return window;
    },
    set(subject, used, secondsLeft) {
      windows.set(subject, { used, endsAt: performance.now() + secondsLeft * 1000 });
    },
  };
}

/**
 * Admits at most `max` different names in each window, each any number of times. This bounds whatever is stored by name, however
 * many names somebody makes up.
 */
export function createAdmission(max: number, windowSeconds: number): (name: string) => boolean {
  const admitted = new Set<string>();
  let endsAt = 0;
  return (name) => {
    if (performance.now() >= endsAt) {
      admitted.clear();
      endsAt = performance.now() + windowSeconds * 1000;
    }
    if (admitted.has(name)) return true;
    if (admitted.size >= max) return false;
    admitted.add(name);
    return true;
  };
}
