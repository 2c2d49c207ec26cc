import { sql } from 'kysely';

// What is in sight. A row is marked by `trash_id`: with its own id or that of a folder it lay in when somebody deleted it, or with a
// quarantine's. A folder is in sight when it is not marked, since a deleted folder marks every folder in it. Files in a folder are not marked
// with it, so a file is in sight when neither it nor its folder is marked. All queries take one of these.

/** Of a row of `files`, whether it and its folder are unmarked. */
export const fileInSight = `files.trash_id is null and not exists (
  select 1 from folders
  where folders.project_id = files.project_id and folders.id = files.folder_id and folders.trash_id is not null
)`;

/** `fileInSight` for Kysely. For queries on `files` alone. */
export const whereInSight = sql.raw<boolean>(fileInSight);

/**
 * Of an unmarked row of `files` in the project `:projectId`, whether its folder is unmarked too. Asked row by row, so that the plan
 * depends on nothing; a project without a folder in the trash is not asked at all.
 */
export const folderInSight = `(
  folder_id is null
  or not (select exists (select from folders where project_id = :projectId and trash_id is not null))
  or (select trash_id from folders where project_id = :projectId and folders.id = folder_id) is null
)`;

/**
 * Whether a row is unmarked, said in a way that no index of unmarked rows fits. A planner without statistics, as the embedded
 * database has, takes every index for as good as another; so it has to take that of the parent.
 */
export const unmarkedByParent = 'num_nulls(trash_id) = 1';

/** `unmarkedByParent` for Kysely. */
export const whereUnmarkedByParent = sql.raw<boolean>(unmarkedByParent);
