import { sql } from 'kysely';

/** A file is there when neither it nor its folder is in the trash. For queries on `files` alone. */
export const whereInSight = sql<boolean>`files.trash_id is null and not exists (
  select 1 from folders
  where folders.project_id = files.project_id and folders.id = files.folder_id and folders.trash_id is not null
)`;
