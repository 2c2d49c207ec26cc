/**
 * A query for how many files of the project $1 are out of sight, and their bytes: files in the trash or in quarantine,
 * and files in folders in the trash.
 * @param until SQL for a time: counts only what went out of sight before it
 */
export function trashedSql(until?: string): string {
  const before = (column: string) => (until === undefined ? '' : `and ${column} < ${until}`);
  return `
    select count(*) as files, coalesce(sum(file_size), 0) as bytes from (
      select file_size from files where project_id = $1 and trash_id is not null ${before('trashed_at')}
      union all
      select file_size from folders
      join files on files.project_id = $1 and files.folder_id = folders.id and files.trash_id is null
      where folders.project_id = $1 and folders.trash_id is not null ${before('folders.trashed_at')}
    ) out_of_sight`;
}
