import { sql, type Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { openBytesSql, type ProjectLimits, toLimits } from './find-limits.ts';

/** The exact limits of a project, and what else decides whether a file can be inserted. */
export interface LockedLimits {
  limits: ProjectLimits;
  /** Store keys issued before this can no longer be recorded. */
  recordFrom: Date | null;
  /** Those of the store keys that belong to unfinished uploads in parts, whose space is reserved already. */
  ofUploads: ReadonlySet<string>;
}

/**
 * Reads the exact limits of a project and locks them until the transaction ends: everything that takes space in a
 * project with a quota does so under this lock. A later statement than the lock reads what is stored, so it sees all
 * earlier transactions.
 * @param storeKeys of the uploads that need space
 * @throws Problem project_not_found
 */
export async function lockLimits(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  storeKeys: readonly string[],
): Promise<LockedLimits> {
  const row = await trx
    .selectFrom('projects')
    .select(['quota_bytes', 'max_file_size_bytes', 'allowed_mime_types', 'content_mismatch', 'record_from'])
    .where('id', '=', project.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
  const storedBytes = await readStoredBytes(trx, project);
  const { openBytes, ofUploads } = await readOpenUploads(trx, project, storeKeys);
  return { limits: toLimits(row, { storedBytes, openBytes }), recordFrom: row.record_from, ofUploads };
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

/** What unfinished uploads in parts take, and which of the keys are theirs. */
async function readOpenUploads(
  trx: Transaction<Schema>,
  project: OpenProject<'files:write'>,
  storeKeys: readonly string[],
): Promise<{ openBytes: number; ofUploads: ReadonlySet<string> }> {
  const { rows } = await sql<{ bytes: number; own: string[] }>`
    select ${sql.raw(openBytesSql)} as bytes,
           coalesce(array_agg(store_key) filter (where store_key = any(${storeKeys}::text[])), '{}') as own
    from uploads where project_id = ${project.id} and aborted_at is null and completed_at is null`.execute(trx);
  return { openBytes: rows[0]?.bytes ?? 0, ofUploads: new Set(rows[0]?.own) };
}
