import type { ImageMaker } from '@cadiz/images';
import { LRUCache } from 'lru-cache';

const firstWaitSeconds = 30;
const longestWaitSeconds = 3600;

/** Files that took too long to make an image of, or to look at: each is tried again later, and later each time. */
export interface SlowFiles {
  /** @returns for how many seconds the file is left alone; 0 if it may be tried now */
  waitSeconds(fileId: string, now: number): number;
  /** @param now Unix milliseconds */
  note(fileId: string, now: number): void;
  forget(fileId: string): void;
}

/** By what is the same within each trace, where the maker is another object. */
const ofMakers = new WeakMap<ImageMaker['support'], SlowFiles>();

/** The slow files of one image maker. */
export function slowFilesOf({ support }: ImageMaker): SlowFiles {
  const known = ofMakers.get(support) ?? createSlowFiles();
  ofMakers.set(support, known);
  return known;
}

/** Known to one process only, and for a while: a busy machine must not refuse an image for good. */
function createSlowFiles(): SlowFiles {
  const known = new LRUCache<string, { seconds: number; at: number }>({ max: 1000 });
  return {
    waitSeconds(fileId, now) {
      const { seconds, at } = known.get(fileId) ?? { seconds: 0, at: 0 };
      // Noted later than now: the clock has been set back.
      return at > now ? 0 : Math.max(0, Math.ceil(seconds - (now - at) / 1000));
    },
    note(fileId, now) {
      const before = known.get(fileId)?.seconds;
      const seconds = before === undefined ? firstWaitSeconds : Math.min(2 * before, longestWaitSeconds);
      known.set(fileId, { seconds, at: now });
    },
    forget: (fileId) => known.delete(fileId),
  };
}
