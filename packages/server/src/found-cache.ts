import { LRUCache } from 'lru-cache';

/** So long may what has gone meanwhile still be believed in, such as a membership. */
export const foundCacheMilliseconds = 10_000;

/** Whether something of a project is there: only what was found is remembered, so what is new counts at once. */
export interface FoundCache {
  find(projectId: string, id: string): Promise<boolean> | boolean;
  /** Forgets what was found of a project, since some of it has gone. */
  forgetProject(projectId: string): void;
  forgetAll(): void;
}

/** @param ask looks whether it is there, every time that this is not known */
export function createFoundCache(
  ask: (projectId: string, id: string) => Promise<boolean>,
  now: () => number,
): FoundCache {
  const known = new LRUCache<string, number>({ max: 100_000 });
  let removals = 0;
  const askAndRemember = async (projectId: string, id: string): Promise<boolean> => {
    const removalsBefore = removals;
    const found = await ask(projectId, id);
    // What went away while this query ran must not come to life again in the cache.
    if (found && removals === removalsBefore) known.set(projectId + id, now() + foundCacheMilliseconds);
    return found;
  };
  return {
    find: (projectId, id) => {
      const until = known.get(projectId + id);
      return until !== undefined && until > now() ? true : askAndRemember(projectId, id);
    },
    forgetProject: (projectId) => {
      removals += 1;
      for (const key of known.keys()) if (key.startsWith(projectId)) known.delete(key);
    },
    forgetAll: () => {
      removals += 1;
      known.clear();
    },
  };
}
