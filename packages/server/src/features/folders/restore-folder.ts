import type { Input, RestoredFolder } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { openProjectOf, type ReachedProject, requireScope } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { openDay } from '../../limits/open-day.ts';
import { Problem } from '../../problem.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { restoreTree } from '../../tree/restore-tree.ts';
import { toTrashStart } from '../../tree/retention.ts';
import { toFolderView } from '../../views/folder-view.ts';

/**
 * Restores a deleted folder with everything deleted with it; a folder that is not in the trash is returned unchanged. A
 * folder that was deleted with another one cannot be restored on its own.
 */
export async function restoreFolder(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: Caller,
  { id: folderId }: Input<'restoreFolder'>,
): Promise<z.output<typeof RestoredFolder>> {
  requireScope(caller, 'files:write');
  const found = await deps.db.kysely
    .selectFrom('folders')
    .select('project_id')
    .where('id', '=', folderId)
    .executeTakeFirst();
  if (!found) throw new Problem('folder_not_found');
  const isThere = (project: ReachedProject) => folderId !== project.within && isWithin(deps, project, folderId);
  const project = await openProjectOf(deps, caller, found.project_id, 'files:write', 'folder_not_found', isThere);
  const { folder, restored } = await changeTree(deps, project, async (trx, { trashEmptiedAt }) => {
    const row = await trx
      .selectFrom('folders')
      .selectAll()
      .where('project_id', '=', project.id)
      .where('id', '=', folderId)
      .executeTakeFirst();
    if (row?.trash_id === null) return { folder: row, restored: { movedToRoot: false, renamedFrom: null } };
    if (!row?.trashed_at || row.trash_id !== row.id || row.trashed_at <= toTrashStart(deps, trashEmptiedAt)) {
      throw new Problem('folder_not_found');
    }
    await openDay(trx, project.id, deps.now());
    const restoring = await restoreTree(trx, project, row, new Date(deps.now()));
    const subject = { folderId, name: row.name };
    const event = { projectId: project.id, by: caller, subject, data: toFolderView(restoring.folder) };
    await recordEvent(trx, deps.now(), { type: 'folder.restored', ...event });
    return restoring;
  });
  if (restored.movedToRoot) await deps.accessChanges.publish({ kind: 'folders', id: project.id });
  return { ...toFolderView(folder), restored };
}
