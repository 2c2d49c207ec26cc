import type { DeletedProject, Input } from '@cadiz/contract';
import { sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';

/** A statement with more rows could take longer than the service waits for an answer of the database. */
const rowsAtOnce = 50_000;

/**
 * Deletes a project with its folders, members and API keys; with files in it, only if forced. Its id is kept in
 * `removed_projects`, because its objects and unfinished uploads still have to be swept from the store.
 */
export async function deleteProject(
  deps: Pick<Deps, 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { projectId, force }: Input<'deleteProject'>,
  atOnce = rowsAtOnce,
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
    const rows = { of: 'project_id', id: project.id };
    await deleteInSteps(trx, 'image_variants', { ...rows, by: 'store_key' }, atOnce);
    await deleteInSteps(trx, 'files', { ...rows, by: 'id' }, atOnce);
    await deleteInSteps(trx, 'uploads', { ...rows, by: 'id' }, atOnce);
    await trx.deleteFrom('tickets').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('presigned_bytes').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('project_usage').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('project_days').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('reconciliation_findings').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('reconciliations').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('quarantines').where('project_id', '=', project.id).execute();
    await trx.deleteFrom('operations').where('project_id', '=', project.id).execute();
    const endpoints = trx.selectFrom('webhook_endpoints').select('id').where('project_id', '=', project.id);
    for (const { id } of await endpoints.execute()) {
      await deleteInSteps(trx, 'webhook_deliveries', { of: 'endpoint_id', id, by: 'event_id' }, atOnce);
    }
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

interface Rows {
  of: string;
  id: string;
  /** What tells the rows of one id apart, the next column of the primary key. */
  by: string;
}

/** Deletes rows in the order of their keys, so that no statement reads past those that are deleted already. */
async function deleteInSteps(
  trx: Transaction<Schema>,
  table: keyof Schema,
  { of, id, by }: Rows,
  atOnce: number,
): Promise<void> {
  const key = sql.ref<string>(by);
  for (let rest = sql`${sql.ref(of)} = ${id}`; ; ) {
    const next = await sql<{ key: string }>`
      select ${key} as key from ${sql.table(table)} where ${rest} order by ${key} offset ${atOnce} limit 1`.execute(
      trx,
    );
    const from = next.rows[0]?.key;
    const step = from === undefined ? rest : sql`${rest} and ${key} < ${from}`;
    await sql`delete from ${sql.table(table)} where ${step}`.execute(trx);
    if (from === undefined) return;
    rest = sql`${sql.ref(of)} = ${id} and ${key} >= ${from}`;
  }
}
