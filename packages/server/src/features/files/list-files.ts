import type { Input } from '@cadiz/contract';
import { type Caller, toAsker, userOf } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import type { Reading } from '../../db/listing-lane.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { type Cursor, decodeCursor, encodeCursor, type Kind, type Listed, type Position } from './cursor.ts';
import { type Page, readPage } from './list-files-page.ts';

/**
 * How many rows are read and sent at once when a whole project streams: memory use is limited to this, however large
 * the project.
 */
const batchSize = 1000;

interface Breadcrumb {
  id: string | null;
  name: string;
}

/**
 * From the root, under the project's name, to the listed folder; for a key tied to a folder, from that folder.
 * @throws Problem project_not_found, folder_not_found
 */
async function readBreadcrumbs(
  { db }: Pick<Deps, 'db'>,
  { projectId, folderId, within }: Listed,
  reading: Reading,
): Promise<Breadcrumb[]> {
  const statement = {
    name: 'breadcrumbs',
    text: `
      with recursive path as (
        select id, name, parent_id, 1 as height from folders where project_id = $1 and id = $2 and trash_id is null
        union all
        select up.id, up.name, up.parent_id, height + 1 from folders up
        join path on up.project_id = $1 and up.id = path.parent_id
      ), crumbs as (
        select id, name, height from path
        union all
        select null, name, 2147483647 from projects where id = $1
      )
      select id, name from crumbs order by height desc`,
    values: [projectId, folderId === 'root' ? null : (folderId ?? within ?? null)],
  };
  const { rows } = await db.listing.query<Breadcrumb>(statement, reading);
  if (rows.length === 0) throw new Problem('project_not_found');
  if (folderId !== undefined && folderId !== 'root' && rows.length === 1) throw new Problem('folder_not_found');
  if (!within) return rows;
  const own = rows.findIndex(({ id }) => id === within);
  if (own === -1) throw new Problem('folder_not_found');
  return rows.slice(own);
}

/**
 * The listing as pieces of JSON text. Access, the folder and the cursor are checked before the first piece. Without
 * `limit`, every file and folder of the place follows in batches, never truncated.
 * @param gone aborts when nobody waits for the answer any more
 * @throws Problem project_not_found, project_not_allowed, scope_missing, folder_not_found, invalid_request (cursor)
 * @throws TooManyListings, ListingTooSlow
 */
export async function listFiles(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  query: Input<'list'>,
  gone: AbortSignal,
): Promise<AsyncGenerator<string, void>> {
  const { projectId, folderId, sort, order, limit } = query;
  const search = query.search === undefined ? undefined : toNameKey(query.search);
  const asked: Listed = { projectId, folderId, sort, order, search };
  const start = query.cursor === undefined ? undefined : decodeCursor(query.cursor, asked);
  const { within } = await openProject(deps, caller, projectId, 'files:read');
  const listed: Listed = { ...asked, within };
  const reading: Reading = { pace: 'page', userId: userOf(caller), signal: gone };
  const breadcrumbs = await readBreadcrumbs(deps, listed, reading);
  return limit === undefined && start === undefined
    ? streamAll(deps, listed, breadcrumbs, createAccessCheck(deps, toAsker(caller), projectId), reading)
    : onePage(deps, listed, breadcrumbs, start, limit ?? batchSize, reading);
}

async function* streamAll(
  deps: Pick<Deps, 'db'>,
  listed: Listed,
  breadcrumbs: Breadcrumb[],
  requireAccess: () => Promise<void>,
  reading: Reading,
): AsyncGenerator<string, void> {
  yield '{"files":[';
  yield* streamKind(deps, 'files', listed, requireAccess, reading);
  yield '],"folders":[';
  yield* streamKind(deps, 'folders', listed, requireAccess, reading);
  yield ending(breadcrumbs, null);
}

async function* streamKind(
  deps: Pick<Deps, 'db'>,
  kind: Kind,
  listed: Listed,
  requireAccess: () => Promise<void>,
  reading: Reading,
): AsyncGenerator<string, void> {
  let separator = '';
  let page: Page | undefined;
  do {
    await requireAccess();
    // Requests still waiting for their first byte take precedence.
    const pace = page ? 'stream' : 'page';
    page = await readPage(deps, { kind, listed, start: page?.last ?? null, limit: batchSize }, { ...reading, pace });
    if (page.count > 0) yield separator + page.json;
    separator = ',';
  } while (page.more);
}

/** Folders come before files, and both count towards the limit. */
async function* onePage(
  deps: Pick<Deps, 'db'>,
  listed: Listed,
  breadcrumbs: Breadcrumb[],
  start: Cursor | undefined,
  limit: number,
  reading: Reading,
): AsyncGenerator<string, void> {
  const nothing: Page = { json: '', last: null, more: false, count: 0 };
  const inFiles = start?.kind === 'files';
  const read = (kind: Kind, after: Position | null, most: number) =>
    readPage(deps, { kind, listed, start: after, limit: most }, reading);
  const folders = inFiles ? nothing : await read('folders', start?.after ?? null, limit);
  const files = folders.more ? nothing : await read('files', inFiles ? start.after : null, limit - folders.count);
  let next: Cursor | null = null;
  if (folders.more) next = { kind: 'folders', after: folders.last };
  else if (files.more) next = { kind: 'files', after: files.last };
  yield `{"files":[${files.json}],"folders":[${folders.json}${ending(breadcrumbs, next && encodeCursor(next, listed))}`;
}

function ending(breadcrumbs: Breadcrumb[], nextCursor: string | null): string {
  return `],"breadcrumbs":${JSON.stringify(breadcrumbs)},"nextCursor":${JSON.stringify(nextCursor)}}`;
}
