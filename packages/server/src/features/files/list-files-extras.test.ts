import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary } from '../../../test/library.ts';
import { type Answer, type CallOptions, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let library: Library;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  library = await openLibrary(service);
});

async function list(query: Record<string, string>, caller?: CallOptions): Promise<Answer['body']> {
  const text = new URLSearchParams({ projectId: library.projectId, ...query });
  const { status, body } = await library.call('GET', `/api/storage/list?${text}`, undefined, caller);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** Inserts files straight into the database: as many as a person would not wait for. */
async function addFiles(count: number, folderId: string | null, name = 'many'): Promise<void> {
  const { pool } = service.deps.db;
  // Building it afterwards takes a fraction of the time.
  const indexSql = `select indexdef as sql from pg_indexes where indexname = 'files_search_index'`;
  const [index] = (await pool.query<{ sql: string }>(indexSql)).rows;
  await pool.query('drop index files_search_index');
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, gen_random_uuid(), $1::text || gen_random_uuid(), $4::text || ' ' || n, upper($4::text || ' ' || n), 1, 'a/b', $3, 'e'
     from generate_series(1, $2::int) n`,
    [library.projectId, count, folderId, name],
  );
  await pool.query(index?.sql ?? '');
}

const keyOf = async (folderId: string) => {
  const { key } = await service.createKey(library.ada, library.projectId, { folderId });
  return { key };
};

const childCounts = ({ folders }: Answer['body']): Record<string, number | null> =>
  Object.fromEntries(folders.map(({ name, childCount }: Answer['body']) => [name, childCount]));

describe('counts', () => {
  test('are of the listed place, whatever the page, and only there if asked for', async () => {
    const above = await library.folder('above');
    const full = await library.folder('full', above);
    await library.folder('empty', above);
    await library.file(await library.folder('inner', full));
    await library.file(full);
    const gone = await library.file(full);
    await library.call('DELETE', `/api/storage/files/${gone.id}`);
    const trashed = await library.folder('trashed', full);
    await library.call('DELETE', `/api/storage/folders/${trashed}`);
    for (let n = 0; n < 3; n++) await library.file(above);

    const whole = await list({ folderId: above, counts: 'true' });
    expect(whole.total).toBe(5);
    expect(childCounts(whole)).toEqual({ full: 2, empty: 0 });

    const totals: (number | null)[] = [];
    const counts: Record<string, number | null> = {};
    let cursor: string | null = null;
    do {
      const page = await list({ folderId: above, counts: 'true', limit: '2', ...(cursor && { cursor }) });
      totals.push(page.total);
      Object.assign(counts, childCounts(page));
      cursor = page.nextCursor;
    } while (cursor);
    expect(totals).toEqual([5, 5, 5]);
    expect(counts).toEqual({ full: 2, empty: 0 });

    for (const query of [{ folderId: above }, { folderId: above, counts: 'false' }, { limit: '2' }, {}]) {
      const page = await list(query as Record<string, string>);
      expect(page).not.toHaveProperty('total');
      for (const folder of page.folders) expect(folder).not.toHaveProperty('childCount');
    }
  });

  test('of a project or its root leave out what is in the trash, also with its folder', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    await library.file(inner);
    await library.file(null);
    const doomed = await library.folder('doomed');
    await library.file(doomed);
    await library.call('DELETE', `/api/storage/folders/${doomed}?recursive=true`);
    expect((await list({ counts: 'true' })).total).toBe(4);
    expect((await list({ counts: 'true', limit: '1' })).total).toBe(4);
    const root = await list({ folderId: 'root', counts: 'true', limit: '1' });
    expect(root.total).toBe(2);
    expect(root.folders).toMatchObject([{ id: outer, childCount: 1 }]);
  });

  test('of a search or a filter are of what it finds', async () => {
    const folderId = await library.folder('Straße');
    for (const name of ['strasse 1', 'STRASSE 2', 'other']) await library.file(folderId, 5, name);
    const { id } = await library.file(null, 5, 'strasse 3');
    await library.call('PATCH', `/api/storage/files/${id}`, { metadata: { page: 3 }, externalId: 'x' });
    expect((await list({ folderId, counts: 'true', search: 'straße', limit: '1' })).total).toBe(2);
    expect((await list({ counts: 'true', search: 'straße', limit: '1' })).total).toBe(4);
    expect((await list({ counts: 'true', search: 'nothing', limit: '1' })).total).toBe(0);
    expect((await list({ counts: 'true', 'metadata.page': '3', limit: '1' })).total).toBe(1);
    expect((await list({ counts: 'true', externalId: 'x', limit: '1' })).total).toBe(1);
  });

  test('of a key tied to a folder are of what it can see', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    await library.file(null);
    await library.file(outer);
    await library.file(inner);
    const caller = await keyOf(outer);
    expect((await list({ counts: 'true', limit: '1' }, caller)).total).toBe(3);
    expect((await list({ counts: 'true' }, caller)).total).toBe(3);
    const own = await list({ folderId: outer, counts: 'true', limit: '1' }, caller);
    expect(own.total).toBe(2);
    expect(own.folders).toMatchObject([{ id: inner, childCount: 1 }]);
  });

  test('are exact up to 10,000, and null beyond', async () => {
    const above = await library.folder('above');
    const folderId = await library.folder('many', above);
    await addFiles(9_999, folderId);
    await library.folder('one', folderId);
    const read = async () => ({
      child: (await list({ folderId: above, counts: 'true' })).folders[0].childCount,
      total: (await list({ folderId, counts: 'true', limit: '1' })).total,
      searched: (await list({ folderId, counts: 'true', limit: '1', search: 'N' })).total,
    });
    expect(await read()).toEqual({ child: 10_000, total: 10_000, searched: 10_000 });
    await addFiles(1, folderId);
    expect(await read()).toEqual({ child: null, total: null, searched: null });
    const streamed = await list({ counts: 'true' });
    expect(streamed).toMatchObject({ total: null, nextCursor: null });
    expect(streamed.files).toHaveLength(10_000);
    expect((await list({ counts: 'true', limit: '1', search: 'many 77' })).total).toBe(111);
  });
});

describe('paths', () => {
  test('lead to each file and folder that is found, from the root', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    const target = await library.folder('target', inner);
    const file = await library.file(target, 5, 'target.jpg');
    const atRoot = await library.file(null, 5, 'target at the root');
    const first = { id: outer, name: 'Level 1' };
    const second = { id: inner, name: 'Level 2' };
    for (const more of [{ limit: '10' }, { folderId: 'root' }, {}]) {
      const found = await list({ search: 'target', paths: 'true', ...(more as Record<string, string>) });
      const paths = Object.fromEntries(
        [...found.folders, ...found.files].map(({ id, path }: Answer['body']) => [id, path]),
      );
      const isRoot = 'folderId' in more;
      expect(paths).toEqual({
        [atRoot.id]: [],
        ...(!isRoot && {
          [target]: [first, second],
          [file.id]: [first, second, { id: target, name: 'target' }],
        }),
      });
    }
    const [plain] = (await list({ search: 'target.jpg', limit: '10' })).files;
    expect(plain).not.toHaveProperty('path');
  });

  test('of a key tied to a folder begin at that folder, and say nothing of what is above it', async () => {
    const [outer = '', middle = '', inner = ''] = await library.chain(3);
    const file = await library.file(inner);
    const beside = await library.file(middle);
    const caller = await keyOf(middle);
    const found = await list({ paths: 'true', limit: '10' }, caller);
    const own = { id: middle, name: 'Level 2' };
    expect(found.folders).toMatchObject([{ id: inner, path: [own] }]);
    expect(found.files).toMatchObject([
      { id: file.id, path: [own, { id: inner, name: 'Level 3' }] },
      { id: beside.id, path: [own] },
    ]);
    expect(JSON.stringify(found)).not.toContain(outer);
    expect(JSON.stringify(found)).not.toContain('Level 1');
  });

  test('come together with counts', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    await library.folder('leaf', inner);
    const { folders } = await list({ search: 'level 2', paths: 'true', counts: 'true', limit: '10' });
    expect(folders).toMatchObject([{ id: inner, childCount: 1, path: [{ id: outer, name: 'Level 1' }] }]);
  });
});

test.each(['counts', 'paths'])('%s must be true or false', async (name) => {
  const query = `/api/storage/list?projectId=${library.projectId}&${name}=yes`;
  const { body } = await expectProblem(library.call('GET', query), 400, 'invalid_request');
  expect(body.issues).toEqual([{ path: name, message: 'must be true or false' }]);
});
