import type { Kysely, Selectable } from 'kysely';
import type { OpenProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';

/**
 * The file that a storeKey was recorded as, wherever it is by now. To answer it is to acknowledge it: the lock makes this a
 * commit of its own, which waits for a synchronous standby where the recording may not have.
 */
export function findRecorded(
  kysely: Kysely<Schema>,
  project: OpenProject,
  storeKey: string,
): Promise<Selectable<Schema['files']> | undefined> {
  return kysely
    .selectFrom('files')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('store_key', '=', storeKey)
    .forKeyShare()
    .executeTakeFirst();
}
