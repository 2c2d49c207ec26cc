import { sql } from 'kysely';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toRestorableUntil, toTrashStart } from '../../tree/retention.ts';
import type { FileRow } from '../../views/file-view.ts';

/**
 * When a recording is repeated, checks that the file is still there, so that nobody takes a deleted file for an
 * uploaded one.
 * @throws Problem file_deleted, file_quarantined, with the file's id
 */
export async function requireThere(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  { project_id: projectId, id: fileId }: FileRow,
): Promise<void> {
  const row = await deps.db.kysely
    .selectFrom('files')
    .innerJoin('projects', 'projects.id', 'files.project_id')
    .leftJoin('folders', (join) =>
      join.onRef('folders.project_id', '=', 'files.project_id').onRef('folders.id', '=', 'files.folder_id'),
    )
    .leftJoin('folders as entry', (join) =>
      join.onRef('entry.project_id', '=', 'folders.project_id').onRef('entry.id', '=', 'folders.trash_id'),
    )
    .select(['files.trash_id', 'entry.id as entry_id', 'projects.trash_emptied_at'])
    .select(sql<Date | null>`case when files.trash_id is null then entry.trashed_at else files.trashed_at end`.as('at'))
    .where('files.project_id', '=', projectId)
    .where('files.id', '=', fileId)
    .executeTakeFirst();
  if (!row) throw new Problem('file_deleted', 'The file was recorded, and has been deleted for good.');
  const extra = { fileId };
  if (row.trash_id !== null && row.trash_id !== fileId) throw new Problem('file_quarantined', undefined, { extra });
  if (row.at === null) return;
  const withFolder = row.trash_id === null ? ' with its folder' : '';
  const restored = row.trash_id === null ? 'comes back when that is restored' : 'can be restored';
  const end =
    row.at > toTrashStart(deps, row.trash_emptied_at)
      ? `and ${restored} until ${toRestorableUntil(deps, row.at)}`
      : 'and can no longer be restored';
  const detail = `The file was recorded. It was deleted${withFolder} at ${row.at.toISOString()}, ${end}.`;
  throw new Problem('file_deleted', detail, { extra });
}
