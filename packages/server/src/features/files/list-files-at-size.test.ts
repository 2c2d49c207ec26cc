import { once } from 'node:events';
import http from 'node:http';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../../test/service.ts';
import type { Deps } from '../../deps.ts';
import { createApp } from '../../http/app.ts';
import { listen } from '../../http/listen.ts';
import { encodeCursor, type Place } from './cursor.ts';
import { listFiles } from './list-files.ts';

const half = 100_000;
const limit = 100;

let service: TestService;
let userId: string;
let key: string;
/** Half of its files lie in its root, half in one folder; another folder has ten, the last ones. */
let dense: string;
let denseFolder: string;
let sparseFolder: string;
/** Its root has ten files, the last ones, behind those of a folder. */
let sparse: string;

beforeAll(async () => {
  service = await startTestService();
  const ada = await service.signUp();
  userId = ada.id;
  ({ key } = await service.createKey(ada, null));
  dense = await service.createProject(ada, 'Dense');
  sparse = await service.createProject(ada, 'Sparse');
  const folder = async (projectId: string, name: string) =>
    (await service.call('POST', '/api/storage/folders', { key, body: { projectId, name, parentId: null } })).body.id;
  denseFolder = await folder(dense, 'Many');
  sparseFolder = await folder(dense, 'Few');
  const sparsesFolder = await folder(sparse, 'Many');
  await addFiles(dense, 1, half, null);
  await addFiles(dense, half + 1, half, denseFolder);
  await addFiles(dense, 2 * half + 1, 10, sparseFolder);
  await addFiles(sparse, 1, half / 2, sparsesFolder);
  await addFiles(sparse, half / 2 + 1, 10, null);
});
afterAll(() => service.close());

const idAt = (n: number) => `0199f3a0-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

async function addFiles(projectId: string, from: number, count: number, folderId: string | null): Promise<void> {
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1::text || '/' || n,
            'file ' || n || '.jpg', 'FILE ' || n || '.JPG', n, 'image/jpeg', $4::uuid, 'e'
     from generate_series($2::int, $2 + $3::int - 1) n`,
    [projectId, from, count, folderId],
  );
}

interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** The statements that a page of the listing sends. */
async function statementsOf(place: Place, after: string | null): Promise<Statement[]> {
  const { pool } = service.deps.db;
  const statements: Statement[] = [];
  const query = (config: Statement) => {
    statements.push(config);
    return pool.query(config);
  };
  const deps: Deps = {
    ...service.deps,
    db: { ...service.deps.db, pool: Object.assign(Object.create(pool), { query }) as pg.Pool },
  };
  const cursor = encodeCursor({ kind: 'files', after }, place);
  const pieces = await listFiles(deps, { kind: 'session', userId }, { ...place, limit, cursor });
  for await (const _piece of pieces);
  return statements.filter(({ name }) => name.startsWith('list-files'));
}

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
}

function flatten(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

async function planOf({ text, values }: Statement, mode: 'custom' | 'generic'): Promise<Node[]> {
  const client = await service.deps.db.pool.connect();
  try {
    await client.query(`set plan_cache_mode = force_${mode}_plan`);
    await client.query(`prepare page as ${text}`);
    const literals = values.map((value) => (typeof value === 'number' ? value : `'${value}'`)).join(', ');
    const { rows } = await client.query(`explain (analyze, format json) execute page(${literals})`);
    return flatten(rows[0]['QUERY PLAN'][0].Plan);
  } finally {
    await client.query('deallocate page; reset plan_cache_mode');
    client.release();
  }
}

// Without statistics first, as a database is just after many uploads, and as an embedded one, which nothing analyses, stays.
describe.each([false, true])('with statistics: %s', (analyzed) => {
  beforeAll(async () => {
    if (analyzed) await service.deps.db.pool.query('analyze');
  });

  test.each<[string, () => Place, number | null, number]>([
    ['the first page of a project', () => ({ projectId: dense, folderId: undefined }), null, limit],
    ['a page deep in a project', () => ({ projectId: dense, folderId: undefined }), 150_000, limit],
    ['the first page of a root', () => ({ projectId: dense, folderId: 'root' }), null, limit],
    ['a page deep in a root', () => ({ projectId: dense, folderId: 'root' }), 80_000, limit],
    ['the first page of a root of few files', () => ({ projectId: sparse, folderId: 'root' }), null, 10],
    ['the first page of a folder', () => ({ projectId: dense, folderId: denseFolder }), null, limit],
    ['a page deep in a folder', () => ({ projectId: dense, folderId: denseFolder }), 180_000, limit],
    ['a folder of few files', () => ({ projectId: dense, folderId: sparseFolder }), null, 10],
  ])('%s reads its own rows only, by an index', async (_what, place, after, expected) => {
    const statements = await statementsOf(place(), after === null ? null : idAt(after));
    expect(statements).toHaveLength(1);
    for (const statement of statements) {
      for (const mode of ['custom', 'generic'] as const) {
        const nodes = await planOf(statement, mode);
        const onFiles = nodes.filter((node) => node['Relation Name'] === 'files');
        expect(onFiles.map((node) => node['Node Type'])).toEqual(['Index Scan']);
        expect(onFiles[0]?.['Actual Rows']).toBeGreaterThanOrEqual(expected);
        for (const node of nodes) {
          expect(node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)).toBeLessThanOrEqual(limit + 1);
        }
      }
    }
  });
});

test('a client that takes nothing more is not read for, and one that leaves ends the reading', async () => {
  const listening = await listen(createApp(service.deps), '127.0.0.1', 0);
  let queries = 0;
  const count = () => {
    queries += 1;
  };
  service.deps.db.pool.on('acquire', count);
  const request = http.get({
    port: listening.port,
    path: `/api/storage/list?projectId=${dense}`,
    headers: { Authorization: `Bearer ${key}` },
  });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.pause();
  // The buffers of the connection fill up, and then nothing moves any more.
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
  service.deps.db.pool.off('acquire', count);
  await listening.close(0);
  expect(service.logged()).not.toContain('A listing broke off');
});

test('a listing of 200,000 files streams in memory that does not grow with it', async () => {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await createApp(service.deps).fetch(
    new Request(`http://localhost/api/storage/list?projectId=${dense}`, { headers }),
  );
  let total = 0;
  let largest = 0;
  for await (const chunk of response.body ?? []) {
    total += chunk.length;
    largest = Math.max(largest, chunk.length);
  }
  expect(total).toBeGreaterThan(60_000_000);
  expect(largest).toBeLessThan(1_000_000);
});
