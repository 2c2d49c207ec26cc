import type { CreateFolderRequest, Folder } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toNameKey } from '../name-key.ts';
import { openProject } from '../projects/open-project.ts';
import { toFolderView } from './folder-view.ts';
import { requireFolder } from './require-folder.ts';

/**
 * Makes a folder. Names of siblings are unique, upper and lower case and composed and decomposed letters alike.
 * @throws Problem project_not_found, project_not_allowed, scope_missing, folder_not_found (parent), folder_exists
 */
export async function createFolder(
  deps: Deps,
  caller: Caller,
  { projectId, name, parentId }: z.output<typeof CreateFolderRequest>,
): Promise<z.output<typeof Folder>> {
  const project = await openProject(deps, caller, projectId, 'files:write');
  await requireFolder(deps, project, parentId);
  const at = new Date(deps.now());
  const row = await deps.db.kysely
    .insertInto('folders')
    .values({
      project_id: project.id,
      id: uuidv7(),
      parent_id: parentId,
      name,
      name_key: toNameKey(name),
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!row) throw new Problem('folder_exists', `There is already a folder "${name}" here.`);
  return toFolderView(row);
}
