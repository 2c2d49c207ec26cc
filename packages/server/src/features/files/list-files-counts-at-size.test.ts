import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { countHandled, planOf } from '../../../test/explain.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import type { Kind, Listed } from './cursor.ts';
import { childCountsStatement } from './list-files-extras.ts';
import { scanStatement } from './list-files-sql.ts';

const many = series({ full: 200_000, ci: 40_000, short: 40_000 });
const most = 10_000;
const fillMilliseconds = 240_000;

let service: TestService;
let key: string;
let projectId: string;
let huge: string;
let small: string;
let folderIds: string[];

beforeAll(async () => {
  service = await startTestService();
  const ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
  projectId = await service.createProject(ada);
  const folder = async (name: string) =>
    (await service.call('POST', '/api/storage/folders', { key, body: { projectId, name, parentId: null } })).body.id;
  huge = await folder('huge');
  folderIds = [huge];
  for (let n = 0; n < 4; n++) folderIds.push(await folder(`large ${n}`));
  small = await folder('small');
  folderIds.push(small);
  const { pool } = service.deps.db;
  // Building it afterwards takes a fraction of the time.
  const indexSql = `select indexdef as sql from pg_indexes where indexname = 'files_search_index'`;
  const [index] = (await pool.query<{ sql: string }>(indexSql)).rows;
  await pool.query('drop index files_search_index');
  const add = (count: number, folderId: string | undefined, trashed = false) =>
    pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, trash_id, trashed_at)
       select $1::uuid, id, $1::text || id, 'file ' || n, 'FILE ' || n, 1, 'a/b', $3::uuid, 'e',
              case when $4::boolean then id end, case when $4::boolean then now() end
       from (select n, gen_random_uuid() as id from generate_series(1, $2::int) n) rows`,
      [projectId, count, folderId, trashed],
    );
  await add(many, huge);
  for (const id of folderIds.slice(1, -1)) await add(900, id);
  await add(100, small);
  // What is in the trash does not count, and is not read.
  await add(20_000, small, true);
  await pool.query(index?.sql ?? '');
}, fillMilliseconds);
afterAll(() => service.close());

/** No node handles more rows than this in all of its runs. */
async function expectBounded(statement: pg.QueryConfig, bound: number): Promise<void> {
  for (const mode of ['custom', 'generic'] as const) {
    const nodes = await planOf(service.deps.db.pool, statement, mode);
    expect(nodes.some((node) => node['Relation Name'] === 'files' || node['Relation Name'] === 'folders')).toBe(true);
    for (const node of nodes) {
      expect(countHandled(node) * node['Actual Loops'], JSON.stringify(node)).toBeLessThanOrEqual(bound);
    }
  }
}

// Without statistics first, as just after many uploads, and in an embedded database.
describe.each([false, true])('with statistics: %s', (analyzed) => {
  beforeAll(async () => {
    if (analyzed) await service.deps.db.pool.query('analyze');
  });

  test.each([
    ['the folder', () => ({ folderId: huge })],
    ['the project', () => ({ folderId: undefined })],
  ])('the total of %s of so many files reads 10,001 of them', async (_where, place) => {
    for (const kind of ['files', 'folders'] satisfies Kind[]) {
      const listed: Listed = {
        projectId,
        ...place(),
        sort: 'createdAt',
        order: 'asc',
        search: undefined,
        metadata: [],
        externalId: undefined,
      };
      const request = { kind, listed, start: null, limit: most, isCount: true };
      await expectBounded(scanStatement(request, 50_000), most + 1);
    }
  });

  test('the counts of a page of folders read 10,001 rows of each folder, and no more than the budget of all', async () => {
    await expectBounded(childCountsStatement(projectId, [huge], 200_000, 200_000), most + 1);
    // What is left for the last ones: a hundred rows each, and one to see that there are more.
    const last = folderIds.length * 101;
    for (const budget of [200_000, 2_000, 0]) {
      await expectBounded(
        childCountsStatement(projectId, folderIds, budget, 200_000),
        Math.min(budget, most + 1 + 3_700) + last,
      );
    }
  });

  test('a folder with up to a hundred is counted whatever is in the others', async () => {
    const count = async (budget: number) => {
      const statement = childCountsStatement(projectId, folderIds, budget, 200_000);
      const { rows } = await service.deps.db.pool.query<{ id: string; children: number; isExact: boolean }>(statement);
      const exact = rows.filter(({ isExact }) => isExact);
      return Object.fromEntries(exact.map(({ id, children }) => [folderIds.indexOf(id), children]));
    };
    expect(await count(200_000)).toEqual({ 1: 900, 2: 900, 3: 900, 4: 900, 5: 100 });
    expect(await count(11_000)).toEqual({ 1: 900, 5: 100 });
    expect(await count(0)).toEqual({ 5: 100 });
  });
});

test('the answer says null for what is beyond', async () => {
  const list = async (query: string) =>
    (await service.call('GET', `/api/storage/list?projectId=${projectId}&counts=true&${query}`, { key })).body;
  expect(await list(`folderId=${huge}&limit=1`)).toMatchObject({ total: null });
  expect(await list('limit=1')).toMatchObject({ total: null });
  expect(await list(`folderId=${huge}&limit=1&search=file%20${many / 16}`)).toMatchObject({ total: 11 });
  expect(await list(`folderId=${huge}&limit=1&search=e%201`)).toMatchObject({ total: null });
  expect(await list(`folderId=${small}&limit=1`)).toMatchObject({ total: 100 });
  const { folders } = await list('folderId=root');
  expect(folders.map(({ childCount }: { childCount: number | null }) => childCount)).toEqual([
    null,
    900,
    900,
    900,
    900,
    100,
  ]);
});
