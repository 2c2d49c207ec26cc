import { LRUCache } from 'lru-cache';

/** So long may what has gone meanwhile still be believed in, such as a membership. */
export const foundCacheMilliseconds = 10_000;

/** Whether what was found at a moment may still be believed (Unix milliseconds). A clock that went back makes it older, not younger. */
export function isFresh(foundAt: number, now: number): boolean {
  return foundAt <= now && now - foundAt < foundCacheMilliseconds;
}

/** What there is in a project: only what was found is remembered, so what is new counts at once. */
export interface FoundCache<T extends NonNullable<unknown>> {
  /** What was found, as a promise only when it had to be asked for; undefined when there is nothing. */
  find(projectId: string, id: string): Promise<T | undefined> | T | undefined;
  /** Forgets what was found of a project, since some of it has gone or changed. */
  forgetProject(projectId: string): void;
  forgetAll(): void;
}

/** @param ask looks for it, every time that it is not known */
export function createFoundCache<T extends NonNullable<unknown>>(
  ask: (projectId: string, id: string) => Promise<T | undefined>,
  now: () => number,
): FoundCache<T> {
  const known = new LRUCache<string, { value: T; foundAt: number }>({ max: 100_000 });
  let changes = 0;
  const askAndRemember = async (projectId: string, id: string): Promise<T | undefined> => {
    const changesBefore = changes;
    const value = await ask(projectId, id);
    // What went away while this query ran must not come to life again in the cache.
    if (value !== undefined && changes === changesBefore) {
      known.set(projectId + id, { value, foundAt: now() });
    }
    return value;
  };
  return {
    find: (projectId, id) => {
      const hit = known.get(projectId + id);
      return hit !== undefined && isFresh(hit.foundAt, now()) ? hit.value : askAndRemember(projectId, id);
    },
    forgetProject: (projectId) => {
      changes += 1;
      for (const key of known.keys()) if (key.startsWith(projectId)) known.delete(key);
    },
    forgetAll: () => {
      changes += 1;
      known.clear();
    },
  };
}
