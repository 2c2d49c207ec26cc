import type { ListQuery } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller, Deps } from '../../deps.ts';
import { isFresh } from '../../found-cache.ts';
import { Problem } from '../../problem.ts';
import { toNameKey } from '../name-key.ts';
import { openProject } from '../projects/open-project.ts';
import { type Asker, reopenProject, toAsker } from '../projects/reopen-project.ts';
import { type Cursor, decodeCursor, encodeCursor, type Kind, type Listed } from './cursor.ts';
import { type Page, type Reading, readPage } from './list-files-page.ts';

/** So many rows are read and sent at once when a whole project streams: memory stays at this, however large it is. */
const batchSize = 1000;

interface Breadcrumb {
  id: string | null;
  name: string;
}

/**
 * From the root, which bears the project's name, to the folder that is listed; for a key that is tied to a folder, from
 * that one.
 * @throws Problem project_not_found, folder_not_found
 */
async function readBreadcrumbs(
  { db }: Deps,
  { projectId, folderId, within }: Listed,
  signal: AbortSignal,
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
  const { rows } = await db.listing.query<Breadcrumb>(statement, 'page', signal);
  if (rows.length === 0) throw new Problem('project_not_found');
  if (folderId !== undefined && folderId !== 'root' && rows.length === 1) throw new Problem('folder_not_found');
  if (!within) return rows;
  const own = rows.findIndex(({ id }) => id === within);
  if (own === -1) throw new Problem('folder_not_found');
  return rows.slice(own);
}

/**
 * The answer of the listing as pieces of JSON text. Access, the folder and the cursor are checked before the first
 * piece. Without `limit` every file and folder of the place follows, in batches, never cut.
 * @param gone aborts when nobody waits for the answer any more
 * @throws Problem project_not_found, project_not_allowed, scope_missing, folder_not_found, invalid_request (cursor)
 * @throws TooManyListings, ListingTooSlow
 */
export async function listFiles(
  deps: Deps,
  caller: Caller,
  query: z.output<typeof ListQuery>,
  gone: AbortSignal,
): Promise<AsyncGenerator<string, void>> {
  const { projectId, folderId, sort, order, limit } = query;
  const search = query.search === undefined ? undefined : toNameKey(query.search);
  const asked: Listed = { projectId, folderId, sort, order, search };
  const start = query.cursor === undefined ? undefined : decodeCursor(query.cursor, asked);
  const { within } = await openProject(deps, caller, projectId, 'files:read');
  const listed: Listed = { ...asked, within };
  const breadcrumbs = await readBreadcrumbs(deps, listed, gone);
  return limit === undefined && start === undefined
    ? streamAll(deps, listed, breadcrumbs, createAccessCheck(deps, toAsker(caller), projectId), gone)
    : onePage(deps, listed, breadcrumbs, start, limit ?? batchSize, gone);
}

/** To be called between batches: whoever reads slowly reads no further than they may, but for what a cache still believes. */
function createAccessCheck(deps: Deps, asker: Asker, projectId: string): () => Promise<void> {
  let looked = deps.now();
  return async () => {
    if (isFresh(looked, deps.now())) return;
    looked = deps.now();
    if (await reopenProject(deps, asker, projectId, 'files:read')) return;
    throw new Error('Whoever asked for this listing has lost their access.');
  };
}

async function* streamAll(
  deps: Deps,
  listed: Listed,
  breadcrumbs: Breadcrumb[],
  requireAccess: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  yield '{"files":[';
  yield* streamKind(deps, 'files', listed, requireAccess, signal);
  yield '],"folders":[';
  yield* streamKind(deps, 'folders', listed, requireAccess, signal);
  yield ending(breadcrumbs, null);
}

async function* streamKind(
  deps: Deps,
  kind: Kind,
  listed: Listed,
  requireAccess: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  let separator = '';
  let page: Page | undefined;
  do {
    await requireAccess();
    // Who waits for the first byte goes before those who have it.
    const reading: Reading = { pace: page ? 'stream' : 'page', signal };
    page = await readPage(deps, kind, listed, page?.last ?? null, batchSize, reading);
    if (page.count > 0) yield separator + page.json;
    separator = ',';
  } while (page.more);
}

/** Folders come before files, and both count towards the limit. */
async function* onePage(
  deps: Deps,
  listed: Listed,
  breadcrumbs: Breadcrumb[],
  start: Cursor | undefined,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const reading: Reading = { pace: 'page', signal };
  const nothing: Page = { json: '', last: null, more: false, count: 0 };
  const inFiles = start?.kind === 'files';
  const folders = inFiles ? nothing : await readPage(deps, 'folders', listed, start?.after ?? null, limit, reading);
  const after = inFiles ? start.after : null;
  const files = folders.more ? nothing : await readPage(deps, 'files', listed, after, limit - folders.count, reading);
  let next: Cursor | null = null;
  if (folders.more) next = { kind: 'folders', after: folders.last };
  else if (files.more) next = { kind: 'files', after: files.last };
  yield `{"files":[${files.json}],"folders":[${folders.json}${ending(breadcrumbs, next && encodeCursor(next, listed))}`;
}

function ending(breadcrumbs: Breadcrumb[], nextCursor: string | null): string {
  return `],"breadcrumbs":${JSON.stringify(breadcrumbs)},"nextCursor":${JSON.stringify(nextCursor)}}`;
}
