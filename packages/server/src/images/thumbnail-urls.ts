import type { LRUCache } from 'lru-cache';
import { createBoundedCache } from '../bounded-cache.ts';

/** Signed URLs by project, size, time of signing and file. */
export type ThumbnailUrls = LRUCache<string, string>;

/** For 200 pages of 100: a URL takes about 400 bytes. */
const mostUrls = 20_000;

export function createThumbnailUrls(): ThumbnailUrls {
  return createBoundedCache(mostUrls);
}
