import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type pg from 'pg';
import type { Deps } from '../deps.ts';
import { createFoundCache, type FoundCache } from './found-cache.ts';
import type { OpenProject, ReachedProject } from './open-project.ts';

const uuidLength = 36;

/** Which folder is inside which, in the trash or not; keyed by the inner folder's id followed by the outer one's. */
export function createSubtreeCache(pool: pg.Pool, now: () => number): FoundCache<true> {
  return createFoundCache(async (projectId, ids) => {
    const { rowCount } = await pool.query({
      name: 'folder-within',
      text: `
        with recursive path as (
          select id, parent_id from folders where project_id = $1 and id = $2
          union
          select up.id, up.parent_id from path cross join lateral (
            select id, parent_id from folders where project_id = $1 and id = path.parent_id offset 0
          ) up
        )
        select 1 from path where id = $3`,
      values: [projectId, ids.slice(0, uuidLength), ids.slice(uuidLength)],
    });
    return rowCount === 1 ? true : undefined;
  }, now);
}

/**
 * Whether the caller can see the contents of a folder (null: the root): always, unless the key is tied to a folder that
 * this one is not inside. Does not say whether the folder is in the trash.
 */
export async function isWithin(
  { access }: Pick<Deps, 'access'>,
  project: ReachedProject,
  folderId: string | null,
): Promise<boolean> {
  if (project.within === null) return true;
  if (folderId === null) return false;
  return folderId === project.within || (await access.subtrees.find(project.id, folderId + project.within)) === true;
}

/** The same check as a condition on a column of `files` or `folders`, for transactions and for many rows at once. */
export function whereWithin(project: OpenProject, column: string): RawBuilder<SqlBool> {
  if (project.within === null) return sql<SqlBool>`true`;
  return sql<SqlBool>`${sql.ref(column)} in (select folders_within(${project.id}, ${project.within}))`;
}

/** The same for the folders that the caller may change, which excludes the key's own. */
export function whereBelow(project: OpenProject, column: string): RawBuilder<SqlBool> {
  if (project.within === null) return sql<SqlBool>`true`;
  return sql<SqlBool>`(${sql.ref(column)} <> ${project.within} and ${whereWithin(project, column)})`;
}
