import type { Role } from '../../queries.ts';

/** Where somebody is, for what can be done from everywhere. */
export interface Here {
  /** Undefined outside of projects. */
  projectId: string | undefined;
  /** The folder that is shown; null for the root, and on other screens. */
  folderId: string | null;
  /** What they may do in the project. */
  role?: Role | undefined;
}
