import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { type Reading, wholePortion } from '../../db/listing-lane.ts';
import { createApp } from '../../http/app.ts';

/** So many files come first in each order, and have neither the word nor the value; every thousandth has the other word. */
const early = 60_000;
/** More than a page reads of an index. */
const late = 101_000;
const fillMilliseconds = 240_000;

let service: TestService;
let ada: Person;
let key: string;
let projectId: string;
/** Has every other file. */
let folderId: string;
/** The time that passes whenever somebody looks at the clock. */
let step = 0;
let passed = 0;
let statements: string[] = [];
let app: ReturnType<typeof createApp>;

beforeAll(async () => {
  service = await startTestService({
    clock: () => {
      passed += step;
      return Date.now() + passed;
    },
  });
  ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
  projectId = await service.createProject(ada);
  const body = { projectId, name: 'Half', parentId: null };
  folderId = (await service.call('POST', '/api/storage/folders', { key, body })).body.id;
  const { pool } = service.deps.db;
  // Building them afterwards takes a fraction of the time.
  const indexes = await pool.query<{ sql: string }>(
    `select indexdef as sql from pg_indexes where indexname in ('files_search_index', 'files_metadata_index')`,
  );
  await pool.query('drop index files_search_index; drop index files_metadata_index');
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, metadata)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1::text || '/' || n,
            name, upper(name), n, 'image/jpeg', case when n % 2 = 0 then $2::uuid end, 'e',
            case when n > $3 then '{"when":"late"}'::json end
     from (
       select n, lpad(n::text, 6, '0') || case when n > $3 then ' word' when n % 1000 < 2 then ' seldom' else '' end as name
       from generate_series(1, $3::int + $4::int) n
     ) numbered`,
    [projectId, folderId, early, late],
  );
  for (const { sql } of indexes.rows) await pool.query(sql);
  const { listing } = service.deps.db;
  const noting = {
    ...listing,
    portion: () => wholePortion,
    query<R extends pg.QueryResultRow>(statement: pg.QueryConfig, reading: Reading) {
      statements.push(statement.name ?? '');
      return listing.query<R>(statement, reading);
    },
  };
  app = createApp({ ...service.deps, db: { ...service.deps.db, listing: noting } });
}, fillMilliseconds);
afterAll(() => service.close());

/** Lists while each look at the clock says that it is late. */
async function listLate(query: Record<string, string>, own = key): Promise<Answer['body']> {
  statements = [];
  step = 1000;
  const request = new Request(`http://localhost/api/storage/list?${new URLSearchParams({ projectId, ...query })}`, {
    headers: { Authorization: `Bearer ${own}` },
  });
  const answer = await app.fetch(request);
  step = 0;
  const body: Answer['body'] = await answer.json();
  expect(answer.status, JSON.stringify(body)).toBe(200);
  return body;
}

interface Walk {
  names: string[];
  /** How many entries each page had. */
  sizes: number[];
}

/** Follows the cursors to the end, or until so many have been found. */
async function walk(query: Record<string, string>, most = Number.POSITIVE_INFINITY, own = key): Promise<Walk> {
  const names: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const body: Answer['body'] = await listLate({ ...query, ...(cursor ? { cursor } : {}) }, own);
    for (const { fileName, path } of body.files) {
      names.push(fileName);
      if (query.paths) expect(path).toEqual(Number(fileName.slice(0, 6)) % 2 ? [] : [{ id: folderId, name: 'Half' }]);
    }
    sizes.push(body.files.length);
    cursor = body.nextCursor;
  } while (cursor && names.length < most);
  return { names, sizes };
}

const nameOf = (n: number) => {
  const isSeldom = n % 1000 < 2;
  return String(n).padStart(6, '0') + (n > early ? ' word' : isSeldom ? ' seldom' : '');
};
const numbers = Array.from({ length: early + late }, (_, n) => n + 1);

/** The names that are to be found, in their order. */
function expected(isWanted: (n: number) => boolean, order: 'asc' | 'desc'): string[] {
  const names = numbers.filter(isWanted).map(nameOf);
  return order === 'asc' ? names : names.reverse();
}

const isLateFile = (n: number) => n > early;
const isInFolder = (n: number) => n % 2 === 0;
const variants = (['name', 'createdAt', 'fileSize'] as const).flatMap((sort) =>
  (['asc', 'desc'] as const).map((order) => ({ sort, order })),
);
const searches: [what: string, query: Record<string, string>][] = [
  ['a word', { search: 'word' }],
  ['a value of the metadata', { 'metadata.when': 'late' }],
  ['a word and a value', { search: 'ord', 'metadata.when': 'late' }],
];

test.each(searches.flatMap(([what, query]) => variants.map((variant) => ({ what, query, ...variant }))))(
  '$what of too many files for an index, none of them near the start, is found by going on, by $sort, $order',
  async ({ query, sort, order }) => {
    for (const [place, isThere] of [
      [{}, () => true],
      [{ folderId }, isInFolder],
    ] as const) {
      const { names, sizes } = await walk({ ...query, ...place, sort, order, limit: '100' }, 250);
      const all = expected((n) => isLateFile(n) && isThere(n), order);
      expect(names).toEqual(all.slice(0, names.length));
      expect(names.length).toBeGreaterThanOrEqual(250);
      if (order === 'asc') expect(sizes[0]).toBe(0);
      else expect(sizes).toEqual([100, 100, 100]);
    }
  },
);

test('a page that found nothing yet is not counted, and the next one asks no index in vain', async () => {
  const query = { search: 'word', limit: '100', counts: 'true', paths: 'true' };
  const first = await listLate(query);
  expect(first).toMatchObject({ files: [], folders: [], total: null });
  expect(first.breadcrumbs).toHaveLength(1);
  expect(statements.filter((name) => name.startsWith('list-find-files'))).toHaveLength(1);
  const second = await listLate({ ...query, cursor: first.nextCursor });
  expect(second.files).toEqual([]);
  expect(second.nextCursor).not.toBe(first.nextCursor);
  expect(statements.filter((name) => name.startsWith('list-find'))).toEqual([]);
  // At most an opening and one scan.
  expect(statements.filter((name) => name.startsWith('list-')).length).toBeLessThanOrEqual(2);
});

test('the pages of a search, short or not, contain all of it once and in order', async () => {
  const word = await walk({ search: 'word', limit: '1000', paths: 'true' });
  expect(word.names).toEqual(expected(isLateFile, 'asc'));
  expect(word.sizes.slice(0, 2)).toEqual([0, 0]);
  // Ten of the first five thousand: too many for an index to be asked, too few for a full page.
  for (const { sort, order } of variants) {
    const seldom = await walk({ search: 'seldom', sort, order, limit: '100' });
    expect(seldom.names).toEqual(expected((n) => n <= early && n % 1000 < 2, order));
    if (order === 'asc') expect(Math.min(...seldom.sizes)).toBeLessThan(seldom.names.length);
  }
});

test('a key of a folder finds all that is in it', async () => {
  const body = { name: 'Half', projectId, folderId };
  const answer = await service.call('POST', '/api/api-keys', { as: ada, body });
  expect(answer.status, answer.text).toBe(200);
  const { names, sizes } = await walk({ search: 'word', limit: '100' }, 250, answer.body.key);
  expect(names).toEqual(expected((n) => isLateFile(n) && isInFolder(n), 'asc').slice(0, names.length));
  expect(sizes[0]).toBe(0);
});

test('without a limit, everything comes in one answer', async () => {
  const { files, nextCursor } = await listLate({ search: 'word' });
  expect(files.map(({ fileName }: { fileName: string }) => fileName)).toEqual(expected(isLateFile, 'asc'));
  expect(nextCursor).toBeNull();
});

test('without a search or a filter, no page is short', async () => {
  const { sizes } = await walk({ limit: '1000', sort: 'name' }, 5000);
  expect(sizes).toEqual([1000 - 1, 1000, 1000, 1000, 1000, 1000]);
});
