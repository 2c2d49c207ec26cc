import { randomInt } from 'node:crypto';
import { CompiledQuery, type Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Schema } from '../../db/schema.ts';
import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toNameKey } from '../name-key.ts';
import { toLimits } from '../projects/find-limits.ts';
import type { OpenProject } from '../projects/open-project.ts';
import { requireWithin, toPatterns } from '../projects/require-within-limits.ts';
import { type FileView, toFileView } from './file-view.ts';

/** What is recorded of an upload. The size and the ETag are the object store's. */
export interface Facts {
  storeKey: string;
  fileName: string;
  fileSize: number;
  mimeType: string;
  folderId: string | null;
  etag: string;
}

/** Recordings side by side mostly hit different slots, and seldom wait for each other. */
export const usageSlots = 16;

/**
 * Inserts nothing where the project has limits that refuse the file, or a quota and the caller does not hold its lock.
 * `for key share` is the lock that the reference takes anyway; taken here, the limits cannot change between the look at them and the commit,
 * and a folder that is being deleted because nothing is in it is looked at again when that is done.
 */
const insertSql = `
  with upload as (
    select aborted_at from uploads where project_id = $1 and store_key = $3 for update
  ), inserted as (
    insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag,
                       created_by_user, created_by_key, created_at, updated_at)
    select $1::uuid, $2::uuid, $3, $4, $5, $6::bigint, $7, $8::uuid, $9, $10::uuid, $11::uuid, $12::timestamptz, $12
    from projects
    where projects.id = $1
      and (quota_bytes is null or $14::boolean)
      and (max_file_size_bytes is null or max_file_size_bytes >= $6)
      and (allowed_mime_types is null or allowed_mime_types && $15::text[])
      and ($8 is null or exists (select 1 from folders where project_id = $1 and id = $8 and trash_id is null for key share))
      and not exists (select 1 from upload where aborted_at is not null)
    for key share of projects
    on conflict (project_id, store_key) do nothing
    returning file_size
  ), completed as (
    update uploads set completed_at = $12, file_id = $2 from inserted
    where uploads.project_id = $1 and uploads.store_key = $3
  ), counted as (
    insert into project_usage (project_id, slot, file_count, total_bytes)
    select $1, $13::smallint, 1, file_size from inserted
    on conflict (project_id, slot) do update
      set file_count = project_usage.file_count + 1, total_bytes = project_usage.total_bytes + excluded.total_bytes
  )
  select 1 from inserted`;

/**
 * The only way to make a file. Undefined when this storeKey is recorded already, when the folder is not there or in the
 * trash, or when it was an upload in parts that has been aborted. An upload in parts is completed by the same statement,
 * under a lock of its row: of an abort and a recording at the same moment, one wins. A project without a quota takes one
 * statement; with one, recordings wait for each other, so that together they cannot exceed it (decision 0016). The
 * object of what is refused is removed by the janitor after the deadline.
 * @throws Problem file_too_large, mime_type_not_allowed, quota_exceeded, project_not_found
 */
export async function insertFile(
  deps: Deps,
  caller: Caller,
  project: OpenProject,
  facts: Facts,
): Promise<FileView | undefined> {
  const at = new Date(deps.now());
  // The order of ids is the order of recording, to the millisecond that the row says.
  const id = uuidv7({ msecs: at.getTime() });
  const values = toValues(caller, project, facts, id, at);
  const isInserted =
    (await insertUnlocked(deps, project, values)) ?? (await insertLocked(deps, project, facts, values));
  if (!isInserted) return undefined;
  return toFileView({
    project_id: project.id,
    id,
    store_key: facts.storeKey,
    file_name: facts.fileName,
    file_size: facts.fileSize,
    mime_type: facts.mimeType,
    folder_id: facts.folderId,
    etag: facts.etag,
    created_at: at,
    updated_at: at,
  });
}

function toValues(caller: Caller, project: OpenProject, facts: Facts, id: string, at: Date): unknown[] {
  return [
    project.id,
    id,
    facts.storeKey,
    facts.fileName,
    toNameKey(facts.fileName),
    facts.fileSize,
    facts.mimeType,
    facts.folderId,
    facts.etag,
    caller.kind === 'session' ? caller.userId : null,
    caller.kind === 'apiKey' ? caller.keyId : null,
    at,
    randomInt(usageSlots),
    false,
    toPatterns(facts.mimeType),
  ];
}

const lockedIndex = 13;

/** Whether the file was inserted without a lock; undefined when only the locked way can tell. */
async function insertUnlocked(
  { db, limits }: Deps,
  project: OpenProject,
  values: unknown[],
): Promise<boolean | undefined> {
  if ((await limits.find(project.id)).quotaBytes !== null) return undefined;
  const { rowCount } = await db.pool.query({ name: 'record', text: insertSql, values });
  return rowCount === 1 || undefined;
}

/** One after another for each project: the sum is of a later statement than the lock, so it has every earlier recording. */
function insertLocked({ db }: Deps, project: OpenProject, facts: Facts, values: unknown[]): Promise<boolean> {
  return db.kysely.transaction().execute(async (trx) => {
    const row = await trx
      .selectFrom('projects')
      .select(['quota_bytes', 'max_file_size_bytes', 'allowed_mime_types', 'content_mismatch'])
      .where('id', '=', project.id)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!row) throw new Problem('project_not_found');
    // What is recorded is answered, however full the project is by now.
    if (await isRecorded(trx, project, facts.storeKey)) return false;
    requireWithin(toLimits(row, await readStoredBytes(trx, project)), facts);
    const inserted = await trx.executeQuery(CompiledQuery.raw(insertSql, values.with(lockedIndex, true)));
    return inserted.rows.length === 1;
  });
}

async function isRecorded(trx: Transaction<Schema>, project: OpenProject, storeKey: string): Promise<boolean> {
  const row = await trx
    .selectFrom('files')
    .select('id')
    .where('project_id', '=', project.id)
    .where('store_key', '=', storeKey)
    .executeTakeFirst();
  return row !== undefined;
}

/** What the project stores, its trash included: the sum of its slots. */
async function readStoredBytes(trx: Transaction<Schema>, project: OpenProject): Promise<number> {
  const row = await trx
    .selectFrom('project_usage')
    .select(({ fn }) => fn.sum<number | string>('total_bytes').as('bytes'))
    .where('project_id', '=', project.id)
    .executeTakeFirst();
  return Number(row?.bytes ?? 0);
}
