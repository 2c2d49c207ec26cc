import { LRUCache } from 'lru-cache';

const firstWaitSeconds = 30;
const longestWaitSeconds = 3600;

/** Files of which making an image took too long: each is tried again later, and later each time. */
export interface SlowFiles {
  /** @returns for how many seconds nothing is made of the file; 0 if it may be tried now */
  waitSeconds(fileId: string, now: number): number;
  /** @param now Unix milliseconds */
  note(fileId: string, now: number): void;
  forget(fileId: string): void;
}

/** Known to one process only, and for a while: a busy machine must not refuse an image for good. */
export function createSlowFiles(): SlowFiles {
  const known = new LRUCache<string, { seconds: number; until: number }>({ max: 1000 });
  return {
    waitSeconds: (fileId, now) => Math.max(0, Math.ceil(((known.get(fileId)?.until ?? 0) - now) / 1000)),
    note(fileId, now) {
      const before = known.get(fileId)?.seconds;
      const seconds = before === undefined ? firstWaitSeconds : Math.min(2 * before, longestWaitSeconds);
      known.set(fileId, { seconds, until: now + seconds * 1000 });
    },
    forget: (fileId) => known.delete(fileId),
  };
}
