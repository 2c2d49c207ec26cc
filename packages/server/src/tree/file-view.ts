import type { File } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../db/schema.ts';
import { type Field, fieldsOf, type RowOf, toSelectList, toView } from '../db/view.ts';

export type FileView = z.output<typeof File>;

type Row = Selectable<Schema['files']>;

const { plain, time, hex } = fieldsOf<Row>();

/** The public shape of a file, the same in every answer. */
const fields = {
  id: plain('id'),
  projectId: plain('project_id'),
  storeKey: plain('store_key'),
  fileName: plain('file_name'),
  fileSize: plain('file_size'),
  mimeType: plain('mime_type'),
  folderId: plain('folder_id'),
  etag: plain('etag'),
  detectedMimeType: plain('detected_mime_type'),
  contentCheck: plain('content_check'),
  sha256: hex('sha256'),
  sha256State: plain('sha256_state'),
  createdAt: time('created_at'),
  updatedAt: time('updated_at'),
} satisfies { [K in keyof FileView]: Field<Row, keyof Row, FileView[K]> };

/** The columns that the view of a file is made from. */
export type FileRow = RowOf<Row, typeof fields>;

/** The view as a select list. */
export const fileColumns = toSelectList<Row>(fields);

export function toFileView(row: FileRow): FileView {
  return toView<Row, typeof fields>(fields, row);
}
