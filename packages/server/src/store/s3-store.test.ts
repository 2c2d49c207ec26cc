import { createHash, hash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openTestStore, send } from '../../test/service.ts';
import { Problem } from '../problem.ts';
import type { ObjectStore } from './object-store.ts';
import { peekEmbedded } from './peek-embedded.ts';
import { createS3Connection } from './s3-connection.ts';
import { createS3Copy } from './s3-copy.ts';
import type { S3Settings } from './s3-settings.ts';
import { createS3Store } from './s3-store.ts';

let settings: S3Settings;
let objects: ObjectStore;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ settings, objects, close } = await openTestStore({ presignTtlSeconds: 900 }, Date.now));
});
afterAll(() => close());

/** The adapter with some settings replaced, closed with its test. */
function adapterWith(replaced: Partial<S3Settings>): ObjectStore {
  const adapter = createS3Store({ ...settings, ...replaced }, Date.now);
  onTestFinished(() => adapter.close());
  return adapter;
}

const newBucket = () => `cadiz-${randomBytes(8).toString('hex')}`;
const wrongSecret = 'not-the-secret-of-this-store';

async function failureOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof Error)) throw new Error(`Expected a failure, got ${String(outcome)}`);
  expect(outcome.message).not.toContain(wrongSecret);
  expect(outcome.message).not.toContain(settings.secretAccessKey);
  return outcome;
}

async function expectUnavailable(work: Promise<unknown>): Promise<Error> {
  const error = await failureOf(work);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: 'store_unavailable', headers: { 'Retry-After': '5' } });
  return error;
}

describe('prepare', () => {
  test('creates a missing bucket, and accepts an existing one', async () => {
    const adapter = adapterWith({ bucket: newBucket() });
    await expectUnavailable(adapter.check());
    await adapter.prepare();
    await adapter.check();
    await adapter.prepare();
    const url = adapter.presignPut('a', 5);
    expect((await send('PUT', url, Buffer.from('hello'))).status).toBe(200);
    await adapter.prepare();
    expect(await adapter.head('a')).toMatchObject({ sizeBytes: 5 });
  });

  test('by six processes at once creates one bucket, and none of them fails', async () => {
    const bucket = newBucket();
    await Promise.all(Array.from({ length: 6 }, () => adapterWith({ bucket }).prepare()));
    await adapterWith({ bucket }).check();
  });

  test('accepts a bucket that another process created in the meantime, as stores outside us-east-1 report it', async () => {
    const answers = ['404 Not Found', '409 Conflict', '200 OK'];
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 ${answers.shift()}\r\nContent-Length: 0\r\n\r\n`),
    );
    await adapterWith({ endpoint }).prepare();
    expect(answers).toEqual([]);
  });

  test('reports a bucket that belongs to another account', async () => {
    const answers = ['404 Not Found', '409 Conflict', '403 Forbidden'];
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 ${answers.shift()}\r\nContent-Length: 0\r\n\r\n`),
    );
    const { message } = await failureOf(adapterWith({ endpoint }).prepare());
    expect(message).toContain('answered 409');
  });

  test.each<[string, Partial<S3Settings>, string]>([
    ['secret', { secretAccessKey: wrongSecret }, 'SignatureDoesNotMatch'],
    ['access key', { accessKeyId: 'NOBODY' }, 'InvalidAccessKeyId'],
  ])('with a wrong %s names the place, the problem and the settings to check', async (_what, replaced, code) => {
    const { message } = await failureOf(adapterWith(replaced).prepare());
    expect(message).toBe(
      `The object store at ${settings.endpoint} answered 403 (${code}) for the bucket "${settings.bucket}". Check S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY; \`npm run doctor\` finds out which.`,
    );
  });

  test('on a closed port names the address that does not answer', async () => {
    const { message } = await expectUnavailable(adapterWith({ endpoint: 'http://127.0.0.1:1' }).prepare());
    expect(message).toBe('The object store at http://127.0.0.1:1 does not answer.');
  });
});

test.each<[string, (adapter: ObjectStore) => Promise<void>]>([
  ['prepare', (adapter) => adapter.prepare()],
  ['check', (adapter) => adapter.check()],
])('%s takes no web server for a store, although that answers 200', async (_, ask) => {
  const page = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
  const endpoint = await serveRaw((socket, _nth, request) =>
    socket.end(`${page}${request.startsWith('HEAD') ? '' : 'Content-Length: 13\r\n'}\r\n<html></html>`),
  );
  const { message } = await failureOf(ask(adapterWith({ endpoint })));
  expect(message).toMatch(/answers, but not as an object store does\. Check that S3_ENDPOINT is/);
});

describe('check', () => {
  test('resolves if the store answers for the bucket', async () => {
    await objects.check();
  });

  test('resolves if the store gives its answers a type of its own, and may not be listed', async () => {
    const refusal = '<Error><Code>AccessDenied</Code><Message>No</Message></Error>';
    const endpoint = await serveRaw((socket, _nth, request) =>
      socket.end(
        request.startsWith('HEAD')
          ? 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n'
          : `HTTP/1.1 403 Forbidden\r\nContent-Length: ${refusal.length}\r\n\r\n${refusal}`,
      ),
    );
    await adapterWith({ endpoint }).check();
  });

  test.each<[string, Partial<S3Settings>]>([
    ['a wrong secret', { secretAccessKey: wrongSecret }],
    ['a missing bucket', { bucket: newBucket() }],
    ['a closed port', { endpoint: 'http://127.0.0.1:1' }],
    ['an unknown host', { endpoint: 'http://store.invalid' }],
  ])('with %s is store_unavailable', async (_what, replaced) => {
    await expectUnavailable(adapterWith(replaced).check());
  });
});

test('with a wrong clock is store_unavailable', async () => {
  const adapter = createS3Store(settings, () => Date.now() + 20 * 60_000);
  onTestFinished(() => adapter.close());
  const { message } = await expectUnavailable(adapter.check());
  expect(message).toMatch(
    /answered 403 \(RequestTimeTooSkewed\) .* Synchronize the clocks of this machine and of the store/,
  );
});

describe('head', () => {
  test('of an absent object is undefined', async () => {
    expect(await objects.head(`${randomUUID()}/nothing`)).toBeUndefined();
  });

  test('gives the ETag of the store if a proxy has marked it as weak', async () => {
    const endpoint = await serveRaw((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: W/"e-2"\r\n\r\n'),
    );
    expect(await adapterWith({ endpoint }).head('a')).toEqual({ sizeBytes: 7, etag: 'e-2' });
  });

  test('gives the size and the ETag without its quotes', async () => {
    const bytes = randomBytes(70_000);
    const key = `${randomUUID()}/a`;
    const { headers } = await put(key, bytes);
    const etag = createHash('md5').update(bytes).digest('hex');
    expect(headers.etag).toBe(`"${etag}"`);
    expect(await objects.head(key)).toEqual({ sizeBytes: 70_000, etag });
  });

  test('of an empty object gives 0 bytes', async () => {
    const key = `${randomUUID()}/empty`;
    await put(key, new Uint8Array());
    expect(await objects.head(key)).toMatchObject({ sizeBytes: 0 });
  });

  test.each([
    'a b',
    'a+b',
    'a%20b',
    'a%2Fb',
    '100%',
    'a?b=c&d',
    'a#b',
    "a'(b)*!~",
    '"<>\\^`{|}',
    'ä',
    'a\u0308',
    '日本語 👍',
    '\u202e',
    'trailing ',
    ' leading',
    'a//b',
    'a/',
    '...',
    '~',
    'x'.repeat(900),
    'x'.repeat(1024 - 37),
  ])('finds %j and no other key', async (name) => {
    const key = `${randomUUID()}/${name}`;
    const size = 1 + (name.length % 50);
    await put(key, randomBytes(size));
    expect(await objects.head(key)).toMatchObject({ sizeBytes: size });
    expect(await objects.head([...key].slice(0, -1).join(''))).toBeUndefined();
    if (key.length < 1024) expect(await objects.head(`${key}x`)).toBeUndefined();
    const [composed, decomposed] = [key.normalize('NFC'), key.normalize('NFD')];
    if (composed !== decomposed) {
      expect(await objects.head(composed === key ? decomposed : composed)).toBeUndefined();
    }
  });

  test('of any key at all gives an object, nothing or store_unavailable', async () => {
    const anyKey = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
      fc
        .array(fc.constantFrom('..', '.', '/', '//', '%', '?', '#', ' ', '+', '\\', 'é', '👍', '%2e'), { minLength: 1 })
        .map((p) => p.join('')),
    );
    await fc.assert(
      fc.asyncProperty(anyKey, async (key) => {
        const outcome = await objects.head(`${randomUUID()}/${key}`).catch((error: unknown) => error);
        if (outcome !== undefined) expect(outcome).toMatchObject({ code: 'store_unavailable' });
      }),
      { numRuns: 100 },
    );
  });

  test.each<[string, Partial<S3Settings>]>([
    ['a wrong secret', { secretAccessKey: wrongSecret }],
    ['a closed port', { endpoint: 'http://127.0.0.1:1' }],
  ])('with %s is store_unavailable', async (_what, replaced) => {
    await expectUnavailable(adapterWith(replaced).head('a'));
  });

  test.each([301, 400, 403, 500, 503])('answered %d is store_unavailable', async (status) => {
    const endpoint = await serveRaw((socket) => socket.write(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`));
    const error = await expectUnavailable(adapterWith({ endpoint }).head('a'));
    expect(error.message).toContain(String(status));
  });

  const ofProxy = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';
  test.each([
    ['in nothing else', ofProxy],
    ['in words of its own', 'HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found'],
    ['for the bucket', 'HTTP/1.1 404 No\r\nContent-Length: 40\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>'],
    ['although there is an object', 'HTTP/1.1 206 OK\r\nContent-Range: bytes 0-0/7\r\nContent-Length: 1\r\n\r\na'],
  ])('answered 404 %s is store_unavailable, as the object may be there', async (_how, toGet) => {
    const endpoint = await serveRaw((socket, _nth, request) =>
      socket.write(request.startsWith('HEAD') ? ofProxy : toGet),
    );
    const adapter = adapterWith({ endpoint });
    expect((await expectUnavailable(adapter.head('a'))).message).toContain('404');
    await expectUnavailable(adapter.headWithSha256('a'));
  });

  test('answered with something that is not HTTP is store_unavailable', async () => {
    const endpoint = await serveRaw((socket) => socket.write('hello\r\n\r\n'));
    await expectUnavailable(adapterWith({ endpoint }).head('a'));
  });

  test('answered 200 without a length does not pass for an object of known size', async () => {
    const endpoint = await serveRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nETag: "e"\r\n\r\n'));
    await expectUnavailable(adapterWith({ endpoint }).head('a'));
  });

  test('answered without an ETag is store_unavailable, and so is every other fact of an object', async () => {
    for (const etag of ['', 'ETag: ""\r\n']) {
      const result = '<CopyObjectResult><ETag></ETag></CopyObjectResult>';
      const endpoint = await serveRaw((socket, _nth, request) => {
        const body = request.includes('x-amz-copy-source') ? result : 'ab';
        socket.write(
          `HTTP/1.1 200 OK\r\n${etag}Content-Length: ${body.length}\r\n\r\n${request.startsWith('HEAD') ? '' : body}`,
        );
      });
      const adapter = adapterWith({ endpoint });
      const content = { open: () => Readable.from(['ab']), sizeBytes: 2, sha256: hash('sha256', 'ab', 'hex') };
      await expectUnavailable(adapter.head('a'));
      await expectUnavailable(adapter.peek('a', 2));
      await expectUnavailable(adapter.read('a'));
      await expectUnavailable(adapter.put('a', content));
      await expectUnavailable(adapter.putPart('a', { uploadId: 'u', partNumber: 1 }, content));
      await expectUnavailable(adapter.copy('a', 'b', { sizeBytes: 2, etag: 'e' }));
    }
  });
});

/** A server that answers each request through `answer`; returns its address. */
async function serveRaw(answer: (socket: net.Socket, nthOnSocket: number, request: string) => void): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    let requests = 0;
    socket.on('error', () => undefined);
    socket.on('data', (request) => {
      requests += 1;
      answer(socket, requests, request.toString());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}

describe('connections', () => {
  const found = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: "e"\r\nConnection: keep-alive\r\n\r\n';

  test.each<[string, (socket: net.Socket) => void]>([
    ['closed', (socket) => socket.destroy()],
    ['reset', (socket) => socket.resetAndDestroy()],
    ['ended', (socket) => socket.end()],
  ])('a kept-alive one that is %s just as it is reused is not a failure', async (_how, cut) => {
    let cuts = 0;
    const endpoint = await serveRaw((socket, nth) => {
      if (nth === 1) socket.write(found);
      else {
        cuts += 1;
        cut(socket);
      }
    });
    const adapter = adapterWith({ endpoint });
    for (let n = 0; n < 5; n += 1) {
      expect(await adapter.head('a')).toEqual({ sizeBytes: 7, etag: 'e' });
    }
    expect(cuts).toBeGreaterThan(0);
  });

  test('many that are closed between two bursts are not a failure', async () => {
    const endpoint = await serveRaw((socket, nth) => {
      if (nth === 1) socket.write(found);
      else socket.destroy();
    });
    const adapter = adapterWith({ endpoint });
    for (let burst = 0; burst < 3; burst += 1) {
      const answers = await Promise.all(Array.from({ length: 40 }, () => adapter.head('a')));
      expect(new Set(answers.map((answer) => answer?.sizeBytes))).toEqual(new Set([7]));
    }
  });

  test('a store that switches protocols is store_unavailable at once, also for bytes that are streamed', async () => {
    const endpoint = await serveRaw((socket) =>
      socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    );
    const connection = createS3Connection({ ...settings, endpoint }, Date.now);
    onTestFinished(() => connection.close());
    const stream = { open: () => Readable.from([Buffer.from('x')]), sizeBytes: 1, sha256: hash('sha256', 'x', 'hex') };
    for (const request of [{ method: 'HEAD', key: 'a' } as const, { method: 'PUT', key: 'a', stream } as const]) {
      const { cause } = await expectUnavailable(connection.send(request));
      expect(cause).toMatchObject({ message: 'it answered 101' });
    }
  });

  test('a store that cuts every new one is store_unavailable after one attempt', async () => {
    let asked = 0;
    const endpoint = await serveRaw((socket) => {
      asked += 1;
      socket.destroy();
    });
    await expectUnavailable(adapterWith({ endpoint }).head('a'));
    expect(asked).toBe(1);
  });
});

describe('presigned addresses', () => {
  test('start with the endpoint that clients reach, and need not be reachable from here', () => {
    const adapter = adapterWith({ publicEndpoint: 'https://files.example.com' });
    expect(adapter.presignPut('p/1-a b', 3)).toMatch(
      /^https:\/\/files\.example\.com\/[^/]+\/p\/1-a%20b\?X-Amz-Algorithm=/,
    );
  });

  test('expire after their lifetime', async () => {
    const past = createS3Store(settings, () => Date.now() - 901_000);
    const alive = createS3Store(settings, () => Date.now() - 840_000);
    const bytes = Buffer.from('hello');
    expect((await send('PUT', past.presignPut('ttl', 5), bytes)).status).toBe(403);
    expect((await send('PUT', alive.presignPut('ttl', 5), bytes)).status).toBe(200);
    past.close();
    alive.close();
  });
});

const namesOfEveryKind = [
  'a b',
  'a+b',
  'a%20b',
  'a%2Fb',
  '100%',
  'a&b=c;d?e#f',
  '<Key>\'"]]></Key>',
  'ä',
  'a\u0308',
  '日本語 👍',
  '\uffee',
  'tab\tline\nreturn\r',
  'bell\u0007',
  '\u007f',
  'a//b',
  'a/../b',
  ' ',
  'x'.repeat(900),
];

/** Objects of one byte under a prefix of their own. */
async function fill(names: readonly string[]): Promise<{ prefix: string; keys: string[] }> {
  const prefix = `${randomUUID()}/`;
  const keys = names.map((name) => prefix + name);
  for (const key of keys) expect((await put(key, Buffer.from('x'))).status).toBe(200);
  return { prefix, keys };
}

const put = (key: string, bytes: Uint8Array) => sendVerbatim('PUT', objects.presignPut(key, bytes.length), bytes);

/** `send` without normalizing the address: URL would resolve ".." in it. */
function sendVerbatim(method: string, address: string, bytes: Uint8Array) {
  const { origin, host } = new URL(address);
  return new Promise<{ status: number; headers: http.IncomingHttpHeaders }>((resolve, reject) => {
    const path = address.slice(origin.length);
    const request = http.request(origin, { method, path, headers: { host, 'content-length': bytes.length } });
    request.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test('a separate upload key signs uploads and their parts, and nothing else', () => {
  const adapter = adapterWith({ upload: { accessKeyId: 'UPLOADS', secretAccessKey: 'of-uploads' } });
  const keyOf = (url: string) => new URL(url).searchParams.get('X-Amz-Credential')?.split('/')[0];
  const download = { expiresInSeconds: 60, contentType: 'text/plain', contentDisposition: 'inline' };
  expect(keyOf(adapter.presignPut('a', 1))).toBe('UPLOADS');
  expect(keyOf(adapter.presignPart('a', { uploadId: 'u', partNumber: 1, sizeBytes: 1 }))).toBe('UPLOADS');
  expect(keyOf(adapter.presignGet('a', download))).toBe(settings.accessKeyId);
});

describe('presigned downloads', () => {
  test('serve the bytes with the type, disposition and lifetime that they were signed for', async () => {
    const key = `${randomUUID()}/a`;
    const bytes = randomBytes(1000);
    await put(key, bytes);
    const url = objects.presignGet(key, {
      expiresInSeconds: 60,
      contentType: 'image/png; a="b c"',
      contentDisposition: `attachment; filename="a+b.png"; filename*=UTF-8''%C3%A4%2B%26.png`,
    });
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png; a="b c"',
      'content-disposition': `attachment; filename="a+b.png"; filename*=UTF-8''%C3%A4%2B%26.png`,
      'cache-control': 'private, max-age=60',
    });
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await fetch(url.replace('image%2Fpng', 'text%2Fhtml'))).status).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403);
  });
});

describe('peek', () => {
  test('of an absent object is undefined', async () => {
    expect(await objects.peek(`${randomUUID()}/nothing`, 10)).toBeUndefined();
  });

  test.each([
    [0, 10],
    [1, 10],
    [10, 10],
    [11, 10],
    [100_000, 4100],
    [5_000_000, 4100],
  ])('of an object of %i bytes gives its facts and up to %i of its first bytes', async (sizeBytes, length) => {
    const key = `${randomUUID()}/ä b`;
    const bytes = randomBytes(sizeBytes);
    await put(key, bytes);
    const etag = createHash('md5').update(bytes).digest('hex');
    const peeked = { sizeBytes, etag, firstBytes: bytes.subarray(0, length) };
    expect(await objects.peek(key, length)).toEqual(peeked);
    // By a request, which the embedded store is spared.
    expect(await adapterWith({}).peek(key, length)).toEqual(peeked);
  });

  test('of the embedded store is counted as the request that it replaces', async () => {
    const observed: [string, string][] = [];
    const found = { sizeBytes: 3, etag: 'e', firstBytes: new Uint8Array([97, 98]) };
    const outcomes = [Promise.resolve(found), Promise.resolve(undefined), Promise.reject(new Error('The disk.'))];
    const peek = peekEmbedded({ peek: () => outcomes.shift() ?? Promise.resolve(undefined) }, 'cadiz', (request) =>
      observed.push([request.operation, request.outcome]),
    );
    expect(await peek('a', 2)).toEqual({ ...found, firstBytes: Buffer.from('ab') });
    expect(await peek('a', 2)).toBeUndefined();
    expect(await expectUnavailable(peek('a', 2))).toMatchObject({ cause: { message: 'The disk.' } });
    expect(observed).toEqual([
      ['GetObject', 'answered'],
      ['GetObject', 'answered'],
      ['GetObject', 'failed'],
    ]);
  });

  test('of the embedded store waits for a disk that does not answer as long as for a store', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const silent = peekEmbedded({ peek: () => new Promise(() => undefined) }, 'cadiz');
    // More than are read at once: those that wait for their turn do not wait longer.
    const failures = Promise.all(Array.from({ length: 100 }, () => expectUnavailable(silent('a', 10))));
    await vi.advanceTimersByTimeAsync(4_000);
    await failures;
  });

  test('of a store that knows no ranges reads no further than it must', async () => {
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 1000000\r\n\r\n${'a'.repeat(20_000)}`),
    );
    const object = await adapterWith({ endpoint }).peek('a', 10);
    expect(object).toEqual({ sizeBytes: 1_000_000, etag: 'e', firstBytes: Buffer.from('a'.repeat(10)) });
  });

  test.each([
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello',
    'HTTP/1.1 206 OK\r\nContent-Range: bytes 0-4/100\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 206 OK\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 404 No\r\nContent-Length: 41\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>\n',
    'HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 404 No\r\nContent-Length: 18\r\n\r\n404 page not found',
    'HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n',
  ])('answered %j is store_unavailable', async (answer) => {
    const endpoint = await serveRaw((socket) => socket.end(answer));
    await expectUnavailable(adapterWith({ endpoint }).peek('a', 10));
  });
});

describe('read', () => {
  test('of an absent object is undefined', async () => {
    expect(await objects.read(`${randomUUID()}/nothing`)).toBeUndefined();
    expect(await objects.read(`${randomUUID()}/nothing`, { start: 5, length: 1 })).toBeUndefined();
  });

  test.each<[string, { start?: number; length?: number }, number, number]>([
    ['the whole', {}, 0, 100_000],
    ['the first bytes', { length: 10 }, 0, 10],
    ['bytes in the middle', { start: 500, length: 70_000 }, 500, 70_500],
    ['everything from an offset', { start: 99_990 }, 99_990, 100_000],
    ['more than there are', { start: 99_990, length: 500 }, 99_990, 100_000],
    ['none', { start: 10, length: 0 }, 10, 10],
    ['past the end', { start: 100_000, length: 5 }, 0, 0],
  ])('streams %s, with the size and ETag of the whole object', async (_what, options, from, to) => {
    const key = `${randomUUID()}/ä b`;
    const bytes = randomBytes(100_000);
    await put(key, bytes);
    const object = await objects.read(key, options);
    if (!object) throw new Error('nothing was read');
    expect(object).toMatchObject({ sizeBytes: 100_000, etag: createHash('md5').update(bytes).digest('hex') });
    expect((await buffer(object.body)).equals(bytes.subarray(from, to))).toBe(true);
  });

  test.each([{}, { length: 4096 }])('of an empty object is empty (%j)', async (options) => {
    const key = `${randomUUID()}/empty`;
    await put(key, new Uint8Array());
    const object = await objects.read(key, options);
    expect(object?.sizeBytes).toBe(0);
    expect((await buffer(object?.body ?? Readable.from([]))).length).toBe(0);
  });

  test('ends when its signal aborts, with the reason of the signal', async () => {
    const key = `${randomUUID()}/large`;
    await put(key, randomBytes(8 * 1024 ** 2));
    const reason = new Error('the client has gone');
    expect(await failureOf(objects.read(key, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    const controller = new AbortController();
    const object = await objects.read(key, { signal: controller.signal });
    const read = buffer(object?.body ?? Readable.from([]));
    controller.abort(reason);
    await failureOf(read);
  });

  test('by a hundred stalled readers delays no HEAD', async () => {
    const key = `${randomUUID()}/large`;
    await put(key, randomBytes(2 * 1024 ** 2));
    const held = [];
    // One after the other: all at once, the last ones would wait for a busy machine to begin the others.
    for (let reader = 0; reader < 100; reader++) held.push(await objects.read(key));
    expect(await objects.head(key)).toMatchObject({ sizeBytes: 2 * 1024 ** 2 });
    for (const object of held) object?.body.destroy();
  });

  test('that nobody answers is given up before a listing, which takes a store longer', {
    timeout: 30_000,
  }, async () => {
    const silent = adapterWith({ endpoint: await serveRaw(() => undefined) });
    const listing = silent.list('').then(
      () => 'listed',
      () => 'the listing',
    );
    const looking = expectUnavailable(silent.head('a')).then(() => 'the object');
    expect(await Promise.race([listing, looking])).toBe('the object');
  });

  test('that nobody answers is given up, however many wait for a connection', { timeout: 30_000 }, async () => {
    const silent = adapterWith({ endpoint: await serveRaw(() => undefined) });
    const listing = silent.list('').then(
      () => 'listed',
      () => 'the listing',
    );
    const looking = Array.from({ length: 300 }, () => expectUnavailable(silent.head('a')));
    expect(await Promise.race([listing, Promise.all(looking).then(() => 'the objects')])).toBe('the objects');
  });

  test('that is cut off is an error, not a shorter object', async () => {
    const endpoint = await serveRaw((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 100\r\n\r\nhello'),
    );
    const object = await adapterWith({ endpoint }).read('a');
    await failureOf(buffer(object?.body ?? Readable.from([])));
  });

  test.each([
    ['HTTP/1.1 200 OK\r\nETag: "e"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', {}],
    ['HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 100\r\n\r\n', { start: 5 }],
    ['HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n', {}],
    ['HTTP/1.1 404 No\r\nContent-Length: 41\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>\n', {}],
    ['HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n', {}],
    ['HTTP/1.1 404 No\r\nContent-Length: 18\r\n\r\n404 page not found', {}],
    ['HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\n', {}],
  ])('answered %j is store_unavailable', async (answer, options) => {
    const endpoint = await serveRaw((socket) => socket.end(answer));
    await expectUnavailable(adapterWith({ endpoint }).read('a', options));
  });
});

describe('list', () => {
  test('gives every key as it was put, in byte order, a page at a time', async () => {
    const { prefix, keys } = await fill(namesOfEveryKind);
    await put(`${prefix.slice(0, -1)}0`, Buffer.from('x'));
    const expected = keys.sort(byBytes);
    const whole = await objects.list(prefix);
    expect(whole.objects.map(({ storeKey }) => storeKey)).toEqual(expected);
    expect(whole.more).toBe(false);

    const paged: string[] = [];
    for (let more = true; more; ) {
      const startAfter = paged.at(-1);
      const page = await objects.list(prefix, { limit: 4, ...(startAfter !== undefined && { startAfter }) });
      expect(page.objects.length).toBeLessThanOrEqual(4);
      paged.push(...page.objects.map(({ storeKey }) => storeKey));
      more = page.more;
    }
    expect(paged).toEqual(expected);
  });

  test('gives the size, ETag and time of each object', async () => {
    const key = `${randomUUID()}/a`;
    const bytes = randomBytes(1234);
    await put(key, bytes);
    const { objects: found } = await objects.list(key);
    expect(found).toMatchObject([
      { storeKey: key, sizeBytes: 1234, etag: createHash('md5').update(bytes).digest('hex') },
    ]);
    expect(Math.abs((found[0]?.modifiedAt.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
  });

  test('of a prefix without objects is empty', async () => {
    expect(await objects.list(`${randomUUID()}/`)).toEqual({ objects: [], more: false });
  });

  test.each([
    ['something that is not XML', 'hello'],
    ['another document', '<Other/>'],
    ['an entity', '<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult><Prefix>&b;</Prefix></ListBucketResult>'],
    ['an error', '<Error><Code>InternalError</Code></Error>'],
    ['an invalid size', '<ListBucketResult><Contents><Key>a</Key><Size>x</Size></Contents></ListBucketResult>'],
    [
      'a key that is not UTF-8',
      '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%ff</Key><Size>1</Size></Contents></ListBucketResult>',
    ],
  ])('answered with %s is store_unavailable', async (_what, body) => {
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    await expectUnavailable(adapterWith({ endpoint }).list(''));
  });

  /** A store whose listings are those pages, one after the other and then the last one again; with the query of each request. */
  async function serveListings(...pages: string[]): Promise<{ adapter: ObjectStore; asked: URLSearchParams[] }> {
    const asked: URLSearchParams[] = [];
    const endpoint = await serveRaw((socket, _nth, request) => {
      const body = `<ListBucketResult>${pages[Math.min(asked.length, pages.length - 1)]}</ListBucketResult>`;
      asked.push(new URL(request.split(' ', 2)[1] ?? '', 'http://store').searchParams);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
    return { adapter: adapterWith({ endpoint }), asked };
  }

  const truncated = '<IsTruncated>true</IsTruncated>';
  const entry = (key: string) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`;
  const emptyUpTo = (token: string) => `${truncated}<NextContinuationToken>${token}</NextContinuationToken>`;

  test('goes on after pages on which the store has hidden everything', async () => {
    const { adapter, asked } = await serveListings(emptyUpTo('b+'), emptyUpTo('c/'), `${truncated}${entry('p/d')}`);
    const { objects: found, more } = await adapter.list('p/', { startAfter: 'p/a' });
    expect(found).toMatchObject([{ storeKey: 'p/d' }]);
    expect(more).toBe(true);
    expect(asked.map((query) => [query.get('start-after'), query.get('continuation-token')])).toEqual([
      ['p/a', null],
      [null, 'b+'],
      [null, 'c/'],
    ]);
  });

  test.each([
    ['again up to where it was to begin', `${truncated}${entry('p/a')}${entry('p/b')}`],
    ['before where it was to begin', entry('p/a')],
    ['empty, and does not say how to go on', truncated],
    ['empty, and goes on where it is', emptyUpTo('b')],
    ['empty, and goes on where it has been', emptyUpTo('b'), emptyUpTo('c'), emptyUpTo('b')],
  ])('whose page is %s is store_unavailable', async (_what, ...pages) => {
    const { adapter, asked } = await serveListings(...pages);
    const { message } = await expectUnavailable(adapter.list('p/', { startAfter: 'p/b' }));
    expect(message).toContain('do not advance');
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  test('with a key that was not asked for is store_unavailable, so that nobody removes it', async () => {
    const { adapter } = await serveListings(`${entry('p/a')}${entry('q/b')}`);
    const { message } = await expectUnavailable(adapter.list('p/'));
    expect(message).toContain('prefix');
  });

  test.each([
    ['out of order', ['p/b', 'p/a']],
    ['in the order of UTF-16', ['p/\u{1f44d}', 'p/\uff5e']],
    ['with the same one twice', ['p/a', 'p/a']],
  ])('of keys %s is store_unavailable, as what is compared with rows would be missed', async (_what, keys) => {
    const { adapter } = await serveListings(keys.map(entry).join(''));
    const { message } = await expectUnavailable(adapter.list('p/'));
    expect(message).toContain('order');
  });

  test('answered with too long an answer is store_unavailable', async () => {
    const bytes = 6 * 1024 ** 2;
    const endpoint = await serveRaw((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, ' '));
    });
    // The body of the answer to an abort is not even parsed.
    await expectUnavailable(adapterWith({ endpoint }).abortMultipart('a', 'id'));
    await expectUnavailable(adapterWith({ endpoint }).list(''));
  });

  test.each<[string, Partial<S3Settings>]>([
    ['a wrong secret', { secretAccessKey: wrongSecret }],
    ['a missing bucket', { bucket: newBucket() }],
    ['a closed port', { endpoint: 'http://127.0.0.1:1' }],
  ])('with %s is store_unavailable', async (_what, replaced) => {
    await expectUnavailable(adapterWith(replaced).list(''));
  });
});

describe('remove', () => {
  test('removes keys of any kind, including absent ones, and nothing else', async () => {
    const { prefix, keys } = await fill([...namesOfEveryKind, 'stays']);
    const stays = keys.pop();
    expect(await objects.remove([...keys, `${prefix}absent`, `${prefix}absent\u0007`])).toEqual([]);
    expect((await objects.list(prefix)).objects.map(({ storeKey }) => storeKey)).toEqual([stays]);
    expect(await objects.remove([])).toEqual([]);
  });

  test('takes more keys than fit into one request', async () => {
    const { prefix, keys } = await fill(['first', 'last']);
    const absent = Array.from({ length: 2500 }, (_, n) => `${prefix}${'&'.repeat(150)}${n}`);
    expect(await objects.remove([keys[0] ?? '', ...absent, keys[1] ?? ''])).toEqual([]);
    expect((await objects.list(prefix)).objects).toEqual([]);
  });

  test('returns the objects that the store did not remove', async () => {
    const body =
      '<DeleteResult><Error><Key>a&amp;b</Key><Code>AccessDenied</Code><Message>no</Message></Error><Error><Key>c</Key><Code>NoSuchKey</Code></Error></DeleteResult>';
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    expect(await adapterWith({ endpoint }).remove(['a&b', 'c'])).toEqual([
      { storeKey: 'a&b', reason: 'AccessDenied: no' },
    ]);
  });

  test.each(['', '<Key></Key>', '<Key>a%26b</Key>'])(
    'is store_unavailable if the store does not say which of them it did not remove (%j)',
    async (key) => {
      const body = `<DeleteResult><Error>${key}<Code>AccessDenied</Code></Error></DeleteResult>`;
      const endpoint = await serveRaw((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      );
      const { message } = await expectUnavailable(adapterWith({ endpoint }).remove(['a&b', 'c']));
      expect(message).toContain('AccessDenied');
    },
  );

  test('with a wrong secret is store_unavailable', async () => {
    await expectUnavailable(adapterWith({ secretAccessKey: wrongSecret }).remove(['a']));
  });
});

const partBytes = 5 * 1024 ** 2;

async function putPart(key: string, uploadId: string, partNumber: number, bytes: Uint8Array) {
  const address = objects.presignPart(key, { uploadId, partNumber, sizeBytes: bytes.length });
  const { status, headers } = await sendVerbatim('PUT', address, bytes);
  expect(status).toBe(200);
  return { partNumber, etag: headers.etag ?? '' };
}

describe('multipart', () => {
  test('joins its parts into one object, and is listed until then', async () => {
    const key = `${randomUUID()}/ä+b & c.bin`;
    const uploadId = await objects.createMultipart(key);
    const [first, second] = [randomBytes(partBytes), randomBytes(7)];
    const named = [await putPart(key, uploadId, 1, first), await putPart(key, uploadId, 2, second)];
    expect(await objects.listParts(key, uploadId)).toEqual([
      { partNumber: 1, etag: createHash('md5').update(first).digest('hex'), sizeBytes: partBytes },
      { partNumber: 2, etag: createHash('md5').update(second).digest('hex'), sizeBytes: 7 },
    ]);
    const under = await objects.listMultiparts(key);
    expect(under).toMatchObject({ uploads: [{ storeKey: key, uploadId }], next: undefined });
    expect(Math.abs((under.uploads[0]?.startedAt.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(await objects.head(key)).toBeUndefined();

    expect(await objects.completeMultipart(key, uploadId, named)).toBe('completed');
    expect(await objects.head(key)).toMatchObject({
      sizeBytes: partBytes + 7,
      etag: expect.stringMatching(/^[0-9a-f]{32}-2$/),
    });
    expect(
      (await buffer((await objects.read(key))?.body ?? Readable.from([]))).equals(Buffer.concat([first, second])),
    ).toBe(true);
    expect(await objects.listParts(key, uploadId)).toBeUndefined();
    expect((await objects.listMultiparts(key)).uploads).toEqual([]);
  });

  test('accepts only parts of exactly the signed length', async () => {
    const key = `${randomUUID()}/a`;
    const uploadId = await objects.createMultipart(key);
    const address = objects.presignPart(key, { uploadId, partNumber: 1, sizeBytes: 10 });
    expect((await sendVerbatim('PUT', address, randomBytes(11))).status).toBe(403);
    expect((await sendVerbatim('PUT', address.replace('partNumber=1', 'partNumber=2'), randomBytes(10))).status).toBe(
      403,
    );
    expect(await objects.listParts(key, uploadId)).toEqual([]);
    await objects.abortMultipart(key, uploadId);
  });

  test('refuses parts that are missing, different or too small', async () => {
    const key = `${randomUUID()}/a`;
    const uploadId = await objects.createMultipart(key);
    const one = await putPart(key, uploadId, 1, randomBytes(partBytes));
    const two = await putPart(key, uploadId, 2, randomBytes(100));
    const three = await putPart(key, uploadId, 3, randomBytes(100));
    const complete = (parts: { partNumber: number; etag: string }[]) => objects.completeMultipart(key, uploadId, parts);
    const etag = createHash('md5').update('another').digest('hex');
    expect(await complete([one, { partNumber: 4, etag }])).toEqual({ refused: expect.stringContaining('InvalidPart') });
    expect(await complete([one, { ...two, etag }])).toEqual({ refused: expect.stringContaining('InvalidPart') });
    expect(await complete([one, two, three])).toEqual({ refused: expect.stringContaining('EntityTooSmall') });
    expect(await objects.head(key)).toBeUndefined();
    await objects.abortMultipart(key, uploadId);
  });

  test('that is unknown is reported as unknown', async () => {
    const key = `${randomUUID()}/a`;
    const uploadId = await objects.createMultipart(key);
    const named = [await putPart(key, uploadId, 1, randomBytes(100))];
    await objects.abortMultipart(key, uploadId);
    await objects.abortMultipart(key, uploadId);
    expect(await objects.listParts(key, uploadId)).toBeUndefined();
    expect(await objects.completeMultipart(key, uploadId, named)).toBe('unknown');
    expect(await objects.head(key)).toBeUndefined();
    expect((await objects.listMultiparts(key)).uploads).toEqual([]);
  });

  test('lists more parts than fit on one page', async () => {
    const key = `${randomUUID()}/a`;
    const uploadId = await objects.createMultipart(key);
    const numbers = Array.from({ length: 1003 }, (_, n) => n + 1);
    const left = numbers.values();
    const putSome = async () => {
      for (const partNumber of left) await putPart(key, uploadId, partNumber, Buffer.from('x'));
    };
    await Promise.all(Array.from({ length: 16 }, putSome));
    expect((await objects.listParts(key, uploadId))?.map(({ partNumber }) => partNumber)).toEqual(numbers);
    await objects.abortMultipart(key, uploadId);
  });

  test('lists uploads of keys of any kind, a page at a time', async () => {
    const prefix = `${randomUUID()}/`;
    const keys = namesOfEveryKind.map((name) => prefix + name).sort(byBytes);
    const expected = [];
    for (const storeKey of keys) expected.push({ storeKey, uploadId: await objects.createMultipart(storeKey) });
    const found = [];
    let next: Awaited<ReturnType<ObjectStore['listMultiparts']>>['next'] = {};
    while (next) {
      const page: Awaited<ReturnType<ObjectStore['listMultiparts']>> = await objects.listMultiparts(prefix, {
        ...next,
        limit: 4,
      });
      found.push(...page.uploads.map(({ storeKey, uploadId }) => ({ storeKey, uploadId })));
      next = page.next;
    }
    expect(found).toEqual(expected);
    for (const { storeKey, uploadId } of found) await objects.abortMultipart(storeKey, uploadId);
    expect((await objects.listMultiparts(prefix)).uploads).toEqual([]);
  });

  test('with a hundred completions at a slow store delays no HEAD', async () => {
    let waiting = 0;
    const endpoint = await serveRaw((socket, _nth, request) => {
      if (request.startsWith('HEAD')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: "e"\r\n\r\n');
      else waiting += 1;
    });
    const adapter = adapterWith({ endpoint });
    const parts = [{ partNumber: 1, etag: 'e' }];
    const completions = Promise.allSettled(
      Array.from({ length: 100 }, () => adapter.completeMultipart('a', 'id', parts)),
    );
    await expect.poll(() => waiting).toBe(100);
    expect(await adapter.head('a')).toEqual({ sizeBytes: 7, etag: 'e' });
    adapter.close();
    expect(new Set((await completions).map(({ status }) => status))).toEqual(new Set(['rejected']));
  });

  test.each([
    ['200 OK', '<Error><Code>InternalError</Code></Error>'],
    ['200 OK', '   '],
    ['403 Forbidden', '<Error><Code>AccessDenied</Code></Error>'],
    ['404 Not Found', '<Error><Code>NoSuchBucket</Code></Error>'],
    ['503 Slow Down', '<Error><Code>SlowDown</Code></Error>'],
  ])('completed with %s %s is store_unavailable', async (status, body) => {
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    const adapter = adapterWith({ endpoint });
    await expectUnavailable(adapter.completeMultipart('a', 'id', [{ partNumber: 1, etag: 'e' }]));
    if (status !== '200 OK') await expectUnavailable(adapter.abortMultipart('a', 'id'));
    await expectUnavailable(adapter.createMultipart('a'));
    await expectUnavailable(adapter.listParts('a', 'id'));
    await expectUnavailable(adapter.listMultiparts('a'));
  });

  test.each([
    ['with a key that was not asked for', 'q/b', 'prefix'],
    ['that begins again where it has ended', 'p/b', 'do not advance'],
  ])('listed %s are store_unavailable', async (_what, key, reason) => {
    const upload = `<Upload><Key>${key}</Key><UploadId>id</UploadId></Upload>`;
    const body = `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>${upload}</ListMultipartUploadsResult>`;
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    const listing = adapterWith({ endpoint }).listMultiparts('p/', { keyMarker: 'p/b', uploadIdMarker: 'id' });
    expect((await expectUnavailable(listing)).message).toContain(reason);
  });
});

describe('copy', () => {
  const mebibyte = 1024 ** 2;
  const put = async (key: string, bytes: Buffer) => {
    expect((await send('PUT', objects.presignPut(key, bytes.length), bytes)).status).toBe(200);
    return (await objects.head(key)) ?? { sizeBytes: -1, etag: '' };
  };
  const bytesOf = async (key: string) => buffer((await objects.read(key))?.body ?? Readable.from([]));

  /** As for objects that are too large to be copied at once. */
  function copyInParts(partBytes: number) {
    const connection = createS3Connection(settings, Date.now);
    onTestFinished(() => connection.close());
    return createS3Copy(connection, { bucket: settings.bucket, ...objects }, { wholeBytes: partBytes, partBytes });
  }

  test('makes another object with the same bytes, under any name', async () => {
    const key = `p/${randomUUID()}-Ä +%20?&#"写真" 👍.png`;
    const bytes = randomBytes(1000);
    const source = await put(key, bytes);
    expect(await objects.copy(key, `${key}-copy`, source)).toEqual(source);
    expect(await bytesOf(`${key}-copy`)).toEqual(bytes);
  });

  test('copies what is too large for one request in parts', async () => {
    const key = `p/${randomUUID()}-ä large.bin`;
    const bytes = randomBytes(11 * mebibyte);
    const source = await put(key, bytes);
    const copied = await copyInParts(5 * mebibyte)(key, `${key}-copy`, source);
    expect(copied?.etag).toMatch(/-3$/);
    expect(copied).toEqual(await objects.head(`${key}-copy`));
    expect((await bytesOf(`${key}-copy`)).equals(bytes)).toBe(true);
  });

  test('copies nothing that is absent, or has another ETag than is expected, and leaves no parts', async () => {
    const prefix = `p/${randomUUID()}`;
    const source = await put(`${prefix}-a`, randomBytes(6 * mebibyte));
    for (const copy of [objects.copy, copyInParts(5 * mebibyte)]) {
      expect(await copy(`${prefix}-absent`, `${prefix}-copy`, source)).toBeUndefined();
      expect(await copy(`${prefix}-a`, `${prefix}-copy`, { ...source, etag: 'another' })).toBeUndefined();
    }
    expect((await objects.list(prefix)).objects).toHaveLength(1);
    expect((await objects.listMultiparts(prefix)).uploads).toEqual([]);
  });

  test.each<[string, Partial<S3Settings>, string]>([
    ['is answered with no such object', {}, 'absent'],
    ['is refused', { secretAccessKey: wrongSecret }, 'store_unavailable'],
  ])('asks for no further parts once one %s', async (_what, replaced, expected) => {
    let asked = 0;
    const connection = createS3Connection({ ...settings, ...replaced }, Date.now, ({ operation }) => {
      if (operation === 'UploadPartCopy') asked += 1;
    });
    onTestFinished(() => connection.close());
    const limits = { wholeBytes: 1, partBytes: 5 * mebibyte };
    const copy = createS3Copy(connection, { bucket: settings.bucket, ...objects }, limits);
    const prefix = `p/${randomUUID()}`;
    const copying = copy(`${prefix}-a`, `${prefix}-copy`, { sizeBytes: 500 * mebibyte, etag: 'a' });
    const outcome = await copying.then(
      () => 'absent',
      ({ code }: Problem) => code,
    );
    expect(outcome).toBe(expected);
    // Those that had begun by then.
    expect(asked).toBeLessThanOrEqual(4);
    expect((await objects.listMultiparts(prefix)).uploads).toEqual([]);
    expect(asked).toBeLessThanOrEqual(4);
  });

  test('a store that is down, or an absent bucket, is no absent object', async () => {
    const source = { sizeBytes: 1, etag: 'a' };
    await expectUnavailable(adapterWith({ endpoint: 'http://127.0.0.1:1' }).copy('a', 'b', source));
    await expectUnavailable(adapterWith({ bucket: newBucket() }).copy('a', 'b', source));
  });
});
