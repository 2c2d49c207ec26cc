import { findMetadataFilters, type Input } from '@cadiz/contract';
import { type Caller, userOf } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import type { Reading } from '../../db/listing-lane.ts';
import type { Deps } from '../../deps.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { decodeCursor, encodeCursor, isOfFilesOnly, type Kind, type Listed } from './cursor.ts';
import { type Breadcrumb, toBreadcrumbs } from './list-files-breadcrumbs.ts';
import { addExtras, type Extras } from './list-files-extras.ts';
import { countListed, type Page, readPage, readPortions, takeJson, toTotal } from './list-files-page.ts';
import { breadcrumbsStatement, type OpeningRequest, separator } from './list-files-sql.ts';

/** How many rows a page has if only a cursor is given. */
const defaultLimit = 1000;
/** How long a page of a search or filter is read, after its first statement, before it comes back short. */
const pageMilliseconds = 100;

type ListDeps = Pick<Deps, 'db' | 'objects' | 'thumbnailFields' | 'access' | 'log' | 'now'>;

/**
 * The listing as pieces of JSON text. Access, the folder and the cursor are checked before the first piece. Without
 * `limit`, every file and folder of the place follows in batches, never truncated.
 * @param gone aborts when nobody waits for the answer any more
 */
export async function listFiles(
  deps: ListDeps,
  caller: Caller,
  query: Input<'list'>,
  gone: AbortSignal,
): Promise<AsyncGenerator<string, void>> {
  const { projectId, folderId, sort, order, limit, externalId } = query;
  const search = query.search === undefined ? undefined : toNameKey(query.search);
  const metadata = findMetadataFilters(query);
  const asked: Listed = { projectId, folderId, sort, order, search, metadata, externalId };
  const { counts, paths, thumbnail } = query;
  const extras: Extras = { counts: counts === 'true', paths: paths === 'true', thumbnail };
  const start = query.cursor === undefined ? undefined : decodeCursor(query.cursor, asked);
  const { within } = await openProject(deps, caller, projectId, 'files:read');
  const listed: Listed = { ...asked, within };
  const reading: Reading = { pace: 'page', projectId, userId: userOf(caller), signal: gone };
  if (limit !== undefined || start !== undefined)
    return onePage(deps, { listed, start, limit: limit ?? defaultLimit }, extras, reading);
  // Before the first statement, which may wait for its turn: access can be lost until it is there.
  const requireAccess = createAccessCheck(deps, caller, projectId, 'files:read');
  const breadcrumbs = await readBreadcrumbs(deps, listed, reading);
  return streamAll(deps, {
    listed,
    breadcrumbs,
    extras,
    requireAccess,
    reading,
  });
}

/** @throws Problem project_not_found, folder_not_found */
async function readBreadcrumbs({ db }: Pick<Deps, 'db'>, listed: Listed, reading: Reading): Promise<Breadcrumb[]> {
  const { rows } = await db.listing.query<{ json: string | null }>(breadcrumbsStatement(listed), reading);
  return toBreadcrumbs(listed, rows[0]?.json ?? null);
}

/** Everything that a listing streams. */
interface Stream {
  listed: Listed;
  breadcrumbs: Breadcrumb[];
  extras: Extras;
  requireAccess: () => Promise<void>;
  reading: Reading;
}

async function* streamAll(deps: ListDeps, stream: Stream): AsyncGenerator<string, void> {
  yield '{"files":[';
  let count = yield* streamKind(deps, 'files', stream);
  yield '],"folders":[';
  if (!isOfFilesOnly(stream.listed)) count += yield* streamKind(deps, 'folders', stream);
  yield ending(stream.breadcrumbs, null, stream.extras.counts ? toTotal(count) : undefined);
}

/** @returns how many there were */
async function* streamKind(
  deps: ListDeps,
  kind: Kind,
  { listed, extras, requireAccess, reading }: Stream,
): AsyncGenerator<string, number> {
  let before = '';
  let count = 0;
  let page: Page | undefined;
  do {
    await requireAccess();
    // Requests still waiting for their first byte take precedence.
    const pace = page ? 'stream' : 'page';
    const own: Reading = { ...reading, pace };
    // Memory use is limited to this many rows, however large the project.
    const limit = deps.db.listing.portion(listed.projectId).rows;
    page = await readPage(deps, { kind, listed, start: page?.last ?? null, limit }, own);
    if (page.count > 0) {
      const texts = await addExtras(deps, { files: '', folders: '', [kind]: takeJson(page) }, listed, extras, own);
      yield before;
      yield texts[kind];
    }
    count += page.count;
    before = separator;
  } while (page.more);
  return count;
}

async function* onePage(
  deps: ListDeps,
  request: OpeningRequest,
  extras: Extras,
  reading: Reading,
): AsyncGenerator<string, void> {
  const { listed, start, limit } = request;
  const startTime = () => {
    const end = deps.now() + pageMilliseconds;
    return () => deps.now() >= end;
  };
  const { breadcrumbs, folders, files, next } = await readPortions(deps, request, reading, startTime);
  const cursor = next && encodeCursor(next, listed);
  const here = folders.count + files.count;
  const isShort = next !== null && here < limit;
  const count = async () => {
    if (isShort) return null;
    return start === undefined && next === null ? here : countListed(deps, listed, reading);
  };
  const total = extras.counts ? await count() : undefined;
  const texts = await addExtras(deps, { files: files.json, folders: folders.json }, listed, extras, reading);
  yield '{"files":[';
  yield texts.files;
  yield '],"folders":[';
  yield texts.folders;
  yield ending(breadcrumbs, cursor, total);
}

/** @param total undefined unless it was asked for */
function ending(breadcrumbs: Breadcrumb[], nextCursor: string | null, total: number | null | undefined): string {
  return `],${JSON.stringify({ breadcrumbs, nextCursor, total }).slice(1)}`;
}
