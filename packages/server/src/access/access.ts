import type { Role } from '@cadiz/contract';
import type { Forgetting } from './forgetting.ts';
import type { FoundCache } from './found-cache.ts';

/** The name under which `changes` has the folders of a project: few callers depend on them. */
export const foldersOf = (projectId: string): string => `folders ${projectId}`;

/** The caches behind access checks. */
export interface Access {
  /** The role of a user in a project. */
  roles: FoundCache<Role>;
  /** The folders that exist. */
  folders: FoundCache<true>;
  /** Which folder is inside which. */
  subtrees: FoundCache<true>;
  /** What was taken away or changed, by the ids of keys, tickets, projects and users; folders by `foldersOf` their project. */
  changes: Pick<Forgetting, 'moment' | 'isForgotten'>;
}
