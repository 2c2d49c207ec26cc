import { z } from 'zod';
import {
  fileName,
  fileSize,
  folderId,
  folderName,
  folderPath,
  mimeType,
  searchText,
  sha256,
  storeKey,
  timestampOut,
  uuid,
  uuidOut,
} from './fields.ts';

export const PresignRequest = z.object({ projectId: uuid, fileName, mimeType, fileSize, folderId, sha256 });
export const PresignResponse = z.strictObject({ presignedUrl: z.url(), storeKey: z.string() });

export const RecordRequest = z.object({ projectId: uuid, storeKey, fileName, fileSize, mimeType, folderId, sha256 });

export const File = z.object({
  id: uuidOut,
  projectId: uuidOut,
  storeKey: z.string(),
  fileName: z.string(),
  fileSize: z.int(),
  mimeType: z.string(),
  folderId: uuidOut.nullable(),
  etag: z.string(),
  detectedMimeType: z.string().nullable().meta({
    description: 'The type that the first bytes show; null if they have not been examined yet, or show none.',
  }),
  contentCheck: z
    .enum(['pending', 'match', 'mismatch', 'unknown'])
    .meta({ description: 'Whether the first bytes are of the type in mimeType.' }),
  sha256: z.string().nullable(),
  sha256State: z
    .enum(['declared', 'verified', 'mismatch'])
    .nullable()
    .meta({ description: 'Whether the object has the declared SHA-256; `declared` until that is known.' }),
  ticketId: uuidOut
    .nullable()
    .meta({ description: 'The ticket that the file was uploaded with; null for any other file.' }),
  createdAt: timestampOut,
  updatedAt: timestampOut,
});

export const Folder = z.object({
  id: uuidOut,
  projectId: uuidOut,
  name: z.string(),
  parentId: uuidOut.nullable(),
  createdAt: timestampOut,
  updatedAt: timestampOut,
});

export const CreateFolderRequest = z.object({ projectId: uuid, name: folderName, parentId: folderId });
export const FolderParams = z.object({ id: uuid });

export const FolderAtQuery = z.object({ projectId: uuid, path: folderPath });

/** The most folders that one request ensures. */
export const maxEnsuredPaths = 100;

export const EnsureFoldersRequest = z.object({
  projectId: uuid,
  parentId: folderId,
  paths: z
    .array(folderPath)
    .min(1, { error: 'must have at least one path' })
    .max(maxEnsuredPaths, { error: `must have at most ${maxEnsuredPaths} paths` }),
});
export const EnsuredFolders = z.object({ folders: z.array(Folder) });

export const ChangeFolderRequest = z
  .object({ name: folderName.optional(), parentId: folderId.optional() })
  .refine(({ name, parentId }) => name !== undefined || parentId !== undefined, {
    error: 'must have name, parentId or both',
  });
export const DeleteFolderQuery = z.object({
  recursive: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .optional()
    .meta({ description: 'Whether to delete its contents as well.' }),
});

export const FileParams = z.object({ id: uuid });
export const ChangeFileRequest = z
  .object({ fileName: fileName.optional(), folderId: folderId.optional() })
  .refine(({ fileName, folderId }) => fileName !== undefined || folderId !== undefined, {
    error: 'must have fileName, folderId or both',
  });

export const CopyFileRequest = z.object({
  folderId: folderId.meta({ description: 'The folder for the copy; null for the root of the project.' }),
  fileName: fileName.optional().meta({ description: 'The name of the copy; if omitted, that of the file.' }),
});

export const maxPageSize = 1000;

/** The size of a page, in a query. */
export const pageLimit = z
  .string()
  .refine((text) => /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= maxPageSize, {
    error: `must be a whole number from 1 to ${maxPageSize}`,
  })
  .meta({ type: 'integer', minimum: 1, maximum: maxPageSize })
  .transform(Number)
  .optional();
export const cursor = z.string().min(1).max(512, { error: 'must be the nextCursor of an earlier page' }).optional();

export const ListQuery = z.object({
  projectId: uuid,
  folderId: z.union([z.literal('root'), uuid], { error: 'must be a UUID or root' }).optional(),
  limit: z
    .string()
    .refine((text) => /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= maxPageSize, {
      error: `must be a whole number from 1 to ${maxPageSize}`,
    })
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: maxPageSize,
      description: 'The number of files and folders, together, in one page.',
    })
    .transform(Number)
    .optional(),
  cursor: z.string().min(1).max(2048, { error: 'must be the nextCursor of an earlier page' }).optional(),
  sort: z
    .enum(['name', 'createdAt', 'fileSize'], { error: 'must be name, createdAt or fileSize' })
    .default('createdAt')
    .meta({
      description:
        'Names are compared regardless of case. Folders have no size; with `fileSize`, they are sorted by name.',
    }),
  order: z.enum(['asc', 'desc'], { error: 'must be asc or desc' }).default('asc'),
  search: searchText
    .meta({ description: 'Part of the name, in any case and script, with accents composed or not; no wildcards.' })
    .optional(),
});

export const UsageQuery = z.object({ projectId: uuid, folderId: uuid.optional() });

export const Usage = z.object({
  fileCount: z.int().meta({ description: 'The number of files, without those in the trash or in a deleted folder.' }),
  totalBytes: z.int().meta({ description: 'The total size of these files.' }),
  trashedBytes: z.int().meta({ description: 'What is stored in addition, until it is purged from the trash.' }),
  quotaBytes: z
    .int()
    .nullable()
    .meta({ description: 'What the project may store, totalBytes and trashedBytes together; null for no limit.' }),
});

export const Listing = z.object({
  files: z.array(File),
  folders: z.array(Folder),
  breadcrumbs: z.array(z.object({ id: uuidOut.nullable(), name: z.string() })),
  nextCursor: z.string().nullable(),
});
