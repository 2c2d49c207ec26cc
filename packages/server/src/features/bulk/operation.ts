import type { ErrorCode, Operation } from '@cadiz/contract';
import type { Selectable, Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { type Caller, toMaker } from '../../access/caller.ts';
import { reopenProjectFor } from '../../access/reopen-project.ts';
import { firstId } from '../../db/ids.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import type { Actor } from '../../events/record-event.ts';
import { Problem, settleRefusal } from '../../problem.ts';
import { changeTree, type LockedTree, lockTree } from '../../tree/lock-tree.ts';
import { toTrashStart } from '../../tree/retention.ts';
import { toBy } from '../../views/created-by.ts';
import { enqueue } from '../../work/enqueue.ts';
import { maxAttempts, type Outcome, type Subject } from '../../work/work.ts';
import { type Affected, applyChange, type Change, rightOf } from './apply-change.ts';
import { recordBulk } from './record-bulk.ts';
import {
  type BatchSizes,
  countEntries,
  requireMovable,
  requireSelectable,
  type Selected,
  takeBatch,
} from './selection.ts';

export type OperationRow = Selectable<Schema['operations']>;
export type OperationView = z.output<typeof Operation>;

/** The kind of work that carries an operation on. The subject is its id. */
export const operationWork = 'operation';

/**
 * How many files or folders one transaction changes, and how many it examines to find them: others wait for the tree no
 * longer than that takes.
 */
const batchSizes: BatchSizes = { changed: 500, examined: 10_000 };
const batchesPerTurn = 20;

/** How long an operation can be looked up after it has ended. */
const keptMilliseconds = 24 * 3600_000;

/**
 * Starts to change a selection in the background. What is added, changed or deleted from now on is left alone.
 * Valid only under the tree lock.
 * @throws Problem for a move that is not possible: see `requireMovable`
 */
export async function startOperation(
  deps: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  caller: Caller,
  change: Change,
  selected: Selected,
): Promise<OperationView> {
  await requireMovable(trx, change, selected);
  const at = new Date(deps.now());
  const row = await trx
    .insertInto('operations')
    .values({
      project_id: change.project.id,
      id: uuidv7({ msecs: at.getTime() }),
      action: change.action,
      folder_id: toStoredPlace(change, selected),
      search: selected.search,
      except_ids: [...selected.exceptIds],
      target_id: change.action === 'move' ? change.targetId : null,
      ...toMaker(caller),
      ip: caller.address ?? null,
      request_id: caller.requestId ?? null,
      created_at: at,
      total: await countEntries(trx, change, { ...selected, until: at }),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await enqueue(trx, operationWork, { projectId: row.project_id, id: row.id });
  return toOperationView(row);
}

type AdvanceDeps = Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>;

/**
 * Carries an operation on, by up to 20 batches; then other projects have their turn.
 * @throws the signal's reason
 */
export async function continueOperation(deps: AdvanceDeps, subject: Subject, signal: AbortSignal): Promise<Outcome> {
  for (let batches = 0; batches < batchesPerTurn; batches += 1) {
    signal.throwIfAborted();
    if (!(await advance(deps, subject))) return undefined;
  }
  return { again: 0 };
}

/** Does one batch. @returns whether there is more to do */
async function advance(deps: AdvanceDeps, subject: Subject): Promise<boolean> {
  const row = await deps.db.kysely
    .selectFrom('operations')
    .selectAll()
    .where('project_id', '=', subject.projectId)
    .where('id', '=', subject.id)
    .executeTakeFirst();
  if (row?.state !== 'running') return false;
  const outcome = await settleRefusal(changeBatch(deps, row));
  if (!(outcome instanceof Problem)) return outcome;
  await fail(deps, row, outcome);
  return false;
}

/**
 * Changes a batch and stores the progress, in one transaction: it can be interrupted anywhere, and may run on many
 * replicas at once.
 * @returns whether there is more to do
 * @throws Problem as whoever started it would get it now
 */
async function changeBatch(deps: AdvanceDeps, { project_id, id, ...started }: OperationRow): Promise<boolean> {
  const { change, caller } = await reopen(deps, { project_id, id, ...started });
  let hasFolders = false;
  const goesOn = await changeTree(deps, change.project, async (trx, tree) => {
    const row = await lockOperation(trx, { project_id, id });
    if (row?.state !== 'running') return false;
    const selected = toSelected(deps, row, tree);
    await requireSelectable(trx, change, selected);
    const { ids, next } = await takeBatch(trx, row.kind, change, selected, row.reached, batchSizes);
    hasFolders = row.kind === 'folders' && ids.length > 0;
    const chosen = row.kind === 'folders' ? { folderIds: ids, fileIds: [] } : { folderIds: [], fileIds: ids };
    const affected = ids.length > 0 ? await applyChange(deps, trx, change, tree, caller, chosen) : nothing;
    const advanced = withProgress(row, affected, ids.length);
    if (next === undefined && row.kind === 'files') {
      await end(deps, trx, { ...advanced, state: 'finished' });
      return false;
    }
    const place = next === undefined ? { kind: 'files' as const, reached: firstId } : { reached: next };
    await save(trx, { ...advanced, ...place });
    return true;
  });
  if (hasFolders) await deps.accessChanges.publish({ kind: 'folders', id: project_id });
  return goesOn;
}

const nothing: Affected = { files: 0, folders: 0, bytes: 0 };

/** Opens the project for whoever started the operation. @throws Problem if they may no longer do it */
async function reopen(deps: AdvanceDeps, row: OperationRow): Promise<{ change: Change; caller: Caller }> {
  const { action, target_id } = row;
  if (action === 'delete') {
    const { project, caller } = await reopenProjectFor(deps, row, row.project_id, rightOf.delete);
    return { change: { action, project }, caller };
  }
  const { project, caller } = await reopenProjectFor(deps, row, row.project_id, rightOf[action]);
  return { change: action === 'move' ? { action, project, targetId: target_id } : { action, project }, caller };
}

/**
 * A place as the column `folder_id` has it: null is the root, and the id of the project stands for the whole of it. To a
 * process of an earlier version that is a folder which does not exist: it fails the operation and changes nothing.
 */
const toStoredPlace = ({ project }: Change, { folderId }: Selected): string | null =>
  folderId === undefined ? project.id : folderId === 'root' ? null : folderId;

/** The place that an operation changes, as in `Selected`. */
export const toPlace = ({
  folder_id,
  project_id,
}: Pick<OperationRow, 'folder_id' | 'project_id'>): Selected['folderId'] =>
  folder_id === project_id ? undefined : (folder_id ?? 'root');

function toSelected(deps: Pick<Deps, 'config' | 'now'>, row: OperationRow, { trashEmptiedAt }: LockedTree): Selected {
  const { search, except_ids: exceptIds, created_at: until } = row;
  return { folderId: toPlace(row), search, exceptIds, after: toTrashStart(deps, trashEmptiedAt), until };
}

function withProgress(row: OperationRow, { files, folders, bytes }: Affected, done: number): OperationRow {
  return {
    ...row,
    done: row.done + done,
    file_count: row.file_count + files,
    folder_count: row.folder_count + folders,
    total_bytes: row.total_bytes + bytes,
  };
}

/** The row as it is now, locked until the transaction ends. */
export function lockOperation(
  trx: Transaction<Schema>,
  { project_id, id }: Pick<OperationRow, 'project_id' | 'id'>,
): Promise<OperationRow | undefined> {
  return trx
    .selectFrom('operations')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

function save(trx: Transaction<Schema>, { project_id, id, ...row }: OperationRow): Promise<OperationRow> {
  return trx
    .updateTable('operations')
    .set(row)
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Why an operation has failed, for everybody who looks at it: the problem itself would talk to whoever started it. */
const lostAccess: Partial<Record<ErrorCode, string>> = {
  invalid_api_key: 'The API key that started this has been revoked or has expired.',
  account_disabled: 'The account that started this has been disabled or deleted.',
  project_not_found: 'Whoever started this can no longer access the project or the folder.',
};

async function fail({ db, now }: Pick<Deps, 'db' | 'now'>, row: OperationRow, problem: Problem): Promise<void> {
  await db.transaction(async (trx) => {
    if (!(await lockTree(trx, row.project_id))) return;
    const current = await lockOperation(trx, row);
    if (current?.state !== 'running') return;
    await end({ now }, trx, {
      ...current,
      state: 'failed',
      problem_code: problem.code,
      problem_detail: lostAccess[problem.code] ?? problem.message,
    });
  });
}

/**
 * Ends an operation, whose event then says what it has done. Valid only under the tree lock.
 * @param row with the state that it ends in
 */
export async function end(
  { now }: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  row: OperationRow,
): Promise<OperationRow> {
  const at = now();
  if (row.done > 0) await recordEnd(trx, at, row);
  return save(trx, { ...row, finished_at: new Date(at), expires_at: new Date(at + keptMilliseconds) });
}

function recordEnd(trx: Transaction<Schema>, at: number, row: OperationRow): Promise<void> {
  const { search, except_ids: exceptIds } = row;
  const folderId = toPlace(row);
  return recordBulk(trx, at, {
    projectId: row.project_id,
    by: toActor(row),
    action: row.action,
    targetId: row.target_id,
    data: {
      files: row.file_count,
      folders: row.folder_count,
      bytes: row.total_bytes,
      fileIds: [],
      folderIds: [],
      operationId: row.id,
      select: { ...(folderId !== undefined && { folderId }), ...(search !== null && { search }), exceptIds },
    },
  });
}

/** Whoever started it, with the request that did. */
function toActor({ created_by_user, created_by_key, ip, request_id }: OperationRow): Actor {
  const from = { address: ip ?? undefined, requestId: request_id ?? undefined };
  if (created_by_key !== null) return { kind: 'apiKey', keyId: created_by_key, ...from };
  return created_by_user === null ? { kind: 'nobody', ...from } : { kind: 'session', userId: created_by_user, ...from };
}

/**
 * When the work of an operation was given up, after too many failed attempts; undefined if it goes on or has ended. What
 * the queue says counts, however the work came to be given up; when it is retried there, the operation runs again.
 */
export async function findGivenUp(
  { db }: Pick<Deps, 'db'>,
  { project_id, id, state }: OperationRow,
): Promise<Date | undefined> {
  if (state !== 'running') return undefined;
  const work = await db.kysely
    .selectFrom('work')
    .select('due_at')
    .where('kind', '=', operationWork)
    .where('project_id', '=', project_id)
    .where('subject', '=', id)
    .where('state', '=', 'dead')
    .executeTakeFirst();
  return work?.due_at;
}

/** @param givenUp when its work was given up */
export function toOperationView(row: OperationRow, givenUp?: Date): OperationView {
  if (givenUp) return { ...toOperationView(row), ...toFailed(row, givenUp) };
  return {
    id: row.id,
    projectId: row.project_id,
    action: row.action,
    state: row.state,
    total: row.total,
    done: row.done,
    files: row.file_count,
    folders: row.folder_count,
    bytes: row.total_bytes,
    problem: row.problem_code === null ? null : { code: row.problem_code, detail: row.problem_detail ?? '' },
    createdBy: toBy(row),
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}

function toFailed({ done, total }: OperationRow, at: Date): Pick<OperationView, 'state' | 'problem' | 'finishedAt'> {
  const detail = `It failed ${maxAttempts} times and was given up: ${done} of ${total} are done and stay done. Send the request again for the rest, or ask the operator to retry the work (npm run queue).`;
  return { state: 'failed', problem: { code: 'internal_error', detail }, finishedAt: at.toISOString() };
}
