import type { BulkAnswer, BulkRequest } from '@cadiz/contract';
import { sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { openDay } from '../../limits/open-day.ts';
import { countContents } from '../../tree/count-contents.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { changeTree, type LockedTree } from '../../tree/lock-tree.ts';
import { requirePlace } from '../../tree/require-place.ts';
import { restoreFiles } from '../../tree/restore-files.ts';
import { restoreTree } from '../../tree/restore-tree.ts';
import { type TrashStamp, toTrashStamp, toTrashStart } from '../../tree/retention.ts';
import { selectTree } from '../../tree/select-tree.ts';
import { trashFolders } from '../../tree/trash-folders.ts';
import { type Chosen, requireDeleted, requireInSight } from './require-chosen.ts';

type Answer = z.output<typeof BulkAnswer>;

/**
 * Moves, deletes or restores files and folders: all or none, in one transaction. A dry run does the same and rolls it
 * back. The counts include everything affected: folders with all their contents, each file and folder once.
 */
export async function changeMany(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: Caller,
  request: z.output<typeof BulkRequest>,
): Promise<Answer> {
  const { projectId, action, dryRun } = request;
  const chosen: Chosen = { fileIds: request.fileIds, folderIds: request.folderIds };
  const answer =
    action === 'delete'
      ? await change('files:delete', async (trx, project, { trashEmptiedAt }) => {
          const counts = await remove(trx, project, chosen, toTrashStamp(deps, caller, trashEmptiedAt));
          await record(trx, 'bulk.deleted', counts);
          return counts;
        })
      : await change('files:write', async (trx, project, { trashEmptiedAt }) => {
          const at = new Date(deps.now());
          if (action === 'move') return move(trx, project, chosen, request.folderId ?? null, at);
          const counts = await restore(trx, project, chosen, toTrashStart(deps, trashEmptiedAt), at);
          await record(trx, 'bulk.restored', counts);
          return counts;
        });
  if (chosen.folderIds.length > 0 && !dryRun) await deps.accessChanges.publish({ kind: 'folders', id: projectId });
  return answer;

  async function change<R extends 'files:write' | 'files:delete'>(
    right: R,
    work: (trx: Transaction<Schema>, project: OpenProject<R>, tree: LockedTree) => Promise<Answer>,
  ): Promise<Answer> {
    const project = await openProject(deps, caller, projectId, right);
    return changeTree(deps, project, (trx, tree) => work(trx, project, tree), { dryRun });
  }

  async function record(
    trx: Transaction<Schema>,
    type: 'bulk.deleted' | 'bulk.restored',
    counts: Answer,
  ): Promise<void> {
    await openDay(trx, projectId, deps.now());
    const { files, folders, bytes } = counts;
    await recordEvent(trx, deps.now(), { type, projectId, by: caller, subject: { files, folders, bytes } });
  }
}

async function move(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  chosen: Chosen,
  folderId: string | null,
  at: Date,
): Promise<Answer> {
  const folders = await requireInSight(trx, project, chosen);
  if (folderId !== null || project.within !== null) await requireLiveFolder(trx, project, folderId);
  const placed = folders.map(({ id, name, name_key }) => ({ id, name, nameKey: name_key }));
  if (placed.length > 0) await requirePlace(trx, project, folderId, placed);
  const counts = await countInSight(trx, project, chosen);
  await sql`
    update folders set parent_id = ${folderId}, updated_at = ${at}
    where project_id = ${project.id} and id = any(${chosen.folderIds}::uuid[])`.execute(trx);
  await sql`
    update files set folder_id = ${folderId}, updated_at = ${at}
    where project_id = ${project.id} and id = any(${chosen.fileIds}::uuid[])`.execute(trx);
  return counts;
}

async function remove(
  trx: Transaction<Schema>,
  project: OpenProject<'files:delete'>,
  chosen: Chosen,
  stamp: TrashStamp,
): Promise<Answer> {
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

function countInSight(trx: Transaction<Schema>, project: OpenProject, { fileIds, folderIds }: Chosen): Promise<Answer> {
  return countContents(trx, project, selectTree(project, folderIds), sql<boolean>`id = any(${fileIds}::uuid[])`);
}

async function restore(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  chosen: Chosen,
  after: Date,
  at: Date,
): Promise<Answer> {
  const entries = await requireDeleted(trx, project, chosen, after);
  const folders = sql`
    select id from folders where project_id = ${project.id} and trash_id = any(${chosen.folderIds}::uuid[])`;
  const loose = sql<boolean>`id = any(${chosen.fileIds}::uuid[])`;
  const counts = await countContents(trx, project, folders, loose);
  const restored: NonNullable<Answer['restored']> = [];
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
