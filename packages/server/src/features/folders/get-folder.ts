import type { Folder } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { openProject, requireScope } from '../projects/open-project.ts';
import { toFolderView } from './folder-view.ts';

/**
 * One folder by its id alone. A folder of a project that the caller cannot reach is answered as one that is not there.
 * @throws Problem scope_missing, folder_not_found
 */
export async function getFolder(deps: Deps, caller: Caller, folderId: string): Promise<z.output<typeof Folder>> {
  requireScope(caller, 'files:read');
  const row = await deps.db.kysely.selectFrom('folders').selectAll().where('id', '=', folderId).executeTakeFirst();
  if (!row) throw new Problem('folder_not_found');
  await openProject(deps, caller, row.project_id, 'files:read').catch((error: unknown) => {
    throw error instanceof Problem && error.status < 500 ? new Problem('folder_not_found') : error;
  });
  return toFolderView(row);
}
