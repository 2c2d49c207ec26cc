import { type RawBuilder, sql } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import { whereUnmarkedByParent } from './in-sight.ts';

/**
 * The folders in each folder of `tree`, as `child`, for the recursive half of a query. `offset 0` makes the planner look up one parent
 * after the other: it would read all folders of the project for each one otherwise.
 */
export function joinChildren(project: OpenProject): RawBuilder<unknown> {
  return sql`cross join lateral (
    select id from folders
    where project_id = ${project.id} and parent_id = tree.id and ${whereUnmarkedByParent} offset 0
  ) child`;
}

/** The ids of these folders and of all that lie in them, none of them in the trash, for a recursive `tree`. */
export function selectTree(project: OpenProject, folderIds: string[]): RawBuilder<unknown> {
  return sql`
    select id from folders
    where project_id = ${project.id} and id = any(${folderIds}::uuid[]) and ${whereUnmarkedByParent}
    union
    select child.id from tree ${joinChildren(project)}`;
}
