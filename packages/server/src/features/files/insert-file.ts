import { randomInt } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Caller, Deps } from '../../deps.ts';
import { toNameKey } from '../name-key.ts';
import type { OpenProject } from '../projects/open-project.ts';
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
const usageSlots = 16;

const insertSql = `
  with upload as (
    select aborted_at from uploads where project_id = $1 and store_key = $3 for update
  ), inserted as (
    insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag,
                       created_by_user, created_by_key, created_at, updated_at)
    select $1::uuid, $2::uuid, $3, $4, $5, $6::bigint, $7, $8::uuid, $9, $10::uuid, $11::uuid, $12::timestamptz, $12
    where ($8 is null or exists (select 1 from folders where project_id = $1 and id = $8 and trash_id is null))
      and not exists (select 1 from upload where aborted_at is not null)
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
 * The only statement that makes a file. Undefined when this storeKey is recorded already, when the folder is not there or
 * in the trash, or when it was an upload in parts that has been aborted. An upload in parts is completed by the same
 * statement, under a lock of its row: of an abort and a recording at the same moment, one wins.
 */
export async function insertFile(
  { db, now }: Deps,
  caller: Caller,
  project: OpenProject,
  facts: Facts,
): Promise<FileView | undefined> {
  const at = new Date(now());
  // The order of ids is the order of recording, to the millisecond that the row says.
  const id = uuidv7({ msecs: at.getTime() });
  const { rowCount } = await db.pool.query({
    name: 'record',
    text: insertSql,
    values: [
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
    ],
  });
  if (rowCount === 0) return undefined;
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
