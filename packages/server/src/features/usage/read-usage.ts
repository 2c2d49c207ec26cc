import type { Usage, UsageQuery } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { trashedSql } from './trashed-sql.ts';

type UsageView = z.output<typeof Usage>;

/**
 * The number of files and bytes that a project stores, or a folder with everything below it. `fileCount` and
 * `totalBytes` count files in sight; `trashedBytes` is everything else that is stored: files in the trash, files in
 * folders in the trash, and files that have left the trash but not yet the object store. For a key tied to a folder,
 * that folder is everything. Each answer comes from one statement, so it is consistent.
 */
export async function readUsage(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { projectId, folderId }: z.output<typeof UsageQuery>,
): Promise<UsageView> {
  const project = await openProject(deps, caller, projectId, 'files:read');
  const shown = folderId ?? project.within;
  if (shown === null) return readProjectUsage(deps, project);
  if (!(await isWithin(deps, project, shown))) throw new Problem('folder_not_found');
  return readFolderUsage(deps, project, shown);
}

/** The sum of the slots minus the trash: its cost depends on the size of the trash, not of the project. */
async function readProjectUsage({ db }: Pick<Deps, 'db'>, project: OpenProject<'files:read'>): Promise<UsageView> {
  const { rows } = await db.pool.query<UsageView>({
    name: 'usage',
    text: `
      with stored as (
        select coalesce(sum(file_count), 0) as files, coalesce(sum(total_bytes), 0) as bytes
        from project_usage where project_id = $1
      ), trashed as (${trashedSql()})
      select (stored.files - trashed.files)::bigint as "fileCount", (stored.bytes - trashed.bytes)::bigint as "totalBytes",
             trashed.bytes::bigint as "trashedBytes", projects.quota_bytes as "quotaBytes",
             (select coalesce(sum(bytes), 0)::bigint from image_variants where project_id = $1 and state = 'ready') as "variantBytes"
      from projects, stored, trashed where projects.id = $1`,
    values: [project.id],
  });
  if (!rows[0]) throw new Problem('project_not_found');
  return rows[0];
}

/**
 * Sums every folder of the tree, including those in the trash, from an index that has the sizes next to each file's
 * folder. As in `joinChildren`, one folder is looked up after the other.
 */
async function readFolderUsage(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:read'>,
  folderId: string,
): Promise<UsageView> {
  const { rows } = await db.pool.query<UsageView>({
    name: 'usage-folder',
    text: `
      with recursive tree as (
        select id, true as is_live from folders where project_id = $1 and id = $2 and trash_id is null
        union
        select below.* from tree cross join lateral (
          select id, trash_id is null from folders where project_id = $1 and parent_id = tree.id offset 0
        ) below
      ), stored as (
        select count(*) filter (where is_live and trash_id is null) as live_files,
               coalesce(sum(file_size) filter (where is_live and trash_id is null), 0) as live_bytes,
               coalesce(sum(file_size), 0) as bytes
        from tree join files on files.project_id = $1 and files.folder_id = tree.id
      )
      select live_files as "fileCount", live_bytes::bigint as "totalBytes", (bytes - live_bytes)::bigint as "trashedBytes",
             quota_bytes as "quotaBytes", 0::bigint as "variantBytes"
      from projects, stored where projects.id = $1 and exists (select 1 from tree)`,
    values: [project.id, folderId],
  });
  if (!rows[0]) throw new Problem('folder_not_found');
  return rows[0];
}
