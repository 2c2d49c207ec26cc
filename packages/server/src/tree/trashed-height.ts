import { type Kysely, sql } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';

/** How many levels the trees of these entries of the trash have, with the entries themselves; by their ids. */
export async function readTrashedHeights(
  db: Kysely<Schema>,
  project: OpenProject,
  entryIds: readonly string[],
): Promise<Map<string, number>> {
  // As in `joinChildren`: one folder at a time.
  const { rows } = await sql<{ entry: string; height: number }>`
    with recursive tree as (
      select id, id as entry, 1 as level from folders
      where project_id = ${project.id} and id = any(${entryIds}::uuid[]) and trash_id = id
      union all
      select child.id, tree.entry, level + 1 from tree cross join lateral (
        select id from folders
        where project_id = ${project.id} and parent_id = tree.id and trash_id = tree.entry offset 0
      ) child
    )
    select entry, max(level)::int as height from tree group by entry`.execute(db);
  return new Map(rows.map(({ entry, height }) => [entry, height]));
}
