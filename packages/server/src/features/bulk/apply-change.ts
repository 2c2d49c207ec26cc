import type { BulkCounts } from '@cadiz/contract';
import { sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { openDay } from '../../limits/open-day.ts';
import { countContents } from '../../tree/count-contents.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import type { LockedTree } from '../../tree/lock-tree.ts';
import { requirePlace } from '../../tree/require-place.ts';
import { restoreFiles } from '../../tree/restore-files.ts';
import { restoreTree } from '../../tree/restore-tree.ts';
import { type TrashStamp, toTrashStamp, toTrashStart } from '../../tree/retention.ts';
import { selectTree } from '../../tree/select-tree.ts';
import { trashFolders } from '../../tree/trash-folders.ts';
import { type Chosen, requireDeleted, requireInSight } from './require-chosen.ts';

export type Affected = z.output<typeof BulkCounts>;

/** What is done with many files and folders, in a project that was opened for it. */
export type Change =
  | { action: 'delete'; project: OpenProject<'files:delete'> }
  | { action: 'restore'; project: OpenProject<'files:write'> }
  | { action: 'move'; project: OpenProject<'files:write'>; targetId: string | null };

/** The right that a change takes. */
export const rightOf = { move: 'files:write', restore: 'files:write', delete: 'files:delete' } as const;

/**
 * Does it with all of these files and folders. Valid only under the tree lock. The counts include everything affected:
 * folders with all their contents, each file and folder once.
 * @throws Problem file_not_found, folder_not_found (with an issue for each of the ids); folder_exists, folder_cycle,
 *   folder_too_deep; external_id_taken
 */
export async function applyChange(
  deps: Pick<Deps, 'config' | 'now'>,
  trx: Transaction<Schema>,
  change: Change,
  { trashEmptiedAt }: LockedTree,
  by: Caller,
  chosen: Chosen,
): Promise<Affected> {
  const at = new Date(deps.now());
  if (change.action === 'move') return move(trx, change.project, chosen, change.targetId, at);
  await openDay(trx, change.project.id, deps.now());
  if (change.action === 'delete') return remove(trx, change.project, chosen, toTrashStamp(deps, by, trashEmptiedAt));
  return restore(trx, change.project, chosen, toTrashStart(deps, trashEmptiedAt), at);
}

async function move(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  chosen: Chosen,
  folderId: string | null,
  at: Date,
): Promise<Affected> {
  const folders = await requireInSight(trx, project, chosen);
  await requireTarget(trx, project, folderId, folders);
  const counts = await countInSight(trx, project, chosen);
  await sql`
    update folders set parent_id = ${folderId}, updated_at = ${at}
    where project_id = ${project.id} and id = any(${chosen.folderIds}::uuid[])`.execute(trx);
  await sql`
    update files set folder_id = ${folderId}, updated_at = ${at}
    where project_id = ${project.id} and id = any(${chosen.fileIds}::uuid[])`.execute(trx);
  return counts;
}

/** @throws Problem folder_not_found, folder_exists, folder_cycle, folder_too_deep */
export async function requireTarget(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  folderId: string | null,
  folders: readonly { id: string; name: string; name_key: string }[],
): Promise<void> {
  if (folderId !== null || project.within !== null) await requireLiveFolder(trx, project, folderId);
  const placed = folders.map(({ id, name, name_key }) => ({ id, name, nameKey: name_key }));
  if (placed.length > 0) await requirePlace(trx, project, folderId, placed);
}

async function remove(
  trx: Transaction<Schema>,
  project: OpenProject<'files:delete'>,
  chosen: Chosen,
  stamp: TrashStamp,
): Promise<Affected> {
  await requireInSight(trx, project, chosen);
  const counts = await countInSight(trx, project, chosen);
  await trashFolders(trx, project, chosen.folderIds, stamp);
  // A file in one of these folders is deleted and restored with it.
  await sql`
    update files set trash_id = id, trashed_at = ${stamp.trashed_at},
                     trashed_by_user = ${stamp.trashed_by_user}::uuid, trashed_by_key = ${stamp.trashed_by_key}::uuid
    where project_id = ${project.id} and id = any(${chosen.fileIds}::uuid[])
      and ${whereInSight}`.execute(trx);
  return counts;
}

function countInSight(
  trx: Transaction<Schema>,
  project: OpenProject,
  { fileIds, folderIds }: Chosen,
): Promise<Affected> {
  return countContents(trx, project, selectTree(project, folderIds), sql<boolean>`id = any(${fileIds}::uuid[])`);
}

async function restore(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  chosen: Chosen,
  after: Date,
  at: Date,
): Promise<Affected> {
  const entries = await requireDeleted(trx, project, chosen, after);
  const folders = sql`
    select id from folders where project_id = ${project.id} and trash_id = any(${chosen.folderIds}::uuid[])`;
  const loose = sql<boolean>`id = any(${chosen.fileIds}::uuid[])`;
  const counts = await countContents(trx, project, folders, loose);
  const restored: NonNullable<Affected['restored']> = [];
  for (const entry of entries) {
    const { restored: how } = await restoreTree(trx, project, entry, at);
    if (how.movedToRoot || how.renamedFrom !== null) restored.push({ id: entry.id, ...how });
  }
  const files = await restoreFiles(trx, project, chosen.fileIds, after, at);
  for (const { id, moved_to_root } of files) {
    if (moved_to_root) restored.push({ id, movedToRoot: true, renamedFrom: null });
  }
  return { ...counts, restored };
}
