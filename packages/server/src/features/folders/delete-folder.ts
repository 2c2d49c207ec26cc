import type { Input, Trashed } from '@cadiz/contract';
import { sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { openDay } from '../../limits/open-day.ts';
import { Problem } from '../../problem.ts';
import { countContents } from '../../tree/count-contents.ts';
import { whereUnmarkedByParent } from '../../tree/in-sight.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { toRestorableUntil, toTrashStamp } from '../../tree/retention.ts';
import { selectTree } from '../../tree/select-tree.ts';
import { trashFolders } from '../../tree/trash-folders.ts';
import { toFolderView } from '../../views/folder-view.ts';
import { openFolder } from './open-folder.ts';

/** Moves a folder to the trash with everything in it: its folders are marked, which also takes its files out of sight. */
export async function deleteFolder(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: Caller,
  { id: folderId, recursive }: Input<'deleteFolder'>,
): Promise<z.output<typeof Trashed>> {
  const { project, folder } = await openFolder(deps, caller, folderId, 'files:delete');
  const trashedAt = await changeTree(deps, project, async (trx, { trashEmptiedAt }) => {
    const row = await requireLiveFolder(trx, project, folderId);
    if (recursive !== 'true') await requireEmpty(trx, project, folderId);
    const stamp = toTrashStamp(deps, caller, trashEmptiedAt);
    const counts = await countContents(trx, project, selectTree(project, [folderId]), sql<boolean>`false`);
    await trashFolders(trx, project, [folderId], stamp);
    await openDay(trx, project.id, deps.now());
    const subject = { folderId, name: folder.name, ...counts };
    const event = { projectId: project.id, by: caller, subject, data: { ...toFolderView(row), ...counts } };
    await recordEvent(trx, deps.now(), { type: 'folder.deleted', ...event });
    return stamp.trashed_at;
  });
  await deps.accessChanges.publish({ kind: 'folders', id: project.id });
  return { id: folderId, deleted: true, restorableUntil: toRestorableUntil(deps, trashedAt) };
}

async function requireEmpty(
  trx: Transaction<Schema>,
  project: OpenProject<'files:delete'>,
  folderId: string,
): Promise<void> {
  // Waits for files that are being recorded in it or moved into it now, and makes later ones wait.
  await trx
    .selectFrom('folders')
    .select('id')
    .where('project_id', '=', project.id)
    .where('id', '=', folderId)
    .forUpdate()
    .execute();
  const folder = await trx
    .selectFrom('folders')
    .select('id')
    .where('project_id', '=', project.id)
    .where('parent_id', '=', folderId)
    .where(whereUnmarkedByParent)
    .limit(1)
    .executeTakeFirst();
  const file = await trx
    .selectFrom('files')
    .select('id')
    .where('project_id', '=', project.id)
    .where('folder_id', '=', folderId)
    .where(whereUnmarkedByParent)
    .limit(1)
    .executeTakeFirst();
  if (folder || file) throw new Problem('folder_not_empty');
}
