import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient, type File, openFile, resumeFile } from '@cadiz/client/node';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { series } from '../scripts/series.mjs';
import { listFiles, type Owner, signUpOwner } from './client-account.ts';
import { type Fault, type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { cleanUp, migratedSettings, type Service, type Settings, startService, stopService } from './service.ts';

const mebibyte = 1024 ** 2;
/** Small parts, so that many tests are quick. */
const partsFrom = 10 * mebibyte;
const partSize = 5 * mebibyte;

let settings: Settings;
let service: Service;
let api: FaultProxy;
let store: FaultProxy;
let folder: string;
let owner: Owner;
let projectId: string;
let apiKey: string;
let cadiz: Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-client-'));
  settings = await migratedSettings();
  store = await startFaultProxy(Number(settings.STORE_PORT));
  service = await startService({ ...settings, S3_PUBLIC_ENDPOINT: store.url, RATE_LIMITS: 'off' });
  api = await startFaultProxy(Number(settings.PORT));
  owner = await signUpOwner(service.url);
});
afterAll(async () => {
  await Promise.all([api?.close(), store?.close()]);
  if (service) await stopService(service);
  await cleanUp(settings);
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  ({ projectId, apiKey } = await owner.createProject('Faults'));
  cadiz = createClient({ baseUrl: api.url, apiKey, partsFrom });
  api.mend();
  store.mend();
});

const listed = () => listFiles(service.url, apiKey);

async function bytesOf({ id }: File): Promise<Buffer> {
  return Buffer.from(await (await createClient({ baseUrl: service.url, apiKey }).files.download(id)).arrayBuffer());
}

/** Like the key, and not it. */
const anotherKey = () => apiKey.slice(0, -1) + (apiKey.endsWith('x') ? 'y' : 'x');

const forRequests: Fault[] = [
  'cut before',
  'lose the answer',
  'cut the answer',
  '500',
  '502 as HTML',
  '503 with Retry-After',
  '429 with Retry-After',
];
const forBytes: Fault[] = [
  'cut before',
  'cut in the middle',
  'lose the answer',
  '500',
  '503 with Retry-After',
  '403 expired',
  'slow',
];

const small = [
  ...forRequests.map((fault) => ['presign', fault] as const),
  ...forRequests.map((fault) => ['record', fault] as const),
  ...forBytes.map((fault) => ['PUT', fault] as const),
];

test.each(series({ full: small, short: small.filter((_, index) => index % 4 === 0) }))(
  'uploads a file whole and once: %s: %s',
  async (where, fault) => {
    const bytes = randomBytes(300_000);
    if (where === 'PUT') store.break(/^PUT/, fault);
    else api.break(new RegExp(`/${where}$`), fault);
    const shown: number[] = [];
    const file = await cadiz.upload(bytes, { name: 'ö, 写真 %+.bin', onProgress: ({ loaded }) => shown.push(loaded) });
    expect(await listed()).toEqual([file]);
    expect((await bytesOf(file)).equals(bytes)).toBe(true);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(shown.at(-1)).toBe(bytes.length);
  },
);

test('records each file of a batch that takes long, some before the others have arrived', async () => {
  const files = Array.from({ length: 40 }, (_, number) => new File([randomBytes(10_000)], `${number}.bin`));
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const uploading = cadiz.uploads.create(files);
    const sent = () => store.requests.filter((request) => request.startsWith('PUT')).length;
    for (const count of [5, 20]) {
      while (sent() < count) await new Promise(setImmediate);
      vi.setSystemTime(Date.now() + 25_000);
    }
    const { uploads } = await uploading.done();
    expect(uploads.map(({ state }) => state)).toEqual(files.map(() => 'done'));
  } finally {
    vi.useRealTimers();
  }
  expect((await listed()).length).toBe(40);
}, 30_000);

test.each(['presign', 'PUT', 'uploads', 'parts'])('aborted during %s, leaves nothing half done', async (where) => {
  const isLarge = where === 'uploads' || where === 'parts';
  const at = where === 'PUT' ? store : api;
  const pattern = where === 'PUT' ? /^PUT/ : new RegExp(`/${where}$`);
  at.break(pattern, 'late', 9);
  const stop = new AbortController();
  const file = new Blob([new Uint8Array(isLarge ? 12 * mebibyte : 1000)]);
  const uploading = cadiz.upload(file, { name: 'never.bin', signal: stop.signal });
  const failed = expect(uploading).rejects.toMatchObject({ code: 'aborted', retryable: false });
  await expect.poll(() => at.requests.some((request) => pattern.test(request))).toBe(true);
  stop.abort();
  await failed;
  expect(await listed()).toEqual([]);
  if (where === 'parts') expect(await cadiz.uploads.list().next()).toMatchObject({ done: true });
});

test.each(['record', 'complete'])('aborted during %s, has recorded the file and says so', async (where) => {
  const pattern = new RegExp(`/${where}$`);
  api.break(pattern, 'late');
  const stop = new AbortController();
  const file = new Blob([new Uint8Array(where === 'complete' ? 12 * mebibyte : 1000)]);
  const uploading = cadiz.upload(file, { name: 'recorded.bin', signal: stop.signal });
  await expect.poll(() => api.requests.some((request) => pattern.test(request))).toBe(true);
  stop.abort();
  const recorded = await uploading;
  expect(await listed()).toEqual([recorded]);
});

test('an upload that was aborted before it began asks for nothing', async () => {
  const uploading = cadiz.upload('x', { name: 'x', signal: AbortSignal.abort() });
  await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
  expect(api.requests).toEqual([]);
});

test('an empty file, and names in any script', async () => {
  const names = ['empty', 'å ö é', '写真.jpg', 'صورة', '👩‍👩‍👧.png', 'a%2Fb+c#d?e&f', 'it\'s; rm -rf "x"', ' spaces '];
  for (const name of names) await cadiz.upload(new Blob([]), { name, folder: 'names/ünïcode 写' });
  expect((await listed()).map(({ fileName, fileSize }) => [fileName, fileSize])).toEqual(
    names.map((name) => [name, 0]),
  );
});

const tenMebibytes = new Uint8Array(partsFrom);

test.each([
  ['one file', (folder: string) => cadiz.upload('x', { name: 'x', folder })],
  ['one file in parts', (folder: string) => cadiz.upload(tenMebibytes, { name: 'x', folder, partSize })],
])('a folder given by its path that was deleted is created anew: %s', async (_, upload) => {
  const first = await upload('press/2027');
  await upload('press/2027/may');
  await cadiz.folders.delete((await cadiz.folders.getByPath('press')).id, { recursive: true });
  const second = await upload('press/2027');
  const third = await upload('press/2027/may');
  expect(second.folderId).not.toBe(first.folderId);
  expect(second.folderId).toBe((await cadiz.folders.getByPath('press/2027')).id);
  expect(third.folderId).toBe((await cadiz.folders.getByPath('press/2027/may')).id);
  // Whoever gives an id means that folder and no other.
  await expect(upload(first.folderId ?? '')).rejects.toMatchObject({ code: 'folder_not_found' });
});

test('folders that were deleted are created anew for a whole queue, with one request', async () => {
  const uploadAll = () => {
    const entries = Array.from({ length: 250 }, (_, index) => ({
      file: new globalThis.File(['x'], `${index}.txt`),
      path: `trip/${index % 5}/${index}.txt`,
    }));
    return cadiz.uploads.create(entries).done();
  };
  await uploadAll();
  await cadiz.folders.delete((await cadiz.folders.getByPath('trip')).id, { recursive: true });
  api.requests.length = 0;
  const { uploads } = await uploadAll();
  expect(uploads.filter(({ state }) => state !== 'done')).toEqual([]);
  expect(await listed()).toHaveLength(250);
  expect(api.requests.filter((request) => request.endsWith('/ensure'))).toHaveLength(1);
});

test('what a queue uploads to a path comes to the folder that has it by then', async () => {
  const toEntry = (path: string) => ({ file: new globalThis.File(['x'], 'x'), path });
  const queue = cadiz.uploads.create([toEntry('trip/a.txt')]);
  await queue.done();
  const { id } = await cadiz.folders.getByPath('trip');
  await cadiz.folders.update(id, { name: 'trip of last year' });
  queue.add([toEntry('trip/b.txt')]);
  await queue.done();
  await cadiz.uploads.create([toEntry('trip/c.txt')]).done();
  const namesIn = async (folder: string) => (await cadiz.files.page({ folder })).files.map(({ fileName }) => fileName);
  expect([await namesIn(id), await namesIn('trip')]).toEqual([['a.txt'], ['b.txt', 'c.txt']]);
});

test('a folder that is deleted while its file is on the way is created anew', async () => {
  let isDeleted = false;
  const deleteFirst: typeof fetch = async (input, init) => {
    if (String(input).endsWith('/record') && !isDeleted) {
      isDeleted = true;
      await cadiz.folders.delete((await cadiz.folders.getByPath('late')).id);
    }
    return fetch(input, init);
  };
  const client = createClient({ baseUrl: api.url, apiKey, fetch: deleteFirst });
  const file = await client.upload('x', { name: 'x', folder: 'late' });
  expect(isDeleted).toBe(true);
  expect(file.folderId).toBe((await cadiz.folders.getByPath('late')).id);
});

test.each([
  ['one file', 1000, 2],
  ['one part of a file', 12 * mebibyte, 4],
])('what the store has lost is sent again: %s', async (_, size, times) => {
  store.break(/^PUT/, 'lose the bytes');
  const bytes = randomBytes(size);
  const file = await cadiz.upload(bytes, { name: 'lost.bin', partSize });
  expect(store.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(times);
  expect(await listed()).toEqual([file]);
  expect((await bytesOf(file)).equals(bytes)).toBe(true);
});

test('a queue goes on with another ticket when one is used up', async () => {
  let asked = 0;
  const ticket = () => {
    asked++;
    return cadiz.tickets.create({ maxFiles: 7, maxBytes: 1_000_000 });
  };
  const files = Array.from({ length: 30 }, (_, index) => new globalThis.File([`${index}`], `${index}.txt`));
  const { uploads } = await createClient({ baseUrl: api.url, ticket }).uploads.create(files).done();
  expect(uploads.filter(({ state }) => state !== 'done')).toEqual([]);
  expect(asked).toBe(5);
  expect(new Set((await listed()).map(({ ticketId }) => ticketId)).size).toBe(5);
  const [one] = files;
  const single = await cadiz.tickets.create({ maxFiles: 1, maxBytes: 1_000_000 });
  const queue = createClient({ baseUrl: api.url, ticket: single }).uploads.create([one, one, one] as globalThis.File[]);
  expect((await queue.done()).uploads.map(({ state, error }) => error?.code ?? state).sort()).toEqual([
    'done',
    'ticket_exhausted',
    'ticket_exhausted',
  ]);
});

test.each([
  ['small files', 1000, 3, /record\/batch$/],
  ['a file in parts', 12 * mebibyte, 1, /complete$/],
])('a queue begins %s anew with another ticket when theirs is revoked, once', async (_, size, count, route) => {
  const tickets: string[] = [];
  const ticket = async () => {
    const granted = await cadiz.tickets.create({ maxFiles: 10, maxBytes: 10 * size });
    tickets.push(granted.id);
    return granted;
  };
  const revokeFirst = (times: number): typeof fetch => {
    let left = times;
    return async (input, init) => {
      if (route.test(String(input)) && left-- > 0) await cadiz.tickets.revoke(tickets.at(-1) ?? '');
      return fetch(input, init);
    };
  };
  const files = Array.from({ length: count }, (_, index) => new globalThis.File([randomBytes(size)], `${index}.bin`));
  const uploadWith = async (given: typeof ticket | string, times: number) => {
    const client = createClient({ baseUrl: api.url, ticket: given, fetch: revokeFirst(times), partsFrom });
    const { uploads } = await client.uploads.create(files, { partSize }).done();
    return uploads.map(({ state, error }) => error?.code ?? state);
  };
  expect(await uploadWith(ticket, 1)).toEqual(files.map(() => 'done'));
  expect(await listed()).toHaveLength(count);
  expect(new Set((await listed()).map(({ ticketId }) => ticketId))).toEqual(new Set([tickets[1]]));
  const failed = files.map(() => 'invalid_ticket');
  expect(await uploadWith(ticket, 9)).toEqual(failed);
  expect(tickets).toHaveLength(4);
  expect(await uploadWith((await ticket()).ticket, 1)).toEqual(failed);
  expect(await listed()).toHaveLength(count);
});

test('what cannot succeed is told at once, with what to do', async () => {
  await expect(cadiz.upload('x', { name: 'a/b' })).rejects.toMatchObject({
    code: 'invalid_request',
    status: 400,
    retryable: false,
    requestId: expect.stringMatching(/./),
    issues: [{ path: 'fileName', message: expect.any(String) }],
  });
  await expect(cadiz.upload(new Blob(['x']))).rejects.toMatchObject({ code: 'invalid_argument' });
  const wrong = cadiz.upload('x', { name: 'x', checksum: '00'.repeat(32) });
  await expect(wrong).rejects.toMatchObject({
    code: 'upload_refused',
    status: 400,
    message: expect.stringContaining('BadDigest'),
  });
  const unknown = createClient({ baseUrl: api.url, projectId, apiKey: anotherKey() }).upload('x', {
    name: 'x',
  });
  await expect(unknown).rejects.toMatchObject({ code: 'invalid_api_key', status: 401 });
  const elsewhere = createClient({ baseUrl: store.url, projectId, apiKey, retries: 0 }).upload('x', { name: 'x' });
  await expect(elsewhere).rejects.toMatchObject({
    code: 'unexpected_answer',
    message: expect.stringContaining('baseUrl'),
  });
  expect(await listed()).toEqual([]);
});

test('asks for another key when the first is refused, once for all requests', async () => {
  let asked = 0;
  const key = async () => (asked++ === 0 ? anotherKey() : apiKey);
  const client = createClient({ baseUrl: api.url, projectId, apiKey: key });
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => client.upload(name, { name })));
  expect(asked).toBe(2);
  expect(await listed()).toHaveLength(4);
});

test('a file that changes while it is uploaded is not recorded, and its parts are removed', async () => {
  const path = join(folder, 'changing.bin');
  await writeFile(path, randomBytes(12 * mebibyte));
  const file = await openFile(path);
  let isChanged: Promise<void> | undefined;
  const onProgress = () => {
    isChanged ??= writeFile(path, randomBytes(mebibyte));
  };
  await expect(cadiz.upload(file, { onProgress, concurrency: 1 })).rejects.toMatchObject({ code: 'file_unreadable' });
  await isChanged;
  expect(await listed()).toEqual([]);
  expect((await cadiz.uploads.page()).items).toEqual([]);
});

test('a queue: some fail, are retried, canceled, paused and resumed', async () => {
  store.break(/^PUT .*-3\.txt$/, '403 expired', 2);
  const files = Array.from({ length: 30 }, (_, index) => new globalThis.File([`${index}`], `${index}.txt`));
  const queue = cadiz.uploads.create([...files, new globalThis.File(['x'], 'a\\b')]);
  let told = 0;
  queue.subscribe(() => told++);
  queue.pause();
  queue.cancel(7);
  expect(queue.snapshot()).toMatchObject({ isPaused: true, isIdle: false });
  queue.resume();
  const stateOf = (snapshot: ReturnType<typeof queue.snapshot>) =>
    Object.fromEntries(snapshot.uploads.filter(({ state }) => state !== 'done').map(({ id, state }) => [id, state]));
  const first = await queue.done();
  expect(stateOf(first)).toEqual({ 3: 'failed', 7: 'canceled', 30: 'failed' });
  expect(first.uploads[3]?.error).toMatchObject({ code: 'upload_refused', status: 403 });
  expect(first.uploads[30]?.error).toMatchObject({ code: 'invalid_request' });
  queue.retry();
  expect(stateOf(await queue.done())).toEqual({ 30: 'failed' });
  expect(told).toBeGreaterThan(0);
  expect(await listed()).toHaveLength(30);
});

test('a queue: a name that is refused fails alone, and the others are not asked for again', async () => {
  const files = ['a', 'b/c', 'd'].map((name) => new globalThis.File([name], name));
  const { uploads } = await cadiz.uploads.create(files).done();
  expect(uploads.map(({ state }) => state)).toEqual(['done', 'failed', 'done']);
  expect(uploads[1]?.error).toMatchObject({
    code: 'invalid_request',
    status: 400,
    retryable: false,
    issues: [{ path: 'fileName', message: expect.any(String) }],
  });
  expect(api.requests.filter((request) => request.startsWith('POST'))).toEqual([
    'POST /api/storage/presign/batch',
    'POST /api/storage/record/batch',
  ]);
});

test('a queue: one is paused while others go on, and is gone on with or canceled where it was', async () => {
  const file = async (name: string, size: number) => {
    await writeFile(join(folder, name), randomBytes(size));
    return openFile(join(folder, name));
  };
  const size = 40 * mebibyte;
  const client = createClient({ baseUrl: api.url, apiKey, partsFrom, concurrency: 1 });
  const entry = (file: Awaited<ReturnType<typeof openFile>>) => ({ file, partSize, concurrency: 1 });
  const queue = client.uploads.create([entry(await file('kept.bin', size)), entry(await file('gone.bin', size))]);
  const view = (id: number) => queue.snapshot().uploads[id];
  const puts = () => store.requests.filter((request) => request.startsWith('PUT'));
  /** Pauses an upload once its first part has arrived: one part is sent at a time, so the second is on its way. */
  async function pauseUnderWay(id: number): Promise<void> {
    const before = puts().length;
    await new Promise<void>((resolve) => {
      const stop = queue.subscribe(() => {
        if (view(id)?.state !== 'uploading' || puts().length < before + 2) return;
        stop();
        queue.pause(id);
        resolve();
      });
    });
    expect(view(id)?.state).toBe('paused');
  }
  await pauseUnderWay(0);
  // Its turn is the next one's.
  await pauseUnderWay(1);
  queue.add([new globalThis.File(['small'], 'small.txt')]);
  await expect.poll(() => view(2)?.state).toBe('done');
  expect(queue.snapshot().isIdle).toBe(false);
  const before = puts().length;
  queue.cancel(1);
  await expect.poll(() => view(1)?.state).toBe('canceled');
  queue.resume(0);
  const { uploads } = await queue.done();
  expect(uploads.map(({ state }) => state)).toEqual(['done', 'canceled', 'done']);
  // The first part is not sent again, and nothing of the other is left.
  expect(puts().length - before).toBeLessThan(Math.ceil(size / partSize));
  expect((await listed()).map(({ fileName }) => fileName).sort()).toEqual(['kept.bin', 'small.txt']);
  await expect.poll(async () => (await client.uploads.page()).items).toEqual([]);
});

const large = [
  ...forRequests.map((fault) => ['uploads', fault] as const),
  ...forRequests.map((fault) => ['parts', fault] as const),
  ...forRequests.map((fault) => ['complete', fault] as const),
  ...forBytes.map((fault) => ['PUT', fault] as const),
];

test.each(series({ full: large, short: large.filter((_, index) => index % 4 === 1) }))(
  'uploads a large file whole and once: %s: %s',
  async (where, fault) => {
    const path = join(folder, 'large.bin');
    const bytes = randomBytes(12 * mebibyte);
    await writeFile(path, bytes);
    if (where === 'PUT') store.break(/^PUT/, fault, 3);
    else api.break(new RegExp(`/${where}$`), fault);
    const shown: number[] = [];
    const file = await cadiz.upload(await openFile(path), { partSize, onProgress: ({ loaded }) => shown.push(loaded) });
    expect(await listed()).toEqual([file]);
    expect((await bytesOf(file)).equals(bytes)).toBe(true);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(shown.at(-1)).toBe(bytes.length);
  },
);

test('goes on with a large file where an earlier program stopped', async () => {
  const path = join(folder, 'resumed.bin');
  await writeFile(path, randomBytes(80 * mebibyte));
  const resume = () => resumeFile(join(folder, 'uploads.json'));
  // The store takes two parts, then the connection is gone for good.
  const first = createClient({ baseUrl: api.url, apiKey, resume: resume(), retries: 0 });
  let isOver = false;
  const stop = new AbortController();
  const failing = first.upload(await openFile(path), {
    concurrency: 1,
    onProgress({ loaded }) {
      if (loaded < 2 * 16 * mebibyte || isOver) return;
      isOver = true;
      store.break(/^PUT/, 'cut before', 1);
    },
  });
  await expect(failing).rejects.toMatchObject({ code: 'network_failed', retryable: true });
  stop.abort();
  store.requests.length = 0;
  const second = createClient({ baseUrl: api.url, apiKey, resume: resume() });
  const file = await second.upload(await openFile(path));
  expect(store.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(3);
  expect(await listed()).toEqual([file]);
});

test.each([
  ['was deleted since', 'deleted', {}],
  ['has other metadata', 'there', { metadata: { year: 2027 } }],
])('uploads a large file anew if a remembered upload was completed and its file %s', async (_, left, options) => {
  const path = join(folder, 'completed.bin');
  await writeFile(path, randomBytes(partsFrom));
  const store = resumeFile(join(folder, `${left}.json`));
  // As if the program had ended before it forgot the upload.
  const ended = createClient({ baseUrl: api.url, apiKey, partsFrom, resume: { ...store, delete: async () => 0 } });
  const first = await ended.upload(await openFile(path));
  if (left === 'deleted') await ended.files.delete(first.id);
  const next = createClient({ baseUrl: api.url, apiKey, partsFrom, resume: store });
  const second = await next.upload(await openFile(path), options);
  expect((await listed()).map(({ id }) => id).sort()).toEqual(
    [second.id, ...(left === 'deleted' ? [] : [first.id])].sort(),
  );
  expect(second.id).not.toBe(first.id);
});
