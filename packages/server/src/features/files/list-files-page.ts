import { maxCounted } from '@cadiz/contract';
import type pg from 'pg';
import { IndexUsedUp } from '../../db/database-errors.ts';
import type { Reading } from '../../db/listing-lane.ts';
import type { Deps } from '../../deps.ts';
import { type Cursor, isOfFilesOnly, type Kind, type Listed, type Position } from './cursor.ts';
import { type Breadcrumb, toBreadcrumbs } from './list-files-breadcrumbs.ts';
import {
  findStatements,
  type OpeningRequest,
  type OpeningRow,
  openingStatement,
  type PageRequest,
  type PageRow,
  type Start,
  scanStatement,
  separator,
  skipStatement,
} from './list-files-sql.ts';

/** After this many rows, a count is given up. */
const maxCountExamined = 70_000;
/** How many names that begin with the search string are examined: more than a page, since some may be in the trash. */
const maxBeginning = 2000;

/** Says whether a page has taken long enough, and may be short. Streams, which read everything, need no short pages. */
export type IsLate = () => boolean;
const never: IsLate = () => false;

export interface Page {
  json: string;
  count: number;
  /** Whether more may follow, which begins after `last`. */
  more: boolean;
  last: Position | null;
}

const nothing = (): Page => ({ json: '', last: null, more: false, count: 0 });

/** How many rows the first statement for a page examines. */
function toFirstBound(
  { db }: Pick<Deps, 'db'>,
  { listed, limit, isCount }: Omit<PageRequest, 'kind' | 'start'>,
): number {
  const { first, counted } = db.listing.portion(listed.projectId);
  return isCount ? counted : Math.max(first, 5 * limit);
}

/**
 * Reads a page of folders and files in as many statements as the lane allows rows for: usually one, and several for a large page
 * while other requests come, which go first in between.
 * @param startTime as for `readMixedPage`
 * @throws Problem project_not_found, folder_not_found
 */
export async function readPortions(
  deps: Pick<Deps, 'db'>,
  request: OpeningRequest,
  reading: Reading,
  startTime: () => IsLate,
): Promise<MixedPage & { next: Cursor | null }> {
  let whole: MixedPage | undefined;
  let isLate: IsLate | undefined;
  let next: Cursor | null = request.start ?? null;
  let rest = request.limit;
  let isShort = false;
  const startOnce = () => {
    isLate ??= startTime();
    return isLate;
  };
  do {
    const limit = Math.min(rest, deps.db.listing.portion(request.listed.projectId).rows);
    // Once a page has begun, it is not refused any more.
    const own: Reading = whole ? { ...reading, pace: 'stream' } : reading;
    const part = await readMixedPage(deps, { ...request, start: next ?? undefined, limit }, own, startOnce);
    const count = part.folders.count + part.files.count;
    whole = whole ? join(whole, part) : part;
    next = toNext(part);
    rest -= count;
    isShort = count < limit;
  } while (next && rest > 0 && !isShort);
  return { ...whole, next };
}

/**
 * Takes the JSON from what held it. Collections of young objects keep what an older one still refers to, even if nothing refers to that
 * one: half a megabyte for each statement of a stream, and a hundred until a collection of everything.
 */
export function takeJson(holder: { json: string | null }): string {
  const { json } = holder;
  holder.json = '';
  return json ?? '';
}

/** Where to continue after a page; null if it is the last. */
function toNext({ folders, files }: MixedPage): Cursor | null {
  if (folders.more) return { kind: 'folders', after: folders.last };
  return files.more ? { kind: 'files', after: files.last } : null;
}

function join(page: MixedPage, { folders, files }: MixedPage): MixedPage {
  append(page.folders, folders);
  append(page.files, files);
  return page;
}

/** A page of folders and files: folders come first, and both count towards the limit. */
export interface MixedPage {
  breadcrumbs: Breadcrumb[];
  folders: Page;
  files: Page;
}

/**
 * Reads a page of folders and files with its breadcrumbs, usually in one statement.
 * @param startTime called when the first statement has been answered: however long that has waited, the page makes progress
 * @throws Problem project_not_found, folder_not_found
 */
async function readMixedPage(
  deps: Pick<Deps, 'db'>,
  request: OpeningRequest,
  reading: Reading,
  startTime: () => IsLate,
): Promise<MixedPage> {
  const { listed, start, limit } = request;
  const bound = toFirstBound(deps, { listed, limit });
  const { rows } = await deps.db.listing.query<OpeningRow>(openingStatement(request, bound), reading);
  const isLate = startTime();
  const rowOf = (part: OpeningRow['part']) => requireRow(rows.find((row) => row.part === part));
  const breadcrumbs = toBreadcrumbs(listed, rowOf('breadcrumbs').json);
  const after = start?.after ?? null;
  const complete = (kind: Kind, from: Position | null, most: number) =>
    completePage(deps, { kind, listed, start: from, limit: most }, rowOf(kind), bound, reading, isLate);
  if (start?.kind === 'files' || isOfFilesOnly(listed)) {
    return { breadcrumbs, folders: nothing(), files: await complete('files', after, limit) };
  }
  const folders = await complete('folders', after, limit);
  if (folders.more) return { breadcrumbs, folders, files: nothing() };
  const rest = limit - folders.count;
  // If one statement did not find all folders, it could not know how many files to read.
  const files = rowOf('folders').reached
    ? await readPage(deps, { kind: 'files', listed, start: null, limit: rest }, reading, isLate)
    : await complete('files', null, rest);
  return { breadcrumbs, folders, files };
}

/**
 * Reads one page using bounded statements only. Usually the index of the order has the page at once. If the rows of a
 * page lie far apart, a search continues in the name index, and a filter in the index of metadata, which find what is
 * rare fast. What is too frequent for that, but not near the start, is found by reading on in the order; when `isLate`
 * says so, the page comes back short, even empty, and the next one continues there. Files in a deleted tree, and what is
 * outside the folder of a key, are skipped by a jump to what comes next.
 */
export async function readPage(
  deps: Pick<Deps, 'db'>,
  request: PageRequest,
  reading: Reading,
  isLate = never,
): Promise<Page> {
  const bound = toFirstBound(deps, request);
  const scanned = await read(deps, scanStatement(request, bound), reading);
  return completePage(deps, request, scanned, bound, reading, isLate);
}

/**
 * How many files and folders a listing has in all. Null if they are more than `maxCounted`, or if too much would have to
 * be read: what a count examines is bounded, however much there is.
 */
export async function countListed(deps: Pick<Deps, 'db'>, listed: Listed, reading: Reading): Promise<number | null> {
  // Names are examined in their index alone.
  const cheapest: Listed = { ...listed, sort: listed.search === undefined ? 'createdAt' : 'name', order: 'asc' };
  const count = (kind: Kind) =>
    readPage(deps, { kind, listed: cheapest, start: null, limit: maxCounted, isCount: true }, reading);
  const folders = isOfFilesOnly(listed) ? nothing() : await count('folders');
  if (folders.more) return null;
  const files = await count('files');
  return files.more ? null : toTotal(folders.count + files.count);
}

/** A number of files and folders as listings say it: null if it is more than they count. */
export function toTotal(count: number): number | null {
  return count <= maxCounted ? count : null;
}

/**
 * @param scanned what the first statement found
 * @param firstBound how many rows it examined at most
 */
async function completePage(
  deps: Pick<Deps, 'db'>,
  request: PageRequest,
  scanned: PageRow,
  firstBound: number,
  reading: Reading,
  isLate: IsLate,
): Promise<Page> {
  const { listed, limit, start } = request;
  const page = toPage(scanned, limit);
  const isSearch = listed.search !== undefined || listed.metadata.length > 0;
  let isFrequent = start?.isFrequent ?? false;
  const withMark = () => ({ ...page, last: page.last && { ...page.last, isFrequent } });
  if (page.more || !scanned.reached) return withMark();
  const seemsRare = page.count * 20 <= limit;
  const mayFind = deps.db.listing.portion(listed.projectId).found > 0;
  const asksIndex = isSearch && seemsRare && !isFrequent && mayFind;
  if (asksIndex) {
    const found = await find(deps, request, reading);
    if (found) return found;
    isFrequent = true;
  }

  const onward: Reading = { ...reading, pace: 'stream' };
  let reached: Position | undefined = toPosition(scanned);
  let examined = firstBound;
  for (let scans = 1; !page.more && reached; scans += 1) {
    if (request.isCount && examined >= maxCountExamined) return { ...page, more: true };
    // Each page makes progress, however late it is.
    if (isSearch && (asksIndex || scans > 1) && isLate())
      return { ...page, more: true, last: { ...reached, isFrequent } };
    const next = isSearch ? reached : await findNext(deps, request, reached, onward);
    if (!next) break;
    const rest = { ...request, start: next, limit: limit - page.count };
    const bound = deps.db.listing.portion(listed.projectId).next;
    examined += bound;
    const further = await read(deps, scanStatement(rest, bound), onward);
    append(page, toPage(further, rest.limit));
    reached = toPosition(further);
  }
  return withMark();
}

/** How far a statement got that did not fill a page. */
function toPosition({ reached }: PageRow): Position | undefined {
  return reached ? { key: reached[0], id: reached[1] } : undefined;
}

/** The page from an index of names or metadata; undefined if each has too many matches, or the project may not use them now. */
async function find(deps: Pick<Deps, 'db'>, request: PageRequest, reading: Reading): Promise<Page | undefined> {
  const { found: maxFound } = deps.db.listing.portion(request.listed.projectId);
  const most = request.isCount ? maxCounted : maxFound;
  try {
    for (const statement of findStatements(request, { most, bound: maxBeginning })) {
      const found = await read(deps, statement, { ...reading, isFind: true });
      if (!found.overflow) return toPage(found, request.limit);
    }
  } catch (error) {
    if (!(error instanceof IndexUsedUp)) throw error;
  }
  return undefined;
}

/** Where to continue a listing of everything: after what is in deleted folders, or out of the caller's reach. */
async function findNext(
  deps: Pick<Deps, 'db'>,
  { kind, listed }: PageRequest,
  reached: Position,
  reading: Reading,
): Promise<Start | undefined> {
  const { rows } = await deps.db.listing.query<Position>(skipStatement(kind, listed, reached), reading);
  return rows[0] && { ...rows[0], inclusive: true };
}

async function read({ db }: Pick<Deps, 'db'>, statement: pg.QueryConfig, reading: Reading): Promise<PageRow> {
  const { rows } = await db.listing.query<PageRow>(statement, reading);
  return requireRow(rows[0]);
}

function requireRow<T>(row: T | undefined): T {
  if (!row) throw new Error('An aggregate without groups answers one row');
  return row;
}

function toPage(row: PageRow, limit: number): Page {
  const { count, lastId, lastKey } = row;
  const more = count > limit;
  const rows = takeJson(row);
  return {
    json: more ? rows.slice(0, Math.max(0, rows.lastIndexOf(separator))) : rows,
    count: Math.min(count, limit),
    more,
    last: lastId === null || lastKey === null ? null : { id: lastId, key: lastKey },
  };
}

function append(page: Page, next: Page): void {
  if (page.json && next.json) page.json += separator;
  page.json += next.json;
  page.count += next.count;
  page.more = next.more;
  page.last = next.last ?? page.last;
}
