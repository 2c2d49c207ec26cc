import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type CallOptions, startTestService, type TestService } from '../../../test/service.ts';
import { wholePortion } from '../../db/listing-lane.ts';
import type { Deps } from '../../deps.ts';
import { createApp } from '../../http/app.ts';
import { listen } from '../../http/listen.ts';
import { encodeCursor, type Listed } from './cursor.ts';

const largeCount = 12_345;

let service: TestService;
let ada: Awaited<ReturnType<TestService['signUp']>>;
let key: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
});
afterAll(() => service.close());

type Named = Record<string, string | number>;

function list(query: Named, caller: CallOptions = { key }): Promise<Answer> {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return service.call('GET', `/api/storage/list?${text}`, caller);
}

async function createFolder(projectId: string, name: string, parentId: string | null = null): Promise<string> {
  const answer = await service.call('POST', '/api/storage/folders', { as: ada, body: { projectId, name, parentId } });
  expect(answer.status).toBe(200);
  return answer.body.id;
}

let added = 0;

/** Rows without objects, in one statement; later calls make later ids, as in real life. */
async function addFiles(projectId: string, count: number, folderId: string | null = null): Promise<void> {
  const start = uuidv7().slice(0, 24);
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, ($2 || lpad(to_hex(n), 12, '0'))::uuid, $1::text || '/' || $2 || n, 'file ' || n || '.jpg', 'FILE ' || n || '.JPG', n,
            'image/jpeg', $4::uuid, md5(n::text)
     from generate_series($5::int + 1, $5 + $3::int) n`,
    [projectId, start, count, folderId, added],
  );
  added += count;
}

const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);

async function expectInvalid(field: string, query: Named): Promise<void> {
  const { status, body } = await list(query);
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
  expect(body.issues).toMatchObject([{ path: field }]);
}

describe('a project', () => {
  test('that is empty has its breadcrumb and nothing else', async () => {
    const projectId = await service.createProject(ada, 'Leer "und" \\ 🗂');
    const { status, body } = await list({ projectId });
    expect(status).toBe(200);
    expect(body).toEqual({
      files: [],
      folders: [],
      breadcrumbs: [{ id: null, name: 'Leer "und" \\ 🗂' }],
      nextCursor: null,
    });
  });

  test('is listed completely with its id alone, however the id and the rest of the query are written', async () => {
    const projectId = await service.createProject(ada);
    const folderId = await createFolder(projectId, 'A');
    await addFiles(projectId, 2);
    await addFiles(projectId, 1, folderId);
    const { body } = await list({ projectId });
    expect(body.files).toHaveLength(3);
    expect(idsOf(body.folders)).toEqual([folderId]);
    const odd = await list({
      projectId: projectId.toUpperCase(),
      sortOf: 'x',
      'folderId[]': '1',
      ...JSON.parse('{"__proto__":"x"}'),
    });
    expect(odd.text).toBe((await list({ projectId })).text);
  });

  test('shows the exact shape of a file and a folder', async () => {
    const projectId = await service.createProject(ada);
    const name = 'a "b" \\ \u2028 é e\u0301 👩‍👩‍👧 \u202e </script>';
    const folderId = await createFolder(projectId, 'Ordner "1" 🗂');
    const id = uuidv7();
    await service.deps.db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, created_by_user,
                          created_at, updated_at)
       values ($1, $2, $3, $4, upper($4), $5, $6, $7, 'e"t', $2, '2026-02-03T04:05:06+07', '2026-12-31T23:59:59.12Z')`,
      [projectId, id, `${projectId}/1-${name}`, name, 5_000_000_000_000, 'a/b; c="d"', folderId],
    );
    const { body } = await list({ projectId });
    expect(body.files).toEqual([
      {
        id,
        projectId,
        storeKey: `${projectId}/1-${name}`,
        fileName: name,
        fileSize: 5_000_000_000_000,
        mimeType: 'a/b; c="d"',
        folderId,
        etag: 'e"t',
        detectedMimeType: null,
        contentCheck: 'pending',
        sha256: null,
        sha256State: null,
        metadata: {},
        externalId: null,
        ticketId: null,
        image: null,
        createdBy: { userId: id },
        createdAt: '2026-02-02T21:05:06.000Z',
        updatedAt: '2026-12-31T23:59:59.120Z',
      },
    ]);
    expect(body.folders).toEqual([(await service.call('GET', `/api/storage/folders/${folderId}`, { as: ada })).body]);
  });

  test('shows each file as it is shown by itself, whatever its texts contain', async () => {
    const projectId = await service.createProject(ada);
    const hostile = ['"', '\\', '},\n{', ',\n', '\u0001\u001f\u007f', '\u2028\u2029', '👩‍👩‍👧é'];
    for (const text of hostile) {
      await service.deps.db.pool.query(
        `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag, detected_mime_type,
                            content_check, sha256, sha256_state)
         values ($1, $2, $3, $3, upper($3), 0, $3, $3, $3, 'mismatch', sha256('x'), 'verified')`,
        [projectId, uuidv7(), text],
      );
    }
    const listed = [];
    let cursor = '';
    do {
      const { body }: Answer = await list({ projectId, limit: 1, ...(cursor && { cursor }) });
      listed.push(...body.files);
      cursor = body.nextCursor;
    } while (cursor);
    expect(listed.map(({ fileName }) => fileName).sort()).toEqual([...hostile].sort());
    for (const file of listed) {
      expect(file).toEqual((await service.call('GET', `/api/storage/files/${file.id}`, { key })).body);
    }
    expect((await list({ projectId, limit: 100 })).body.files).toEqual(listed);
  });

  test('of somebody else gets the same answer as a missing one', async () => {
    const projectId = await service.createProject(await service.signUp('Eve'), 'Secret');
    const foreign = await list({ projectId });
    const absent = await list({ projectId: randomUUID() });
    expect({ status: foreign.status, code: foreign.body.code }).toEqual({ status: 404, code: 'project_not_found' });
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
  });

  test.each(['', 'no-uuid', 'null', '*'])('projectId %j is not a UUID', (projectId) =>
    expectInvalid('projectId', { projectId }),
  );

  test('without a projectId is 400', () => expectInvalid('projectId', {}));
});

describe(`a project of ${largeCount} files`, () => {
  let projectId: string;
  let folderId: string;

  beforeAll(async () => {
    projectId = await service.createProject(ada, 'Large');
    folderId = await createFolder(projectId, 'Folder');
    await createFolder(projectId, 'Subfolder', folderId);
    await addFiles(projectId, largeCount - 1000);
    await addFiles(projectId, 1000, folderId);
  });

  function ask(deps: Deps = service.deps): Promise<Response> | Response {
    const headers = { Authorization: `Bearer ${key}` };
    return createApp(deps).fetch(new Request(`http://localhost/api/storage/list?projectId=${projectId}`, { headers }));
  }

  const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

  type Query = Deps['db']['listing']['query'];

  /** The service with something between it and its listing statements. */
  function intercepting(intercept: (query: Query) => Query): Deps {
    const { listing } = service.deps.db;
    return { ...service.deps, db: { ...service.deps.db, listing: { ...listing, query: intercept(listing.query) } } };
  }

  const isPageOfFiles = (name: string | undefined) => name?.startsWith('list-scan-files') ?? false;

  /** The service over a database that fails after this many queries for files. */
  function failingAfter(pages: number): Deps {
    let left = pages;
    return intercepting((query) => (statement, reading) => {
      const isPage = isPageOfFiles(statement.name);
      if (isPage && left === 0) return Promise.reject(new Error('Connection terminated unexpectedly'));
      if (isPage) left -= 1;
      return query(statement, reading);
    });
  }

  test('is streamed in several chunks, with every file and folder once', async () => {
    const response = await ask();
    expect(response.headers.get('Content-Type')).toBe('application/json');
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body ?? []) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(5);
    // No chunk is a large part of the whole: memory use does not grow with the project.
    const total = chunks.reduce((sum, { length }) => sum + length, 0);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(total / 5);

    const body = JSON.parse(Buffer.concat(chunks).toString());
    expect(Object.keys(body)).toEqual(['files', 'folders', 'breadcrumbs', 'nextCursor']);
    expect(body.files).toHaveLength(largeCount);
    const { rows } = await service.deps.db.pool.query('select id from files where project_id = $1', [projectId]);
    expect(new Set(idsOf(body.files))).toEqual(new Set(idsOf(rows)));
    expect(body.folders.map(({ name }: { name: string }) => name)).toEqual(['Folder', 'Subfolder']);
    expect(body.breadcrumbs).toEqual([{ id: null, name: 'Large' }]);
    expect(body.nextCursor).toBeNull();
  });

  test('gives the answer that the contract describes', async () => {
    const { status, body } = await list({ projectId });
    expect({ status, files: body.files.length }).toEqual({ status: 200, files: largeCount });
  });

  test('is read from the database as the client reads, and no further if it stops or leaves', async () => {
    const queries = { count: 0 };
    const counting = intercepting((query) => (statement, reading) => {
      queries.count += 1;
      return query(statement, reading);
    });
    const reader = (await ask(counting)).body?.getReader();
    await settle();
    const atStart = queries.count;
    expect(atStart).toBeLessThan(6);
    await reader?.read();
    await settle();
    expect(queries.count).toBe(atStart);
    await reader?.read();
    await settle();
    expect(queries.count).toBe(atStart + 1);
    await reader?.cancel();
    await settle();
    expect(queries.count).toBe(atStart + 1);
  });

  test('breaks off if the database fails on the way, and never looks complete', async () => {
    const response = await ask(failingAfter(3));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(service.logged()).toContain('A listing broke off');
  });

  test('closes the connection early over the wire', async () => {
    const listening = await listen(createApp(failingAfter(3)), '127.0.0.1', 0);
    const request = http.get({
      port: listening.port,
      path: `/api/storage/list?projectId=${projectId}`,
      headers: { Authorization: `Bearer ${key}` },
    });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    let received = 0;
    response.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await expect(once(response, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(response.complete).toBe(false);
    expect(received).toBeGreaterThan(100_000);
    await listening.close(0);
  });

  test('is 503 if the database fails before anything was sent', async () => {
    const response = await ask(failingAfter(0));
    expect({ status: response.status, code: JSON.parse(await response.text()).code }).toEqual({
      status: 503,
      code: 'database_unavailable',
    });
  });

  test('is the same in pages of 1000, in the same order', async () => {
    const whole = (await list({ projectId })).body;
    const files: string[] = [];
    const folders: string[] = [];
    const sizes: number[] = [];
    let cursor: string | null = null;
    do {
      const { body }: Answer = await list({ projectId, ...(cursor ? { cursor } : {}), limit: 1000 });
      files.push(...idsOf(body.files));
      folders.push(...idsOf(body.folders));
      sizes.push(body.files.length + body.folders.length);
      cursor = body.nextCursor;
    } while (cursor);
    expect(files).toEqual(idsOf(whole.files));
    expect(folders).toEqual(idsOf(whole.folders));
    expect(sizes).toEqual([...Array(12).fill(1000), 347]);
  });

  test('a cursor without a limit means pages of 1000', async () => {
    const { body } = await list({ projectId, limit: 1 });
    const next = await list({ projectId, cursor: body.nextCursor });
    expect(next.body.files.length + next.body.folders.length).toBe(1000);
    expect(next.body.nextCursor).not.toBeNull();
  });
});

describe('a folder', () => {
  let projectId: string;
  let a: string;
  let b: string;
  let c: string;

  beforeAll(async () => {
    projectId = await service.createProject(ada, 'Nested');
    a = await createFolder(projectId, 'A');
    b = await createFolder(projectId, 'B', a);
    c = await createFolder(projectId, 'C "quoted"', b);
    await createFolder(projectId, 'A', c);
    await addFiles(projectId, 1);
    await addFiles(projectId, 2, a);
    await addFiles(projectId, 3, b);
    await addFiles(projectId, 4, c);
  });

  test('lists only its direct children, with breadcrumbs from the root to itself', async () => {
    const { body } = await list({ projectId, folderId: b });
    expect(body.files).toHaveLength(3);
    expect(body.files.every((file: { folderId: string }) => file.folderId === b)).toBe(true);
    expect(idsOf(body.folders)).toEqual([c]);
    expect(body.breadcrumbs).toEqual([
      { id: null, name: 'Nested' },
      { id: a, name: 'A' },
      { id: b, name: 'B' },
    ]);
    expect(body.nextCursor).toBeNull();
  });

  test('deep in the tree has all of its breadcrumbs', async () => {
    const { body } = await list({ projectId, folderId: c.toUpperCase() });
    expect(body.breadcrumbs.map(({ name }: { name: string }) => name)).toEqual(['Nested', 'A', 'B', 'C "quoted"']);
    expect(body.files).toHaveLength(4);
  });

  test('`root` lists what is in no folder', async () => {
    const { body } = await list({ projectId, folderId: 'root' });
    expect(body.files).toHaveLength(1);
    expect(idsOf(body.folders)).toEqual([a]);
    expect(body.breadcrumbs).toEqual([{ id: null, name: 'Nested' }]);
  });

  test('of another project gets the same answer as a missing one', async () => {
    const other = await service.createProject(ada);
    const foreign = await list({ projectId: other, folderId: a });
    const absent = await list({ projectId: other, folderId: randomUUID() });
    expect({ status: foreign.status, code: foreign.body.code }).toEqual({ status: 404, code: 'folder_not_found' });
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
  });

  test.each(['', 'ROOT', 'null', 'no-uuid'])('folderId %j is neither a UUID nor root', (folderId) =>
    expectInvalid('folderId', { projectId, folderId }),
  );
});

describe('pages', () => {
  let projectId: string;
  let folderId: string;
  let emptyId: string;
  const folderCount = 20;
  const fileCount = 40;

  beforeAll(async () => {
    projectId = await service.createProject(ada, 'Pages');
    folderId = await createFolder(projectId, 'Listed');
    emptyId = await createFolder(projectId, 'Only folders');
    await createFolder(projectId, 'One', emptyId);
    await createFolder(projectId, 'Two', emptyId);
    for (let n = 0; n < folderCount; n += 1) await createFolder(projectId, `Folder ${n}`, folderId);
    await addFiles(projectId, fileCount, folderId);
    await addFiles(projectId, 5);
  });

  interface Page {
    files: string[];
    folders: string[];
  }

  async function walk(query: Named, between: () => Promise<void> = async () => undefined): Promise<Page[]> {
    const pages: Page[] = [];
    let cursor: string | null = null;
    do {
      const { status, body }: Answer = await list({ ...query, ...(cursor ? { cursor } : {}) });
      expect(status).toBe(200);
      expect(body.breadcrumbs[0]).toEqual({ id: null, name: 'Pages' });
      pages.push({ files: idsOf(body.files), folders: idsOf(body.folders) });
      cursor = body.nextCursor;
      if (cursor) await between();
    } while (cursor);
    return pages;
  }

  test.each([1, 7, 10, 20, 30, 59, 60, 61, 1000])(
    'of %d: the whole folder once, in a stable order, no empty page, only the last one short',
    async (limit) => {
      const whole = (await list({ projectId, folderId })).body;
      const pages = await walk({ projectId, folderId, limit });
      expect(pages.flatMap(({ folders }) => folders)).toEqual(idsOf(whole.folders));
      expect(pages.flatMap(({ files }) => files)).toEqual(idsOf(whole.files));
      const sizes = pages.map(({ files, folders }) => files.length + folders.length);
      const total = folderCount + fileCount;
      const full = Math.floor(total / limit);
      expect(sizes).toEqual([...Array(full).fill(limit), ...(total % limit ? [total % limit] : [])]);
    },
  );

  test.each([1, 2, 3])('of %d with folders only: the last is not empty', async (limit) => {
    const pages = await walk({ projectId, folderId: emptyId, limit });
    expect(pages.map(({ folders }) => folders.length)).toEqual({ 1: [1, 1], 2: [2], 3: [2] }[limit]);
  });

  test('are the same when they are read in small portions', async () => {
    const { listing } = service.deps.db;
    const portion = () => ({ rows: 4, first: 7, next: 3, counted: 5, found: 0 });
    const small = createApp({ ...service.deps, db: { ...service.deps.db, listing: { ...listing, portion } } });
    const whole = createApp({
      ...service.deps,
      db: { ...service.deps.db, listing: { ...listing, portion: () => wholePortion } },
    });
    const read = async (app: ReturnType<typeof createApp>, query: Record<string, string>) => {
      const headers = { Authorization: `Bearer ${key}` };
      const url = `http://localhost/api/storage/list?${new URLSearchParams({ projectId, ...query })}`;
      const answer = await app.fetch(new Request(url, { headers }));
      return { status: answer.status, body: await answer.json() };
    };
    const places: Record<string, string>[] = [{}, { folderId }, { folderId: 'root' }, { search: 'e' }];
    for (const place of places) {
      for (const [sort, order] of [
        ['name', 'asc'],
        ['createdAt', 'desc'],
        ['fileSize', 'asc'],
      ] as const) {
        for (const more of [{}, { limit: '13' }, { limit: '1000' }]) {
          const query = { ...place, ...more, sort, order, counts: 'true', paths: 'true' };
          const expected = await read(whole, query);
          expect(expected.status).toBe(200);
          expect(await read(small, query)).toEqual(expected);
        }
      }
    }
  });

  test('take one statement each, with their breadcrumbs, wherever they begin', async () => {
    let statements = 0;
    const { listing } = service.deps.db;
    const counting: typeof listing = {
      ...listing,
      query(statement, reading) {
        statements += 1;
        return listing.query(statement, reading);
      },
    };
    const app = createApp({ ...service.deps, db: { ...service.deps.db, listing: counting } });
    let pages = 0;
    let cursor = '';
    do {
      const query = new URLSearchParams({ projectId, folderId, limit: '15', ...(cursor && { cursor }) });
      const headers = { Authorization: `Bearer ${key}` };
      const answer = await app.fetch(new Request(`http://localhost/api/storage/list?${query}`, { headers }));
      const body = (await answer.json()) as { breadcrumbs: unknown[]; nextCursor: string };
      expect(body.breadcrumbs).toEqual([
        { id: null, name: 'Pages' },
        { id: folderId, name: 'Listed' },
      ]);
      pages += 1;
      cursor = body.nextCursor;
    } while (cursor);
    expect({ pages, statements }).toEqual({ pages: 4, statements: 4 });
  });

  test('of an empty folder: a single empty one', async () => {
    const nothing = await createFolder(await service.createProject(ada, 'Pages'), 'Nothing');
    const { body: folder } = await service.call('GET', `/api/storage/folders/${nothing}`, { as: ada });
    expect(await walk({ projectId: folder.projectId, folderId: nothing, limit: 3 })).toEqual([
      { files: [], folders: [] },
    ]);
  });

  test.each([1, 7])('of %d while files arrive: everything that was there once, nothing twice', async (limit) => {
    const before = (await list({ projectId, folderId: 'root' })).body;
    let arrived = 0;
    const pages = await walk({ projectId, folderId: 'root', limit }, async () => {
      if (arrived < 20) await addFiles(projectId, 2);
      arrived += 2;
    });
    const seen = pages.flatMap(({ files }) => files);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.slice(0, before.files.length)).toEqual(idsOf(before.files));
    expect(seen.length).toBeGreaterThan(before.files.length);
  });

  test.each(['0', '1001', 'abc', '1.5', '-1', '', '1e2', ' 5', '0x10', '5;', 'NaN', '10000', '٥'])(
    'limit %j is refused',
    (limit) => expectInvalid('limit', { projectId, limit }),
  );

  describe('cursors', () => {
    const first = async (query: Named): Promise<string> => (await list({ limit: 1, ...query })).body.nextCursor;

    test('of another folder, the root, the whole project or another project are refused', async () => {
      const other = await service.createProject(ada);
      await createFolder(other, 'A');
      await createFolder(other, 'B');
      const places: Named[] = [
        { projectId },
        { projectId, folderId: 'root' },
        { projectId, folderId },
        { projectId, folderId: emptyId },
        { projectId: other },
        { projectId: other, folderId: 'root' },
      ];
      const cursors = await Promise.all(places.map(first));
      for (const [n, place] of places.entries()) {
        for (const [m, cursor] of cursors.entries()) {
          if (n === m) expect((await list({ ...place, cursor, limit: 1 })).status).toBe(200);
          else await expectInvalid('cursor', { ...place, cursor, limit: 1 });
        }
      }
    });

    test('truncated anywhere are refused', async () => {
      const cursor = await first({ projectId, folderId });
      for (let length = 1; length < cursor.length; length += 1) {
        await expectInvalid('cursor', { projectId, folderId, cursor: cursor.slice(0, length) });
      }
    });

    const decode = (cursor: string) => JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    test.each<[string, (place: string) => string]>([
      ['nothing', () => ''],
      ['garbage', () => 'garbage'],
      ['an id', () => randomUUID()],
      ['a number', () => '7'],
      ['NUL', () => '\0'],
      ['invalid JSON', () => Buffer.from('[').toString('base64url')],
      ['null', () => encode(null)],
      ['an object', () => encode({ kind: 'files' })],
      ['too few parts', (place) => encode([place])],
      ['an id alone', (place) => encode([place, 'files', randomUUID()])],
      ['too many parts', (place) => encode([place, 'files', randomUUID(), randomUUID(), 1])],
      ['another kind', (place) => encode([place, 'users'])],
      ['SQL instead of an id', (place) => encode([place, 'files', "' or true --", "' or true --"])],
      ['an id with NUL', (place) => encode([place, 'files', `${randomUUID()}\0`, randomUUID()])],
      ['a number for an id', (place) => encode([place, 'files', 1, 1])],
      ['a sort key that is not an id', (place) => encode([place, 'files', randomUUID(), 'x'])],
      ['more than 2048 characters', (place) => encode([place, 'files', 'x'.repeat(1600), ''])],
    ])('%s is not a cursor', async (_what, make) => {
      const [place] = decode(await first({ projectId, folderId }));
      await expectInvalid('cursor', { projectId, folderId, cursor: make(place) });
    });

    test.each([
      ['fileSize', '1e3'],
      ['fileSize', '-1'],
      ['fileSize', '9'.repeat(19)],
      ['fileSize', "1' or true"],
      ['name', 'a\0b'],
      ['name', '\ud800'],
    ])('with %s at %j are refused', async (sort, sortedBy) => {
      const [place] = decode(await first({ projectId, folderId, sort }));
      await expectInvalid('cursor', {
        projectId,
        folderId,
        sort,
        cursor: encode([place, 'files', randomUUID(), sortedBy]),
      });
    });

    test('of another sort, order or search are refused', async () => {
      const listings: Named[] = [
        {},
        { sort: 'name' },
        { sort: 'fileSize' },
        { order: 'desc' },
        { sort: 'name', order: 'desc' },
        { search: 'f' },
        { search: 'fi' },
        { search: 'f', sort: 'name' },
      ].map((listing) => ({ projectId, folderId, ...listing }));
      const cursors = await Promise.all(listings.map(first));
      for (const [n, listing] of listings.entries()) {
        for (const [m, cursor] of cursors.entries()) {
          if (n === m) expect((await list({ ...listing, cursor, limit: 1 })).status).toBe(200);
          else await expectInvalid('cursor', { ...listing, cursor, limit: 1 });
        }
      }
      const spelled = { projectId, folderId, search: 'F', sort: 'createdAt', order: 'asc' };
      expect((await list({ ...spelled, cursor: cursors[5] ?? '', limit: 1 })).status).toBe(200);
    });

    test('that are forged show only the place they name', async () => {
      const eve = await service.signUp('Eve');
      const secret = await service.createProject(eve, 'Secret');
      await addFiles(secret, 3);
      const secretIds = idsOf((await list({ projectId: secret }, { as: eve })).body.files);
      const none = { search: undefined, metadata: [], externalId: undefined };
      const listed: Listed = { projectId, folderId, sort: 'createdAt', order: 'asc', ...none };
      const id = secretIds[0] ?? '';
      const forged = encodeCursor({ kind: 'files', after: { id, key: id } }, listed);
      const { status, body } = await list({ projectId, folderId, cursor: forged });
      expect(status).toBe(200);
      expect(idsOf(body.files).filter((id) => secretIds.includes(id))).toEqual([]);

      const theirs = encodeCursor(
        { kind: 'files', after: null },
        { ...listed, projectId: secret, folderId: undefined },
      );
      expect((await list({ projectId: secret, cursor: theirs })).status).toBe(404);
    });
  });
});
