import { type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import { whereWithin } from '../../access/is-within.ts';
import { requireLiveFolder } from '../../access/require-folder.ts';
import type { Schema } from '../../db/schema.ts';
import { countContents } from '../../tree/count-contents.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { toGramQuery } from '../../tree/name-grams.ts';
import { joinChildren } from '../../tree/select-tree.ts';
import { type Affected, type Change, requireTarget } from './apply-change.ts';
import type { Chosen } from './require-chosen.ts';

/**
 * What is directly in one place, or at any depth of the project as far as the caller reaches; for a restore: what is in
 * the trash and was there.
 */
export interface Selected {
  /** A folder, or 'root'; undefined for the whole project, which is always searched. */
  folderId: string | undefined;
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

/** The condition on the rows of a place, which an index of the parent serves, or for the whole project one of what is in sight. */
function inPlace(kind: Kind, change: Change, selected: Selected): RawBuilder<SqlBool> {
  const { action, project } = change;
  const { folderId, after, until } = selected;
  const parent =
    folderId === undefined
      ? anywhere(kind, change)
      : folderId === 'root'
        ? sql`${parentOf[kind]} is null`
        : sql`${parentOf[kind]} = ${folderId}`;
  const isThere =
    action === 'restore'
      ? sql`trash_id = id and trashed_at > ${after} and (${until}::timestamptz is null or trashed_at <= ${until})`
      : sql`trash_id is null and (${until}::timestamptz is null or updated_at <= ${until})`;
  return sql<SqlBool>`project_id = ${project.id} and ${parent} and ${isThere}`;
}

/** The condition that a row is within the caller's reach, and if it is not in the trash, in sight. */
function anywhere(kind: Kind, { action, project }: Change): RawBuilder<SqlBool> {
  const within = whereWithin(project, kind === 'files' ? 'folder_id' : 'parent_id');
  if (action === 'restore') return within;
  const inSight = kind === 'files' ? whereInSight : sql`true`;
  return sql<SqlBool>`trashed_at is null and ${inSight} and ${within}`;
}

/** Whether a row of the place is selected. */
function isSelected({ search, exceptIds }: Selected): RawBuilder<SqlBool> {
  const matches = search === null ? sql`true` : sql`strpos(name_key, ${search}) > 0`;
  return sql<SqlBool>`(${matches} and id <> all(${exceptIds}::uuid[]))`;
}

/** The condition on all that is selected, for reading it at once: in a whole project, the name index finds what is not in the trash. */
function everySelected(kind: Kind, change: Change, selected: Selected): RawBuilder<boolean> {
  const { action, project } = change;
  const { folderId, search } = selected;
  const isIndexed = folderId === undefined && search !== null && action !== 'restore';
  const mayMatch = isIndexed
    ? sql`name_grams(project_id, name_key) @@ ${toGramQuery(project.id, search, 'anywhere')}::tsquery`
    : sql`true`;
  return sql<boolean>`${inPlace(kind, change, selected)} and ${mayMatch} and ${isSelected(selected)}`;
}

/** @throws Problem folder_not_found: the place does not exist for the caller */
export async function requireSelectable(
  trx: Transaction<Schema>,
  { project }: Change,
  { folderId }: Selected,
): Promise<void> {
  const place = folderId === 'root' ? null : (folderId ?? project.within);
  const isWhole = folderId === undefined && project.within === null;
  if (!isWhole && (place !== null || project.within !== null)) await requireLiveFolder(trx, project, place);
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
      select id from (
        select id from ${sql.table(kind)}
        where ${everySelected(kind, change, selected)}
        ${selected.folderId === undefined ? sql`` : inOrder(kind, change, selected)} limit ${limit}
      ) found order by id`.execute(trx);
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
  /** The id to go on from; undefined if nothing is left. */
  next: string | undefined;
}

/** How many rows a batch has at most, and how many are examined for it. */
export interface BatchSizes {
  changed: number;
  examined: number;
}

/**
 * What is selected among the next rows of the place, in the order of their ids, locked until the transaction ends.
 * @param after the id to go on from
 */
export async function takeBatch(
  trx: Transaction<Schema>,
  kind: Kind,
  change: Change,
  selected: Selected,
  after: string,
  { changed, examined }: BatchSizes,
): Promise<Batch> {
  // In a place, an entry of the trash has its own id as its trash_id: either way, the rows come in the order of an index.
  const isEntry = change.action === 'restore' && selected.folderId !== undefined;
  const position = isEntry ? sql`trash_id > ${after}` : sql`id > ${after}`;
  const rest = sql`
    select id, name_key from ${sql.table(kind)}
    where ${inPlace(kind, change, selected)} and ${position} ${inOrder(kind, change, selected)}`;
  const found = await sql<{ id: string }>`
    select id from (${rest} limit ${examined}) examined where ${isSelected(selected)} limit ${changed}`.execute(trx);
  const ids = found.rows.map(({ id }) => id);
  const locked = await lock(trx, kind, change, selected, ids);
  if (ids.length === changed) return { ids: locked, next: ids.at(-1) };
  const end = await sql<{ id: string }>`${rest} offset ${examined - 1} limit 1`.execute(trx);
  return { ids: locked, next: end.rows[0]?.id };
}

/** The order of the index of a place, and so of the ids in it. */
function inOrder(kind: Kind, { action }: Change, { folderId }: Selected): RawBuilder<unknown> {
  if (folderId !== undefined) return sql`order by ${parentOf[kind]}, trash_id, id`;
  return action === 'restore' ? sql`order by id` : sql`order by trashed_at, id`;
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
    where ${everySelected(kind, change, selected)}`;
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
  const roots = sql`
    select id from folders
    where ${everySelected('folders', change, selected)}`;
  const folders =
    change.action === 'restore'
      ? sql`select id from folders where project_id = ${change.project.id} and trash_id in (${roots})`
      : sql`${roots} union select child.id from tree ${joinChildren(change.project)}`;
  const files = everySelected('files', change, selected);
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
    where ${everySelected('folders', change, selected)}`.execute(trx);
  await requireTarget(trx, change.project, change.targetId, rows);
}
