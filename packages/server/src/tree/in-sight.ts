import { sql } from 'kysely';

// Which rows are in sight. `trash_id` marks a row: with its own id, the id of a deleted folder that it was in, or the
// id of a quarantine. A folder is in sight if it is not marked, since deleting a folder marks every folder in it. Files
// are not marked along with their folder, so a file is in sight if neither it nor its folder is marked. A query for
// files takes one of these conditions, unless it reads the files of a folder that it has found unmarked.

/** For a row of `files`: whether it and its folder are unmarked. */
export const fileInSight = `files.trash_id is null and not exists (
  select 1 from folders
  where folders.project_id = files.project_id and folders.id = files.folder_id and folders.trash_id is not null
)`;

/** `fileInSight` for Kysely, for queries on `files` alone. */
export const whereInSight = sql.raw<boolean>(fileInSight);

/**
 * For an unmarked row of `files` in the project `:projectId`: whether its folder is unmarked too. Evaluated row by row,
 * so that the plan does not depend on it, and skipped if the project has no folder in the trash.
 */
export const folderInSight = `(
  folder_id is null
  or not (select exists (select from folders where project_id = :projectId and trash_id is not null))
  or (select trash_id from folders where project_id = :projectId and folders.id = folder_id) is null
)`;

/**
 * Whether a row is unmarked, phrased so that no index of unmarked rows matches. Without statistics, as in the embedded
 * database, the planner considers every index equally good; this leaves it only the index on the parent.
 */
export const unmarkedByParent = 'num_nulls(trash_id) = 1';

/** `unmarkedByParent` for Kysely. */
export const whereUnmarkedByParent = sql.raw<boolean>(unmarkedByParent);
