import type { BulkAnswer, BulkRequest } from '@cadiz/contract';
import { maxBulkIds } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { changeTree, type LockedTree } from '../../tree/lock-tree.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { toTrashStart } from '../../tree/retention.ts';
import { type Affected, applyChange, type Change } from './apply-change.ts';
import { startOperation } from './operation.ts';
import { recordBulk } from './record-bulk.ts';
import type { Chosen } from './require-chosen.ts';
import { countSelected, requireSelectable, type Selected, takeSelected } from './selection.ts';

type Answer = z.output<typeof BulkAnswer>;
type Request = z.output<typeof BulkRequest>;

/**
 * Moves, deletes or restores files and folders: all or none, in one transaction. A dry run does the same and rolls it
 * back. A selection that is too large for that goes on in the background, and its dry run only counts.
 */
export async function changeMany(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: Caller,
  request: Request,
): Promise<Answer> {
  const { projectId, dryRun } = request;
  const change = await openChange(deps, caller, request);
  let hasFolders = false;
  const answer = await changeTree(
    deps,
    change.project,
    async (trx, tree): Promise<Answer> => {
      const chosen = await choose(deps, trx, change, tree, request);
      if (!('fileIds' in chosen)) {
        if (dryRun) return countSelected(trx, change, chosen);
        return { operation: await startOperation(deps, trx, caller, change, chosen) };
      }
      hasFolders = chosen.folderIds.length > 0;
      const affected = await applyChange(deps, trx, change, tree, caller, chosen);
      const targetId = change.action === 'move' ? change.targetId : null;
      const data = toEventData(affected, chosen, request);
      await recordBulk(trx, deps.now(), { projectId, by: caller, action: change.action, targetId, data });
      return affected;
    },
    { dryRun },
  );
  if (hasFolders && !dryRun) await deps.accessChanges.publish({ kind: 'folders', id: projectId });
  return answer;
}

async function openChange(deps: Pick<Deps, 'access'>, caller: Caller, request: Request): Promise<Change> {
  const { projectId, action, folderId = null } = request;
  if (action === 'delete') return { action, project: await openProject(deps, caller, projectId, 'files:delete') };
  const project = await openProject(deps, caller, projectId, 'files:write');
  return action === 'move' ? { action, project, targetId: folderId } : { action, project };
}

/** The ids: those of the request, or what it selects; the selection itself if that is more than one transaction takes. */
async function choose(
  deps: Pick<Deps, 'config' | 'now'>,
  trx: Transaction<Schema>,
  change: Change,
  { trashEmptiedAt }: LockedTree,
  { select, fileIds, folderIds }: Request,
): Promise<Chosen | Selected> {
  if (!select) return { fileIds, folderIds };
  const selected: Selected = {
    folderId: select.folderId,
    search: select.search === undefined ? null : toNameKey(select.search),
    exceptIds: select.exceptIds,
    after: toTrashStart(deps, trashEmptiedAt),
    until: null,
  };
  await requireSelectable(trx, change, selected);
  return (await takeSelected(trx, change, selected, maxBulkIds)) ?? selected;
}

/** What the event says: what was affected, and what the request asked for. */
function toEventData({ files, folders, bytes }: Affected, { fileIds, folderIds }: Chosen, { select }: Request) {
  return { files, folders, bytes, fileIds: [...fileIds], folderIds: [...folderIds], ...(select && { select }) };
}
