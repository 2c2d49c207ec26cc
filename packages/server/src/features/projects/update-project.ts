import type { Project, UpdateProjectRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { recordEvent } from '../audit/record-event.ts';
import { openProject } from './open-project.ts';
import { toProjectView } from './project-view.ts';

/**
 * Changes what is given of a project's name and settings. A quota below what is stored is allowed: nothing is deleted,
 * and uploads are refused until there is room.
 * @throws Problem project_not_found, role_missing
 */
export async function updateProject(
  deps: Deps,
  caller: SessionCaller,
  projectId: string,
  request: z.output<typeof UpdateProjectRequest>,
): Promise<z.output<typeof Project>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const row = await deps.db.transaction(async (trx) => {
    // Waits for the recordings that are under way without a quota, and makes the next ones see the settings below.
    await trx.selectFrom('projects').select('id').where('id', '=', project.id).forUpdate().execute();
    const changed = await trx
      .updateTable('projects')
      .set({
        name: request.name,
        quota_bytes: request.quotaBytes,
        max_file_size_bytes: request.maxFileSizeBytes,
        allowed_mime_types: request.allowedMimeTypes,
        content_mismatch: request.contentMismatch,
        updated_at: new Date(deps.now()),
      })
      .where('id', '=', project.id)
      .returningAll()
      .executeTakeFirst();
    if (!changed) throw new Problem('project_not_found');
    await recordEvent(trx, deps.now(), {
      type: 'project.updated',
      projectId: project.id,
      by: caller,
      subject: request,
    });
    return changed;
  });
  await deps.accessChanges.publish({ kind: 'project', id: project.id });
  return toProjectView(row);
}
