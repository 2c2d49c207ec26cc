import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, openFile, type ResumeStore, type Uploadable } from '@cadiz/client/node';
import { createUploader } from '@cadiz/client/upload';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { id, type Stub, startStub } from './stub.ts';

let folder: string;
let stub: Stub;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-sdk-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  stub = await startStub();
});
afterEach(() => {
  stub.close();
  vi.restoreAllMocks();
});

const file = (name = 'x') => new File(['x'], name);
const recorded = () => stub.asked.filter((request) => /record|complete/.test(request)).length;

test.each(['get', 'set', 'delete'] as const)(
  'a resume store whose %s fails does not fail an upload',
  async (broken) => {
    const fail = () => Promise.reject(new Error('No space left.'));
    const resume: ResumeStore = {
      get: async () => undefined,
      set: async () => 0,
      delete: async () => 0,
      [broken]: fail,
    };
    const cadiz = stub.client({ partsFrom: 1, resume });
    expect(await cadiz.upload(file())).toEqual({ id: 'file' });
    const { uploads } = await cadiz.uploads.create([file()]).done();
    expect(uploads.map(({ state }) => state)).toEqual(['done']);
    expect(recorded()).toBe(2);
  },
);

test.each([1, 400_000])('a store that switches protocols fails an upload of %i bytes', async (size) => {
  const store = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'));
  });
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  const presignedUrl = `http://127.0.0.1:${(store.address() as net.AddressInfo).port}/a?X-Amz-Expires=900`;
  stub.answers['/api/storage/presign'] = { presignedUrl, storeKey: 'k' };
  const uploading = stub.client({ retries: 0 }).upload(new File([new Uint8Array(size)], 'x'));
  await expect(uploading).rejects.toMatchObject({ code: 'network_failed', retryable: true });
  await new Promise((resolve) => store.close(resolve));
});

test.each([1, 400_000])('%i bytes go through the agent of the program, and so through its proxy', async (size) => {
  const { globalAgent } = http;
  const agent = new http.Agent();
  const opened = vi.spyOn(agent, 'createConnection');
  http.globalAgent = agent;
  try {
    await stub.client().upload(new File([new Uint8Array(size)], 'x'));
  } finally {
    http.globalAgent = globalAgent;
  }
  expect(opened).toHaveBeenCalledTimes(1);
  expect(stub.puts).toBe(1);
});

describe('a function of the caller that throws', () => {
  test.each<[string, () => unknown]>([
    [
      'at once',
      () => {
        throw new Error('a bug of the page');
      },
    ],
    ['later', () => Promise.reject(new Error('a bug of the page'))],
  ])('is shown, and harms no upload: %s', async (_, bug) => {
    const shown = vi.spyOn(console, 'error').mockReturnValue();
    const onProgress = bug as () => void;
    const cadiz = stub.client();
    expect(await cadiz.upload(file(), { onProgress })).toMatchObject({ id: 'file' });
    const path = join(folder, 'large.bin');
    await writeFile(path, randomBytes(400_000));
    expect(await cadiz.upload(await openFile(path), { onProgress })).toMatchObject({ id: 'file' });
    const queue = cadiz.uploads.create([file()]);
    const told = vi.fn();
    queue.subscribe(onProgress);
    queue.subscribe(told);
    expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['done']);
    await expect.poll(() => told.mock.calls.length).toBeGreaterThan(0);
    expect(shown).toHaveBeenCalledWith(new Error('a bug of the page'));
  });
});

test('a file that is written to while it is sent is not recorded', async () => {
  const path = join(folder, 'changing.bin');
  const size = 400_000;
  await writeFile(path, randomBytes(size));
  const opened = await openFile(path);
  const source = {
    ...opened,
    slice: (...range: number[]) => {
      const chunk = opened.slice(...range) as StreamChunk;
      return { ...chunk, read: () => writingTo(path, chunk) };
    },
  };
  const uploading = stub.client({ retries: 0 }).upload(source);
  await expect(uploading).rejects.toMatchObject({ code: 'file_unreadable' });
  expect([recorded(), stub.puts]).toEqual([0, 0]);
});

test.each(['/proc/version', '/sys/devices/system/cpu/online'])(
  '%s, whose size is made up, is not uploaded as if it were right',
  async (path) => {
    const uploading = openFile(path).then((file) => stub.client().upload(file));
    await expect(uploading).rejects.toMatchObject({
      code: 'file_unreadable',
      message: `${path} has other bytes than its size says, as in /proc: upload a copy of it.`,
    });
    expect([recorded(), stub.puts]).toEqual([0, 0]);
  },
);

interface StreamChunk {
  size: number;
  read(): AsyncIterable<Uint8Array>;
}

/** Reads a file, and writes to its end once its beginning has been read. */
async function* writingTo(path: string, { size, read }: StreamChunk) {
  let isFirst = true;
  for await (const bytes of read()) {
    if (isFirst) {
      const there = await open(path, 'r+');
      await there.write(Buffer.from('other bytes'), 0, 11, size - 11);
      await there.close();
    }
    isFirst = false;
    yield bytes;
  }
}

describe('where the web is imitated, as by jsdom', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('a Blob without stream() is uploaded, whatever its size', async () => {
    // What jsdom has of a File.
    const toBlob = (bytes: Uint8Array<ArrayBuffer>): Uploadable => ({
      name: 'x',
      type: 'text/plain',
      size: bytes.length,
      slice: (start = 0, end = bytes.length) => {
        const piece = bytes.slice(start, end);
        return { size: piece.length, arrayBuffer: async () => piece.buffer };
      },
    });
    const cadiz = stub.client({ retries: 0 });
    for (const size of [1, 400_000])
      expect(await cadiz.upload(toBlob(new Uint8Array(size)), { checksum: true })).toMatchObject({ id: 'file' });
  });

  test('files are uploaded without web streams', async () => {
    vi.stubGlobal('ReadableStream', undefined);
    const imitated: typeof fetch = (...request) => {
      // That of Node needs it.
      vi.unstubAllGlobals();
      return stub.fetch(...request);
    };
    expect(await stub.client({ fetch: imitated }).upload(file())).toMatchObject({ id: 'file' });
  });
});

describe('an upload that is aborted before it begins', () => {
  test.each([undefined, 1])('does not wait for a ticket that never comes (partsFrom %s)', async (partsFrom) => {
    const stop = new AbortController();
    const ticket = () => {
      setImmediate(() => stop.abort());
      return new Promise<never>(() => undefined);
    };
    const cadiz = stub.client({ apiKey: undefined, ticket, partsFrom });
    const uploading = cadiz.upload('hi', { name: 'x', folder: id, signal: stop.signal });
    await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
    expect(stub.asked).toEqual([]);
  });

  test('does not wait for a stream that never ends', async () => {
    let isCanceled = false;
    const stream = new ReadableStream({
      async pull(controller) {
        await new Promise(setImmediate);
        controller.enqueue(new Uint8Array(10));
      },
      cancel() {
        isCanceled = true;
      },
    });
    const stop = new AbortController();
    const uploading = stub.client().upload(stream, { name: 'x', signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
    await expect.poll(() => isCanceled).toBe(true);
    expect(stub.asked).toEqual([]);
  });

  test('does not compute the checksum of a large file to its end', async () => {
    const stop = new AbortController();
    let read = 0;
    const size = 1000;
    const slice = () => ({
      size,
      async *read() {
        for (; read < size; read++) {
          if (read === 3) stop.abort();
          yield new Uint8Array(1);
        }
      },
    });
    const source = { name: 'x', size, type: '', slice };
    const uploading = stub.client().upload(source, { checksum: true, signal: stop.signal });
    await expect(uploading).rejects.toMatchObject({ code: 'aborted' });
    expect(read).toBeLessThan(5);
    read = 0;
    const queue = stub.client().uploads.create([source], { checksum: true, signal: stop.signal });
    expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['canceled']);
    expect([read, stub.asked]).toEqual([0, []]);
  });
});

test.each([
  [{}, 'own.txt', ''],
  [{ path: '/2027//beach.txt' }, 'beach.txt', '2027'],
  [{ path: '2027/may/beach.txt', name: 'sea.txt' }, 'sea.txt', '2027/may'],
  [{ name: 'sea.txt' }, 'sea.txt', ''],
  [{ path: '' }, 'own.txt', ''],
])('an entry of a queue has a name and a folder: %j', (entry, name, directory) => {
  const queue = stub.client().uploads.create([{ file: new File(['x'], 'own.txt'), ...entry }]);
  expect(queue.snapshot().uploads).toMatchObject([{ name, directory }]);
  queue.cancel();
});

test('a queue with a paused upload is done once that is resumed or canceled', async () => {
  for (const end of ['resume', 'cancel'] as const) {
    const queue = stub.client().uploads.create([file('a'), file('b')]);
    queue.pause(1);
    let isDone = false;
    const done = queue.done().then((snapshot) => {
      isDone = true;
      return snapshot;
    });
    await expect.poll(() => queue.snapshot().uploads[0]?.state).toBe('done');
    let another = false;
    queue.done().then(() => {
      another = true;
    });
    await new Promise(setImmediate);
    expect([isDone, another, queue.snapshot().isIdle]).toEqual([false, false, false]);
    queue[end](1);
    expect((await done).uploads.map(({ state }) => state)).toEqual(['done', end === 'resume' ? 'done' : 'canceled']);
  }
});

/** The fetch of the stub, whose first answer to this path is held back until `release` is called or the request is aborted. */
function holding(path: string) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  const held: typeof fetch = async (input, init) => {
    const answer = await stub.fetch(input, init);
    if (isHeld || new URL(String(input)).pathname !== path) return answer;
    isHeld = true;
    await Promise.race([released, new Promise((resolve) => init?.signal?.addEventListener('abort', resolve))]);
    init?.signal?.throwIfAborted();
    return answer;
  };
  return { fetch: held, release };
}

test('an upload that is canceled and retried while its batch is presigned is uploaded', async () => {
  const { fetch, release } = holding('/api/storage/presign/batch');
  const queue = stub.client({ fetch }).uploads.create([file('a'), file('b')]);
  await expect.poll(() => stub.asked).toContain('POST /api/storage/presign/batch');
  queue.cancel(0);
  expect(queue.snapshot().uploads[0]?.state).toBe('canceled');
  queue.retry(0);
  release();
  expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['done', 'done']);
});

test('a queue that is canceled while it is paused is done, even if its batch has yet to be presigned', async () => {
  const { fetch } = holding('/api/storage/presign/batch');
  const queue = stub.client({ fetch }).uploads.create([file('a'), file('b')]);
  await expect.poll(() => stub.asked).toContain('POST /api/storage/presign/batch');
  queue.pause();
  queue.cancel();
  const { uploads, isIdle } = await queue.done();
  expect([uploads.map(({ state }) => state), isIdle]).toEqual([['canceled', 'canceled'], true]);
  queue.resume();
  queue.add([file('c')]);
  expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['canceled', 'canceled', 'done']);
  expect(stub.puts).toBe(1);
});

test('a queue whose files are added, retried and resumed one by one looks at no others', () => {
  let looks = 0;
  const options = {
    get folder() {
      looks++;
      return 'holiday';
    },
  };
  const queue = stub.client().uploads.create([], options);
  queue.pause();
  for (let index = 0; index < 100; index++) queue.add([file(`${index}`)]);
  expect(queue.snapshot().uploads).toHaveLength(100);
  expect(looks).toBe(100);
  for (let index = 0; index < 10; index++) {
    queue.cancel(index);
    queue.retry(index);
    queue.pause(index);
    queue.resume(index);
  }
  expect(looks).toBe(120);
});

/** The request and how many files the store had by then, for each that presigns. */
function followPresigning() {
  const presigned: [route: string, puts: number][] = [];
  const fetch: typeof stub.fetch = (input, init) => {
    const [, route] = /\/(presign.*)/.exec(String(input)) ?? [];
    if (route) presigned.push([route, stub.puts]);
    return stub.fetch(input, init);
  };
  return { presigned, fetch };
}

test('the next batch is presigned before the last one has been sent, if that is not much', async () => {
  const { presigned, fetch } = followPresigning();
  const small = Array.from({ length: 200 }, (_, index) => file(`${index}`));
  await stub.client({ fetch, concurrency: 1 }).uploads.create(small).done();
  expect(presigned.map(([route]) => route)).toEqual(['presign/batch', 'presign/batch']);
  expect(presigned[1]?.[1]).toBeLessThan(50);

  const larger = Array.from({ length: 200 }, (_, index) => new File([new Uint8Array(100_000)], `${index}`));
  stub.puts = 0;
  await stub.client({ fetch, concurrency: 1 }).uploads.create(larger).done();
  expect(presigned[3]?.[1]).toBeGreaterThan(90);
});

test('a queue counts the bytes of what is not canceled', async () => {
  const queue = stub.client().uploads.create(['a', 'bb', 'cccc'].map((text) => new File([text], text)));
  queue.cancel(1);
  expect(queue.snapshot()).toMatchObject({ loaded: 0, total: 5 });
  expect(await queue.done()).toMatchObject({ loaded: 5, total: 5 });
  queue.retry(1);
  expect(await queue.done()).toMatchObject({ loaded: 7, total: 7 });
});

test('one request presigns no more than 64 MiB', async () => {
  const { fetch } = holding('/api/storage/presign/batch');
  const slice = () => new Blob([]);
  const files = Array.from({ length: 4 }, (_, index) => ({ name: `${index}`, type: '', size: 30 * 1024 ** 2, slice }));
  const queue = stub.client({ fetch, concurrency: 1 }).uploads.create(files);
  await expect.poll(() => stub.asked.at(-1)).toBe('POST /api/storage/presign/batch');
  expect(stub.bodies.at(-1)?.files).toHaveLength(2);
  queue.cancel();
});

test('pausing a queue interrupts what is under way, and resuming it goes on, however often it was paused', async () => {
  const { fetch } = holding('/api/storage/presign');
  const queue = stub.client({ fetch }).uploads.create([file()]);
  await expect.poll(() => stub.asked).toContain('POST /api/storage/presign');
  queue.pause();
  await new Promise(setImmediate);
  queue.pause();
  queue.resume();
  expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['done']);
  expect(stub.asked.filter((request) => request.endsWith('/presign'))).toHaveLength(2);
});

test('an upload in parts that is paused and canceled at once is removed', async () => {
  const { fetch } = holding(`/api/storage/uploads/${id}/parts`);
  const queue = stub.client({ fetch, partsFrom: 1 }).uploads.create([file()]);
  await expect.poll(() => stub.asked).toContain(`POST /api/storage/uploads/${id}/parts`);
  queue.pause(0);
  queue.cancel(0);
  expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['canceled']);
  await expect.poll(() => stub.asked).toContain(`DELETE /api/storage/uploads/${id}`);
});

test('an upload that is retried no longer says why it had failed', async () => {
  let isRefused = true;
  const refusing: typeof fetch = async (input, init) => {
    if (!isRefused || !String(input).endsWith('/presign')) return stub.fetch(input, init);
    const headers = { 'content-type': 'application/problem+json' };
    return Response.json({ code: 'quota_exceeded', title: 'Quota exceeded' }, { status: 409, headers });
  };
  const queue = stub.client({ fetch: refusing }).uploads.create([file()]);
  expect((await queue.done()).uploads).toMatchObject([{ state: 'failed', error: { code: 'quota_exceeded' } }]);
  isRefused = false;
  queue.retry();
  const [upload] = (await queue.done()).uploads;
  expect([upload?.state, upload?.error]).toEqual(['done', undefined]);
});

test('a large file among small ones is sent in parts, and they are not', async () => {
  const sizes = [10, 2000, 10];
  const files = sizes.map((size, index) => new File([new Uint8Array(size)], `${index}`));
  const queue = stub.client({ partsFrom: 1000 }).uploads.create(files);
  expect((await queue.done()).uploads.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
  const begun = stub.bodies.filter((_, index) => /(?:presign|uploads)$/.test(stub.asked[index] ?? ''));
  const asked = stub.asked.filter((request) => /(?:presign|uploads)$/.test(request));
  expect(asked.map((request, index) => [request, begun[index]?.fileSize]).sort()).toEqual([
    ['POST /api/storage/presign', 10],
    ['POST /api/storage/presign', 10],
    ['POST /api/storage/uploads', 2000],
  ]);
});

test('of files that are added one by one, batches are presigned', async () => {
  const { presigned, fetch } = followPresigning();
  const queue = stub.client({ fetch, concurrency: 4 }).uploads.create([]);
  for (let index = 0; index < 100; index++) queue.add([file(`${index}`)]);
  const { uploads } = await queue.done();
  expect(uploads.every(({ state }) => state === 'done')).toBe(true);
  expect(presigned.length).toBeLessThan(10);
});

test('of a batch, those are uploading whose bytes are being sent, and the others wait', async () => {
  const cadiz = stub.client({ concurrency: 2 });
  const queue = cadiz.uploads.create(Array.from({ length: 30 }, (_, index) => file(`${index}`)));
  let most = 0;
  for (let isDone = false; !isDone; ) {
    const { uploads, isIdle } = queue.snapshot();
    most = Math.max(most, uploads.filter(({ state }) => state === 'uploading').length - stub.puts);
    isDone = isIdle;
    await new Promise(setImmediate);
  }
  expect(queue.snapshot().uploads.every(({ state }) => state === 'done')).toBe(true);
  expect([1, 2]).toContain(most);
});

test('a file that has arrived is recorded while another of its batch is still being sent', async () => {
  const { setTimeout: wait } = globalThis;
  // The twenty seconds that a file waits for others.
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, milliseconds: number) =>
    wait(run, milliseconds === 20_000 ? 20 : milliseconds)) as typeof setTimeout);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Uploadable = {
    name: 'slow',
    size: 1,
    type: '',
    slice: () => ({
      size: 1,
      async *read() {
        await released;
        yield new Uint8Array(1);
      },
    }),
  };
  const files = Array.from({ length: 30 }, (_, index) => file(`${index}`));
  const queue = stub.client().uploads.create([...files, slow, file('last')]);
  const left = () => queue.snapshot().uploads.filter(({ state }) => state !== 'done');
  await expect.poll(() => left().map(({ name }) => name)).toEqual(['slow']);
  release();
  await queue.done();
  expect(left()).toEqual([]);
});

test('many uploads that wait with one signal cause no warning of Node', async () => {
  const warned = vi.fn();
  process.on('warning', warned);
  const { signal } = new AbortController();
  const { fetch, release } = holding('/api/storage/folders/ensure');
  const { upload } = stub.client({ fetch });
  const uploading = Array.from({ length: 20 }, () => upload(file(), { folder: 'a/b', signal }));
  await expect.poll(() => stub.asked).toContain('POST /api/storage/folders/ensure');
  release();
  await Promise.all(uploading);
  process.off('warning', warned);
  expect(warned.mock.calls).toEqual([]);
});

test.each([createClient, createUploader])(
  'an upload that is aborted while its folder is looked up ends at once: %o',
  async (create) => {
    const { fetch, release } = holding('/api/storage/folders/ensure');
    const ending = new AbortController();
    const { upload } = create({ baseUrl: 'http://cadiz.test', projectId: id, apiKey: 'cz_live_x', fetch });
    const uploading = upload(file(), { folder: 'a/b', signal: ending.signal });
    const outcome = uploading.catch((error) => error);
    await expect.poll(() => stub.asked).toContain('POST /api/storage/folders/ensure');
    ending.abort();
    expect(await outcome).toMatchObject({ code: 'aborted' });
    release();
    expect(stub.puts).toBe(0);
  },
);

test('an upload that is aborted while the service creates it is removed there', async () => {
  const ending = new AbortController();
  const aborting: typeof fetch = async (input, init) => {
    const answer = await stub.fetch(input, init);
    if (new URL(String(input)).pathname === '/api/storage/uploads') ending.abort();
    init?.signal?.throwIfAborted();
    return answer;
  };
  const cadiz = stub.client({ fetch: aborting, partsFrom: 1 });
  await expect(cadiz.upload('hi', { name: 'a', signal: ending.signal })).rejects.toMatchObject({ code: 'aborted' });
  expect(stub.asked.slice(-2)).toEqual(['POST /api/storage/uploads', `DELETE /api/storage/uploads/${id}`]);
  expect(stub.puts).toBe(0);
});

test('an upload that is aborted while it is looked up is removed', async () => {
  const ending = new AbortController();
  const aborting: typeof fetch = async (input, init) => {
    const answer = await stub.fetch(input, init);
    if (init?.method === 'GET' && String(input).endsWith(id)) ending.abort();
    init?.signal?.throwIfAborted();
    return answer;
  };
  const resume: ResumeStore = { get: async () => ({ uploadId: id }), set: async () => 0, delete: async () => 0 };
  const cadiz = stub.client({ fetch: aborting, partsFrom: 1, resume });
  await expect(cadiz.upload(file(), { signal: ending.signal })).rejects.toMatchObject({ code: 'aborted' });
  expect(stub.asked.slice(-2)).toEqual(['GET', 'DELETE'].map((method) => `${method} /api/storage/uploads/${id}`));
});

/** The fetch of the stub, whose first answer to this request is a problem. */
function failingOnce(request: string, status: number, code: string): typeof fetch {
  let isOver = false;
  return async (input, init) => {
    if (isOver || `${init?.method} ${new URL(String(input)).pathname}` !== request) return stub.fetch(input, init);
    isOver = true;
    const headers = { 'content-type': 'application/problem+json' };
    return Response.json({ code, status, title: code }, { status, headers });
  };
}

describe('an upload in parts that is remembered', () => {
  const known = new Map<string, { uploadId: string }>();
  const resume: ResumeStore = {
    get: async (key) => known.get(key),
    set: async (key, upload) => known.set(key, upload),
    delete: async (key) => known.delete(key),
  };
  const remembering: ResumeStore = { ...resume, get: async () => ({ uploadId: id }) };
  const begin = 'POST /api/storage/uploads';
  const look = `GET /api/storage/uploads/${id}`;
  const asked = () => stub.asked.filter((request) => request === begin || request === look);
  const found = { uploadId: id, storeKey: 'k', partSize: 5 * 1024 ** 2, partCount: 1, parts: [] };
  beforeEach(() => known.clear());

  const open = (more: Parameters<Stub['client']>[0] = {}) => stub.client({ partsFrom: 1, retries: 0, resume, ...more });

  test('is gone on with after a failure, and forgotten when it is done', async () => {
    const cadiz = open({ fetch: failingOnce(`POST /api/storage/uploads/${id}/parts`, 503, 'store_unavailable') });
    const same = file();
    await expect(cadiz.upload(same)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(known.size).toBe(1);
    stub.answers[`/api/storage/uploads/${id}`] = { ...found, status: 'open' };
    await cadiz.upload(same);
    expect([asked(), known.size]).toEqual([[begin, look], 0]);
  });

  test('is left alone by another of the same file, which is an upload of its own', async () => {
    const { fetch, release } = holding(`/api/storage/uploads/${id}/parts`);
    const cadiz = open({ fetch });
    const same = file();
    const first = cadiz.upload(same);
    await expect.poll(() => stub.asked.at(-1)).toBe(`POST /api/storage/uploads/${id}/parts`);
    await cadiz.upload(same);
    release();
    await first;
    expect(asked()).toEqual([begin, begin]);
  });

  test.each([
    ['there', [look]],
    ['gone', [look, begin]],
  ])('is not sent again where it was completed, unless its file is gone: %s', async (state, expected) => {
    const complete = `/api/storage/uploads/${id}/complete`;
    const gone = failingOnce(`POST ${complete}`, 409, 'upload_completed');
    stub.answers[`/api/storage/uploads/${id}`] = { ...found, status: 'completed' };
    const cadiz = open({ fetch: state === 'gone' ? gone : stub.fetch, resume: remembering });
    expect(await cadiz.upload(file())).toEqual({ id: 'file' });
    expect([asked(), stub.puts]).toEqual([expected, expected.length - 1]);
  });

  test('is not begun anew because the service does not answer about it', async () => {
    const cadiz = open({ fetch: failingOnce(look, 503, 'store_unavailable'), resume: remembering });
    await expect(cadiz.upload(file())).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(asked()).toEqual([]);
  });
});

test('a file that the store has lost is sent again, once', async () => {
  const lost = failingOnce('POST /api/storage/record', 409, 'upload_missing');
  expect(await stub.client({ fetch: lost }).upload(file())).toMatchObject({ storeKey: 'k' });
  expect(stub.puts).toBe(2);
  const losing: typeof fetch = async (input, init) =>
    failingOnce('POST /api/storage/record', 409, 'upload_missing')(input, init);
  await expect(stub.client({ fetch: losing }).upload(file())).rejects.toMatchObject({ code: 'upload_missing' });
  expect(stub.puts).toBe(4);
});

test('an upload in parts whose folder is gone is begun anew in another', async () => {
  const gone = failingOnce(`POST /api/storage/uploads/${id}/complete`, 404, 'folder_not_found');
  expect(await stub.client({ fetch: gone, partsFrom: 1 }).upload(file(), { folder: 'a' })).toEqual({ id: 'file' });
  const twice = ['POST /api/storage/folders/ensure', 'POST /api/storage/uploads'];
  for (const request of twice) expect(stub.asked.filter((one) => one === request)).toHaveLength(2);
});

test('what the store refuses because of another request is sent again, and its progress never falls', async () => {
  let puts = 0;
  const store = await startStore(() => (++puts === 1 ? 409 : 200));
  stub.answers['/api/storage/presign'] = { presignedUrl: `${store.url}/a?X-Amz-Expires=900`, storeKey: 'k' };
  const told: number[] = [];
  const onProgress = ({ loaded }: { loaded: number }) => void told.push(loaded);
  expect(await stub.client().upload(file(), { onProgress })).toMatchObject({ storeKey: 'k' });
  store.close();
  expect([puts, told]).toEqual([2, [0, 1]]);
});

test('a file whose URLs expire again and again while it waits for its turn is uploaded', async () => {
  const begin = Date.now();
  let passed = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => begin + passed);
  const sign = () => ({ presignedUrl: `${store.url}/${passed}?X-Amz-Expires=900`, storeKey: 'k' });
  // Each file takes ten minutes.
  const store = await startStore((url) => {
    const age = passed - Number.parseInt(url.slice(1), 10);
    if (age < 900_000) passed += 600_000;
    return age < 900_000 ? 200 : 403;
  });
  const signing: typeof fetch = async (input, init) => {
    if (String(input).endsWith('/presign')) return Response.json(sign());
    if (!String(input).endsWith('/presign/batch')) return stub.fetch(input, init);
    const { files } = JSON.parse(String(init?.body));
    return Response.json({ results: files.map(() => ({ upload: sign() })) });
  };
  const files = Array.from({ length: 8 }, (_, index) => file(`${index}`));
  const queue = stub.client({ concurrency: 1, fetch: signing }).uploads.create(files);
  const { uploads } = await queue.done();
  store.close();
  expect(uploads.map(({ state, error }) => error ?? state)).toEqual(files.map(() => 'done'));
});

test('a store that refuses every URL is not asked again and again', async () => {
  let asked = 0;
  const store = await startStore(() => {
    asked++;
    return 403;
  });
  stub.answers['/api/storage/presign'] = { presignedUrl: `${store.url}/a?X-Amz-Expires=1`, storeKey: 'k' };
  await expect(stub.client().upload(file())).rejects.toMatchObject({ code: 'upload_refused', status: 403 });
  store.close();
  expect(asked).toBe(2);
});

async function startStore(statusOf: (url: string) => number) {
  const store = http.createServer((request, response) =>
    request.resume().on('end', () => {
      response.statusCode = statusOf(request.url ?? '');
      response.end();
    }),
  );
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(store.address() as net.AddressInfo).port}`,
    close() {
      store.closeAllConnections();
      store.close();
    },
  };
}
