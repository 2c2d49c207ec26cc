import type { Role } from '@cadiz/contract';
import type { Forgetting } from './forgetting.ts';
import type { FoundCache } from './found-cache.ts';

/** The caches behind access checks. */
export interface Access {
  /** The role of a user in a project. */
  roles: FoundCache<Role>;
  /** The folders that exist. */
  folders: FoundCache<true>;
  /** Which folder is inside which. */
  subtrees: FoundCache<true>;
  /** What was taken away or changed, by the ids of keys, projects and users; without folders. */
  changes: Pick<Forgetting, 'moment' | 'isForgotten'>;
}
