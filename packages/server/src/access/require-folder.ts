import type { Selectable, Transaction } from 'kysely';
import type pg from 'pg';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { createFoundCache, type FoundCache } from './found-cache.ts';
import { isWithin, whereWithin } from './is-within.ts';
import type { OpenProject } from './open-project.ts';

/** Which folders exist and are not in the trash. The statement that writes into a folder has the last word. */
export function createFolderCache(pool: pg.Pool, now: () => number): FoundCache<true> {
  return createFoundCache(async (projectId, folderId) => {
    const { rowCount } = await pool.query({
      name: 'folder-exists',
      text: 'select 1 from folders where project_id = $1 and id = $2 and trash_id is null',
      values: [projectId, folderId],
    });
    return rowCount === 1 ? true : undefined;
  }, now);
}

/**
 * Null is the root, which every caller has except a key tied to a folder. Answers a promise only if it has to look.
 * @throws Problem folder_not_found
 */
export function requireFolder(
  deps: Pick<Deps, 'access'>,
  project: OpenProject,
  folderId: string | null,
): Promise<void> | undefined {
  return folderId === null && project.within === null ? undefined : requireFolderWithin(deps, project, folderId);
}

async function requireFolderWithin(
  deps: Pick<Deps, 'access'>,
  project: OpenProject,
  folderId: string | null,
): Promise<void> {
  const found = folderId !== null && deps.access.folders.find(project.id, folderId);
  if (!(found === true || (await found))) throw new Problem('folder_not_found');
  if (project.within !== null && !(await isWithin(deps, project, folderId))) throw new Problem('folder_not_found');
}

/** The folder as it is now, for a change under the tree lock. @throws Problem folder_not_found */
export async function requireLiveFolder(
  trx: Transaction<Schema>,
  project: OpenProject,
  folderId: string | null,
): Promise<Selectable<Schema['folders']>> {
  const folder = await trx
    .selectFrom('folders')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('id', '=', folderId)
    .where('trash_id', 'is', null)
    .where(whereWithin(project, 'id'))
    .executeTakeFirst();
  if (!folder) throw new Problem('folder_not_found');
  return folder;
}
