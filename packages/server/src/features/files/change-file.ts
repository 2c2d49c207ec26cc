import type { Input } from '@cadiz/contract';
import { sql } from 'kysely';
import type { Caller } from '../../access/caller.ts';
import { requireFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { type FileView, toFileView } from '../../tree/file-view.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { openFile } from '../../tree/open-file.ts';

/** Renames a file, moves it, or both. Its object stays where it is. Files in one folder may have the same name. */
export async function changeFile(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { id: fileId, fileName, folderId }: Input<'changeFile'>,
): Promise<FileView> {
  const { project } = await openFile(deps, caller, fileId, 'files:write');
  if (folderId !== undefined) await requireFolder(deps, project, folderId);
  const row = await deps.db.kysely
    .updateTable('files')
    .set({
      ...(fileName === undefined ? {} : { file_name: fileName, name_key: toNameKey(fileName) }),
      ...(folderId === undefined ? {} : { folder_id: folderId }),
      updated_at: new Date(deps.now()),
    })
    .where('project_id', '=', project.id)
    .where('id', '=', fileId)
    .where(whereInSight)
    // The locks make this wait for a project or folder that is being deleted, and then check the folder again.
    .$if(typeof folderId === 'string', (query) =>
      query.where(
        sql<boolean>`exists (
          select 1 from folders
          where project_id = (select id from projects where id = ${project.id} for key share)
            and id = ${folderId} and trash_id is null for key share
        )`,
      ),
    )
    .returningAll()
    .executeTakeFirst();
  if (row) return toFileView(row);
  // Either the file or the folder has disappeared in the meantime.
  await openFile(deps, caller, fileId, 'files:write');
  throw new Problem('folder_not_found');
}
