import type { Input, RestoredFile } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { openProjectOf, type ReachedProject, requireScope } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { imageOfFile } from '../../images/image-view.ts';
import { openDay } from '../../limits/open-day.ts';
import { Problem } from '../../problem.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { restoreFiles } from '../../tree/restore-files.ts';
import { toTrashStart } from '../../tree/retention.ts';
import { toFileView } from '../../views/file-view.ts';

/**
 * Restores a deleted file to its folder, or to the root if the folder is gone; a file that is not in the trash is
 * returned unchanged. A file that was deleted with its folder is restored with it, and not on its own.
 */
export async function restoreFile(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  caller: Caller,
  { id: fileId }: Input<'restoreFile'>,
): Promise<z.output<typeof RestoredFile>> {
  requireScope(caller, 'files:write');
  const found = await deps.db.kysely
    .selectFrom('files')
    .select(['project_id', 'folder_id'])
    .where('id', '=', fileId)
    .executeTakeFirst();
  if (!found) throw new Problem('file_not_found');
  const isThere = (project: ReachedProject) => isWithin(deps, project, found.folder_id);
  const project = await openProjectOf(deps, caller, found.project_id, 'files:write', 'file_not_found', isThere);
  return changeTree(deps, project, async (trx, { trashEmptiedAt }) => {
    // A deletion at the same time does not wait for the tree: between the two looks below, it would hide the file from both.
    await trx
      .selectFrom('files')
      .select('id')
      .where('project_id', '=', project.id)
      .where('id', '=', fileId)
      .forNoKeyUpdate()
      .execute();
    const [file] = await restoreFiles(trx, project, [fileId], toTrashStart(deps, trashEmptiedAt), new Date(deps.now()));
    if (file) {
      await openDay(trx, project.id, deps.now());
      const subject = { fileId, fileName: file.file_name, bytes: file.file_size };
      const data = toFileView(file);
      await recordEvent(trx, deps.now(), { type: 'file.restored', projectId: project.id, by: caller, subject, data });
      return { ...data, restored: { movedToRoot: file.moved_to_root, renamedFrom: null } };
    }
    const there = await trx
      .selectFrom('files')
      .selectAll()
      .select(imageOfFile.as('image'))
      .where('project_id', '=', project.id)
      .where('id', '=', fileId)
      .where(whereInSight)
      .executeTakeFirst();
    if (!there) throw new Problem('file_not_found');
    return { ...toFileView(there), restored: { movedToRoot: false, renamedFrom: null } };
  });
}
