import type { File } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';

export type FileView = z.output<typeof File>;

/** What the view of a file is made from. */
export type FileRow = Pick<
  Selectable<Schema['files']>,
  | 'id'
  | 'project_id'
  | 'store_key'
  | 'file_name'
  | 'file_size'
  | 'mime_type'
  | 'folder_id'
  | 'etag'
  | 'detected_mime_type'
  | 'content_check'
  | 'sha256'
  | 'sha256_state'
  | 'created_at'
  | 'updated_at'
>;

export function toFileView(row: FileRow): FileView {
  return {
    id: row.id,
    projectId: row.project_id,
    storeKey: row.store_key,
    fileName: row.file_name,
    fileSize: row.file_size,
    mimeType: row.mime_type,
    folderId: row.folder_id,
    etag: row.etag,
    detectedMimeType: row.detected_mime_type,
    contentCheck: row.content_check,
    sha256: row.sha256?.toString('hex') ?? null,
    sha256State: row.sha256_state,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
