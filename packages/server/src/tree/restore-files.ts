import { type SqlBool, sql, type Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { imageOfFile } from '../images/image-view.ts';
import type { FileRow } from '../views/file-view.ts';
import { reclaimExternalIds } from './external-ids.ts';

/**
 * Restores deleted files, each to its folder, or to the root if that folder is gone (for a key tied to a folder: to
 * that folder). Valid only under the tree lock.
 * @param after restores only files deleted after this
 * @returns the restored files
 * @throws Problem external_id_taken
 */
export async function restoreFiles(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  fileIds: string[],
  after: Date,
  at: Date,
): Promise<(FileRow & { moved_to_root: boolean })[]> {
  const { rows } = await sql<FileRow & { moved_to_root: boolean }>`
    with entries as (
      select files.id, files.folder_id is not null and folders.id is null as moved_to_root
      from files left join folders
        on folders.project_id = files.project_id and folders.id = files.folder_id and folders.trash_id is null
      where files.project_id = ${project.id} and files.id = any(${fileIds}::uuid[])
        and files.trash_id = files.id and files.trashed_at > ${after}
    )
    update files
    set trash_id = null, trashed_at = null, trashed_by_user = null, trashed_by_key = null, replaced_by = null,
        updated_at = ${at},
        folder_id = case when moved_to_root then ${project.within}::uuid else folder_id end
    from entries
    where files.project_id = ${project.id} and files.id = entries.id
    returning files.*, ${imageOfFile} as image, moved_to_root`.execute(trx);
  const ids = rows.map(({ id }) => id);
  await reclaimExternalIds(trx, project.id, sql<SqlBool>`id = any(${ids}::uuid[])`);
  return rows;
}
