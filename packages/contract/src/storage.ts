import { z } from 'zod';
import {
  day,
  externalId,
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
import { ImageFacts, sideInQuery } from './images.ts';
import { metadata, metadataChange, metadataFilterProblems, recordedExtras, withoutUnknown } from './metadata.ts';

export const PresignRequest = z.object({ projectId: uuid, fileName, mimeType, fileSize, folderId, sha256 });
export const PresignResponse = z.strictObject({ presignedUrl: z.url(), storeKey: z.string() });

export const RecordRequest = z.object({
  projectId: uuid,
  storeKey,
  fileName,
  fileSize,
  mimeType,
  folderId,
  sha256,
  ...recordedExtras,
});

/** An account, also one that has left since; an API key; or a ticket. */
export const By = z.union([
  z.object({ userId: uuidOut }),
  z.object({ apiKeyId: uuidOut }),
  z.object({ ticketId: uuidOut.meta({ description: 'The ticket.' }) }),
]);

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
  metadata,
  externalId: z.string().nullable(),
  image: ImageFacts.nullable().meta({
    description: 'What is known of an image; null for any other file, and until it has been looked at.',
  }),
  createdBy: By.nullable().meta({ description: 'Who recorded it; null if that is not known.' }),
  createdAt: timestampOut,
  updatedAt: timestampOut,
});

export const Folder = z.object({
  id: uuidOut,
  projectId: uuidOut,
  name: z.string(),
  parentId: uuidOut.nullable(),
  createdBy: By.nullable().meta({ description: 'Who created it; null if that is not known.' }),
  createdAt: timestampOut,
  updatedAt: timestampOut,
});

export const CreateFolderRequest = z.object({ projectId: uuid, name: folderName, parentId: folderId });
export const FolderParams = z.object({ id: uuid });

export const FolderAtQuery = z.object({ projectId: uuid, path: folderPath });

/** The most folders that one request ensures. */
const maxEnsuredPaths = 100;

export const EnsureFoldersRequest = z.object({
  projectId: uuid,
  parentId: folderId,
  paths: z
    .array(folderPath)
    .min(1, { error: 'must have at least one path' })
    .max(maxEnsuredPaths, { error: `must have at most ${maxEnsuredPaths} paths` }),
});
export const EnsuredFolders = z.object({ folders: z.array(Folder) });

/** The maximum depth of nested folders. */
export const maxFolderLevels = 32;

interface Tree extends Map<string, Tree> {}

/** How many folders a request to ensure paths may create: one that several paths share counts once. */
export function countEnsured({ paths }: Pick<z.output<typeof EnsureFoldersRequest>, 'paths'>): number {
  const root: Tree = new Map();
  let folders = 0;
  for (const names of paths) {
    let parent = root;
    // A deeper path is refused.
    for (const name of names.slice(0, maxFolderLevels)) {
      const folder: Tree = parent.get(name) ?? new Map();
      if (!parent.has(name)) folders += 1;
      parent.set(name, folder);
      parent = folder;
    }
  }
  return folders;
}

export const ChangeFolderRequest = z
  .object({ name: folderName.optional(), parentId: folderId.optional() })
  .refine(({ name, parentId }) => name !== undefined || parentId !== undefined, {
    error: 'must have name, parentId or both',
  });
/** A yes or no in a query. */
const flag = z.enum(['true', 'false'], { error: 'must be true or false' });

export const DeleteFolderQuery = z.object({
  recursive: flag.optional().meta({ description: 'Whether to delete its contents as well.' }),
});

export const FileParams = z.object({ id: uuid });
export const ChangeFileRequest = z
  .object({
    fileName: fileName.optional(),
    folderId: folderId.optional(),
    metadata: metadataChange
      .optional()
      .meta({ description: 'Keys to set; null removes a key. Keys that are not named stay as they are.' }),
    externalId: externalId.nullable().optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: 'must have fileName, folderId, metadata or externalId',
  });

export const CopyFileRequest = z.object({
  folderId: folderId.meta({ description: 'The folder for the copy; null for the root of the project.' }),
  fileName: fileName.optional().meta({ description: 'The name of the copy; if omitted, that of the file.' }),
});

const maxPageSize = 1000;

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

/** A folder by its id, or the root of the project. */
export const listedPlace = z.union([z.literal('root'), uuid], { error: 'must be a UUID or root' });

const listParameters = {
  projectId: uuid,
  folderId: listedPlace.optional(),
  limit: z
    .string()
    .refine((text) => /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= maxPageSize, {
      error: `must be a whole number from 1 to ${maxPageSize}`,
    })
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: maxPageSize,
      description:
        'The number of files and folders, together, in one page. With `search` or a filter, a page may have fewer although more follow.',
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
  externalId: externalId
    .meta({ description: 'Only the file with this externalId. Folders have none, and are left out.' })
    .optional(),
  counts: flag.meta({ description: 'Whether to answer `total`, and `childCount` with each folder.' }).optional(),
  paths: flag.meta({ description: 'Whether to answer `path` with each file and folder.' }).optional(),
  thumbnail: sideInQuery.optional().meta({
    description:
      'Whether to answer `thumbnailUrl` with images that have a variant of this size, in pixels: the one with `w`, `h` and `fit=inside`, which fits inside a square, or else the one with `w` alone, as wide as that. Both are WebP of the default quality.',
  }),
};

export const ListQuery = z
  .looseObject(listParameters)
  .overwrite((query) => withoutUnknown(query, listParameters))
  .check(({ value, issues }) => {
    for (const [name, message] of metadataFilterProblems(value)) {
      issues.push({ code: 'custom', input: value, path: [name], message });
    }
  });

export const UsageQuery = z.object({ projectId: uuid, folderId: uuid.optional() });

export const Usage = z.object({
  fileCount: z.int().meta({ description: 'The number of files, without those in the trash or in a deleted folder.' }),
  totalBytes: z.int().meta({ description: 'The total size of these files.' }),
  trashedBytes: z.int().meta({ description: 'What is stored in addition, until it is purged from the trash.' }),
  variantBytes: z.int().meta({
    description:
      'The size of the variants of images that are kept, which do not count towards the quota; 0 for a folder.',
  }),
  quotaBytes: z
    .int()
    .nullable()
    .meta({ description: 'What the project may store, totalBytes and trashedBytes together; null for no limit.' }),
});

/** The folders that something is in, the outermost first; for a key tied to a folder, from that one on. */
export const FolderPath = z.array(z.object({ id: uuidOut, name: z.string() }));

/** The most that a listing counts. */
export const maxCounted = 10_000;

const path = FolderPath.optional().meta({
  description: 'With `paths=true`: the folders that it is in, the outermost first; none for the root of the project.',
});

export const ListedFile = File.extend({
  path,
  thumbnailUrl: z.url().optional().meta({
    description: 'With `thumbnail`: a signed URL of the thumbnail, if it has been made; valid for at least an hour.',
  }),
});
export const ListedFolder = Folder.extend({
  path,
  childCount: z
    .int()
    .nullable()
    .optional()
    .meta({
      description: `With \`counts=true\`: how many files and folders are directly in it; null for more than ${maxCounted}, or if the folders of a page have so many together that counting them would take long. Up to 100 are always counted.`,
    }),
});

/** The most days that one answer has: a leap year. */
export const maxUsageDays = 366;

export const DailyUsageQuery = z.object({
  projectId: uuid,
  from: day.optional().meta({
    description: `The first UTC day; by default the thirtieth until \`to\`. At most ${maxUsageDays} days in all.`,
  }),
  to: day.optional().meta({ description: 'The last UTC day; today by default.' }),
});

const UsageOfDay = z.object({
  day: z.iso.date().meta({ description: 'The UTC day.' }),
  files: z.int().meta({ description: 'The number of files at the end of the day, without those in the trash.' }),
  bytes: z.int().meta({ description: 'The total size of these files.' }),
  trashedBytes: z.int().meta({ description: 'What was stored in addition at the end of the day, such as the trash.' }),
  uploads: z.int().meta({ description: 'How many files were recorded on the day, whatever became of them.' }),
  addedBytes: z.int().meta({ description: 'The total size of what was recorded on the day.' }),
});
export const DailyUsage = z.object({
  days: z.array(UsageOfDay).meta({
    description:
      'The days, the earliest first; none before the project was created, or before the service counted them.',
  }),
});

export const Listing = z.object({
  files: z.array(ListedFile),
  folders: z.array(ListedFolder),
  breadcrumbs: z.array(z.object({ id: uuidOut.nullable(), name: z.string() })),
  nextCursor: z.string().nullable().meta({
    description:
      'What to send as `cursor` for the next page; null on the last one. With `search` or a filter, a page may be short, even empty, although more follow.',
  }),
  total: z
    .int()
    .nullable()
    .optional()
    .meta({
      description: `With \`counts=true\`: how many files and folders all pages of this listing have together; null for more than ${maxCounted}, or if a search or filter would have to read too much to count them.`,
    }),
});
