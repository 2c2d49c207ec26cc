import { z } from 'zod';
import { timestampOut, uuid, uuidOut } from './fields.ts';
import { cursor, File, Folder, pageLimit } from './storage.ts';

/** Until when what was deleted can be restored. */
export const Trashed = z.object({ id: uuidOut, deleted: z.literal(true), restorableUntil: timestampOut });

/** How it was solved when something could not go back to where it was, under the name that it had. */
export const Restored = z.object({
  /** The folder that it was in is gone, or lies so deep by now that it would not fit. */
  movedToRoot: z.boolean(),
  /** The name that it had, when a folder beside it has taken that name meanwhile. */
  renamedFrom: z.string().nullable(),
});

export const RestoredFile = File.extend({ restored: Restored });
export const RestoredFolder = Folder.extend({ restored: Restored });

export const TrashQuery = z.object({ projectId: uuid, limit: pageLimit, cursor });

/** What somebody deleted: one file, or a folder with all that was in it. */
export const TrashEntry = z.object({
  kind: z.enum(['file', 'folder']),
  id: uuidOut,
  name: z.string(),
  /** The folder that it was in; null for the root. */
  parentId: uuidOut.nullable(),
  /** Files that come back with it; 1 for a file. */
  files: z.int(),
  /** Folders that come back with it, itself among them; 0 for a file. */
  folders: z.int(),
  /** Bytes of those files. */
  bytes: z.int(),
  deletedAt: timestampOut,
  restorableUntil: timestampOut,
});

export const TrashPage = z.object({ entries: z.array(TrashEntry), nextCursor: z.string().nullable() });

export const EmptyTrashQuery = z.object({ projectId: uuid });

/** How much something concerns: files, folders, and the bytes of those files. */
export const Counts = z.object({ files: z.int(), folders: z.int(), bytes: z.int() });
