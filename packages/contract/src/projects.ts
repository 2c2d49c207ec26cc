import { z } from 'zod';
import { label, timestampOut, uuid, uuidOut } from './fields.ts';

export const Project = z.object({ id: uuidOut, name: z.string(), createdAt: timestampOut, updatedAt: timestampOut });
export const ProjectList = z.object({ projects: z.array(Project) });
export const ProjectParams = z.object({ projectId: uuid });
export const CreateProjectRequest = z.object({ name: label });
export const RenameProjectRequest = z.object({ name: label });
export const DeleteProjectQuery = z.object({
  force: z.enum(['true', 'false'], { error: 'must be true or false' }).optional(),
});
export const DeletedProject = z.object({ id: uuidOut, deleted: z.literal(true) });
