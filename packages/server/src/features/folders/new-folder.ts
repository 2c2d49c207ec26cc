import type { Insertable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { toMaker, type Uploader } from '../../access/caller.ts';
import type { OpenProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';

/** The row of a new folder, for a place that was checked under the tree lock. */
export function toNewFolder(
  caller: Uploader,
  project: OpenProject<'files:write'>,
  { parentId, name, nameKey }: { parentId: string | null; name: string; nameKey: string },
  at: Date,
): Insertable<Schema['folders']> {
  return {
    project_id: project.id,
    id: uuidv7(),
    parent_id: parentId,
    name,
    name_key: nameKey,
    ...toMaker(caller),
    created_at: at,
    updated_at: at,
  };
}
