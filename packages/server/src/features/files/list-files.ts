import { findMetadataFilters, type Input } from '@cadiz/contract';
import { type Caller, toAsker, userOf } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import type { Reading } from '../../db/listing-lane.ts';
import type { Deps } from '../../deps.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { type Cursor, decodeCursor, encodeCursor, isOfFilesOnly, type Kind, type Listed } from './cursor.ts';
import { type Breadcrumb, toBreadcrumbs } from './list-files-breadcrumbs.ts';
import { type Page, readMixedPage, readPage } from './list-files-page.ts';
import { breadcrumbsStatement, type OpeningRequest, separator } from './list-files-sql.ts';

/**
 * How many rows are read and sent at once when a whole project streams: memory use is limited to this, however large
 * the project.
 */
const batchSize = 1000;

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
  const { projectId, folderId, sort, order, limit, externalId } = query;
  const search = query.search === undefined ? undefined : toNameKey(query.search);
  const metadata = findMetadataFilters(query);
  const asked: Listed = { projectId, folderId, sort, order, search, metadata, externalId };
  const start = query.cursor === undefined ? undefined : decodeCursor(query.cursor, asked);
  const { within } = await openProject(deps, caller, projectId, 'files:read');
  const listed: Listed = { ...asked, within };
  const reading: Reading = { pace: 'page', userId: userOf(caller), signal: gone };
  if (limit !== undefined || start !== undefined)
    return onePage(deps, { listed, start, limit: limit ?? batchSize }, reading);
  const requireAccess = createAccessCheck(deps, toAsker(caller), projectId);
  return streamAll(deps, listed, await readBreadcrumbs(deps, listed, reading), requireAccess, reading);
}

/** @throws Problem project_not_found, folder_not_found */
async function readBreadcrumbs({ db }: Pick<Deps, 'db'>, listed: Listed, reading: Reading): Promise<Breadcrumb[]> {
  const { rows } = await db.listing.query<{ json: string | null }>(breadcrumbsStatement(listed), reading);
  return toBreadcrumbs(listed, rows[0]?.json ?? null);
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
  if (!isOfFilesOnly(listed)) yield* streamKind(deps, 'folders', listed, requireAccess, reading);
  yield ending(breadcrumbs, null);
}

async function* streamKind(
  deps: Pick<Deps, 'db'>,
  kind: Kind,
  listed: Listed,
  requireAccess: () => Promise<void>,
  reading: Reading,
): AsyncGenerator<string, void> {
  let before = '';
  let page: Page | undefined;
  do {
    await requireAccess();
    // Requests still waiting for their first byte take precedence.
    const pace = page ? 'stream' : 'page';
    page = await readPage(deps, { kind, listed, start: page?.last ?? null, limit: batchSize }, { ...reading, pace });
    if (page.count > 0) yield before + page.json;
    before = separator;
  } while (page.more);
}

async function* onePage(
  deps: Pick<Deps, 'db'>,
  request: OpeningRequest,
  reading: Reading,
): AsyncGenerator<string, void> {
  const { breadcrumbs, folders, files } = await readMixedPage(deps, request, reading);
  let next: Cursor | null = null;
  if (folders.more) next = { kind: 'folders', after: folders.last };
  else if (files.more) next = { kind: 'files', after: files.last };
  const cursor = next && encodeCursor(next, request.listed);
  yield '{"files":[';
  yield files.json;
  yield '],"folders":[';
  yield folders.json;
  yield ending(breadcrumbs, cursor);
}

function ending(breadcrumbs: Breadcrumb[], nextCursor: string | null): string {
  return `],"breadcrumbs":${JSON.stringify(breadcrumbs)},"nextCursor":${JSON.stringify(nextCursor)}}`;
}
