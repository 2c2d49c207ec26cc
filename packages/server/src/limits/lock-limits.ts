import { sql, type Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { type ProjectLimits, toLimits } from './find-limits.ts';

/**
 * Reads the exact limits of a project and locks them until the transaction ends: everything that takes space in a
 * project with a quota does so under this lock. A later statement than the lock reads what is stored, so it sees all
 * earlier transactions.
 * @param storeKey of the upload that needs space
 * @throws Problem project_not_found
 */
export async function lockLimits(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  storeKey: string,
): Promise<{ limits: ProjectLimits; recordFrom: Date | null }> {
  const row = await trx
    .selectFrom('projects')
    .select(['quota_bytes', 'max_file_size_bytes', 'allowed_mime_types', 'content_mismatch', 'record_from'])
    .where('id', '=', project.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
  const storedBytes = await readStoredBytes(trx, project);
  const openBytes = await readOpenBytes(trx, project, storeKey);
  return { limits: toLimits(row, { storedBytes, openBytes }), recordFrom: row.record_from };
}

/** What the project stores, including its trash: the sum of its slots. */
async function readStoredBytes(trx: Transaction<Schema>, project: OpenProject<'files:write'>): Promise<number> {
  const row = await trx
    .selectFrom('project_usage')
    .select(({ fn }) => fn.sum<number | string>('total_bytes').as('bytes'))
    .where('project_id', '=', project.id)
    .executeTakeFirst();
  return Number(row?.bytes ?? 0);
}

/** What unfinished uploads in parts take; 0 if the key is one of theirs, which has its space already. */
async function readOpenBytes(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  storeKey: string,
): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select case when bool_or(store_key = ${storeKey}) then 0 else coalesce(sum(file_size), 0) end::bigint as bytes
    from uploads where project_id = ${project.id} and aborted_at is null and completed_at is null`.execute(trx);
  return rows[0]?.bytes ?? 0;
}
