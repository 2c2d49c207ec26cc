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

/**
 * Renames a file, moves it, or both. Its object stays where it is. Files side by side may have the same name.
 * @throws Problem scope_missing, file_not_found, folder_not_found (where it should go)
 */
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
    // The locks make it wait for a project or a folder that is being deleted, and look at the folder again.
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
  // One of the two has gone meanwhile.
  await openFile(deps, caller, fileId, 'files:write');
  throw new Problem('folder_not_found');
}
