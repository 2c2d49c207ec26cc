import { z } from 'zod';
import { timestampOut, uuid, uuidOut } from './fields.ts';
import { By, cursor, File, Folder, FolderPath, pageLimit } from './storage.ts';

/** What was deleted, and until when it can be restored. */
export const Trashed = z.object({ id: uuidOut, deleted: z.literal(true), restorableUntil: timestampOut });

/** What changed if something could not go back to its old place under its old name. */
export const Restored = z.object({
  /** Whether its folder no longer exists, or has moved so deep that it would not fit. */
  movedToRoot: z.boolean(),
  /** The name it had, if another folder next to it has taken that name since. */
  renamedFrom: z.string().nullable(),
});

export const RestoredFile = File.extend({ restored: Restored });
export const RestoredFolder = Folder.extend({ restored: Restored });

export const TrashQuery = z.object({ projectId: uuid, limit: pageLimit, cursor });

/** What somebody deleted: one file, or a folder with everything in it. */
export const TrashEntry = z.object({
  kind: z.enum(['file', 'folder']),
  id: uuidOut,
  name: z.string(),
  /** The folder that it was in; null for the root. */
  parentId: uuidOut.nullable(),
  path: FolderPath.meta({
    description:
      'The folders that it was in, the outermost first. Empty for the root, and if its folder is no longer there or has been moved too deep for it, so that it would be restored to the root.',
  }),
  /** Files that are restored with it; 1 for a file. */
  files: z.int(),
  /** Folders that are restored with it, including itself; 0 for a file. */
  folders: z.int(),
  /** The total size of those files in bytes. */
  bytes: z.int(),
  deletedAt: timestampOut,
  deletedBy: By.nullable().meta({ description: 'Who deleted it; null if that is not known.' }),
  restorableUntil: timestampOut,
});

export const TrashPage = z.object({ entries: z.array(TrashEntry), nextCursor: z.string().nullable() });

export const EmptyTrashQuery = z.object({ projectId: uuid });

/** How much is affected: files, folders, and the bytes of those files. */
export const Counts = z.object({ files: z.int(), folders: z.int(), bytes: z.int() });
