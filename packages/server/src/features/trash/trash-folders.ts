import { sql, type Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { OpenProject } from '../projects/open-project.ts';
import type { TrashStamp } from './retention.ts';

/**
 * Marks folders and all that lie in them, in one statement. A folder that lies in another of them goes with that one.
 * What is in the trash already stays the entry that it is. Right only under the lock of the tree.
 */
export async function trashFolders(
  trx: Transaction<Schema>,
  project: OpenProject,
  folderIds: string[],
  stamp: TrashStamp,
): Promise<void> {
  await sql`
    with recursive tree as (
      select id, id as entry from folders
      where project_id = ${project.id} and id = any(${folderIds}::uuid[]) and trash_id is null
      union all
      select child.id, tree.entry from tree
      join folders child on child.project_id = ${project.id} and child.parent_id = tree.id and child.trash_id is null
    ), within_another as (
      select id from tree where id <> entry and id = any(${folderIds}::uuid[])
    )
    update folders
    set trash_id = tree.entry, trashed_at = ${stamp.trashed_at},
        trashed_by_user = ${stamp.trashed_by_user}::uuid, trashed_by_key = ${stamp.trashed_by_key}::uuid
    from tree
    where folders.project_id = ${project.id} and folders.id = tree.id
      and tree.entry not in (select id from within_another)`.execute(trx);
}
