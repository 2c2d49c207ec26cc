import type { Kysely, Selectable } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { OpenProject } from '../projects/open-project.ts';

/** The file that a storeKey was recorded as, wherever it is by now. */
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
    .executeTakeFirst();
}
