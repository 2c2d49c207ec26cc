import type { Folder } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller, Deps } from '../../deps.ts';
import { toFolderView } from './folder-view.ts';
import { openFolder } from './open-folder.ts';

/** One folder by its id alone. @throws Problem scope_missing, folder_not_found */
export async function getFolder(deps: Deps, caller: Caller, folderId: string): Promise<z.output<typeof Folder>> {
  const { folder } = await openFolder(deps, caller, folderId, 'files:read');
  return toFolderView(folder);
}
