import type { Folder, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { toFolderView } from '../../views/folder-view.ts';
import { openFolder } from './open-folder.ts';

/** One folder by its id alone. */
export async function getFolder(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { id: folderId }: Input<'getFolder'>,
): Promise<z.output<typeof Folder>> {
  const { project, folder } = await openFolder(deps, caller, folderId, 'files:read');
  // A key tied to a folder cannot see the folder's parent.
  return toFolderView(folderId === project.within ? { ...folder, parent_id: null } : folder);
}
