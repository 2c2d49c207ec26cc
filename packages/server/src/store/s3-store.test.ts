import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openTestStore, send } from '../../test/service.ts';
import { Problem } from '../problem.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3Store, type S3Settings } from './s3-store.ts';

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
  test('makes a bucket that is not there, and is fine when it is', async () => {
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

  test('by six processes at once makes one bucket, and none of them fails', async () => {
    const bucket = newBucket();
    await Promise.all(Array.from({ length: 6 }, () => adapterWith({ bucket }).prepare()));
    await adapterWith({ bucket }).check();
  });

  test('is fine when another process makes the bucket in between, as stores outside us-east-1 tell it', async () => {
    const answers = ['404 Not Found', '409 Conflict', '200 OK'];
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 ${answers.shift()}\r\nContent-Length: 0\r\n\r\n`),
    );
    await adapterWith({ endpoint }).prepare();
    expect(answers).toEqual([]);
  });

  test('says so when the bucket is there and is somebody else’s', async () => {
    const answers = ['404 Not Found', '409 Conflict', '403 Forbidden'];
    const endpoint = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 ${answers.shift()}\r\nContent-Length: 0\r\n\r\n`),
    );
    const { message } = await failureOf(adapterWith({ endpoint }).prepare());
    expect(message).toContain('answered 409');
  });

  test.each<[string, Partial<S3Settings>]>([
    ['secret', { secretAccessKey: wrongSecret }],
    ['access key', { accessKeyId: 'NOBODY' }],
  ])('with a wrong %s says where, what and which settings to check', async (_what, replaced) => {
    const { message } = await failureOf(adapterWith(replaced).prepare());
    expect(message).toBe(
      `The object store at ${settings.endpoint} answered 403 for the bucket "${settings.bucket}". Check S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.`,
    );
  });

  test('on a closed port says where nothing answers', async () => {
    const { message } = await expectUnavailable(adapterWith({ endpoint: 'http://127.0.0.1:1' }).prepare());
    expect(message).toBe('The object store at http://127.0.0.1:1 does not answer.');
  });
});

describe('check', () => {
  test('resolves when the store answers for the bucket', async () => {
    await objects.check();
  });

  test.each<[string, Partial<S3Settings>]>([
    ['a wrong secret', { secretAccessKey: wrongSecret }],
    ['a bucket that is not there', { bucket: newBucket() }],
    ['a closed port', { endpoint: 'http://127.0.0.1:1' }],
    ['a host that is none', { endpoint: 'http://store.invalid' }],
  ])('with %s is store_unavailable', async (_what, replaced) => {
    await expectUnavailable(adapterWith(replaced).check());
  });
});

describe('head', () => {
  const put = async (key: string, bytes: Uint8Array) => {
    const answer = await send('PUT', objects.presignPut(key, bytes.length), bytes);
    expect(answer.status).toBe(200);
    return answer;
  };

  test('of what is not there is undefined', async () => {
    expect(await objects.head(`${randomUUID()}/nothing`)).toBeUndefined();
  });

  test('is the size and the ETag, without its quotes', async () => {
    const bytes = randomBytes(70_000);
    const key = `${randomUUID()}/a`;
    const { headers } = await put(key, bytes);
    const etag = createHash('md5').update(bytes).digest('hex');
    expect(headers.etag).toBe(`"${etag}"`);
    expect(await objects.head(key)).toEqual({ sizeBytes: 70_000, etag });
  });

  test('of an empty object is 0 bytes', async () => {
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
  ])('finds %j, and no other key', async (name) => {
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

  test('of any key at all is an object, nothing, or store_unavailable; never a surprise', async () => {
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

  test('answered with something that is not HTTP is store_unavailable', async () => {
    const endpoint = await serveRaw((socket) => socket.write('hello\r\n\r\n'));
    await expectUnavailable(adapterWith({ endpoint }).head('a'));
  });

  test('answered 200 without a length is not taken for an object of a known size', async () => {
    const endpoint = await serveRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nETag: "e"\r\n\r\n'));
    await expectUnavailable(adapterWith({ endpoint }).head('a'));
  });
});

/** A server that answers each request as it is told; returns its address. */
async function serveRaw(answer: (socket: net.Socket, nthOnSocket: number) => void): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    let requests = 0;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      requests += 1;
      answer(socket, requests);
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
  ])('a kept-alive one that is %s just as it is used again is no failure', async (_how, cut) => {
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

  test('many that are closed between two bursts are no failure', async () => {
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

  test('a store that cuts every new one is store_unavailable, asked once', async () => {
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

  test('die after their lifetime', async () => {
    const past = createS3Store(settings, () => Date.now() - 901_000);
    const alive = createS3Store(settings, () => Date.now() - 840_000);
    const bytes = Buffer.from('hello');
    expect((await send('PUT', past.presignPut('ttl', 5), bytes)).status).toBe(403);
    expect((await send('PUT', alive.presignPut('ttl', 5), bytes)).status).toBe(200);
    past.close();
    alive.close();
  });
});
