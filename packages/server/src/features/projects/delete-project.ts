import type { DeletedProject, Input } from '@cadiz/contract';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';

/**
 * Deletes a project with its folders, members and API keys; with files in it, only if forced. Its id is kept in
 * `removed_projects`, because its objects and unfinished uploads still have to be swept from the store.
 */
export async function deleteProject(
  deps: Pick<Deps, 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { projectId, force }: Input<'deleteProject'>,
): Promise<z.output<typeof DeletedProject>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  await deps.db.transaction(async (trx) => {
    // Deleting a million rows takes longer than any other statement may.
    await sql`set local statement_timeout = 0`.execute(trx);
    // Anything that changes several rows of a project first locks this one. From here on no such change is running, so
    // no file slips in between the check and the deletion.
    const row = await trx
      .selectFrom('projects')
      .select('name')
      .where('id', '=', project.id)
      .forUpdate()
      .executeTakeFirst();
    if (!row) throw new Problem('project_not_found');
    const file = await trx.selectFrom('files').select('id').where('project_id', '=', project.id).limit(1).execute();
    if (file.length > 0 && force !== 'true') throw new Problem('project_not_empty');
    await trx.deleteFrom('files').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('uploads').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('tickets').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('presigned_bytes').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('project_usage').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('project_days').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('reconciliation_findings').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('reconciliations').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('quarantines').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('operations').where('project_id', '=', project.id).execute();
    const endpoints = trx.selectFrom('webhook_endpoints').select('id').where('project_id', '=', project.id);
    await trx.deleteFrom('webhook_deliveries').where('endpoint_id', 'in', endpoints).execute();
    await trx.deleteFrom('webhook_endpoints').where('project_id', '=', project.id).execute();
    // How far it was swept no longer matters: everything goes.
    await trx.deleteFrom('project_sweeps').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('folders').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('projects').where('id', '=', project.id).execute();
    await trx
      .insertInto('removed_projects')
      .values({ project_id: project.id, removed_at: new Date(deps.now()) })
      .execute();
    const event = { projectId: project.id, by: caller, subject: { name: row.name } };
    await recordEvent(trx, deps.now(), { type: 'project.deleted', ...event });
    await trx.deleteFrom('work').where('project_id', '=', project.id).execute();
  });
  await deps.accessChanges.publish({ kind: 'project', id: project.id });
  return { id: project.id, deleted: true };
}
