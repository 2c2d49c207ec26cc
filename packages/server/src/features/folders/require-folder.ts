import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { accessCacheMilliseconds, type OpenProject } from '../projects/open-project.ts';

/** Which folders exist: only what was found is remembered. The foreign key of `files` has the last word. */
export interface FolderCache {
  find(project: OpenProject, folderId: string): Promise<boolean> | boolean;
}

export function createFolderCache(pool: pg.Pool, now: () => number): FolderCache {
  const known = new LRUCache<string, number>({ max: 100_000 });
  const ask = async (projectId: string, folderId: string): Promise<boolean> => {
    const { rowCount } = await pool.query({
      name: 'folder-exists',
      text: 'select 1 from folders where project_id = $1 and id = $2',
      values: [projectId, folderId],
    });
    if (rowCount === 1) known.set(projectId + folderId, now() + accessCacheMilliseconds);
    return rowCount === 1;
  };
  return {
    find: (project, folderId) => {
      const until = known.get(project.id + folderId);
      return until !== undefined && until > now() ? true : ask(project.id, folderId);
    },
  };
}

/** @throws Problem folder_not_found; null is the root, which always exists */
export async function requireFolder(deps: Deps, project: OpenProject, folderId: string | null): Promise<void> {
  if (folderId === null) return;
  const found = deps.folders.find(project, folderId);
  if (!(found === true || (await found))) throw new Problem('folder_not_found');
}
