import { LRUCache } from 'lru-cache';

/**
 * A cache with a limited number of entries: one more, and the one used longest ago goes. It takes memory as it fills, whereas
 * `max` of lru-cache takes all of it at once (3 MB for 100,000 entries).
 */
export function createBoundedCache<Value extends NonNullable<unknown>>(maxEntries: number): LRUCache<string, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 });
}
