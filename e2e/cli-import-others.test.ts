import { createHash, randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { createClient } from '@cadiz/client';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { startWorkplace, type Workplace } from './cli.ts';

interface Report {
  done: { path: string }[];
  unchanged: number;
  skipped: { path: string; why: string }[];
  failed: { path: string; error: string }[];
}

/** What the servers of these tests answer at once, whatever is asked for. */
const pageAtMost = 3;

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
});
afterAll(() => place.close());

const client = () => createClient({ baseUrl: place.service.url, apiKey: place.apiKey });
const pathsIn = async (folder: string) =>
  (await place.ok(['ls', '-R', folder])).stdout.split('\n').filter(Boolean).sort();
const findIn = async (folder: string, search: string) => (await client().files.page({ folder, search })).files[0];

/** A server on loopback that speaks the API of another service. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void) {
  const server = http.createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { port: (server.address() as AddressInfo).port, close };
}

function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Bytes, or the range of them that was asked for. */
function sendBytes(request: IncomingMessage, response: ServerResponse, bytes: Buffer, headers = {}): void {
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const sent = start === undefined ? bytes : bytes.subarray(Number(start), Number(end) + 1);
  response.writeHead(start === undefined ? 200 : 206, { ...headers, 'content-length': sent.length });
  response.end(request.method === 'HEAD' ? undefined : sent);
}

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

describe('import supabase', () => {
  const key = 'a service role key';
  const at = '2026-01-02T03:04:05.678Z';
  const objects = new Map<string, { bytes: Buffer; type: string; metadata?: object }>();
  const big = randomBytes(65 * 1024 ** 2);
  let server: Awaited<ReturnType<typeof serve>>;
  let env: Record<string, string>;
  /** The keys of objects that are not served. */
  const broken = new Set<string>();

  /** What is directly in a folder, as the Storage API sorts and pages it. */
  function list(bucket: string, { prefix, limit, offset }: { prefix: string; limit: number; offset: number }) {
    const start = `${bucket}/${prefix ? `${prefix}/` : ''}`;
    const entries = new Map<string, object>();
    for (const [path, { bytes, type }] of objects) {
      if (!path.startsWith(start)) continue;
      const [name = '', ...rest] = path.slice(start.length).split('/');
      const metadata = { size: bytes.length, mimetype: type, eTag: `"${md5(bytes)}"`, lastModified: at };
      const folder = { name, id: null, updated_at: null, created_at: null, metadata: null };
      entries.set(name, rest.length > 0 ? folder : { name, id: path, updated_at: at, created_at: at, metadata });
    }
    return [...entries]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, entry]) => entry)
      .slice(offset, offset + Math.min(limit, pageAtMost));
  }

  beforeAll(async () => {
    objects.set('avatars/über + 100%.jpg', {
      bytes: Buffer.from('a picture'),
      type: 'image/jpeg',
      metadata: { album: 'beach', deep: {} },
    });
    objects.set('avatars/2027/big.bin', { bytes: big, type: 'application/octet-stream' });
    objects.set('avatars/empty/.emptyFolderPlaceholder', { bytes: Buffer.alloc(0), type: 'text/plain' });
    objects.set('notes/a\\b.txt', { bytes: Buffer.from('x'), type: 'text/plain' });
    for (let index = 0; index < 7; index++)
      objects.set(`many/${index}.txt`, { bytes: Buffer.from(`${index}`), type: 'text/plain' });
    server = await serve(async (request, response) => {
      if (request.headers.authorization !== `Bearer ${key}` || request.headers.apikey !== key)
        return sendJson(response, { statusCode: '403', error: 'Unauthorized', message: 'Invalid Compact JWS' }, 400);
      const path = decodeURIComponent(request.url ?? '').replace(/^\/storage\/v1/, '');
      if (path === '/bucket')
        return sendJson(
          response,
          ['avatars', 'notes'].map((id) => ({ id, name: id })),
        );
      if (path.startsWith('/object/list/'))
        return sendJson(response, list(path.slice('/object/list/'.length), JSON.parse(await text(request))));
      const [, how, name = ''] = /^\/object\/(info|authenticated)\/(.+)$/s.exec(path) ?? [];
      const object = objects.get(name);
      if (!object || broken.has(name))
        return sendJson(response, { statusCode: '404', error: 'not_found', message: 'Object not found' }, 400);
      if (how === 'info') sendJson(response, { id: name, size: object.bytes.length, metadata: object.metadata });
      else sendBytes(request, response, object.bytes, { etag: `"${md5(object.bytes)}"` });
    });
    env = { SUPABASE_URL: `http://127.0.0.1:${server.port}/`, SUPABASE_SERVICE_ROLE_KEY: key };
  });
  afterAll(() => server.close());
  afterEach(() => broken.clear());

  test('brings all buckets as folders, goes on where it failed, and then finds nothing to do', async () => {
    broken.add('avatars/2027/big.bin');
    const first = await place.cadiz(['import', 'supabase', '--to', 'cadiz:/all', '--json'], { env });
    const report: Report = JSON.parse(first.stdout);
    expect([first.code, report.done.map(({ path }) => path)]).toEqual([5, ['avatars/über + 100%.jpg']]);
    expect(report.failed.map(({ path }) => path).sort()).toEqual(['avatars/2027/big.bin', 'notes/a\\b.txt']);
    broken.clear();
    const second = await place.cadiz(['import', 'supabase', '--to', 'cadiz:/all', '--json'], { env });
    expect(JSON.parse(second.stdout)).toMatchObject({ done: [{ path: 'avatars/2027/big.bin' }], unchanged: 1 });
    const third = await place.cadiz(['import', 'supabase', '--to', 'cadiz:/all', '--json'], { env });
    expect(JSON.parse(third.stdout)).toMatchObject({ done: [], unchanged: 2 });
    expect(await pathsIn('all')).toEqual(
      [
        'avatars/',
        'avatars/2027/',
        'avatars/2027/big.bin',
        'avatars/empty/',
        'avatars/über + 100%.jpg',
        'notes/',
      ].sort(),
    );
    expect(await findIn('all/avatars', 'ber')).toMatchObject({
      mimeType: 'image/jpeg',
      metadata: { album: 'beach', mtime: at },
    });
    const file = await findIn('all/avatars/2027', 'big');
    const stored = await (await client().files.download(file?.id ?? '')).arrayBuffer();
    expect(Buffer.from(stored).equals(big)).toBe(true);
  });

  test('reads long folders to their end, and only shows them with --dry-run', async () => {
    const { stdout } = await place.ok(['import', 'supabase://many', '--dry-run'], { env });
    expect(stdout.split('\n').filter(Boolean)).toHaveLength(7);
    const some = await place.ok(['import', 'supabase://avatars/2027/', '--dry-run'], { env });
    expect(some.stdout).toBe('import  big.bin\n');
    expect(await place.cadiz(['import', 'supabase', '--dry-run'], { env })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('1 of 3 files would fail.'),
    });
  });

  test('refuses bytes that are not those of the listing', async () => {
    const object = { bytes: Buffer.from('as listed'), type: 'text/plain' };
    objects.set('damaged/x.txt', object);
    const liar = await serve(async (request, response) => {
      if (request.url?.includes('/list/')) return sendJson(response, list('damaged', JSON.parse(await text(request))));
      if (request.url?.includes('/info/')) return sendJson(response, {});
      return sendBytes(request, response, Buffer.from('otherwise'), { etag: `"${md5(object.bytes)}"` });
    });
    try {
      const own = { ...env, SUPABASE_URL: `http://127.0.0.1:${liar.port}` };
      const { code, stdout } = await place.cadiz(['import', 'supabase://damaged', '--to', 'liar', '--json'], {
        env: own,
      });
      expect([code, JSON.parse(stdout).failed]).toEqual([
        5,
        [expect.objectContaining({ path: 'x.txt', error: expect.stringContaining('its MD5 is another') })],
      ]);
    } finally {
      await liar.close();
    }
  });

  test('takes what a project can keep, and nothing that is not whole', async () => {
    const hello = Buffer.from('hello world');
    const multipart = { size: hello.length, mimetype: 'text/plain', eTag: '"0123-2"' };
    const files: Record<string, { listed?: object | null; own?: object; sent?: Buffer }> = {
      'a facts.txt': { own: { ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, index])) } },
      'b long facts.txt': { own: { long: 'x'.repeat(5000), nul: '\0', kept: true } },
      'c type.txt': { listed: { ...multipart, mimetype: 'image' } },
      'd sizeless.txt': { listed: null },
      'e less.txt': { sent: hello.subarray(0, 5) },
      'f more.txt': { sent: Buffer.concat([hello, hello]) },
    };
    let reads = 0;
    const odd = await serve(async (request, response) => {
      const [, how, name = ''] = /\/object\/(\w+)\/odd(?:\/(.*))?$/.exec(decodeURIComponent(request.url ?? '')) ?? [];
      if (how === 'info') return sendJson(response, { metadata: files[name]?.own });
      if (how === 'list') {
        const { offset } = JSON.parse(await text(request));
        const entries = Object.entries(files).map(([name, { listed = multipart }]) => ({
          name,
          id: name,
          updated_at: at,
          metadata: listed,
        }));
        return sendJson(response, entries.slice(offset));
      }
      reads++;
      // Without a length, as of an answer that is made while it is sent.
      response.writeHead(200, { etag: '"0123-2"' }).end(files[name]?.sent ?? hello);
    });
    try {
      const own = { ...env, SUPABASE_URL: `http://127.0.0.1:${odd.port}` };
      const { code, stdout } = await place.cadiz(['import', 'supabase://odd', '--to', 'odd', '--json'], { env: own });
      expect([code, JSON.parse(stdout).failed]).toEqual([
        5,
        [
          { path: 'odd/d sizeless.txt', error: 'Supabase does not say how large it is.' },
          { path: 'e less.txt', error: '5 bytes have come instead of 11.', code: 'file_unreadable' },
          { path: 'f more.txt', error: 'more bytes have come instead of 11.', code: 'file_unreadable' },
        ],
      ]);
      expect(reads).toBe(5);
      const kept = await client().files.page({ folder: 'odd', sort: 'name' });
      expect(kept.files.map(({ mimeType, fileSize }) => [mimeType, fileSize])).toEqual([
        ['text/plain', 11],
        ['text/plain', 11],
        ['application/octet-stream', 11],
      ]);
      const [many, long] = kept.files.map(({ metadata }) => metadata);
      expect([Object.keys(many ?? {}).length, many]).toEqual([32, expect.objectContaining({ mtime: at, k0: 0 })]);
      expect(long).toEqual({ mtime: at, kept: true });
    } finally {
      await odd.close();
    }
  });

  test('takes no compressed copy, and takes a weak ETag for what it is', async () => {
    const bytes = Buffer.from('a longer text');
    objects.set('compressed/x.txt', { bytes, type: 'text/plain' });
    // As a proxy in front of the service does that compresses text for whoever accepts it.
    const proxy = await serve(async (request, response) => {
      if (request.url?.includes('/list/'))
        return sendJson(response, list('compressed', JSON.parse(await text(request))));
      if (request.url?.includes('/info/')) return sendJson(response, {});
      const headers = { etag: `W/"${md5(bytes)}"` };
      if (request.headers['accept-encoding'] === 'identity') return sendBytes(request, response, bytes, headers);
      sendBytes(request, response, gzipSync(bytes), { ...headers, 'content-encoding': 'gzip' });
    });
    try {
      const own = { ...env, SUPABASE_URL: `http://127.0.0.1:${proxy.port}` };
      await place.ok(['import', 'supabase://compressed', '--to', 'compressed'], { env: own });
      expect((await place.ok(['cat', 'compressed/x.txt'])).stdout).toBe('a longer text');
    } finally {
      await proxy.close();
    }
  });

  test.each(['supabase:avatars', 'supabase:/avatars', 'supabase://', 'supabase:///2027'])(
    'imports nothing from %s, which names no bucket',
    async (source) => {
      expect(await place.cadiz(['import', source, '--dry-run'], { env })).toMatchObject({
        code: 2,
        stdout: '',
        stderr: `Error: ${source} must be supabase, supabase://BUCKET or supabase://BUCKET/FOLDER.\n`,
      });
    },
  );

  test('takes the key from standard input, and tells what is missing or refused', async () => {
    const { SUPABASE_URL = '' } = env;
    const piped = await place.spawn(['import', 'supabase://avatars/2027', '--dry-run'], {
      env: { SUPABASE_URL },
      input: `${key}\n`,
    });
    expect([piped.code, piped.stdout]).toEqual([0, 'import  big.bin\n']);
    expect((await place.cadiz(['import', 'supabase'])).code).toBe(2);
    expect(await place.cadiz(['import', 'supabase'], { env: { SUPABASE_URL } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('set SUPABASE_SERVICE_ROLE_KEY'),
    });
    expect(await place.cadiz(['import', 'supabase'], { env: { SUPABASE_URL }, input: 'wrong' })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Invalid Compact JWS'),
    });
  });
});

describe('import uploadthing', () => {
  const apiKey = 'sk_live_key';
  const uploadedAt = Date.parse('2026-05-06T07:08:09.123Z');
  const token = Buffer.from(JSON.stringify({ apiKey, appId: 'app1', regions: ['sea1'] })).toString('base64');
  const bytesOf = (key: string) => Buffer.from(`bytes of ${key}`);
  const listed = (key: string, name: string, more = {}) => ({
    id: key,
    key,
    name,
    customId: null,
    size: bytesOf(key).length,
    status: 'Uploaded',
    uploadedAt,
    ...more,
  });
  const files = [
    listed('k1', 'photo.jpg', { customId: 'photo-1' }),
    listed('k2', 'photo.jpg', { customId: 'x'.repeat(256) }),
    listed('secret', 'private.txt'),
    listed('k4', 'half.bin', { status: 'Uploading' }),
    ...Array.from({ length: 4 }, (_, index) => listed(`many${index}`, `many ${index}.txt`)),
  ];
  let server: Awaited<ReturnType<typeof serve>>;
  let env: Record<string, string>;
  const asked: string[] = [];

  beforeAll(async () => {
    server = await serve(async (request, response) => {
      const url = new URL(request.url ?? '', `http://${request.headers.host}`);
      asked.push(`${request.method} ${url.pathname}`);
      if (url.pathname.startsWith('/v6/')) {
        if (request.headers['x-uploadthing-api-key'] !== apiKey)
          return sendJson(response, { error: 'Invalid API key' }, 401);
        const body = JSON.parse(await text(request));
        if (url.pathname === '/v6/requestFileAccess')
          return sendJson(response, { ufsUrl: `${url.origin}/a/app1/${body.fileKey}?signature=1`, url: '' });
        const page = files.slice(body.offset, body.offset + Math.min(body.limit, pageAtMost));
        return sendJson(response, { files: page, hasMore: body.offset + page.length < files.length });
      }
      const [, key = ''] = /^\/a\/app1\/(.+)$/.exec(url.pathname) ?? [];
      if (key === 'secret' && !url.searchParams.has('signature')) return sendJson(response, {}, 403);
      return sendBytes(request, response, bytesOf(key), { 'content-type': key === 'k1' ? 'image/jpeg' : 'text/plain' });
    });
    env = {
      UPLOADTHING_TOKEN: token,
      UPLOADTHING_API_URL: `http://127.0.0.1:${server.port}`,
      UPLOADTHING_UFS_HOST: `localhost:${server.port}`,
      UPLOADTHING_UFS_APP_ID_LOCATION: 'path',
    };
  });
  afterAll(() => server.close());

  test('brings every file once, with its key, its id and its type', async () => {
    const dry = await place.json<{ files: object[]; skipped: object[] }>(['import', 'uploadthing', '--dry-run'], {
      env,
    });
    expect([dry.files.length, dry.skipped]).toEqual([7, [{ path: 'half.bin', why: 'its status is Uploading.' }]]);
    const report = await place.json<Report>(['import', 'uploadthing', '--to', 'ut'], { env });
    expect([report.done.length, report.failed]).toEqual([7, []]);
    const { files: photos } = await client().files.page({ folder: 'ut', search: 'photo' });
    expect(photos.map(({ externalId, mimeType, metadata }) => [externalId, mimeType, metadata]).sort()).toEqual([
      [null, 'text/plain', { 'uploadthing-key': 'k2', mtime: '2026-05-06T07:08:09.123Z' }],
      ['photo-1', 'image/jpeg', { 'uploadthing-key': 'k1', mtime: '2026-05-06T07:08:09.123Z' }],
    ]);
    expect((await place.ok(['cat', 'ut/private.txt'])).stdout).toBe('bytes of secret');
    asked.length = 0;
    expect(await place.json<Report>(['import', 'uploadthing', '--to', 'ut'], { env })).toMatchObject({
      done: [],
      unchanged: 7,
    });
    expect(new Set(asked)).toEqual(new Set(['POST /v6/listFiles']));
  });

  test('reports an invalid token, and a refused one', async () => {
    const { UPLOADTHING_TOKEN: _, ...rest } = env;
    expect((await place.cadiz(['import', 'uploadthing'], { env: rest, input: 'sk_live_key' })).code).toBe(2);
    const other = Buffer.from(JSON.stringify({ apiKey: 'other', appId: 'app1', regions: [] })).toString('base64');
    expect(await place.cadiz(['import', 'uploadthing'], { env: rest, input: other })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Invalid API key'),
    });
  });
});

describe('a request of which the first attempt is not answered', () => {
  const { timeout } = AbortSignal;
  beforeAll(() => {
    // The minute that an answer may take.
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) =>
      timeout.call(AbortSignal, milliseconds === 60_000 ? 2000 : milliseconds),
    );
  });
  afterAll(() => void vi.restoreAllMocks());

  test('is sent again to Supabase', async () => {
    let asked = 0;
    const server = await serve((_, response) => {
      if (++asked > 1) sendJson(response, []);
    });
    const env = { SUPABASE_URL: `http://127.0.0.1:${server.port}`, SUPABASE_SERVICE_ROLE_KEY: 'key' };
    expect(await place.json<Report>(['import', 'supabase://media', '--to', 'silent'], { env })).toMatchObject({
      failed: [],
    });
    expect(asked).toBe(2);
    await server.close();
  });

  test('is sent again to UploadThing', async () => {
    let looks = 0;
    const file = { key: 'k', customId: null, name: 'a.txt', size: 5, status: 'Uploaded', uploadedAt: 0 };
    const server = await serve((request, response) => {
      if (request.method === 'POST') sendJson(response, { files: [file], hasMore: false });
      else if (request.method === 'GET') sendBytes(request, response, Buffer.from('bytes'));
      else if (++looks > 1) sendBytes(request, response, Buffer.from('bytes'));
    });
    const env = {
      UPLOADTHING_TOKEN: Buffer.from(JSON.stringify({ apiKey: 'sk', appId: 'app1' })).toString('base64'),
      UPLOADTHING_API_URL: `http://127.0.0.1:${server.port}`,
      UPLOADTHING_UFS_HOST: `localhost:${server.port}`,
      UPLOADTHING_UFS_APP_ID_LOCATION: 'path',
    };
    expect(await place.json<Report>(['import', 'uploadthing', '--to', 'silent'], { env })).toMatchObject({
      done: [{ path: 'a.txt' }],
      failed: [],
    });
    expect(looks).toBe(2);
    await server.close();
  });
});
