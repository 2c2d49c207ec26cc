import type { File } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../db/schema.ts';
import { type Field, fieldsOf, type RowOf, toJsonText, toView } from '../db/view.ts';
import { type ImageView, toImageSql } from '../images/image-view.ts';
import { createdByOrTicket } from './created-by.ts';

export type FileView = z.output<typeof File>;

type Row = Selectable<Schema['files']> & { image: ImageView | null };

const { plain, plainOrNull, text, textOrNull, number, time, json, hexOrNull } = fieldsOf<Row>();

/** What is known of an image. In SQL it is looked up, for rows of `page`. */
const image: Field<Row, 'image', ImageView | null> = {
  column: 'image',
  sql: `coalesce((${toImageSql('page')})::text, 'null')`,
  isQuoted: false,
  read: (row) => row.image,
};

/** The public shape of a file, the same in every answer. */
const fields = {
  id: plain('id'),
  projectId: plain('project_id'),
  storeKey: text('store_key'),
  fileName: text('file_name'),
  fileSize: number('file_size'),
  mimeType: text('mime_type'),
  folderId: plainOrNull('folder_id'),
  etag: text('etag'),
  detectedMimeType: textOrNull('detected_mime_type'),
  contentCheck: plain('content_check'),
  sha256: hexOrNull('sha256'),
  sha256State: plainOrNull('sha256_state'),
  ticketId: plainOrNull('ticket_id'),
  metadata: json('metadata'),
  externalId: textOrNull('external_id'),
  image,
  createdBy: createdByOrTicket,
  createdAt: time('created_at'),
  updatedAt: time('updated_at'),
} satisfies { [K in keyof FileView]: Field<Row, keyof Row, FileView[K]> };

/** The columns that the view of a file is made from. */
export type FileRow = RowOf<Row, typeof fields>;

/** The view as JSON text, in SQL, of a row called `page`. */
export const fileJson = toJsonText<Row>(fields);

/** A file as the API shows it. */
export function toFileView(row: FileRow): FileView {
  return toView<Row, typeof fields>(fields, row);
}
