import { type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Schema } from '../../db/schema.ts';
import { countContents } from '../../tree/count-contents.ts';
import { joinChildren } from '../../tree/select-tree.ts';
import { type Affected, type Change, requireTarget } from './apply-change.ts';
import type { Chosen } from './require-chosen.ts';

/** What is directly in one place, or for a restore: what is in the trash and was there. */
export interface Selected {
  /** Null for the root. */
  folderId: string | null;
  /** What the names contain, in the form of `toNameKey`; null for any. */
  search: string | null;
  exceptIds: readonly string[];
  /** For a restore: what was deleted after this can be restored. */
  after: Date;
  /** Only what has not been added, changed or deleted since; null for everything. */
  until: Date | null;
}

type Kind = 'folders' | 'files';

const parentOf = { folders: sql.ref('parent_id'), files: sql.ref('folder_id') };

/** The condition on the rows of a place, which an index of the parent serves. */
function inPlace(kind: Kind, { action, project }: Change, { folderId, after, until }: Selected): RawBuilder<SqlBool> {
  const parent = folderId === null ? sql`${parentOf[kind]} is null` : sql`${parentOf[kind]} = ${folderId}`;
  const isThere =
    action === 'restore'
      ? sql`trash_id = id and trashed_at > ${after} and (${until}::timestamptz is null or trashed_at <= ${until})`
      : sql`trash_id is null and (${until}::timestamptz is null or updated_at <= ${until})`;
  return sql<SqlBool>`project_id = ${project.id} and ${parent} and ${isThere}`;
}

/** Whether a row of the place is selected. */
function isSelected({ search, exceptIds }: Selected): RawBuilder<SqlBool> {
  const matches = search === null ? sql`true` : sql`strpos(name_key, ${search}) > 0`;
  return sql<SqlBool>`(${matches} and id <> all(${exceptIds}::uuid[]))`;
}

/** @throws Problem folder_not_found: the place does not exist for the caller */
export async function requireSelectable(
  trx: Transaction<Schema>,
  { project }: Change,
  { folderId }: Selected,
): Promise<void> {
  if (folderId !== null || project.within !== null) await requireLiveFolder(trx, project, folderId);
}

/** The ids of everything that is selected, locked until the transaction ends; undefined if that is more than `most`. */
export async function takeSelected(
  trx: Transaction<Schema>,
  change: Change,
  selected: Selected,
  most: number,
): Promise<Chosen | undefined> {
  const read = async (kind: Kind, limit: number) => {
    const { rows } = await sql<{ id: string }>`
      select id from ${sql.table(kind)} where ${inPlace(kind, change, selected)} and ${isSelected(selected)}
      ${inOrder(kind)} limit ${limit}`.execute(trx);
    return rows.map(({ id }) => id);
  };
  const folderIds = await read('folders', most + 1);
  if (folderIds.length > most) return undefined;
  const fileIds = await read('files', most - folderIds.length + 1);
  if (folderIds.length + fileIds.length > most) return undefined;
  return { folderIds, fileIds: await lock(trx, 'files', change, selected, fileIds) };
}

/** Some of what is selected. */
export interface Batch {
  ids: string[];
  /** How many rows of the place were examined. */
  examined: number;
  /** The id to go on from. */
  last: string | undefined;
}

/**
 * What is selected among the next rows of the place, in the order of their ids, locked until the transaction ends.
 * @param after the id to go on from
 * @param size how many rows are examined
 */
export async function takeBatch(
  trx: Transaction<Schema>,
  kind: Kind,
  change: Change,
  selected: Selected,
  after: string,
  size: number,
): Promise<Batch> {
  // An entry of the trash has its own id as its trash_id: either way, the rows come in the order of an index.
  const position = change.action === 'restore' ? sql`trash_id > ${after}` : sql`id > ${after}`;
  const { rows } = await sql<{ id: string; isSelected: boolean }>`
    select id, ${isSelected(selected)} as "isSelected" from ${sql.table(kind)}
    where ${inPlace(kind, change, selected)} and ${position} ${inOrder(kind)} limit ${size}`.execute(trx);
  const ids = rows.filter((row) => row.isSelected).map(({ id }) => id);
  const locked = await lock(trx, kind, change, selected, ids);
  return { ids: locked, examined: rows.length, last: rows.at(-1)?.id };
}

/** The order of the index of a place, and so of the ids in it. */
function inOrder(kind: Kind): RawBuilder<unknown> {
  return sql`order by ${parentOf[kind]}, trash_id, id`;
}

/** Locks these rows, and leaves out those that have just been deleted or moved: files do not wait for the tree lock. */
async function lock(
  trx: Transaction<Schema>,
  kind: Kind,
  change: Change,
  selected: Selected,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(kind)}
    where ${inPlace(kind, change, selected)} and id = any(${ids}::uuid[])
    order by id for no key update`.execute(trx);
  return rows.map(({ id }) => id);
}

/** How many files and folders are selected. */
export async function countEntries(trx: Transaction<Schema>, change: Change, selected: Selected): Promise<number> {
  const count = (kind: Kind) => sql`
    select count(*) as entries from ${sql.table(kind)}
    where ${inPlace(kind, change, selected)} and ${isSelected(selected)}`;
  const { rows } = await sql<{ entries: number }>`
    select sum(entries)::bigint as entries from (${count('folders')} union all ${count('files')}) kinds`.execute(trx);
  return rows[0]?.entries ?? 0;
}

/**
 * What a change of the selection would affect, with everything in the folders.
 * @throws Problem for a move that is not possible: see `requireMovable`
 */
export async function countSelected(trx: Transaction<Schema>, change: Change, selected: Selected): Promise<Affected> {
  await requireMovable(trx, change, selected);
  const roots = sql`select id from folders where ${inPlace('folders', change, selected)} and ${isSelected(selected)}`;
  const folders =
    change.action === 'restore'
      ? sql`select id from folders where project_id = ${change.project.id} and trash_id in (${roots})`
      : sql`${roots} union select child.id from tree ${joinChildren(change.project)}`;
  const files = sql<boolean>`${inPlace('files', change, selected)} and ${isSelected(selected)}`;
  return countContents(trx, change.project, folders, files);
}

/**
 * Checks, before the first of them is moved, that all selected folders can be.
 * @throws Problem folder_not_found, folder_exists, folder_cycle, folder_too_deep
 */
export async function requireMovable(trx: Transaction<Schema>, change: Change, selected: Selected): Promise<void> {
  if (change.action !== 'move') return;
  const { rows } = await sql<{ id: string; name: string; name_key: string }>`
    select id, name, name_key from folders
    where ${inPlace('folders', change, selected)} and ${isSelected(selected)}`.execute(trx);
  await requireTarget(trx, change.project, change.targetId, rows);
}
