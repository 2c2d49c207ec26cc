import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as client from '@cadiz/client';
import { type Client, createClient } from '@cadiz/client';
import type * as contract from '@cadiz/contract';
import { errorCatalogue, type Route, routes } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';

const id = '0199f3a0-0000-7000-8000-000000000000';

/** The call of the client for each operation that a key or a ticket opens. */
const calls: Record<string, (cadiz: Client) => Promise<unknown>> = {
  presign: (cadiz) => cadiz.upload('x', { name: 'x' }),
  presignBatch: (cadiz) => uploadTwo(cadiz),
  record: (cadiz) => cadiz.upload('x', { name: 'x' }),
  recordBatch: (cadiz) => uploadTwo(cadiz),
  createUpload: (cadiz) => cadiz.upload(large()),
  signParts: (cadiz) => cadiz.upload(large()),
  completeUpload: (cadiz) => cadiz.upload(large()),
  getUpload: (cadiz) => cadiz.uploads.get(id),
  abortUpload: (cadiz) => cadiz.uploads.abort(id),
  listUploads: (cadiz) => first(cadiz.uploads.list()),
  list: (cadiz) => first(cadiz.files.list()),
  usage: (cadiz) => cadiz.usage(),
  dailyUsage: (cadiz) => cadiz.usageDaily(),
  readEvents: (cadiz) => cadiz.events.page(),
  getOwnKey: (cadiz) => cadiz.keys.current(),
  createFolder: (cadiz) => cadiz.folders.create('a'),
  ensureFolders: (cadiz) => cadiz.folders.ensure(['a']),
  findFolder: (cadiz) => cadiz.folders.getByPath('a/b'),
  getFolder: (cadiz) => cadiz.folders.get(id),
  changeFolder: (cadiz) => cadiz.folders.update(id, { name: 'b' }),
  deleteFolder: (cadiz) => cadiz.folders.delete(id),
  restoreFolder: (cadiz) => cadiz.folders.restore(id),
  getFile: (cadiz) => cadiz.files.get(id),
  changeFile: (cadiz) => cadiz.files.update(id, { fileName: 'b' }),
  copyFile: (cadiz) => cadiz.files.copy(id),
  deleteFile: (cadiz) => cadiz.files.delete(id),
  restoreFile: (cadiz) => cadiz.files.restore(id),
  createDownloadUrl: (cadiz) => cadiz.files.url(id),
  createDownloadUrls: (cadiz) => cadiz.files.urls([id]),
  createArchiveUrl: (cadiz) => cadiz.files.archive({ fileIds: [id] }),
  bulk: (cadiz) => cadiz.files.deleteMany({ fileIds: [id] }),
  getOperation: (cadiz) => cadiz.operations.get(id),
  cancelOperation: (cadiz) => cadiz.operations.cancel(id),
  listTrash: (cadiz) => first(cadiz.trash.list()),
  emptyTrash: (cadiz) => cadiz.trash.empty(),
  createLink: (cadiz) => cadiz.links.create(id),
  listLinks: (cadiz) => first(cadiz.links.list()),
  deleteLink: (cadiz) => cadiz.links.delete(id),
  createTicket: (cadiz) => cadiz.tickets.create({ maxFiles: 1, maxBytes: 1 }),
  listTickets: (cadiz) => first(cadiz.tickets.list()),
  revokeTicket: (cadiz) => cadiz.tickets.revoke(id),
  getOwnTicket: (cadiz) => cadiz.tickets.current(),
};

/** `files.download` and `files.image` do what they are for: redirects to an address. */
const withoutCall = ['redirectToContent', 'redirectToImage'];

const opened = (Object.entries(routes) as [string, Route][]).filter(
  ([, { access }]) => !['anybody', 'session', 'serviceOwner', 'objectStore'].includes(access),
);

const large = () => new File([new Uint8Array(64 * 1024 ** 2)], 'large');
const first = (items: AsyncIterable<unknown>) => items[Symbol.asyncIterator]().next();
const uploadTwo = (cadiz: Client) => cadiz.uploads.create([new File(['x'], 'a'), new File(['y'], 'b')]).done();

test('every operation that a key or a ticket opens can be called', () => {
  expect([...Object.keys(calls), ...withoutCall].sort()).toEqual(opened.map(([operation]) => operation).sort());
});

/** Takes whatever is put. */
const store = http.createServer((request, response) => request.resume().on('end', () => response.end()));
let address: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(store.address() as AddressInfo).port}/a?X-Amz-Expires=900`;
});
afterAll(() => {
  store.closeAllConnections();
  store.close();
});

test.each(Object.keys(calls))('%s is sent to its route', async (operation) => {
  const sent: string[] = [];
  const upload = { presignedUrl: address, storeKey: 'k' };
  const answers: Record<string, object> = {
    '/api/storage/uploads': { uploadId: id, storeKey: 'k', partSize: 64 * 1024 ** 2, partCount: 1 },
    [`/api/storage/uploads/${id}/parts`]: { parts: [{ partNumber: 1, presignedUrl: address }] },
    '/api/storage/presign': upload,
    '/api/storage/presign/batch': { results: [{ upload }, { upload }] },
    '/api/storage/record/batch': { results: [{ file: {} }, { file: {} }] },
  };
  const cadiz = createClient({
    baseUrl: 'http://cadiz.test',
    projectId: id,
    apiKey: 'cz_live_x',
    retries: 0,
    async fetch(input, init) {
      const { pathname } = new URL(String(input));
      sent.push(`${init?.method} ${pathname}`);
      return Response.json(answers[pathname] ?? {});
    },
  });
  await calls[operation]?.(cadiz).catch(() => undefined);
  const { method, path } = (routes as Record<string, Route>)[operation] as Route;
  expect(sent).toContain(`${method} ${path.replace(/\{\w+\}/, id)}`);
});

test('an id is one part of a path, whatever it is', async () => {
  const sent: string[] = [];
  const fetch = async (input: unknown) =>
    Response.json({}, { headers: { 'x-sent': String(sent.push(String(input))) } });
  const cadiz = createClient({ baseUrl: 'http://cadiz.test/', projectId: id, apiKey: 'cz_live_x', fetch });
  await cadiz.files.get('../../api-keys?x=1#');
  expect(sent).toEqual(['http://cadiz.test/api/storage/files/..%2F..%2Fapi-keys%3Fx%3D1%23']);
});

test.each([
  ['authorization', 'Bearer cz_live_x', { apiKey: 'cz_live_x' }],
  ['authorization', 'Bearer cz_ticket_x', { ticket: { ticket: 'cz_ticket_x', projectId: id, folderId: null } }],
  ['cookie', 'cadiz.session_token=x', { session: async () => 'cadiz.session_token=x' }],
])('shows who is asking: %s: %s', async (name, value, who) => {
  const fetch = async (_input: unknown, init?: { headers?: unknown }) =>
    Response.json({ name: new Headers(init?.headers as Record<string, string>).get(name) });
  const cadiz = createClient({ baseUrl: 'http://cadiz.test', projectId: id, ...who, fetch });
  expect(await cadiz.files.get(id)).toEqual({ name: value });
});

test('wants to know exactly one way to ask', () => {
  const both = { baseUrl: 'http://cadiz.test', apiKey: 'cz_live_x', session: true } as const;
  expect(() => createClient(both)).toThrow('exactly one of apiKey, ticket and session');
  expect(() => createClient({ baseUrl: 'http://cadiz.test', apiKey: undefined })).toThrow('exactly one');
});

test('a list is read a page at a time, or by its pages', async () => {
  const asked: (string | null)[] = [];
  const fetch = async (input: unknown) => {
    const cursor = new URL(String(input)).searchParams.get('cursor');
    asked.push(cursor);
    return Response.json({
      entries: [{ id: cursor ?? 'first' }],
      nextCursor: cursor === 'b' ? null : cursor ? 'b' : 'a',
    });
  };
  const cadiz = createClient({ baseUrl: 'http://cadiz.test', projectId: id, apiKey: 'cz_live_x', fetch });
  const ids: string[] = [];
  for await (const entry of cadiz.trash.list()) ids.push(entry.id);
  expect([ids, asked]).toEqual([
    ['first', 'a', 'b'],
    [null, 'a', 'b'],
  ]);
  expect(await cadiz.trash.page({ cursor: 'b' })).toEqual({ items: [{ id: 'b' }], nextCursor: null });
});

test('a page of a search that has found nothing yet leads on to one that has, or to the end', async () => {
  const asked: (string | null)[] = [];
  const empty = { files: [], folders: [], breadcrumbs: [] };
  const pages: Record<string, object> = {
    first: { ...empty, nextCursor: 'a' },
    a: { ...empty, nextCursor: 'b' },
    b: { ...empty, files: [{ id: 'b' }], nextCursor: 'c' },
    c: { ...empty, nextCursor: 'd' },
    d: { ...empty, nextCursor: null },
  };
  const fetch = async (input: unknown) => {
    const { searchParams } = new URL(String(input));
    expect(searchParams.get('search')).toBe('word');
    const cursor = searchParams.get('cursor');
    asked.push(cursor);
    return Response.json(pages[cursor ?? 'first']);
  };
  const cadiz = createClient({ baseUrl: 'http://cadiz.test', projectId: id, apiKey: 'cz_live_x', fetch });
  expect(await cadiz.files.page({ search: 'word' })).toEqual(pages.b);
  expect(asked).toEqual([null, 'a', 'b']);
  expect(await cadiz.files.page({ search: 'word', cursor: 'c' })).toEqual(pages.d);
  const ids: string[] = [];
  for await (const file of cadiz.files.list({ search: 'word' })) ids.push(file.id);
  expect(ids).toEqual(['b']);
});

test('a page that nobody waits for any more is not asked on', async () => {
  const gone = new AbortController();
  let asked = 0;
  const fetch = async () => {
    if (++asked === 2) gone.abort();
    return Response.json({ files: [], folders: [], breadcrumbs: [], nextCursor: 'more' });
  };
  const cadiz = createClient({ baseUrl: 'http://cadiz.test', projectId: id, apiKey: 'cz_live_x', fetch });
  await expect(cadiz.files.page({ search: 'word', signal: gone.signal })).rejects.toMatchObject({ code: 'aborted' });
  expect(asked).toBe(2);
});

describe('a selection that goes on in the background', () => {
  const operation = { id, action: 'delete', total: 2000, files: 5, folders: 1, bytes: 9, problem: null };
  /** A service that answers these states, one after the other. */
  function serve(...states: object[]) {
    const bodies: unknown[] = [];
    const cadiz = createClient({
      baseUrl: 'http://cadiz.test',
      projectId: id,
      apiKey: 'cz_live_x',
      async fetch(input, init) {
        if (String(input).endsWith('/api/storage/key')) return Response.json({ projectId: id, folderId: null });
        if (init?.body) bodies.push(JSON.parse(String(init.body)));
        const state = { ...operation, ...states.shift() };
        return Response.json(new URL(String(input)).pathname.endsWith('bulk') ? { operation: state } : state);
      },
    });
    return { cadiz, bodies };
  }

  test('is waited for, with its progress', async () => {
    const running = { state: 'running', done: 0 };
    const { cadiz, bodies } = serve(running, { ...running, done: 1000 }, { state: 'finished', done: 2000 });
    const seen: number[] = [];
    const select = { folder: null, search: 'draft', exceptIds: [id] };
    const onProgress = ({ done }: client.Operation) => void seen.push(done);
    expect(await cadiz.files.deleteMany({ select, onProgress })).toEqual({ files: 5, folders: 1, bytes: 9 });
    expect(seen).toEqual([0, 1000, 2000]);
    const selected = { folderId: 'root', search: 'draft', exceptIds: [id] };
    expect(bodies).toEqual([{ projectId: id, action: 'delete', select: selected }]);
  });

  test('fails as the operation does, and with `aborted` when it is cancelled', async () => {
    const select = { folder: id };
    const problem = { code: 'folder_exists', detail: 'There is one.' };
    const failing = serve({ state: 'failed', problem }).cadiz.files.move({ select, folder: null });
    await expect(failing).rejects.toMatchObject({ code: 'folder_exists', message: 'There is one.' });
    const cancelled = serve({ state: 'running' }, { state: 'cancelled' }).cadiz.files.restoreMany({ select });
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
  });
});

test.each([
  ['asked again', 'GET', (cadiz: Client) => cadiz.files.get(id), 3],
  ['asked again', 'POST', (cadiz: Client) => cadiz.files.url(id), 3],
  [
    'not asked again, since it may have been done',
    'POST',
    (cadiz: Client) => cadiz.folders.create('a', { parent: id }),
    1,
  ],
  ['not asked again, since it may have been done', 'DELETE', (cadiz: Client) => cadiz.files.delete(id), 1],
])('after a broken connection is %s: %s', async (_, method, call, times) => {
  let count = 0;
  const fetch = async (_input: unknown, init?: { method?: string }) => {
    expect(init?.method).toBe(method);
    count++;
    throw new TypeError('fetch failed');
  };
  const options = { baseUrl: 'http://cadiz.test', projectId: id, apiKey: 'cz_live_x', retries: 2 };
  await expect(call(createClient({ ...options, fetch }))).rejects.toMatchObject({ code: 'network_failed' });
  expect(count).toBe(times);
});

test('null is an answer: that of a session that is not there', async () => {
  const cadiz = createClient({
    baseUrl: 'http://cadiz.test',
    apiKey: 'cz_live_x',
    fetch: async () => Response.json(null),
  });
  expect(await cadiz.request({ path: '/api/auth/get-session' })).toBe(null);
});

test('any other route can be asked, with the same credentials, repetitions and errors', async () => {
  const sent: unknown[][] = [];
  const fetch = async (input: unknown, init?: RequestInit) => {
    sent.push([init?.method, String(input), init?.body, new Headers(init?.headers).get('authorization')]);
    if (sent.length === 1) throw new TypeError('fetch failed');
    return Response.json({ name: 'Ada' });
  };
  const cadiz = createClient({ baseUrl: 'http://cadiz.test', apiKey: 'cz_live_x', retries: 1, fetch });
  const change = { method: 'PATCH', path: '/api/me', query: { dryRun: true }, body: { name: 'Ada' } } as const;
  const changed = await cadiz.request<{ name: string }>({ ...change, isOnce: false });
  expect(changed.name).toBe('Ada');
  const once = ['PATCH', 'http://cadiz.test/api/me?dryRun=true', '{"name":"Ada"}', 'Bearer cz_live_x'];
  expect(sent.splice(0)).toEqual([once, once]);
  // Whether this one was done cannot be known.
  await expect(cadiz.request(change)).rejects.toMatchObject({ code: 'network_failed' });
  expect(sent.splice(0)).toEqual([once]);
  expect(await cadiz.request({ path: '/api/me' })).toEqual({ name: 'Ada' });
  await expect(cadiz.request({ path: '/api/me', signal: AbortSignal.abort() })).rejects.toThrow('aborted');
});

test.each(['.evil.test/', '@evil.test/', 'https://evil.test/', ''])(
  'a path that could lead to another host is not asked: %s',
  async (path) => {
    const fetch = async () => Response.json({});
    const cadiz = createClient({ baseUrl: 'http://cadiz.test', apiKey: 'cz_live_x', fetch });
    await expect(cadiz.request({ path })).rejects.toMatchObject({ code: 'invalid_argument' });
  },
);

test('a program that runs in no page must say where the service is', async () => {
  const cadiz = createClient({ baseUrl: '', apiKey: 'cz_live_x' });
  await expect(cadiz.request({ path: '/readyz' })).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('the types are those of the contract', () => {
  expectTypeOf<client.ErrorCode>().toEqualTypeOf<contract.ErrorCode>();
  expectTypeOf<z.output<typeof contract.File>>().toExtend<client.File>();
  expectTypeOf<client.File>().toExtend<z.output<typeof contract.File>>();
  expectTypeOf<client.Folder>().toEqualTypeOf<z.output<typeof contract.Folder>>();
  expectTypeOf<z.output<typeof contract.Listing>>().toExtend<client.Listing>();
  expectTypeOf<client.Listing>().toExtend<z.output<typeof contract.Listing>>();
  expectTypeOf<z.output<typeof contract.Event>['type']>().toExtend<client.EventType | 'webhook.test'>();
  expectTypeOf<client.EventType>().toExtend<z.output<typeof contract.Event>['type']>();
  type Told = { [T in keyof client.EventData]: z.output<(typeof contract.eventCatalogue)[T]['data']> };
  expectTypeOf<Told extends client.EventData ? true : false>().toEqualTypeOf<true>();
  expectTypeOf<client.Usage>().toEqualTypeOf<z.output<typeof contract.Usage>>();
  expectTypeOf<{ days: client.UsageOfDay[] }>().toEqualTypeOf<z.output<typeof contract.DailyUsage>>();
  expectTypeOf<client.OwnApiKey>().toEqualTypeOf<z.output<typeof contract.OwnApiKey>>();
  expectTypeOf<client.ApiKey>().toEqualTypeOf<z.output<typeof contract.ApiKey>>();
  expectTypeOf<client.Trashed>().toEqualTypeOf<z.output<typeof contract.Trashed>>();
  expectTypeOf<client.TrashEntry>().toEqualTypeOf<z.output<typeof contract.TrashEntry>>();
  expectTypeOf<client.Upload>().toEqualTypeOf<z.output<typeof contract.Upload>>();
  expectTypeOf<client.CreatedUpload>().toEqualTypeOf<z.output<typeof contract.CreatedUpload>>();
  expectTypeOf<client.Operation>().toEqualTypeOf<z.output<typeof contract.Operation>>();
  expectTypeOf<client.Link>().toEqualTypeOf<z.output<typeof contract.Link>>();
  expectTypeOf<client.OwnTicket>().toEqualTypeOf<z.output<typeof contract.OwnTicket>>();
  expectTypeOf<z.output<typeof contract.Ticket>>().toExtend<client.Ticket>();
  expectTypeOf<z.output<typeof contract.CreatedTicket>>().toExtend<client.CreatedTicket>();
  expect(Object.keys(errorCatalogue)).toContain('upload_missing');
});
