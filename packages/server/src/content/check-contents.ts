import type { Selectable, Transaction } from 'kysely';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { emit, theService } from '../events/record-event.ts';
import { imageOfFile } from '../images/image-view.ts';
import type { Mismatch } from '../telemetry/observed.ts';
import { toFileView } from '../views/file-view.ts';
import { enqueue } from '../work/enqueue.ts';
import { deleteDone } from '../work/lease.ts';
import type { Kind, Outcome, Subject, Task } from '../work/work.ts';
import { inspectObject } from './inspect-content.ts';
import { judgeContent } from './judge-content.ts';
import { reportMismatch } from './report-mismatch.ts';
import { verifySha256 } from './verify-sha256.ts';

type CheckDeps = Pick<Deps, 'db' | 'objects' | 'log' | 'onMismatch' | 'now'>;
type FileRow = Selectable<Schema['files']>;

/** The kinds of work that check contents. The subject is the id of a file. */
export const typeCheck = 'content';
export const sha256Check = 'sha256';

/** Few at a time, so that requests do not wait behind them. */
const typesAtOnce = 2;
const typesAhead = 20;

/**
 * The checks of contents, outside of requests: a whole object against its SHA-256, if one was declared and the store has
 * not verified it. Reading an object to its end can take hours, so this is done one object at a time. The other kind,
 * first bytes against the declared type, is part of recording; only versions before that leave it for later.
 */
export function createContentChecks(deps: CheckDeps): Kind[] {
  return [
    {
      name: typeCheck,
      atOnce: typesAtOnce,
      ahead: typesAhead,
      run: (task) => checkType(deps, task),
    },
    {
      name: sha256Check,
      atOnce: 1,
      run: (task, signal) => checkSha256(deps, task, signal),
    },
  ];
}

/**
 * Compares the declared type with the first bytes, and enqueues the check of the SHA-256 if it has yet to be verified.
 */
async function checkType(deps: CheckDeps, task: Task): Promise<Outcome> {
  const row = await findFile(deps, task);
  if (!row) return undefined;
  const isDeclared = row.sha256_state === 'declared';
  if (row.content_check !== 'pending') {
    if (isDeclared) await enqueue(deps.db.kysely, sha256Check, task);
    return undefined;
  }
  const { store_key: storeKey, mime_type: mimeType, file_size: fileSize } = row;
  const object = await inspectObject(deps.objects, { storeKey, mimeType, fileSize });
  const { detected, verdict } = object ?? { detected: null, verdict: judgeContent(mimeType, null, 0) };
  if (verdict === 'mismatch') {
    reportMismatch(deps, 'type', { fileId: row.id, projectId: row.project_id, mimeType, detected });
  }
  const findings = { detected_mime_type: detected, content_check: verdict };
  const mismatch = verdict === 'mismatch' ? 'type' : undefined;
  if (!isDeclared) return finish(deps, task, findings, mismatch);
  await deps.db.transaction(async (trx) => {
    await write(deps, trx, task, findings, mismatch);
    await enqueue(trx, sha256Check, task);
  });
  return undefined;
}

/** Reads the whole object. If the process stops midway, the next one starts from the beginning. */
async function checkSha256(deps: CheckDeps, task: Task, signal: AbortSignal): Promise<Outcome> {
  const row = await findFile(deps, task);
  if (!row?.sha256 || row.sha256_state !== 'declared') return undefined;
  const state = await verifySha256(deps.objects, { ...row, sha256: row.sha256 }, signal);
  if (state === 'mismatch') reportMismatch(deps, 'sha256', { fileId: row.id, projectId: row.project_id });
  return finish(deps, task, { sha256_state: state }, state === 'mismatch' ? 'sha256' : undefined);
}

function findFile({ db }: CheckDeps, { projectId, id }: Subject): Promise<FileRow | undefined> {
  return db.kysely
    .selectFrom('files')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

type Findings = Partial<Pick<FileRow, 'detected_mime_type' | 'content_check' | 'sha256_state'>>;

/** Stores the findings and completes the work, in one transaction. */
async function finish(
  deps: CheckDeps,
  task: Task,
  findings: Findings,
  mismatch: Mismatch | undefined,
): Promise<Outcome> {
  const isDone = await deps.db.transaction(async (trx) => {
    await write(deps, trx, task, findings, mismatch);
    return (await deleteDone(trx, task).executeTakeFirst()) !== undefined;
  });
  return isDone ? 'finished' : undefined;
}

/** Stores the findings, and tells of bytes that are not what was declared. */
async function write(
  { now }: Pick<Deps, 'now'>,
  trx: Transaction<Schema>,
  { projectId, id }: Subject,
  findings: Findings,
  mismatch: Mismatch | undefined,
): Promise<void> {
  const row = await trx
    .updateTable('files')
    .set(findings)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returningAll()
    .returning(imageOfFile.as('image'))
    .executeTakeFirst();
  if (!row || !mismatch) return;
  const data = { ...toFileView(row), mismatch };
  await emit(trx, now(), { type: 'file.content_mismatch', projectId, by: theService, data });
}
