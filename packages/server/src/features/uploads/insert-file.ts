import { randomInt } from 'node:crypto';
import type { MetadataEntries } from '@cadiz/contract';
import { CompiledQuery, type Transaction } from 'kysely';
import type pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { sha256Check } from '../../content/check-contents.ts';
import type { Inspected } from '../../content/inspect-content.ts';
import { reportMismatch } from '../../content/report-mismatch.ts';
import type { Database } from '../../db/open.ts';
import type { Schema } from '../../db/schema.ts';
import { toShapedStatement } from '../../db/statement.ts';
import type { Deps } from '../../deps.ts';
import { lockLimits } from '../../limits/lock-limits.ts';
import { requireWithin, toPatterns } from '../../limits/require-within-limits.ts';
import { usageSlots } from '../../limits/usage-slots.ts';
import { Problem } from '../../problem.ts';
import { cedeExternalIds, externalIdTaken } from '../../tree/external-ids.ts';
import { type FileRow, type FileView, toFileView } from '../../tree/file-view.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { insertWorkSql } from '../../work/enqueue.ts';
import { findRecorded } from './find-recorded.ts';
import { createInsertTogether, type InsertTogether, type NewFile } from './insert-together.ts';
import { finishReplacing, type Replaced, takePlace } from './replace-file.ts';

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
  metadata?: MetadataEntries | undefined;
  /** The application's own id. */
  externalId?: string | undefined;
  /** The file whose place the new one takes, whatever name and folder the facts say. */
  replaced?: Replaced | undefined;
}

/** The columns of a new row but the project, with their types: files to be inserted are sent as one JSON text. */
const columnTypes = {
  id: 'uuid',
  store_key: 'text',
  file_name: 'text',
  name_key: 'text',
  file_size: 'bigint',
  mime_type: 'text',
  folder_id: 'uuid',
  etag: 'text',
  created_by_user: 'uuid',
  created_by_key: 'uuid',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  detected_mime_type: 'text',
  content_check: 'text',
  sha256: 'bytea',
  sha256_state: 'text',
};
/** The columns that few files have. They are mentioned only where one does, since each costs every file of a statement. */
const extraTypes = { metadata: 'json', external_id: 'text', replaces: 'uuid' };
/** Also what the limits of the project are compared with, and the work to be queued. */
const wantedTypes = {
  ...columnTypes,
  media_type: 'text',
  media_types: 'text',
  issued_at: 'timestamptz',
  check_kind: 'text',
  check_lease: 'uuid',
};

/** Completes uploads in parts, under locks of their rows. */
const uploadSql = `upload as (
    select store_key, aborted_at from uploads
    where project_id = (select id from project) and store_key in (select store_key from wanted) for update
  )`;
const completedSql = `completed as (
    update uploads set completed_at = inserted.created_at, file_id = inserted.id from inserted
    where uploads.project_id = :projectId and uploads.store_key = inserted.store_key
  )`;

const work = { kind: 'check_kind', projectId: ':projectId', subject: 'id', lease: 'check_lease' };
const queuedSql = `queued as (
    ${insertWorkSql({ ...work, from: 'inserted join wanted using (id) where check_kind is not null' })}
  )`;

/** What the text of the statement depends on. */
interface Shape {
  form: 'unlocked' | 'locked';
  /** Whether it queues work. */
  hasWork: boolean;
  /** Whether any of the files has metadata or an externalId, or replaces another. */
  hasExtras: boolean;
}

/**
 * The statement that inserts files of one project; it answers the ids of those that it has inserted. It inserts none that
 * the limits of the project refuse. `for key share` is the lock that the reference takes anyway; because it is taken
 * here, the limits cannot change between this check and the commit, and a folder that is being deleted because it is
 * empty is checked again when that is done. The project is locked first, as when a project is deleted: the other locks
 * depend on its row, so that they come after it. The files come in the order of their keys, so that two processes that
 * record the same ones cannot deadlock. A file whose externalId another file has is not inserted, wherever that one is.
 *
 * There are two forms. `unlocked` is for most files: it inserts nothing if the project has a quota, or if the store key
 * belongs to an upload in parts, which has had a row since before its key was known to anybody. `locked` is for a caller
 * that holds the lock of the project; it also completes such an upload. Each part of a statement costs time even if there
 * is nothing for it to do, so work is only mentioned where there is some (decision 0054).
 */
function toInsertSql({ form, hasWork, hasExtras }: Shape): string {
  const isLocked = form === 'locked';
  const rowColumns = Object.keys({ ...columnTypes, ...(hasExtras && extraTypes) });
  const wantedColumns = Object.entries({ ...wantedTypes, ...(hasExtras && extraTypes) }).map(
    ([name, type]) => `${name} ${type}`,
  );
  const ofUpload = isLocked
    ? 'from upload where upload.store_key = wanted.store_key and aborted_at is not null'
    : 'from uploads where uploads.project_id = project.id and uploads.store_key = wanted.store_key';
  return `
  with wanted as materialized (
    select * from json_to_recordset(:files::json) as wanted (${wantedColumns.join(', ')})
  ), project as materialized (
    select id, max_file_size_bytes, allowed_mime_types, record_from from projects
    where id = :projectId ${isLocked ? '' : 'and quota_bytes is null'} for key share
  ), ${isLocked ? `${uploadSql}, ` : ''}inserted as (
    insert into files (project_id, ${rowColumns.join(', ')})
    select project.id, ${rowColumns.map((name) => `wanted.${name}`).join(', ')} from project cross join wanted
    where (max_file_size_bytes is null or max_file_size_bytes >= file_size)
      and (allowed_mime_types is null or allowed_mime_types && array[media_type, media_types])
      and (record_from is null or issued_at is null or record_from <= issued_at)
      and (folder_id is null or exists (
        select 1 from folders where project_id = project.id and folders.id = folder_id and trash_id is null for key share))
      and not exists (select 1 ${ofUpload})
    order by ${hasExtras ? 'wanted.external_id, ' : ''}wanted.store_key
    on conflict ${hasExtras ? '' : '(project_id, store_key)'} do nothing
    returning id, store_key, file_size, created_at
  ), ${isLocked ? `${completedSql}, ` : ''}counted as (
    insert into project_usage (project_id, slot, file_count, total_bytes)
    select :projectId, :slot::smallint, count(*), sum(file_size) from inserted having count(*) > 0
    on conflict (project_id, slot) do update
      set file_count = project_usage.file_count + excluded.file_count,
          total_bytes = project_usage.total_bytes + excluded.total_bytes
  )${hasWork ? `, ${queuedSql}` : ''}
  select id from inserted`;
}

function toInsertStatement(form: Shape['form'], projectId: string, files: readonly NewFile[]): pg.QueryConfig {
  const hasWork = files.some(({ check_kind }) => check_kind !== null);
  const hasExtras = files.some((file) => 'external_id' in file);
  const values = { projectId, slot: randomInt(usageSlots), files: JSON.stringify(files) };
  const shape = `${form} ${hasWork} ${hasExtras}`;
  return toShapedStatement('record', shape, () => toInsertSql({ form, hasWork, hasExtras }), values);
}

/** Inserts files of projects without a quota, those of a project together. Other reasons to refuse one need the lock. */
export function createFileInserts({ pool }: Pick<Database, 'pool'>): InsertTogether {
  return createInsertTogether(async (projectId, files) => {
    const { rows } = await pool.query<{ id: string }>(toInsertStatement('unlocked', projectId, files));
    return new Set(rows.map(({ id }) => id));
  });
}

/**
 * The only way to create a file. Undefined if this storeKey is already recorded, if the folder does not exist or is in
 * the trash, or if the key belongs to an aborted upload in parts. The same statement completes an upload in parts,
 * under a lock of its row: of a concurrent abort and recording, only one wins. A single PUT into a project without a
 * quota takes one statement, or a share of one; with a quota, recordings wait for each other, so that together they
 * cannot exceed it (decision 0016). The janitor removes the objects of refused files, after the deadline or as soon as
 * such objects take too much space.
 * @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded, content_mismatch, store_unavailable,
 *   project_not_found, invalid_store_key (the project was full, and unrecorded uploads were removed), external_id_taken,
 *   file_not_found and already_replaced (the file to be replaced)
 */
export async function insertFile(
  deps: Pick<Deps, 'db' | 'inserts' | 'limits' | 'work' | 'log' | 'onMismatch' | 'now'>,
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
  const work = check && { check, lease };
  const isUnlocked = facts.issuedAt !== undefined && limits.quotaBytes === null && !facts.replaced;
  // What could not be inserted without the lock may be inserted with it, which also tells why not.
  const inserted =
    isUnlocked && (await deps.inserts(project.id, toNewFile(caller, facts, row, work)))
      ? row
      : await insertLocked(deps, caller, project, facts, row, work);
  if (!inserted) return undefined;
  if (check && lease) {
    deps.work.take({ kind: check, projectId: project.id, id: row.id, lease, attempt: 1, payload: null });
  }
  if (facts.verdict === 'mismatch') {
    const { mimeType, detected } = facts;
    reportMismatch(deps, 'type', { fileId: row.id, projectId: row.project_id, mimeType, detected });
  }
  return toFileView(inserted);
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
    metadata: facts.metadata ?? null,
    external_id: facts.externalId ?? null,
    created_at: at,
    updated_at: at,
  };
}

interface CheckWork {
  check: string;
  lease: string | undefined;
}

function toNewFile(
  caller: Caller,
  facts: Facts,
  { project_id: _, sha256, created_at, updated_at, metadata, external_id, ...row }: FileRow,
  work: CheckWork | undefined,
): NewFile {
  const [type, types] = toPatterns(facts.mimeType);
  return {
    ...row,
    name_key: toNameKey(row.file_name),
    created_by_user: caller.kind === 'session' ? caller.userId : null,
    created_by_key: caller.kind === 'apiKey' ? caller.keyId : null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    sha256: sha256 && `\\x${sha256.toString('hex')}`,
    media_type: type,
    media_types: types,
    issued_at: facts.issuedAt === undefined ? null : new Date(facts.issuedAt).toISOString(),
    check_kind: work?.check ?? null,
    check_lease: work?.lease ?? null,
    ...toExtras(metadata, external_id, facts.replaced?.fileId ?? null),
  };
}

/** Nothing for most files. */
function toExtras(
  metadata: MetadataEntries | null,
  external_id: string | null,
  replaces: string | null,
): Partial<NewFile> {
  const entries = metadata && Object.keys(metadata).length > 0 ? metadata : null;
  return entries || external_id !== null || replaces !== null ? { metadata: entries, external_id, replaces } : {};
}

function contentMismatch({ mimeType, detected }: Facts): Problem {
  const found = detected === null ? 'do not begin as files of that type do' : `are of type ${detected}`;
  return new Problem('content_mismatch', `The file was declared as ${mimeType}, and its first bytes ${found}.`);
}

/** Undoes the transaction of a file that could not be inserted. */
class NotInserted extends Error {}

/**
 * One at a time for each project, under the tree lock.
 * @returns the row as it was inserted, which is another if the file replaces one; undefined if it was not
 */
async function insertLocked(
  deps: Pick<Deps, 'db' | 'now'>,
  caller: Caller,
  project: OpenProject<'files:write'>,
  facts: Facts,
  row: FileRow,
  work: CheckWork | undefined,
): Promise<FileRow | undefined> {
  const { replaced, metadata } = facts;
  try {
    return await deps.db.transaction(async (trx) => {
      const { limits, recordFrom } = await lockLimits(trx, project, facts.storeKey);
      // A file that is already recorded is answered, even if the project is full now.
      if (await findRecorded(trx, project, facts.storeKey)) return undefined;
      if (recordFrom && facts.issuedAt !== undefined && facts.issuedAt < recordFrom.getTime()) throw pastDeadline();
      requireWithin(limits, facts);
      const placed = replaced ? await takePlace(deps, trx, caller, replaced, row, metadata !== undefined) : row;
      if (placed.external_id !== null) await cedeExternalIds(trx, project.id, [placed.external_id]);
      const { text, values } = toInsertStatement('locked', project.id, [toNewFile(caller, facts, placed, work)]);
      const inserted = await trx.executeQuery(CompiledQuery.raw(text, values));
      if (inserted.rows.length === 0) throw (await findTaken(trx, placed)) ?? new NotInserted();
      if (replaced) await finishReplacing(deps, trx, caller, replaced, placed);
      return placed;
    });
  } catch (error) {
    if (error instanceof NotInserted) return undefined;
    throw error;
  }
}

/** The problem if another file has the externalId of this one. */
async function findTaken(
  trx: Transaction<Schema>,
  { project_id, store_key, external_id }: FileRow,
): Promise<Problem | undefined> {
  if (external_id === null) return undefined;
  const holder = await trx
    .selectFrom('files')
    .select('id')
    .where('project_id', '=', project_id)
    .where('external_id', '=', external_id)
    .where('external_id_ceded', 'is', null)
    .where('store_key', '<>', store_key)
    .executeTakeFirst();
  return holder && externalIdTaken([external_id]);
}

export function pastDeadline(): Problem {
  return new Problem(
    'invalid_store_key',
    'The time to record this storeKey is over. Presign and upload the file again.',
  );
}
