import type { Scope } from '@cadiz/contract';
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Caller } from '../access/caller.ts';
import { isWithin } from '../access/is-within.ts';
import { type OpenProject, openProjectOf, type ReachedProject, requireScope } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { type ImageView, imageOfFile } from '../images/image-view.ts';
import { Problem, settle } from '../problem.ts';
import { whereInSight } from './in-sight.ts';

/** A file's row, with what is known of it as an image. */
export type OpenedFile = Selectable<Schema['files']> & { image: ImageView | null };

/**
 * A file by its id alone, with its project. A file that is absent, in the trash (itself or its folder) or out of the
 * caller's reach gets the same answer.
 * @throws Problem scope_missing, file_not_found
 */
export async function openFile<R extends Scope>(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  fileId: string,
  scope: R,
): Promise<{ project: OpenProject<R>; file: OpenedFile }> {
  requireScope(caller, scope);
  const file = await deps.db.kysely
    .selectFrom('files')
    .selectAll()
    .select(imageOfFile.as('image'))
    .where('id', '=', fileId)
    .where(whereInSight)
    .executeTakeFirst();
  if (!file) throw new Problem('file_not_found');
  const isThere = (project: ReachedProject) => isWithin(deps, project, file.folder_id);
  const project = await openProjectOf(deps, caller, file.project_id, scope, 'file_not_found', isThere);
  return { project, file };
}

/**
 * Files by their ids, of any projects, read with one statement. Those that `openFile` would not find are missing.
 * @throws Problem scope_missing
 */
export async function openFiles(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  fileIds: readonly string[],
  scope: Scope,
): Promise<ReadonlyMap<string, OpenedFile>> {
  requireScope(caller, scope);
  const rows = await deps.db.kysely
    .selectFrom('files')
    .selectAll()
    .select(imageOfFile.as('image'))
    .where(sql<SqlBool>`id = any(${fileIds}::uuid[])`)
    .where(whereInSight)
    .execute();
  // Files of one folder are all reachable or none is.
  const places = new Map(rows.map((file) => [placeOf(file), file]));
  const reachable = new Set<string>();
  for (const [place, file] of places) {
    const isThere = (project: ReachedProject) => isWithin(deps, project, file.folder_id);
    const opened = openProjectOf(deps, caller, file.project_id, scope, 'file_not_found', isThere);
    if (!((await settle(opened)) instanceof Problem)) reachable.add(place);
  }
  return new Map(rows.filter((file) => reachable.has(placeOf(file))).map((file) => [file.id, file]));
}

function placeOf({ project_id, folder_id }: Selectable<Schema['files']>): string {
  return `${project_id}/${folder_id}`;
}
