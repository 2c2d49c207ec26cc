import { type Selectable, type SqlBool, sql, type Transaction } from 'kysely';
import { whereBelow, whereWithin } from '../../access/is-within.ts';
import type { OpenProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import { type Issue, Problem } from '../../problem.ts';
import { whereInSight } from '../../tree/in-sight.ts';

/** The files and folders that a request names. */
export interface Chosen {
  fileIds: string[];
  folderIds: string[];
}

type FolderRow = Selectable<Schema['folders']>;

/**
 * The chosen folders, after checking that all chosen folders and files are in sight. Locks the files until the
 * transaction ends.
 * @throws Problem file_not_found, folder_not_found; `issues` names every id that was not found
 */
export async function requireInSight(
  trx: Transaction<Schema>,
  project: OpenProject,
  { fileIds, folderIds }: Chosen,
): Promise<FolderRow[]> {
  const files = await trx
    .selectFrom('files')
    .select('id')
    .where('project_id', '=', project.id)
    .where(sql<SqlBool>`id = any(${fileIds}::uuid[])`)
    .where(whereInSight)
    .where(whereWithin(project, 'folder_id'))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  const folders = await trx
    .selectFrom('folders')
    .selectAll()
    .where('project_id', '=', project.id)
    .where(sql<SqlBool>`id = any(${folderIds}::uuid[])`)
    .where('trash_id', 'is', null)
    .where(whereBelow(project, 'id'))
    .execute();
  requireAllFound({ fileIds, folderIds }, files, folders);
  return folders;
}

/**
 * The chosen entries of the trash, in the order of the ids; but a folder comes after the one it is inside. What was
 * deleted with a chosen folder may be named too, as it was in the deletion: it comes back with that folder.
 * @param after accepts only entries deleted after this
 * @throws Problem file_not_found, folder_not_found
 */
export async function requireDeleted(
  trx: Transaction<Schema>,
  project: OpenProject,
  { fileIds, folderIds }: Chosen,
  after: Date,
): Promise<FolderRow[]> {
  const marked = await trx
    .selectFrom('folders')
    .leftJoin('folders as parents', (join) =>
      join.onRef('parents.project_id', '=', 'folders.project_id').onRef('parents.id', '=', 'folders.parent_id'),
    )
    .selectAll('folders')
    .select('parents.trash_id as parent_entry')
    .where('folders.project_id', '=', project.id)
    .where(sql<SqlBool>`folders.id = any(${folderIds}::uuid[])`)
    .where('folders.trash_id', 'is not', null)
    .where('folders.trashed_at', '>', after)
    .where(whereBelow(project, 'folders.id'))
    .execute();
  const entries = marked.filter(({ id, trash_id }) => id === trash_id);
  const entryIds = entries.map(({ id }) => id);
  const folders = marked.filter(({ trash_id }) => trash_id !== null && entryIds.includes(trash_id));
  const files = await trx
    .selectFrom('files')
    .select('id')
    .where('project_id', '=', project.id)
    .where(sql<SqlBool>`id = any(${fileIds}::uuid[])`)
    .where(sql<SqlBool>`(trash_id = id and trashed_at > ${after} or trash_id is null and folder_id in (
      select id from folders where project_id = ${project.id} and trash_id = any(${entryIds}::uuid[])))`)
    .where(whereWithin(project, 'folder_id'))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  requireAllFound({ fileIds, folderIds }, files, folders);
  return sortOuterFirst(entries, folderIds);
}

/** In the order of the ids, so that it is known which of two folders of one name keeps it. */
function sortOuterFirst<T extends { id: string; parent_entry: string | null }>(entries: T[], ids: string[]): T[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const sorted = new Set<T>();
  const add = (entry: T | undefined) => {
    if (!entry || sorted.has(entry)) return;
    add(byId.get(entry.parent_entry ?? ''));
    sorted.add(entry);
  };
  for (const id of ids) add(byId.get(id));
  return [...sorted];
}

function requireAllFound(chosen: Chosen, files: { id: string }[], folders: { id: string }[]): void {
  const fileIssues = toIssues('fileIds', chosen.fileIds, files);
  const folderIssues = toIssues('folderIds', chosen.folderIds, folders);
  const issues = [...fileIssues, ...folderIssues];
  if (issues.length === 0) return;
  const detail = `${issues.length} of the ids ${issues.length === 1 ? 'was' : 'were'} not found.`;
  throw new Problem(fileIssues.length > 0 ? 'file_not_found' : 'folder_not_found', detail, { issues });
}

function toIssues(field: keyof Chosen, ids: string[], found: { id: string }[]): Issue[] {
  const known = new Set(found.map(({ id }) => id));
  return ids.flatMap((id, index) => (known.has(id) ? [] : [{ path: `${field}.${index}`, message: 'was not found' }]));
}
