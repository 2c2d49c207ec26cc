import type { LRUCache } from 'lru-cache';
import { createBoundedCache } from '../bounded-cache.ts';

/** Signed URLs as fields of a listing's JSON, by project, size, time of signing and file. */
export type ThumbnailFields = LRUCache<string, string>;

/** For 200 pages of 100: a field takes about 420 bytes. */
const mostFields = 20_000;

export function createThumbnailFields(): ThumbnailFields {
  return createBoundedCache(mostFields);
}
