import { once } from 'node:events';
import http from 'node:http';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { planOf } from '../../../test/explain.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import { createApp } from '../../http/app.ts';
import { listen } from '../../http/listen.ts';
import type { Kind, Listed, Position } from './cursor.ts';
import {
  findByGramsStatement,
  findByNameStatement,
  openingStatement,
  scanStatement,
  skipStatement,
} from './list-files-sql.ts';

const noFilters = { metadata: [], externalId: undefined };
const half = 30_000;
const limit = 100;
const bound = 5000;
const deleted = 12_000;
const fillMilliseconds = 240_000;

let service: TestService;
let key: string;
/** Half of its files are in its root, half in one folder; another folder has the last ten. */
let dense: string;
let denseFolder: string;
let sparseFolder: string;
/** Its root has the last ten files, after those of a folder that is in the trash. */
let sparse: string;

beforeAll(async () => {
  service = await startTestService();
  const ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
  dense = await service.createProject(ada, 'Dense');
  sparse = await service.createProject(ada, 'Sparse');
  const folder = async (projectId: string, name: string) =>
    (await service.call('POST', '/api/storage/folders', { key, body: { projectId, name, parentId: null } })).body.id;
  denseFolder = await folder(dense, 'Many');
  sparseFolder = await folder(dense, 'Few');
  const trashed = await folder(sparse, 'Many');
  const { pool } = service.deps.db;
  // Building it afterwards takes a fraction of the time.
  const indexSql = `select indexdef as sql from pg_indexes where indexname = 'files_search_index'`;
  const [index] = (await pool.query<{ sql: string }>(indexSql)).rows;
  await pool.query('drop index files_search_index');
  await addFiles(dense, 1, half, null);
  await addFiles(dense, half + 1, half, denseFolder);
  await addFiles(dense, 2 * half + 1, 10, sparseFolder);
  await addFiles(sparse, 1, deleted, trashed);
  await addFiles(sparse, deleted + 1, 10, null);
  await pool.query(index?.sql ?? '');
  await pool.query('update folders set trash_id = id, trashed_at = now() where id = $1', [trashed]);
  await pool.query(
    `insert into folders (project_id, id, parent_id, name, name_key)
     select $1::uuid, ('0199f3a0-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, case when n % 2 = 0 then $2::uuid end,
            'folder ' || n, 'FOLDER ' || n from generate_series(1, 6000) n`,
    [dense, denseFolder],
  );
}, fillMilliseconds);
afterAll(() => service.close());

const idAt = (n: number) => `0199f3a0-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/** Names and sizes are in a different order from ids, as in real projects. */
async function addFiles(projectId: string, from: number, count: number, folderId: string | null): Promise<void> {
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1::text || '/' || n,
            'file ' || n || '.jpg', 'FILE ' || n || '.JPG', n::bigint * 7919 % 1000003, 'image/jpeg', $4::uuid, 'e'
     from generate_series($2::int, $2 + $3::int - 1) n`,
    [projectId, from, count, folderId],
  );
}

type Place = Pick<Listed, 'projectId' | 'folderId'>;

const places: [string, () => Place][] = [
  ['a project', () => ({ projectId: dense, folderId: undefined })],
  ['a root', () => ({ projectId: dense, folderId: 'root' })],
  ['a folder', () => ({ projectId: dense, folderId: denseFolder })],
];
const sorts = ['name', 'createdAt', 'fileSize'] as const;
const orders = ['asc', 'desc'] as const;
const allVariants = places.flatMap(([where, place]) =>
  sorts.flatMap((sort) =>
    orders.flatMap((order) => (['files', 'folders'] as const).map((kind) => ({ where, place, sort, order, kind }))),
  ),
);

/** Of each place, order and kind. */
const someVariants = allVariants.filter((_, index) => index % 5 < 2);
const variants = series({ full: allVariants, ci: someVariants, short: someVariants });

/** A position in the middle of everything. */
function middle(kind: Kind, sort: Listed['sort']): Position {
  const id = kind === 'files' ? idAt(45_000) : '0199f3a0-0000-7000-9000-000000000bb8';
  if (sort === 'createdAt') return { id, key: id };
  if (sort === 'fileSize' && kind === 'files') return { id, key: '500000' };
  return { id, key: kind === 'files' ? 'FILE 15' : 'FOLDER 15' };
}

/** Checks that the rows come out of one index in its order, and that no node handles more than `most` of them. */
async function expectIndexed(kind: Kind, statement: pg.QueryConfig, most: number): Promise<void> {
  for (const mode of ['custom', 'generic'] as const) {
    const nodes = await planOf(service.deps.db.pool, statement, mode);
    const scans = nodes.filter((node) => node['Relation Name'] === kind).map((node) => node['Node Type']);
    for (const scan of scans) expect(scan).toMatch(/^Index (?:Only )?Scan$/);
    expect(scans.length).toBeGreaterThan(0);
    for (const node of nodes) {
      expect(node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0), JSON.stringify(node)).toBeLessThanOrEqual(
        most,
      );
    }
  }
}

// Without statistics first: that is the state of a database just after many uploads, and of an embedded one that is
// never analysed.
describe.each([false, true])('with statistics: %s', (analyzed) => {
  beforeAll(async () => {
    if (analyzed) await service.deps.db.pool.query('analyze');
  });

  test.each(variants)(
    'a page of $kind in $where by $sort, $order, reads its own rows only',
    async ({ place, sort, order, kind }) => {
      const listed: Listed = { ...place(), sort, order, search: undefined, ...noFilters };
      for (const start of [null, middle(kind, sort)]) {
        for (const rows of [limit, 1000]) {
          await expectIndexed(kind, scanStatement({ kind, listed, start, limit: rows }, bound), rows + 1);
        }
      }
    },
  );

  test.each(variants)(
    'a page that begins in the $kind of $where by $sort, $order, reads its own folders and files only',
    async ({ place, sort, order, kind }) => {
      const listed: Listed = { ...place(), sort, order, search: undefined, ...noFilters };
      for (const start of [undefined, { kind, after: middle(kind, sort) }]) {
        for (const rows of [limit, 1000]) {
          const statement = openingStatement({ listed, start, limit: rows }, bound);
          await expectIndexed('files', statement, rows + 1);
          if (start?.kind !== 'files') await expectIndexed('folders', statement, rows + 1);
        }
      }
    },
  );

  test.each(variants)(
    'a search for $kind in $where by $sort, $order, reads no more rows than allowed',
    async ({ place, sort, order, kind }) => {
      for (const search of ['E', 'NOT THERE']) {
        const listed: Listed = { ...place(), sort, order, search, ...noFilters };
        for (const start of [null, middle(kind, sort)]) {
          const most = search === 'E' ? limit + 5 : bound;
          await expectIndexed(kind, scanStatement({ kind, listed, start, limit }, bound), most);
        }
      }
    },
  );

  test.each(variants)(
    'a search for a rare name of $kind in $where by $sort, $order, uses the name index',
    async ({ place, sort, order, kind }) => {
      for (const [search, most] of [
        // The index also returns a few names that have the grams, but not next to each other.
        [kind === 'files' ? 'E 4567' : 'R 4567', 30],
        ['写真', 1],
        ["'\\%", 1],
      ] as const) {
        const statement = findByGramsStatement(
          { kind, listed: { ...place(), sort, order, search, ...noFilters }, start: null, limit },
          { most: 10_000, bound },
        );
        for (const mode of ['custom', 'generic'] as const) {
          const nodes = await planOf(service.deps.db.pool, statement, mode);
          const indexes = nodes.filter((node) => node['Node Type'] === 'Bitmap Index Scan');
          expect(indexes.map((node) => node['Index Name'])).toEqual([`${kind}_search_index`]);
          for (const node of nodes) {
            expect(node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)).toBeLessThanOrEqual(most);
          }
        }
      }
    },
  );

  test.each(variants.filter(({ sort }) => sort === 'name'))(
    'a search for a common beginning of $kind names in $where, by name, $order, reads no more rows than allowed',
    async ({ place, sort, order, kind }) => {
      const search = kind === 'files' ? 'FILE ' : 'FOLDER ';
      for (const start of [null, middle(kind, sort), { id: idAt(1), key: 'A' }, { id: idAt(1), key: 'Z' }]) {
        const listed = { ...place(), sort, order, search, ...noFilters };
        const statement = findByNameStatement({ kind, listed, start, limit }, { most: 10_000, bound: 1000 });
        for (const mode of ['custom', 'generic'] as const) {
          for (const node of await planOf(service.deps.db.pool, statement, mode)) {
            const handled = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0);
            expect(handled, JSON.stringify(node)).toBeLessThanOrEqual(1000);
          }
        }
      }
    },
  );

  test.each(sorts.flatMap((sort) => orders.map((order) => ({ sort, order }))))(
    'a deleted folder of 12,000 files is skipped in one jump, by $sort, $order',
    async ({ sort, order }) => {
      const listed: Listed = { projectId: sparse, folderId: undefined, sort, order, search: undefined, ...noFilters };
      const id = idAt(order === 'asc' ? 1 : deleted);
      const start = {
        id,
        key: { name: order === 'asc' ? '' : 'X', createdAt: id, fileSize: order === 'asc' ? '0' : '9999999' }[sort],
      };
      await expectIndexed('files', skipStatement('files', listed, start), 11);
      await expectIndexed('files', scanStatement({ kind: 'files', listed, start: null, limit }, bound), bound);
    },
  );
});

test('names that are still to be merged into the name index are found in it, and so they are afterwards', async () => {
  const { pool } = service.deps.db;
  // Autovacuum merges them, too.
  await pool.query('alter table files set (autovacuum_enabled = false)');
  const mergeNames = async () =>
    (await pool.query<{ pages: number }>(`select gin_clean_pending_list('files_search_index') as pages`)).rows[0]
      ?.pages;
  await mergeNames();
  const added = 2 * half + 11;
  await addFiles(dense, added, 500, null);
  const listed = {
    projectId: dense,
    folderId: undefined,
    sort: 'createdAt',
    order: 'asc',
    search: `E ${added + 99}.`,
    ...noFilters,
  };
  const statement = findByGramsStatement(
    { kind: 'files', listed: listed as Listed & { search: string }, start: null, limit },
    { most: 100, bound },
  );
  const find = async () => {
    const indexes = (await planOf(service.deps.db.pool, statement, 'generic')).map((node) => node['Index Name']);
    expect(indexes).toContain('files_search_index');
    return (await pool.query<{ json: string }>(statement)).rows.map(({ json }) => JSON.parse(json).fileName);
  };
  expect(await find()).toEqual([`file ${added + 99}.jpg`]);
  expect(await mergeNames()).toBeGreaterThan(0);
  expect(await find()).toEqual([`file ${added + 99}.jpg`]);
  await pool.query('delete from files where id >= $1', [idAt(added)]);
});

test.each(sorts.flatMap((sort) => orders.map((order) => ({ sort, order }))))(
  'the files after a deleted folder of 12,000 files make up the first page, by $sort, $order',
  async ({ sort, order }) => {
    for (const query of ['limit=100', 'limit=10', '']) {
      const { body } = await service.call(
        'GET',
        `/api/storage/list?projectId=${sparse}&sort=${sort}&order=${order}&${query}`,
        { key },
      );
      expect(body.files).toHaveLength(10);
      expect(body.nextCursor).toBeNull();
    }
  },
);

test('a client that stops reading pauses the reads, and one that leaves ends them', async () => {
  let queries = 0;
  const { listing } = service.deps.db;
  const counting: typeof listing = {
    ...listing,
    query(statement, reading) {
      queries += 1;
      return listing.query(statement, reading);
    },
  };
  const app = createApp({ ...service.deps, db: { ...service.deps.db, listing: counting } });
  const listening = await listen(app, '127.0.0.1', 0);
  const request = http.get({
    port: listening.port,
    path: `/api/storage/list?projectId=${dense}`,
    headers: { Authorization: `Bearer ${key}` },
  });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.pause();
  // The connection's buffers fill up, and then nothing moves any more.
  let before = -1;
  while (before !== queries) {
    before = queries;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect(queries).toBeLessThan(150);
  request.destroy();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const atEnd = queries;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(queries).toBe(atEnd);
  expect(atEnd - before).toBeLessThanOrEqual(2);
  await listening.close(0);
  expect(service.logged()).not.toContain('A listing broke off');
});

test('a listing of 30,000 files streams in constant memory', async () => {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await createApp(service.deps).fetch(
    new Request(`http://localhost/api/storage/list?projectId=${dense}&folderId=${denseFolder}&sort=name`, { headers }),
  );
  let total = 0;
  let largest = 0;
  for await (const chunk of response.body ?? []) {
    total += chunk.length;
    largest = Math.max(largest, chunk.length);
  }
  expect(total).toBeGreaterThan(9_000_000);
  expect(largest).toBeLessThan(1_000_000);
});
