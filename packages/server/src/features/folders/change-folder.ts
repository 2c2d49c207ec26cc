import type { Folder, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Deps } from '../../deps.ts';
import { emit } from '../../events/record-event.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { requireFreeNames, requirePlace } from '../../tree/require-place.ts';
import { toFolderView } from '../../views/folder-view.ts';
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
    const changed = await trx
      .updateTable('folders')
      .set({ name: newName, name_key: nameKey, parent_id: newParentId, updated_at: new Date(deps.now()) })
      .where('project_id', '=', project.id)
      .where('id', '=', folderId)
      .returningAll()
      .executeTakeFirstOrThrow();
    const data = {
      ...toFolderView(changed),
      changed: [
        ...(name === undefined ? [] : ['name' as const]),
        ...(parentId === undefined ? [] : ['parentId' as const]),
      ],
    };
    await emit(trx, deps.now(), { type: 'folder.updated', projectId: project.id, by: caller, data });
    return changed;
  });
  if (parentId !== undefined) await deps.accessChanges.publish({ kind: 'folders', id: project.id });
  return toFolderView(row);
}
