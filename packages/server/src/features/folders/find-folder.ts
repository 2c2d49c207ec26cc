import type { Folder, Input } from '@cadiz/contract';
import { type Selectable, sql } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { toFolderView } from '../../views/folder-view.ts';

/** The folder at a path: from the root of the project, or from the folder that the caller's key is tied to. */
export async function findFolder(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { projectId, path }: Input<'findFolder'>,
): Promise<z.output<typeof Folder>> {
  const project = await openProject(deps, caller, projectId, 'files:read');
  const keys = path.map(toNameKey);
  const inParent = project.within === null ? sql`parent_id is null` : sql`parent_id = ${project.within}`;
  const { rows } = await sql<Selectable<Schema['folders']>>`
    with recursive walk as (
      select id, 1 as level from folders
      where project_id = ${project.id} and ${inParent} and name_key = ${keys[0]} and trash_id is null
      union all
      select down.id, level + 1 from walk cross join lateral (
        select id from folders
        where project_id = ${project.id} and parent_id = walk.id and name_key = (${keys}::text[])[level + 1]
          and trash_id is null
        offset 0
      ) down
    )
    select folders.* from walk join folders on project_id = ${project.id} and folders.id = walk.id
    where level = ${keys.length}`.execute(deps.db.kysely);
  const [row] = rows;
  if (!row) throw new Problem('folder_not_found');
  return toFolderView(row);
}
