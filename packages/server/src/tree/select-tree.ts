import { type RawBuilder, sql } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';

/**
 * The folders in each folder of `tree`, as `child`, for the recursive half of a query. A planner without statistics, as the
 * embedded database has, takes every index for as good as another: it would read all folders of the project for each one.
 * `offset 0` makes it look up one parent after the other, and `num_nulls` keeps it from the indexes of what is not in the trash.
 */
export function joinChildren(project: OpenProject): RawBuilder<unknown> {
  return sql`cross join lateral (
    select id from folders
    where project_id = ${project.id} and parent_id = tree.id and num_nulls(trash_id) = 1 offset 0
  ) child`;
}

/** The ids of these folders and of all that lie in them, none of them in the trash, for a recursive `tree`. */
export function selectTree(project: OpenProject, folderIds: string[]): RawBuilder<unknown> {
  return sql`
    select id from folders
    where project_id = ${project.id} and id = any(${folderIds}::uuid[]) and num_nulls(trash_id) = 1
    union
    select child.id from tree ${joinChildren(project)}`;
}
