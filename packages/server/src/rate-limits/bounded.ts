import { LRUCache } from 'lru-cache';

/** What one subject has used of the window that runs. */
export interface Window {
  used: number;
  /** By `performance.now()`, which never goes back. */
  endsAt: number;
}

/** Counts by subject, each in a window that begins with its first. */
export interface Windows {
  /** Undefined when none runs. */
  get(subject: string): Window | undefined;
  /** @param count may be negative: what was counted and should not have been */
  add(subject: string, count: number): Window;
  set(subject: string, used: number, secondsLeft: number): void;
}

/**
 * Counts in memory, of at most `max` subjects: beyond, the one that was counted longest ago is forgotten. Whoever can make subjects up, as
 * with IPv6 addresses, cannot fill the memory.
 */
export function createWindows(max: number, windowSeconds: number): Windows {
  const windows = new LRUCache<string, Window>({ max });
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
 * Lets so many different names through in each window, and those again as often as they come: whatever is stored by name
 * has an end, however many names somebody makes up.
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
