import type { Scope } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { type OpenProject, openProjectOf, type ReachedProject, requireScope } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/**
 * A folder by its id alone, with the project that it is in. Absent, in the trash, and where the caller cannot reach it are
 * one and the same answer. A key that is tied to a folder can look at that one, and change only what lies in it.
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
