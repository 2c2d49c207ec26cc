import type { ListQuery } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { openProject } from '../projects/open-project.ts';
import { type Cursor, decodeCursor, encodeCursor, type Place } from './cursor.ts';

/** So many rows are read and sent at once when a whole project streams: memory stays at this, however large it is. */
const batchSize = 1000;

const timestamp = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const times = `${timestamp('created_at')} as "createdAt", ${timestamp('updated_at')} as "updatedAt"`;

const columns = {
  files: `id, project_id as "projectId", store_key as "storeKey", file_name as "fileName", file_size as "fileSize",
    mime_type as "mimeType", folder_id as "folderId", etag, detected_mime_type as "detectedMimeType",
    content_check as "contentCheck", encode(sha256, 'hex') as sha256, sha256_state as "sha256State", ${times}`,
  folders: `id, project_id as "projectId", name, parent_id as "parentId", ${times}`,
};
const parentColumn = { files: 'folder_id', folders: 'parent_id' };

type Kind = keyof typeof columns;

interface Page {
  /** JSON objects with commas between them, made by the database: twice as fast as rows. */
  json: string;
  lastId: string | null;
  more: boolean;
  count: number;
}

const firstId = '00000000-0000-0000-0000-000000000000';

/** One page in the order of ids, which are UUIDs v7: the oldest first, stable while files come and go. */
async function readPage({ db }: Deps, kind: Kind, place: Place, after: string | null, limit: number): Promise<Page> {
  const values: unknown[] = [place.projectId, after ?? firstId, limit];
  const parent = parentColumn[kind];
  let inFolder = '';
  if (place.folderId === 'root') inFolder = `and ${parent} is null`;
  else if (place.folderId !== undefined) inFolder = `and ${parent} = $${values.push(place.folderId)}`;
  // `is null` fixes a column's value, but only a planner that is told to order by it takes the order of the index:
  // without, the whole root was read and sorted for each page.
  const order = place.folderId === undefined ? 'id' : `${parent}, trash_id, id`;
  const { rows } = await db.pool.query<Page>({
    name: `list-${kind}-${place.folderId === undefined ? 'all' : place.folderId === 'root' ? 'root' : 'folder'}`,
    text: `
      with page as (
        select ${columns[kind]} from ${kind}
        where project_id = $1 and trash_id is null and id > $2 ${inFolder} order by ${order} limit $3 + 1
      ), numbered as (
        select page.id, row_number() over (order by id) as n, row_to_json(page)::text as json from page
      )
      select coalesce(string_agg(json, ',' order by n) filter (where n <= $3), '') as json,
             (array_agg(id order by n desc) filter (where n <= $3))[1] as "lastId",
             count(*) > $3 as more, least(count(*), $3)::int as count
      from numbered`,
    values,
  });
  const [page] = rows;
  if (!page) throw new Error('An aggregate without groups answers one row');
  return page;
}

interface Breadcrumb {
  id: string | null;
  name: string;
}

/** From the root, which bears the project's name, to the folder that is listed. */
async function readBreadcrumbs({ db }: Deps, { projectId, folderId }: Place): Promise<Breadcrumb[]> {
  const { rows } = await db.pool.query<Breadcrumb>({
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
    values: [projectId, folderId === 'root' ? null : (folderId ?? null)],
  });
  if (rows.length === 0) throw new Problem('project_not_found');
  if (folderId !== undefined && folderId !== 'root' && rows.length === 1) throw new Problem('folder_not_found');
  return rows;
}

/**
 * The answer of the listing as pieces of JSON text. Access, the folder and the cursor are checked before the first
 * piece. Without `limit` every file and folder of the place follows, in batches, never cut.
 * @throws Problem project_not_found, project_not_allowed, scope_missing, folder_not_found, invalid_request (cursor)
 */
export async function listFiles(
  deps: Deps,
  caller: Caller,
  query: z.output<typeof ListQuery>,
): Promise<AsyncGenerator<string, void>> {
  const place: Place = { projectId: query.projectId, folderId: query.folderId };
  const start = query.cursor === undefined ? undefined : decodeCursor(query.cursor, place);
  await openProject(deps, caller, query.projectId, 'files:read');
  const breadcrumbs = await readBreadcrumbs(deps, place);
  return query.limit === undefined && start === undefined
    ? streamAll(deps, place, breadcrumbs)
    : onePage(deps, place, breadcrumbs, start, query.limit ?? batchSize);
}

async function* streamAll(deps: Deps, place: Place, breadcrumbs: Breadcrumb[]): AsyncGenerator<string, void> {
  yield '{"files":[';
  yield* streamKind(deps, 'files', place);
  yield '],"folders":[';
  yield* streamKind(deps, 'folders', place);
  yield ending(breadcrumbs, null);
}

async function* streamKind(deps: Deps, kind: Kind, place: Place): AsyncGenerator<string, void> {
  let separator = '';
  let page: Page | undefined;
  do {
    page = await readPage(deps, kind, place, page?.lastId ?? null, batchSize);
    if (page.count > 0) yield separator + page.json;
    separator = ',';
  } while (page.more);
}

/** Folders come before files, and both count towards the limit. */
async function* onePage(
  deps: Deps,
  place: Place,
  breadcrumbs: Breadcrumb[],
  start: Cursor | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  const nothing: Page = { json: '', lastId: null, more: false, count: 0 };
  const inFiles = start?.kind === 'files';
  const folders = inFiles ? nothing : await readPage(deps, 'folders', place, start?.after ?? null, limit);
  const after = inFiles ? start.after : null;
  const files = folders.more ? nothing : await readPage(deps, 'files', place, after, limit - folders.count);
  let next: Cursor | null = null;
  if (folders.more) next = { kind: 'folders', after: folders.lastId };
  else if (files.more) next = { kind: 'files', after: files.lastId };
  yield `{"files":[${files.json}],"folders":[${folders.json}${ending(breadcrumbs, next && encodeCursor(next, place))}`;
}

function ending(breadcrumbs: Breadcrumb[], nextCursor: string | null): string {
  return `],"breadcrumbs":${JSON.stringify(breadcrumbs)},"nextCursor":${JSON.stringify(nextCursor)}}`;
}
