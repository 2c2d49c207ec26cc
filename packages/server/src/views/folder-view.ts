import type { Folder } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../db/schema.ts';
import { type Field, fieldsOf, type RowOf, toJsonText, toView } from '../db/view.ts';
import { createdBy } from './created-by.ts';

type FolderView = z.output<typeof Folder>;
type Row = Selectable<Schema['folders']>;

const { plain, plainOrNull, text, time } = fieldsOf<Row>();

/** The public shape of a folder, the same in every answer. */
const fields = {
  id: plain('id'),
  projectId: plain('project_id'),
  name: text('name'),
  parentId: plainOrNull('parent_id'),
  createdBy,
  createdAt: time('created_at'),
  updatedAt: time('updated_at'),
} satisfies { [K in keyof FolderView]: Field<Row, keyof Row, FolderView[K]> };

/** The view as JSON text, in SQL. */
export const folderJson = toJsonText<Row>(fields);

/** A folder as the API shows it. */
export function toFolderView(row: RowOf<Row, typeof fields>): FolderView {
  return toView<Row, typeof fields>(fields, row);
}
