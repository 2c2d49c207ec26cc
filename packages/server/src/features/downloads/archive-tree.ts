import type pg from 'pg';
import type { OpenProject } from '../../access/open-project.ts';
import { firstId } from '../../db/ids.ts';
import type { Deps } from '../../deps.ts';
import { fileInSight, unmarkedByParent } from '../../tree/in-sight.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { createEntryNames, type EntryNames } from './archive-names.ts';

/** The files and folders of a selection that exist. */
export interface Selected {
  files: ArchivedFile[];
  folders: { id: string; name: string; updatedAt: Date }[];
}

export interface ArchivedFile {
  id: string;
  name: string;
  storeKey: string;
  sizeBytes: number;
  createdAt: Date;
}

/** A folder of the tree, which leads from the root, or from the folders of a selection, to all that is below. */
interface TreeRow {
  /** Null for the project's root. */
  id: string | null;
  /** Null for what is at the top of the archive. */
  parentId: string | null;
  /** In the library; of the folders of a selection, in the archive. */
  name: string;
  /** For the root, when the archive was requested. */
  createdAt: Date;
  updatedAt: Date;
  fileCount: number;
  /** The marks of its files, combined by xor: a string, since it has 64 bits. */
  fileMarks: string;
}

export interface ArchivedFolder extends TreeRow {
  /** Ends in a slash; empty for the root. */
  path: string;
  /** The names used in it. Its folders have theirs already. */
  names: EntryNames;
}

const fileColumns = `id, file_name as name, store_key as "storeKey", file_size as "sizeBytes", created_at as "createdAt"`;
/** A 64-bit mark of a file, so that a folder's files can be compared with those read, in any order. */
const mark = 'hashtextextended(files.id::text, 0)';
const pageSize = 500;
/** The files and folders among these that exist for the caller, each kind in the order of their names. */
export async function findSelected(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:read'>,
  fileIds: readonly string[],
  folderIds: readonly string[],
): Promise<Selected> {
  const isWithin = (column: string) => `($3::uuid is null or ${column} in (select folders_within($1, $3)))`;
  const files = await db.pool.query<ArchivedFile>({
    name: 'archive-selected-files',
    text: `select ${fileColumns} from files
           where project_id = $1 and id = any($2) and ${fileInSight} and ${isWithin('folder_id')}
           order by name_key, id`,
    values: [project.id, fileIds, project.within],
  });
  const folders = await db.pool.query<Selected['folders'][number]>({
    name: 'archive-selected-folders',
    text: `select id, name, updated_at as "updatedAt" from folders
           where project_id = $1 and id = any($2) and trash_id is null and ${isWithin('id')}
           order by name_key, id`,
    values: [project.id, folderIds, project.within],
  });
  return { files: files.rows, folders: folders.rows };
}

/** The roots of an archive: ids of folders, and the name of each in the archive. */
interface Roots {
  ids: string[];
  names: string[];
}

/**
 * The folders below the roots, or all folders of the project, with the number and marks of the files in each at one
 * moment. They are read at once; their paths, which can be far longer than all else, are made one at a time. A folder comes
 * before its contents.
 * @param roots undefined for the whole project
 */
export async function readTree(
  deps: Pick<Deps, 'db'>,
  project: OpenProject<'files:read'>,
  roots: Roots | undefined,
  at: Date,
): Promise<AsyncGenerator<ArchivedFolder, void>> {
  const { rows } = await deps.db.pool.query<TreeRow>(treeStatement(project.id, roots, at));
  const below = new Map<string | null, TreeRow[]>();
  for (const row of rows) {
    if (row.id === null) continue;
    const siblings = below.get(row.parentId);
    if (siblings) siblings.push(row);
    else below.set(row.parentId, [row]);
  }

  async function* walk(row: TreeRow, path: string): AsyncGenerator<ArchivedFolder, void> {
    const names = createNamesIn(deps, project, row.id);
    const folders = below.get(row.id) ?? [];
    const given: string[] = [];
    for (const { name } of folders) given.push(await names.give(name, false));
    yield { ...row, path, names };
    for (const [index, folder] of folders.entries()) yield* walk(folder, `${path}${given[index]}/`);
  }

  async function* walkAll(): AsyncGenerator<ArchivedFolder, void> {
    const root = rows.find(({ id }) => id === null);
    if (root) yield* walk(root, '');
    else for (const top of below.get(null) ?? []) yield* walk(top, `${top.name}/`);
  }
  return walkAll();
}

/**
 * A folder that is selected, and in another one that is, comes twice: what is in it is there once, and belongs to both. As
 * in `joinChildren`, one folder is looked up after the other.
 */
export function treeStatement(projectId: string, roots: Roots | undefined, at: Date): pg.QueryConfig {
  const top = roots
    ? `select f.id, null::uuid, root.name, f.created_at, f.updated_at
       from unnest($3::uuid[], $4::text[]) as root (id, name)
       join folders f on f.project_id = $1 and f.id = root.id and f.trash_id is null`
    : `select id, null::uuid, name, created_at, updated_at from folders
       where project_id = $1 and parent_id is null and trash_id is null`;
  // The order is that of the index on the folder, which the planner prefers to others for it.
  const filesIn = (inFolder: string) => `lateral (
    select count(*)::int as count, coalesce(bit_xor(${mark}), 0)::text as marks from (
      select id from files where project_id = $1 and ${inFolder} and ${unmarkedByParent} and created_at <= $2
      order by folder_id, trash_id, id offset 0
    ) files) f`;
  return {
    name: `archive-tree-${roots ? 'selected' : 'all'}`,
    text: `
      with recursive tree (id, parent_id, name, created_at, updated_at) as (
        ${top}
        union
        select child.* from tree cross join lateral (
          select id, parent_id, name, created_at, updated_at from folders
          where project_id = $1 and parent_id = tree.id and ${unmarkedByParent} offset 0
        ) child
      ), counted as (
        select tree.*, count, marks from tree, ${filesIn('folder_id = tree.id')}
        ${roots ? '' : `union all select null, null, '', $2, $2, count, marks from ${filesIn('folder_id is null')}`}
      )
      select id, parent_id as "parentId", name, created_at as "createdAt", updated_at as "updatedAt", count as "fileCount", marks as "fileMarks"
      from counted order by name collate "C", id`,
    values: [projectId, at.toISOString(), ...(roots ? [roots.ids, roots.names] : [])],
  };
}

/** The names in one folder of the library (null: the root). */
function createNamesIn(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:read'>,
  folderId: string | null,
): EntryNames {
  const inFolder = (column: string) =>
    folderId === null ? `${column} is null and $2::uuid is null` : `${column} = $2`;
  return createEntryNames(async (name) => {
    const { rows } = await db.pool.query<{ taken: boolean }>({
      name: `archive-name-taken-${folderId === null ? 'root' : 'folder'}`,
      text: `select exists (select 1 from files where project_id = $1 and ${inFolder('folder_id')}
                              and trash_id is null and name_key = $3)
                 or exists (select 1 from folders where project_id = $1 and ${inFolder('parent_id')}
                              and trash_id is null and name_key = $3) as taken`,
      values: [project.id, folderId, toNameKey(name)],
    });
    return rows[0]?.taken === true;
  });
}

interface FileRow extends ArchivedFile {
  mark: string;
  nameKey: string;
  isFolder: boolean;
}

/**
 * The files that were in a folder at a moment, a page at a time, in the order of their names, each under a distinct
 * name.
 * @throws Error if they are not the files that the tree counted: one that is renamed or moved in the meantime can come
 *   twice, or never
 */
export async function* readFiles(
  deps: Pick<Deps, 'db'>,
  project: OpenProject<'files:read'>,
  { id: folderId, fileCount, fileMarks, names }: ArchivedFolder,
  at: Date,
): AsyncGenerator<ArchivedFile[], void> {
  const inFolder = (column: string) => (folderId === null ? `${column} is null` : `${column} = $2`);
  const values = folderId === null ? [project.id, null] : [project.id, folderId];
  // A null parameter that no condition uses still needs a type.
  const typed = folderId === null ? 'and $2::uuid is null' : '';
  const kind = folderId === null ? 'root' : 'folder';

  let last: { nameKey: string; id: string } | undefined;
  let count = 0;
  let marks = 0n;
  for (;;) {
    // Both leading columns of the order have a single value; without them, the planner does not use the index.
    const { rows } = await deps.db.pool.query<FileRow>({
      name: `archive-files-${kind}`,
      text: `select ${fileColumns}, ${mark}::text as mark, name_key as "nameKey",
               exists (select 1 from folders where project_id = $1 and ${inFolder('parent_id')}
                         and trash_id is null and name_key = files.name_key) as "isFolder"
             from files
             where project_id = $1 and ${inFolder('folder_id')} ${typed} and trash_id is null and created_at <= $3
               and (name_key, id) > ($4, $5)
             order by folder_id, trash_id, name_key, id limit ${pageSize}`,
      values: [...values, at, last?.nameKey ?? '', last?.id ?? firstId],
    });
    const page: ArchivedFile[] = [];
    for (const row of rows) {
      const name = await names.give(row.name, row.isFolder || row.nameKey === last?.nameKey);
      last = row;
      count += 1;
      marks ^= BigInt(row.mark);
      page.push({ ...row, name });
    }
    if (page.length > 0) yield page;
    if (rows.length < pageSize) break;
  }
  if (count < fileCount) throw new Error(`Only ${count} of ${fileCount} files in a folder of the archive are left.`);
  if (String(marks) !== fileMarks)
    throw new Error('Files in a folder of the archive were renamed or moved in the meantime.');
}
