import type { CreateProjectRequest, Project } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { recordEvent } from '../audit/record-event.ts';
import { toProjectView } from './project-view.ts';

/** Makes a project; the caller becomes its owner. */
export async function createProject(
  { db, now }: Deps,
  caller: SessionCaller,
  request: z.output<typeof CreateProjectRequest>,
): Promise<z.output<typeof Project>> {
  const id = uuidv7();
  const at = new Date(now());
  return db.transaction(async (trx) => {
    const row = await trx
      .insertInto('projects')
      .values({
        id,
        name: request.name,
        quota_bytes: request.quotaBytes,
        max_file_size_bytes: request.maxFileSizeBytes,
        allowed_mime_types: request.allowedMimeTypes,
        content_mismatch: request.contentMismatch,
        created_at: at,
        updated_at: at,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await trx
      .insertInto('project_members')
      .values({ project_id: id, user_id: caller.userId, role: 'owner', created_at: at })
      .execute();
    const event = { projectId: id, by: caller, subject: { name: row.name } };
    await recordEvent(trx, at.getTime(), { type: 'project.created', ...event });
    return toProjectView(row);
  });
}
