import type { CreateFolderRequest, Folder } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { emit } from '../../events/record-event.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { requirePlace } from '../../tree/require-place.ts';
import { toFolderView } from '../../views/folder-view.ts';
import { toNewFolder } from './new-folder.ts';

/** Creates a folder. Sibling names are unique, ignoring case and composed versus decomposed letters. */
export async function createFolder(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { projectId, name, parentId }: z.output<typeof CreateFolderRequest>,
): Promise<z.output<typeof Folder>> {
  const project = await openProject(deps, caller, projectId, 'files:write');
  const nameKey = toNameKey(name);
  return changeTree(deps, project, async (trx) => {
    await requirePlace(trx, project, parentId, [{ name, nameKey }]);
    const row = await trx
      .insertInto('folders')
      .values(toNewFolder(caller, project, { parentId, name, nameKey }, new Date(deps.now())))
      .returningAll()
      .executeTakeFirstOrThrow();
    const data = toFolderView(row);
    await emit(trx, deps.now(), { type: 'folder.created', projectId: project.id, by: caller, data });
    return data;
  });
}
