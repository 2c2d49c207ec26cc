import { randomInt } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { sha256Check } from '../../content/check-contents.ts';
import type { Inspected } from '../../content/inspect-content.ts';
import { reportMismatch } from '../../content/report-mismatch.ts';
import { toStatement } from '../../db/statement.ts';
import type { Deps } from '../../deps.ts';
import { lockLimits } from '../../limits/lock-limits.ts';
import { requireWithin, toPatterns } from '../../limits/require-within-limits.ts';
import { usageSlots } from '../../limits/usage-slots.ts';
import { Problem } from '../../problem.ts';
import { type FileRow, type FileView, toFileView } from '../../tree/file-view.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { insertWorkSql } from '../../work/enqueue.ts';
import { findRecorded } from './find-recorded.ts';

/** What is recorded of an upload. The size, the ETag, and what the first bytes show are the object store's. */
export interface Facts extends Inspected {
  storeKey: string;
  fileName: string;
  fileSize: number;
  mimeType: string;
  folderId: string | null;
  etag: string;
  /** In hex, if the client declared one. */
  sha256?: string | undefined;
  /** Whether the store has verified it. */
  sha256State?: 'declared' | 'verified';
  /**
   * When the store key was issued (Unix milliseconds); set only for a single PUT, where it decides whether the key can
   * still be recorded.
   */
  issuedAt?: number;
}

const uploadSql = `upload as (
    select aborted_at from uploads where project_id = (select id from project) and store_key = :storeKey for update
  )`;

const completedSql = `completed as (
    update uploads set completed_at = :at, file_id = :id from inserted
    where uploads.project_id = :projectId and uploads.store_key = :storeKey
  )`;

const queuedSql = `queued as (
    ${insertWorkSql({ kind: ':check::text', projectId: ':projectId', subject: ':id', lease: ':lease', from: 'inserted' })}
  )`;

/**
 * The statement that inserts a file. It inserts nothing if the limits of the project refuse it. `for key share` is the
 * lock that the reference takes anyway; because it is taken here, the limits cannot change between this check and the
 * commit, and a folder that is being deleted because it is empty is checked again when that is done. The project is
 * locked first, as when a project is deleted: the other locks depend on its row, so that they come after it.
 *
 * There are two forms. `unlocked` is for most files: it inserts nothing if the project has a quota, or if the store key
 * belongs to an upload in parts, which has had a row since before its key was known to anybody. `locked` is for a caller
 * that holds the lock of the project; it also completes such an upload. Each part of a statement costs time even if there
 * is nothing for it to do, so work is only mentioned where there is some (decision 0054).
 */
function toInsertSql(form: 'unlocked' | 'locked', hasWork: boolean): string {
  const isLocked = form === 'locked';
  return `
  with project as materialized (
    select id from projects
    where id = :projectId
      ${isLocked ? '' : 'and quota_bytes is null'}
      and (max_file_size_bytes is null or max_file_size_bytes >= :fileSize)
      and (allowed_mime_types is null or allowed_mime_types && :typePatterns::text[])
      and (record_from is null or :issuedAt::timestamptz is null or record_from <= :issuedAt)
    for key share
  ), ${isLocked ? `${uploadSql}, ` : ''}inserted as (
    insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag,
                       created_by_user, created_by_key, created_at, updated_at,
                       detected_mime_type, content_check, sha256, sha256_state)
    select :projectId::uuid, :id::uuid, :storeKey, :fileName, :nameKey, :fileSize::bigint, :mimeType, :folderId::uuid, :etag,
           :createdByUser::uuid, :createdByKey::uuid, :at::timestamptz, :at,
           :detectedMimeType, :contentCheck, :sha256::bytea, :sha256State
    from project
    where (:folderId is null or exists (
        select 1 from folders where project_id = project.id and id = :folderId and trash_id is null for key share))
      and not exists (select 1 from ${isLocked ? 'upload where aborted_at is not null' : 'uploads where project_id = project.id and store_key = :storeKey'})
    on conflict (project_id, store_key) do nothing
    returning file_size
  ), ${isLocked ? `${completedSql}, ` : ''}counted as (
    insert into project_usage (project_id, slot, file_count, total_bytes)
    select :projectId, :slot::smallint, 1, file_size from inserted
    on conflict (project_id, slot) do update
      set file_count = project_usage.file_count + 1, total_bytes = project_usage.total_bytes + excluded.total_bytes
  )${hasWork ? `, ${queuedSql}` : ''}
  select 1 from inserted`;
}

/** By whether they queue work. */
const unlockedSql = { false: toInsertSql('unlocked', false), true: toInsertSql('unlocked', true) };
const lockedSql = { false: toInsertSql('locked', false), true: toInsertSql('locked', true) };

/**
 * The only way to create a file. Undefined if this storeKey is already recorded, if the folder does not exist or is in
 * the trash, or if the key belongs to an aborted upload in parts. The same statement completes an upload in parts,
 * under a lock of its row: of a concurrent abort and recording, only one wins. A single PUT into a project without a quota
 * takes one statement; with a quota, recordings wait for each other, so that together they cannot exceed it (decision 0016). The
 * janitor removes the objects of refused files, after the deadline or as soon as such objects take too much space.
 * @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded, content_mismatch, store_unavailable,
 *   project_not_found, invalid_store_key (the project was full, and unrecorded uploads were removed)
 */
export async function insertFile(
  deps: Pick<Deps, 'db' | 'limits' | 'work' | 'log' | 'onMismatch' | 'now'>,
  caller: Caller,
  project: OpenProject<'files:write'>,
  facts: Facts,
): Promise<FileView | undefined> {
  const limits = await deps.limits.find(project.id);
  // A file that is already recorded is answered, whatever its bytes are.
  if (facts.verdict === 'mismatch' && limits.refusesMismatch) {
    if (await findRecorded(deps.db.kysely, project, facts.storeKey)) return undefined;
    throw contentMismatch(facts);
  }
  const row = toRow(deps, project, facts);
  const check = row.sha256_state === 'declared' ? sha256Check : undefined;
  const lease = check && deps.work.offer(check);
  const values = { ...toValues(caller, facts, row), ...(check && { check, lease: lease ?? null }) };
  const isSinglePut = facts.issuedAt !== undefined;
  const isInserted =
    (isSinglePut && limits.quotaBytes === null && (await insertUnlocked(deps, values))) ||
    (await insertLocked(deps, project, facts, values));
  if (!isInserted) return undefined;
  if (check && lease) {
    deps.work.take({ kind: check, projectId: project.id, id: row.id, lease, attempt: 1, payload: null });
  }
  if (facts.verdict === 'mismatch') {
    const { mimeType, detected } = facts;
    reportMismatch(deps, 'type', { fileId: row.id, projectId: row.project_id, mimeType, detected });
  }
  return toFileView(row);
}

function toRow({ now }: Pick<Deps, 'now'>, project: OpenProject<'files:write'>, facts: Facts): FileRow {
  const at = new Date(now());
  const sha256 = facts.sha256 === undefined ? null : Buffer.from(facts.sha256, 'hex');
  const sha256State = sha256 && (facts.sha256State ?? 'declared');
  return {
    project_id: project.id,
    // The order of ids is the order of recording, to the millisecond that the row says.
    id: uuidv7({ msecs: at.getTime() }),
    store_key: facts.storeKey,
    file_name: facts.fileName,
    file_size: facts.fileSize,
    mime_type: facts.mimeType,
    folder_id: facts.folderId,
    etag: facts.etag,
    detected_mime_type: facts.detected,
    content_check: facts.verdict,
    sha256,
    sha256_state: sha256State,
    created_at: at,
    updated_at: at,
  };
}

function toValues(caller: Caller, facts: Facts, row: FileRow): Record<string, unknown> {
  return {
    projectId: row.project_id,
    id: row.id,
    storeKey: row.store_key,
    fileName: row.file_name,
    nameKey: toNameKey(row.file_name),
    fileSize: row.file_size,
    mimeType: row.mime_type,
    folderId: row.folder_id,
    etag: row.etag,
    createdByUser: caller.kind === 'session' ? caller.userId : null,
    createdByKey: caller.kind === 'apiKey' ? caller.keyId : null,
    at: row.created_at,
    slot: randomInt(usageSlots),
    typePatterns: toPatterns(facts.mimeType),
    detectedMimeType: row.detected_mime_type,
    contentCheck: row.content_check,
    sha256: row.sha256,
    sha256State: row.sha256_state,
    issuedAt: facts.issuedAt === undefined ? null : new Date(facts.issuedAt),
  };
}

function contentMismatch({ mimeType, detected }: Facts): Problem {
  const found = detected === null ? 'do not begin as files of that type do' : `are of type ${detected}`;
  return new Problem('content_mismatch', `The file was declared as ${mimeType}, and its first bytes ${found}.`);
}

/** Whether the file was inserted without a lock. If not, only the locked way can tell why. */
async function insertUnlocked({ db }: Pick<Deps, 'db'>, values: Record<string, unknown>): Promise<boolean> {
  const { rowCount } = await db.pool.query(toStatement('record', unlockedSql[`${'check' in values}`], values));
  return rowCount === 1;
}

/** One at a time for each project. */
function insertLocked(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:write'>,
  facts: Facts,
  values: Record<string, unknown>,
): Promise<boolean> {
  return db.transaction(async (trx) => {
    const { limits, recordFrom } = await lockLimits(trx, project, facts.storeKey);
    // A file that is already recorded is answered, even if the project is full now.
    if (await findRecorded(trx, project, facts.storeKey)) return false;
    if (recordFrom && facts.issuedAt !== undefined && facts.issuedAt < recordFrom.getTime()) throw pastDeadline();
    requireWithin(limits, facts);
    const statement = toStatement('record', lockedSql[`${'check' in values}`], values);
    const inserted = await trx.executeQuery(CompiledQuery.raw(statement.text, statement.values));
    return inserted.rows.length === 1;
  });
}

export function pastDeadline(): Problem {
  return new Problem(
    'invalid_store_key',
    'The time to record this storeKey is over. Presign and upload the file again.',
  );
}
