import { z } from 'zod';
import { allowedMimeTypes, byteLimit, label, timestampOut, uuid, uuidOut } from './fields.ts';
import { ImagePresets } from './images.ts';

/** What a member may do: viewers read, editors also change files and API keys, owners do everything. */
export const roles = ['owner', 'editor', 'viewer'] as const;
export type Role = (typeof roles)[number];

const contentMismatch = z
  .enum(['report', 'refuse'], { error: 'must be report or refuse' })
  .meta({ description: 'What happens to a file whose first bytes are not of the type in its mimeType.' });

const stripLocation = z.enum(['never', 'links'], { error: 'must be never or links' }).meta({
  description:
    '`links`: links serve images without their EXIF, so that nobody learns where they were taken, whatever type they were uploaded as. Images that cannot be read are then refused.',
});

/** What a project accepts. Null means no limit of its own. */
const settings = {
  quotaBytes: byteLimit.nullable(),
  maxFileSizeBytes: byteLimit.nullable(),
  allowedMimeTypes: allowedMimeTypes.nullable(),
  contentMismatch,
  imagePresets: ImagePresets,
  stripLocation,
};

export const Project = z.object({
  id: uuidOut,
  name: z.string(),
  quotaBytes: z.int().nullable(),
  maxFileSizeBytes: z.int().nullable(),
  allowedMimeTypes: z.array(z.string()).nullable(),
  contentMismatch,
  imagePresets: ImagePresets,
  stripLocation,
  createdAt: timestampOut,
  updatedAt: timestampOut,
});
export const ProjectList = z.object({ projects: z.array(Project) });
export const ProjectParams = z.object({ projectId: uuid });
export const CreateProjectRequest = z.object({ name: label, ...z.object(settings).partial().shape });
export const UpdateProjectRequest = z
  .object({ name: label, ...settings })
  .partial()
  .check((context) => {
    const isEmpty = Object.values(context.value).every((value) => value === undefined);
    if (!isEmpty) return;
    const message = `is missing, and so is every setting: give at least one of name, ${Object.keys(settings).join(', ')}`;
    context.issues.push({ code: 'custom', input: context.value, path: ['name'], message });
  });
export const DeleteProjectQuery = z.object({
  force: z.enum(['true', 'false'], { error: 'must be true or false' }).optional(),
});
export const DeletedProject = z.object({ id: uuidOut, deleted: z.literal(true) });

export const ReconcileRequest = z.object({ dryRun: z.boolean({ error: 'must be true or false' }) });
/** Without an id, the newest. */
export const ReconciliationQuery = z.object({ id: uuid.optional() });

const ObjectExample = z.object({ storeKey: z.string(), fileSize: z.int(), modifiedAt: timestampOut });
const FileExample = z.object({
  fileId: uuidOut,
  storeKey: z.string(),
  fileName: z.string(),
  fileSize: z.int(),
  etag: z.string(),
});

/** A comparison of all objects of a project with its files; up to 1000 examples of each kind. */
export const Reconciliation = z.object({
  id: uuidOut,
  projectId: uuidOut,
  dryRun: z.boolean(),
  requestedBy: uuidOut
    .nullable()
    .meta({ description: 'The user who requested it; null if the service started it by itself.' }),
  state: z.enum(['queued', 'running', 'done']),
  requestedAt: timestampOut,
  startedAt: timestampOut.nullable(),
  finishedAt: timestampOut.nullable(),
  objects: z.object({ count: z.int(), bytes: z.int() }).meta({ description: 'Compared so far.' }),
  files: z.object({ count: z.int() }).meta({ description: 'Compared so far.' }),
  pending: z.object({ count: z.int() }).meta({ description: 'Objects without a file that may still be recorded.' }),
  orphans: z
    .object({ count: z.int(), bytes: z.int(), removed: z.int(), examples: z.array(ObjectExample) })
    .meta({ description: 'Objects without a file that can no longer be recorded.' }),
  missing: z
    .object({ count: z.int(), examples: z.array(FileExample) })
    .meta({ description: 'Files whose object is gone.' }),
  changed: z
    .object({
      count: z.int(),
      examples: z.array(FileExample.extend({ storedSize: z.int(), storedEtag: z.string() })),
    })
    .meta({ description: 'Files whose object differs in size or ETag from when it was recorded.' }),
  foreign: z
    .object({ count: z.int(), examples: z.array(ObjectExample) })
    .meta({ description: 'Objects that were not stored through the service; they are never removed.' }),
});
