import type pg from 'pg';
import type { Reading } from '../../db/listing-lane.ts';
import type { Deps } from '../../deps.ts';
import type { Listed, Position } from './cursor.ts';
import {
  findByNameStatement,
  findStatement,
  type PageRequest,
  type PageRow,
  type Start,
  scanStatement,
  skipStatement,
} from './list-files-sql.ts';

/** A page that only its order's index can serve examines this many rows first. */
const firstBound = 5000;
/** Each further statement examines this many: about 20 ms, so that others on the connection do not wait long. */
const nextBound = 20_000;
/** After this many statements, the name index is asked for more. */
const maxScans = 5;
/** How many matches of the name index are read: at first, and if reading on has not filled the page. */
const maxFound = 10_000;
const maxFoundLate = 200_000;

/** How many names that begin with the search string are examined: more than a page, since some may be in the trash. */
const maxBeginning = 2000;

export interface Page {
  json: string;
  count: number;
  more: boolean;
  last: Position | null;
}

/**
 * Reads one page using bounded statements only. Usually the index of the order has the page at once. If the rows of a
 * page lie far apart, a search continues in the name index, which finds rare names fast; names that are frequent but
 * not near the start are found by reading on in the order. Files in a deleted tree are skipped by a jump to the next
 * file outside it.
 */
export async function readPage(deps: Pick<Deps, 'db'>, request: PageRequest, reading: Reading): Promise<Page> {
  const { listed, limit } = request;
  const bound = Math.max(firstBound, 5 * limit);
  const first = await read(deps, scanStatement(request, bound), reading);
  if (first.more || !first.reached) return toPage(first);
  const seemsRare = first.count * 20 <= limit;
  const found = seemsRare ? await find(deps, request, maxFound, reading) : undefined;
  if (found) return found;

  const onward: Reading = { ...reading, pace: 'stream' };
  const page = toPage(first);
  let reached: PageRow['reached'] = first.reached;
  for (let scans = 1; !page.more && reached; scans += 1) {
    if (scans === maxScans) {
      const whole = await find(deps, request, maxFoundLate, onward);
      if (whole) return whole;
    }
    const start = await findNext(deps, listed, { key: reached[0], id: reached[1] }, onward);
    if (!start) break;
    const rest = { ...request, start, limit: limit - page.count };
    const next = await read(deps, scanStatement(rest, nextBound), onward);
    append(page, toPage(next));
    reached = next.reached;
  }
  return page;
}

/** The page from the name index; undefined if there are more than `most` matches, or nothing is searched for. */
async function find(
  deps: Pick<Deps, 'db'>,
  request: PageRequest,
  most: number,
  reading: Reading,
): Promise<Page | undefined> {
  const { kind, listed } = request;
  const { search, sort } = listed;
  if (search === undefined) return undefined;
  const searched = { ...request, listed: { ...listed, search } };
  const statement =
    sort === 'name' || (kind === 'folders' && sort === 'fileSize')
      ? findByNameStatement(searched, { most, bound: maxBeginning })
      : findStatement(searched, most);
  const found = await read(deps, statement, reading);
  return found.overflow ? undefined : toPage(found);
}

/** Where to continue: right here, or after a run of deleted folders if nothing else lies in between. */
async function findNext(
  deps: Pick<Deps, 'db'>,
  listed: Listed,
  reached: Position,
  reading: Reading,
): Promise<Start | undefined> {
  if (listed.search !== undefined) return reached;
  const { rows } = await deps.db.listing.query<Position>(skipStatement(listed, reached), reading);
  return rows[0] && { ...rows[0], inclusive: true };
}

async function read({ db }: Pick<Deps, 'db'>, statement: pg.QueryConfig, reading: Reading): Promise<PageRow> {
  const { rows } = await db.listing.query<PageRow>(statement, reading);
  const [page] = rows;
  if (!page) throw new Error('An aggregate without groups answers one row');
  return page;
}

function toPage({ json, count, more, lastId, lastKey }: PageRow): Page {
  return { json, count, more, last: lastId === null || lastKey === null ? null : { id: lastId, key: lastKey } };
}

function append(page: Page, next: Page): void {
  if (page.json && next.json) page.json += ',';
  page.json += next.json;
  page.count += next.count;
  page.more = next.more;
  page.last = next.last ?? page.last;
}
