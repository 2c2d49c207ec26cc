import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planOf } from '../../../test/explain.ts';
import { type Person, startTestService, type TestService } from '../../../test/service.ts';
import type { Listed } from './cursor.ts';
import { skipStatement } from './list-files-sql.ts';

/** More than one statement examines. */
const outside = 6000;

let service: TestService;
let ada: Person;
let projectId: string;
let own: string;
let key: string;
/** What is in the folder of the key, at any depth: before and after all that is outside, in any order. */
const inside = { files: [] as string[], folders: [] as string[] };

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  const { pool } = service.deps.db;
  own = await folder('own');
  inside.folders.push(await folder('a first', own));
  inside.files.push(await file('a first', 0, own));
  await pool.query(
    `insert into folders (project_id, id, parent_id, name, name_key)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n + 100), 12, '0'))::uuid, null, 'folder ' || n, 'FOLDER ' || n
     from generate_series(1, $2::int) n`,
    [projectId, outside],
  );
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n + 100), 12, '0'))::uuid, $1::text || '/x' || n,
            'file ' || n, 'FILE ' || n, n, 'image/jpeg', null, 'e'
     from generate_series(1, $2::int) n`,
    [projectId, outside],
  );
  made = outside + 100;
  const last = await folder('z last', own);
  const deep = await folder('m deep', last);
  inside.folders.push(last, deep);
  inside.files.push(await file('z last', 2 ** 40, deep));
  ({ key } = await service.createKey(ada, projectId, { folderId: own }));
});
afterAll(() => service.close());

let made = 0;
const idAt = (n: number) => `0199f3a0-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

async function folder(name: string, parentId: string | null = null): Promise<string> {
  made += 1;
  await service.deps.db.pool.query(
    'insert into folders (project_id, id, parent_id, name, name_key) values ($1, $2, $3, $4, upper($4))',
    [projectId, idAt(made), parentId, name],
  );
  return idAt(made);
}

async function file(name: string, size: number, folderId: string): Promise<string> {
  made += 1;
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     values ($1, $2, $3, $4, upper($4), $5, 'image/jpeg', $6, 'e')`,
    [projectId, idAt(made), `${projectId}/${made}`, name, size, folderId],
  );
  return idAt(made);
}

async function list(query: string, by = key) {
  const path = `/api/storage/list?projectId=${projectId}&${query}`;
  const { status, body, text } = await service.call('GET', path, { key: by });
  expect(status, text).toBe(200);
  return body;
}

const variants = (['createdAt', 'name', 'fileSize'] as const).flatMap((sort) =>
  (['asc', 'desc'] as const).map((order) => ({ sort, order })),
);

describe.each(variants)('a key tied to a small folder of a large project, by $sort, $order', ({ sort, order }) => {
  test('lists all of its folder, at once and in pages', async () => {
    const query = `sort=${sort}&order=${order}&counts=true`;
    const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id).sort();
    const expected = { files: [...inside.files].sort(), folders: [...inside.folders].sort() };
    const whole = await list(query);
    expect({ files: idsOf(whole.files), folders: idsOf(whole.folders) }).toEqual(expected);
    expect(whole.total).toBe(5);
    const found: typeof expected = { files: [], folders: [] };
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof list>> = await list(`${query}&limit=2${cursor && `&cursor=${cursor}`}`);
      expect(page.total).toBe(5);
      found.files.push(...idsOf(page.files));
      found.folders.push(...idsOf(page.folders));
      cursor = page.nextCursor;
    }
    expect({ files: found.files.sort(), folders: found.folders.sort() }).toEqual(expected);
  });

  test.each(['files', 'folders'] as const)('jumps over the %s that are outside of it', async (kind) => {
    const none = { search: undefined, metadata: [], externalId: undefined };
    const listed: Listed = { projectId, folderId: undefined, sort, order, within: own, ...none };
    const id = idAt(outside / 2);
    const names = sort === 'name' || (sort === 'fileSize' && kind === 'folders');
    const start = { id, key: sort === 'createdAt' ? id : names ? 'M' : '3000' };
    for (const mode of ['custom', 'generic'] as const) {
      for (const node of await planOf(service.deps.db.pool, skipStatement(kind, listed, start), mode)) {
        expect(node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0), JSON.stringify(node)).toBeLessThan(20);
      }
    }
  });
});

test.each([
  ['asc', ['file z1', 'file z2'], 'the file'],
  ['desc', ['file  1', 'file  2'], 'a file'],
])(
  'a search by name, %s, finds names that begin with the word after many outside, and before others',
  async (order, first, inner) => {
    const folderId = await folder(`by name ${order}`);
    const named = [...first, ...Array.from({ length: 15 }, (_, n) => `${inner} ${n + 10}`)];
    for (const name of named) await file(name, 1, folderId);
    const beside = await service.createKey(ada, projectId, { folderId });
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `search=file&sort=name&order=${order}&limit=10${cursor && `&cursor=${cursor}`}`;
      const page = await list(query, beside.key);
      found.push(...page.files.map(({ fileName }: { fileName: string }) => fileName));
      cursor = page.nextCursor;
    }
    expect(found).toEqual(order === 'asc' ? named : [...named].sort().reverse());
  },
);
