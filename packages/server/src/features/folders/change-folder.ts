import type { Folder, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { toFolderView } from '../../tree/folder-view.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { requireFreeNames, requirePlace } from '../../tree/require-place.ts';
import { openFolder } from './open-folder.ts';

/** Renames a folder, moves it with everything in it, or both: one row changes, however large the tree. */
export async function changeFolder(
  deps: Pick<Deps, 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: Caller,
  { id: folderId, name, parentId }: Input<'changeFolder'>,
): Promise<z.output<typeof Folder>> {
  const { project } = await openFolder(deps, caller, folderId, 'files:write');
  const row = await changeTree(deps, project, async (trx) => {
    const before = await requireLiveFolder(trx, project, folderId);
    const newName = name ?? before.name;
    const newParentId = parentId === undefined ? before.parent_id : parentId;
    const nameKey = toNameKey(newName);
    const requireFit = newParentId === before.parent_id ? requireFreeNames : requirePlace;
    await requireFit(trx, project, newParentId, [{ id: folderId, name: newName, nameKey }]);
    return trx
      .updateTable('folders')
      .set({ name: newName, name_key: nameKey, parent_id: newParentId, updated_at: new Date(deps.now()) })
      .where('project_id', '=', project.id)
      .where('id', '=', folderId)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  if (parentId !== undefined) await deps.accessChanges.publish({ kind: 'folders', id: project.id });
  return toFolderView(row);
}
