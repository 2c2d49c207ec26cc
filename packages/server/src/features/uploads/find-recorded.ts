import { type Kysely, type SqlBool, sql, type Transaction } from 'kysely';
import type { OpenProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import { imageOfFile } from '../../images/image-view.ts';
import type { OpenedFile } from '../../tree/open-file.ts';

/**
 * The file that a storeKey was recorded as, wherever it is now. Answering it acknowledges it: the lock gives this a
 * commit of its own, which waits for a synchronous standby even if the commit of the recording did not.
 */
export function findRecorded(
  kysely: Kysely<Schema>,
  project: OpenProject,
  storeKey: string,
): Promise<OpenedFile | undefined> {
  return kysely
    .selectFrom('files')
    .selectAll()
    .select(imageOfFile.as('image'))
    .where('project_id', '=', project.id)
    .where('store_key', '=', storeKey)
    .forKeyShare()
    .executeTakeFirst();
}

/** Which of these storeKeys are recorded. */
export async function findRecordedKeys(
  trx: Transaction<Schema>,
  project: OpenProject,
  storeKeys: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await trx
    .selectFrom('files')
    .select('store_key')
    .where('project_id', '=', project.id)
    .where(sql<SqlBool>`store_key = any(${storeKeys}::text[])`)
    .execute();
  return new Set(rows.map((row) => row.store_key));
}
