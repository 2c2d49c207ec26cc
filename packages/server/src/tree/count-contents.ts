import type { Counts } from '@cadiz/contract';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import { whereUnmarkedByParent } from './in-sight.ts';

/**
 * Counts folders and the files in them, and loose files, each once.
 * @param folders selects the ids of the folders; may be recursive on `tree`
 * @param loose the condition on `files` for loose files, which count wherever they are
 */
export async function countContents(
  trx: Transaction<Schema>,
  project: OpenProject,
  folders: RawBuilder<unknown>,
  loose: RawBuilder<boolean>,
): Promise<z.output<typeof Counts>> {
  // As in `joinChildren`: one folder at a time, through the index that includes the size.
  const { rows } = await sql<z.output<typeof Counts>>`
    with recursive tree as (${folders}),
    per_folder as (
      select inside.files, 1 as folders, inside.bytes from tree cross join lateral (
        select count(*) as files, sum(file_size) as bytes from files
        where project_id = ${project.id} and folder_id = tree.id and ${whereUnmarkedByParent}
      ) inside
      union all
      select count(*), 0, sum(file_size) from files
      where project_id = ${project.id} and ${loose}
        and not (trash_id is null and folder_id is not null and folder_id in (select id from tree))
    )
    select sum(files)::bigint as files, sum(folders)::bigint as folders, coalesce(sum(bytes), 0)::bigint as bytes
    from per_folder`.execute(trx);
  return rows[0] ?? { files: 0, folders: 0, bytes: 0 };
}
