import { type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { fileInSight } from './in-sight.ts';

// An externalId belongs to one file of a project: the one whose row has it without `external_id_ceded`, which an index
// keeps unique. Deleting a folder does not touch its files, so a file that is hidden keeps its externalId until another
// file claims it, and claims it back when it comes into sight again (decision 0061).

/**
 * Takes externalIds away from files that are not in sight: from the trash, deleted folders and quarantines. Valid only
 * under the tree lock, so that none of them comes into sight meanwhile.
 */
export async function cedeExternalIds(
  trx: Transaction<Schema>,
  projectId: string,
  externalIds: readonly string[],
): Promise<void> {
  await sql`
    update files set external_id_ceded = true
    where project_id = ${projectId} and external_id = any(${externalIds}::text[]) and external_id_ceded is null
      and not (${sql.raw(fileInSight)})`.execute(trx);
}

/**
 * Gives files that have just come into sight their externalIds back. Valid only under the tree lock.
 * @param restored a condition on `files`
 * @throws Problem external_id_taken
 */
export async function reclaimExternalIds(
  trx: Transaction<Schema>,
  projectId: string,
  restored: RawBuilder<SqlBool>,
): Promise<void> {
  const files = await trx
    .selectFrom('files')
    .select(['id', 'external_id'])
    .where('project_id', '=', projectId)
    .where(sql<SqlBool>`external_id_ceded`)
    .where(restored)
    .execute();
  if (files.length === 0) return;
  const externalIds = files.map(({ external_id }) => external_id ?? '');
  await cedeExternalIds(trx, projectId, externalIds);
  const ids = files.map(({ id }) => id);
  const claiming = sql`
    update files set external_id_ceded = null where project_id = ${projectId} and id = any(${ids}::uuid[])`;
  await whileClaiming(claiming.execute(trx), externalIds);
}

/** Waits for a statement that claims externalIds. @throws Problem external_id_taken */
export async function whileClaiming<T>(statement: Promise<T>, externalIds: readonly string[]): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.constraint === 'files_external_id_key') {
      throw externalIdTaken(externalIds, error);
    }
    throw error;
  }
}

/** The problem of files of which at least one has an externalId that another file holds. */
export function externalIdTaken(externalIds: readonly string[], cause?: Error): Problem {
  const [only, ...more] = externalIds;
  const which = more.length === 0 ? `the externalId ${JSON.stringify(only)}` : 'one of their externalIds';
  return new Problem('external_id_taken', `Another file of the project has ${which} now.`, { cause });
}
