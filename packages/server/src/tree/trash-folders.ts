import { sql, type Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { whereUnmarkedByParent } from './in-sight.ts';
import type { TrashStamp } from './retention.ts';
import { joinChildren } from './select-tree.ts';

/**
 * Moves folders to the trash with everything inside them, in one statement for each folder. A folder inside another of
 * them goes with that one. Anything already in the trash stays an entry of its own. Valid only under the tree lock.
 */
export async function trashFolders(
  trx: Transaction<Schema>,
  project: OpenProject<'files:delete'>,
  folderIds: string[],
  stamp: TrashStamp,
): Promise<void> {
  const { rows } = await sql<{ entry: string; ids: string[] }>`
    with recursive tree as (
      select id, id as entry from folders
      where project_id = ${project.id} and id = any(${folderIds}::uuid[]) and ${whereUnmarkedByParent}
      union all
      select child.id, tree.entry from tree ${joinChildren(project)}
    )
    select entry, array_agg(id) as ids from tree
    where entry not in (select id from tree where id <> entry and id = any(${folderIds}::uuid[]))
    group by entry`.execute(trx);
  for (const { entry, ids } of rows) {
    await sql`
      update folders
      set trash_id = ${entry}, trashed_at = ${stamp.trashed_at},
          trashed_by_user = ${stamp.trashed_by_user}::uuid, trashed_by_key = ${stamp.trashed_by_key}::uuid
      where project_id = ${project.id} and id = any(${ids}::uuid[])`.execute(trx);
  }
}
