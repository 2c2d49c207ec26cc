import type { Input, Project } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { toProjectView } from './project-view.ts';
import { findQuotaCap, requireQuota } from './require-quota.ts';

/**
 * Changes the given ones of a project's name and settings. A quota below what is stored is allowed: nothing is deleted,
 * and uploads are refused until there is room.
 */
export async function updateProject(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { projectId, ...request }: Input<'updateProject'>,
): Promise<z.output<typeof Project>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const cap = request.quotaBytes === undefined ? null : await findQuotaCap(deps, caller);
  const row = await deps.db.transaction(async (trx) => {
    // Waits for running recordings without a quota, and makes later ones see the settings below.
    const present = await trx
      .selectFrom('projects')
      .select('quota_bytes')
      .where('id', '=', project.id)
      .forUpdate()
      .executeTakeFirst();
    if (request.quotaBytes !== undefined) requireQuota(cap, request.quotaBytes, present?.quota_bytes);
    const changed = await trx
      .updateTable('projects')
      .set({
        name: request.name,
        quota_bytes: request.quotaBytes,
        max_file_size_bytes: request.maxFileSizeBytes,
        allowed_mime_types: request.allowedMimeTypes,
        content_mismatch: request.contentMismatch,
        image_presets: request.imagePresets && JSON.stringify(request.imagePresets),
        strip_location: request.stripLocation,
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
