import type { Scope } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { type OpenProject, openProjectOf, type ReachedProject, requireScope } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/**
 * A folder by its id alone, with its project. A folder that is absent, in the trash or out of the caller's reach gets
 * the same answer. A key tied to a folder can read that folder, but change only its contents.
 * @throws Problem scope_missing, folder_not_found
 */
export async function openFolder<R extends Scope>(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  folderId: string,
  scope: R,
): Promise<{ project: OpenProject<R>; folder: Selectable<Schema['folders']> }> {
  requireScope(caller, scope);
  const folder = await deps.db.kysely
    .selectFrom('folders')
    .selectAll()
    .where('id', '=', folderId)
    .where('trash_id', 'is', null)
    .executeTakeFirst();
  if (!folder) throw new Problem('folder_not_found');
  const isThere = (project: ReachedProject) =>
    folderId === project.within ? scope === 'files:read' : isWithin(deps, project, folderId);
  const project = await openProjectOf(deps, caller, folder.project_id, scope, 'folder_not_found', isThere);
  return { project, folder };
}
