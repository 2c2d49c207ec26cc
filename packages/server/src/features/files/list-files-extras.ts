import { maxCounted } from '@cadiz/contract';
import type pg from 'pg';
import type { Reading } from '../../db/listing-lane.ts';
import { toStatement } from '../../db/statement.ts';
import type { Deps } from '../../deps.ts';
import { findAllReady } from '../../images/open-variant.ts';
import { signVariant } from '../../images/sign-image.ts';
import { mayHaveVariants } from '../../images/source.ts';
import { toSpec } from '../../images/spec.ts';
import { toLifetime } from '../../serving/lifetime.ts';
import { type PathRow, pathsStatement, toPaths } from '../../tree/folder-paths.ts';
import type { Kind, Listed } from './cursor.ts';
import { separator } from './list-files-sql.ts';

type ListDeps = Pick<Deps, 'db' | 'objects' | 'thumbnailFields' | 'log' | 'now'>;

/** What a listing says of its rows beyond what they hold. */
export interface Extras {
  counts: boolean;
  paths: boolean;
  /** The size of thumbnails, in pixels; undefined for none. */
  thumbnail: number | undefined;
}

/** Rows of a page as JSON texts, with `separator` between them. */
export type Texts = Readonly<Record<Kind, string>>;

/** A row with what is to be added to its JSON. */
interface Row {
  kind: Kind;
  id: string;
  /** Null where no paths are asked for, too. */
  parentId: string | null;
  text: string;
}

/** How many files and folders are counted for the folders of one page, together. */
const budget = 200_000;
/** Up to this many are counted in each folder, whatever is in the others. */
const atLeast = 100;

/** Adds what is asked for to the rows of a page, with one statement for each. */
export async function addExtras(
  deps: ListDeps,
  texts: Texts,
  listed: Listed,
  { counts, paths, thumbnail }: Extras,
  reading: Reading,
): Promise<Texts> {
  if (!counts && !paths && thumbnail === undefined) return texts;
  const rows = [...toRows('folders', texts.folders, paths), ...toRows('files', texts.files, paths)];
  const findPath = paths ? await readPaths(deps, listed, rows, reading) : undefined;
  const childCounts = counts ? await countChildren(deps, listed, rows, reading) : undefined;
  const thumbnails = thumbnail === undefined ? undefined : await signThumbnails(deps, listed, rows, thumbnail, reading);
  const write = (kind: Kind) =>
    rows
      .filter((row) => row.kind === kind)
      .map(({ id, parentId, text }) =>
        withFields(
          text,
          findPath ? toField('path', findPath(parentId)) : '',
          thumbnails?.get(id) ?? '',
          kind === 'folders' && childCounts ? toField('childCount', childCounts.get(id) ?? null) : '',
        ),
      )
      .join(separator);
  return { folders: write('folders'), files: write('files') };
}

/** Without paths, rows are not parsed: it would take longer than everything else that a page of thumbnails costs. */
function toRows(kind: Kind, json: string, paths: boolean): Row[] {
  if (json === '') return [];
  return json
    .split(separator)
    .map((text) => ({ kind, id: readId(text), parentId: paths ? parseParentId(kind, text) : null, text }));
}

const beforeId = '{"id":"';
const beforeType = '"mimeType":"';

/** The id, which is the first field. */
function readId(text: string): string {
  return text.slice(beforeId.length, text.indexOf('"', beforeId.length));
}

/** Whether a file may have a thumbnail. Within texts before its type, quotation marks are escaped. */
function isImage({ kind, text }: Row): boolean {
  return kind === 'files' && mayHaveVariants(readType(text));
}

function readType(text: string): string {
  const start = text.indexOf(beforeType) + beforeType.length;
  return text.slice(start, text.indexOf('"', start));
}

function parseParentId(kind: Kind, text: string): string | null {
  const row = JSON.parse(text);
  return kind === 'files' ? row.folderId : row.parentId;
}

/** A field of an object that has others before it, as JSON. */
function toField(name: string, value: unknown): string {
  return `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
}

/** The JSON of an object that has at least one field, with further fields (see `toField`). */
function withFields(text: string, ...fields: string[]): string {
  const more = fields.join('');
  return more === '' ? text : `${text.slice(0, -1)}${more}}`;
}

/** How long the URL of a thumbnail is valid at least: somebody may look at a page for a while before scrolling. */
const thumbnailSeconds = 3600;

/**
 * Signed URLs of the thumbnails that have been made, as fields (see `toField`) by the ids of their files: the one that fits
 * inside a square of this side, or else the one of this width. A URL stays the same for as long as `toLifetime` lets it, and
 * the database is asked only for those that this process has not signed yet.
 */
async function signThumbnails(
  deps: ListDeps,
  { projectId }: Listed,
  rows: readonly Row[],
  side: number,
  reading: Reading,
): Promise<ReadonlyMap<string, string>> {
  const lifetime = toLifetime(deps.now(), thumbnailSeconds);
  const prefix = `${projectId} ${side} ${lifetime.signedAt} `;
  const fields = new Map<string, string>();
  const unknown: string[] = [];
  for (const row of rows) {
    const field = deps.thumbnailFields.get(prefix + row.id);
    if (field !== undefined) fields.set(row.id, field);
    else if (isImage(row)) unknown.push(row.id);
  }
  if (unknown.length === 0) return fields;
  const specs = [toSpec({ w: side, h: side, fit: 'inside' }).text, toSpec({ w: side }).text];
  const ready = await findAllReady(deps, projectId, unknown, specs, (statement) =>
    deps.db.listing.query(statement, reading),
  );
  for (const [id, variant] of ready) {
    const url = signVariant(deps, variant, undefined, { ...lifetime, disposition: 'inline' });
    const field = toField('thumbnailUrl', url);
    deps.thumbnailFields.set(prefix + id, field);
    fields.set(id, field);
  }
  return fields;
}

async function readPaths({ db }: Pick<Deps, 'db'>, listed: Listed, rows: Row[], reading: Reading) {
  const project = { id: listed.projectId, within: listed.within ?? null };
  const parents = rows.flatMap(({ parentId }) => parentId ?? []);
  const found = await db.listing.query<PathRow>(pathsStatement(project, parents), reading);
  return toPaths(project, found.rows);
}

async function countChildren({ db }: Pick<Deps, 'db'>, { projectId }: Listed, rows: Row[], reading: Reading) {
  const ids = rows.filter(({ kind }) => kind === 'folders').map(({ id }) => id);
  if (ids.length === 0) return new Map<string, number>();
  const counts = new Map<string, number>();
  let left = budget;
  for (let rest = ids; rest.length > 0; ) {
    const statement = childCountsStatement(projectId, rest, left, db.listing.portion(projectId).next);
    const { rows: counted } = await db.listing.query<CountedRow>(statement, reading);
    for (const { id, children, isExact } of counted) {
      if (isExact) counts.set(id, children);
      left -= children;
    }
    rest = rest.slice(Math.max(counted.length, 1));
  }
  return counts;
}

/** What was counted in a folder; not exact if there is more than may be counted. */
interface CountedRow {
  id: string;
  children: number;
  isExact: boolean;
}

/**
 * Counts the files and folders in sight in each of these folders, in their order, until it has counted so many. A count is not exact
 * if a folder has more than `maxCounted`, or the budget is not enough for it.
 * @param budget how many are counted in all, but up to a hundred in each folder in any case
 * @param atOnce after so many, the other folders are left for the next statement
 */
export function childCountsStatement(
  projectId: string,
  folderIds: readonly string[],
  budget: number,
  atOnce: number,
): pg.QueryConfig {
  // One folder after the other, each with what the ones before it have left of the budget. As in `toIndexOrder`, the order
  // names the one index to use.
  const sql = `
    with recursive counted as (
      select 0 as place, 0::bigint as children, 0::bigint as most, :budget::bigint as budget
      union all
      select place + 1, inside.children, allowed.most, budget - inside.children
      from counted
      cross join lateral (select greatest(least(${maxCounted}, budget), ${atLeast}) as most) allowed
      cross join lateral (
        select count(*) as children from (
          select 1 from (
            select id from folders
            where project_id = :projectId and parent_id = (:folderIds::uuid[])[place + 1] and trash_id is null
            order by parent_id, trash_id, id limit ${maxCounted + 1}
          ) folders
          union all
          select 1 from (
            select id from files
            where project_id = :projectId and folder_id = (:folderIds::uuid[])[place + 1] and trash_id is null
            order by folder_id, trash_id, id limit ${maxCounted + 1}
          ) files
          limit allowed.most + 1
        ) children
      ) inside
      where place < cardinality(:folderIds::uuid[]) and budget > :budget::bigint - :atOnce::bigint
    )
    select (:folderIds::uuid[])[place] as id, children, children <= most as "isExact" from counted where place > 0 order by place`;
  return toStatement('list-child-counts', sql, { projectId, folderIds: `{${folderIds.join(',')}}`, budget, atOnce });
}
