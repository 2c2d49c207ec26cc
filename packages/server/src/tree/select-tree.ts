import { type RawBuilder, sql } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import { whereUnmarkedByParent } from './in-sight.ts';

/**
 * The subfolders of each folder of `tree`, as `child`, for the recursive half of a query. `offset 0` makes the planner
 * look up one parent after the other; without it, the planner reads all folders of the project for each one.
 */
export function joinChildren(project: OpenProject): RawBuilder<unknown> {
  return sql`cross join lateral (
    select id from folders
    where project_id = ${project.id} and parent_id = tree.id and ${whereUnmarkedByParent} offset 0
  ) child`;
}

/** Selects the ids of these folders and all folders inside them, excluding any in the trash, for a recursive `tree`. */
export function selectTree(project: OpenProject, folderIds: string[]): RawBuilder<unknown> {
  return sql`
    select id from folders
    where project_id = ${project.id} and id = any(${folderIds}::uuid[]) and ${whereUnmarkedByParent}
    union
    select child.id from tree ${joinChildren(project)}`;
}
