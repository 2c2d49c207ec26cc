import type { Role } from '@cadiz/contract';
import type { FoundCache } from './found-cache.ts';

/** What finding out who may do what looks up, and remembers for a moment. */
export interface Access {
  /** The role that a user has in a project. */
  roles: FoundCache<Role>;
  /** Which folders exist. */
  folders: FoundCache<true>;
  /** Which folders lie in which. */
  subtrees: FoundCache<true>;
}
