import { z } from 'zod';
import { allowedMimeTypes, byteLimit, label, timestampOut, uuid, uuidOut } from './fields.ts';

/** What a member may do: an owner everything, an editor everything with files and API keys, a viewer read. */
export const roles = ['owner', 'editor', 'viewer'] as const;
export type Role = (typeof roles)[number];

const contentMismatch = z
  .enum(['report', 'refuse'], { error: 'must be report or refuse' })
  .meta({ description: 'What is done with a file whose first bytes are of another type than its mimeType says.' });

/** What a project takes. Null is no limit of its own. */
const settings = {
  quotaBytes: byteLimit.nullable(),
  maxFileSizeBytes: byteLimit.nullable(),
  allowedMimeTypes: allowedMimeTypes.nullable(),
  contentMismatch,
};

export const Project = z.object({
  id: uuidOut,
  name: z.string(),
  quotaBytes: z.int().nullable(),
  maxFileSizeBytes: z.int().nullable(),
  allowedMimeTypes: z.array(z.string()).nullable(),
  contentMismatch,
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
