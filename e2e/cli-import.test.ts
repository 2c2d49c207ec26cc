import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, request as forward, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { createClient } from '@cadiz/client';
import { verifyRequest } from '@cadiz/sigv4';
import { openStore, type RunningStore } from '@cadiz/store';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startWorkplace, type Workplace } from './cli.ts';

interface Report {
  done: { path: string }[];
  unchanged: number;
  failed: { path: string; error: string }[];
}

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
});
afterAll(() => place.close());

/** A server until the end of the test. @returns its URL */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const client = () => createClient({ baseUrl: place.service.url, apiKey: place.apiKey });
const pathsIn = async (folder: string) =>
  (await place.ok(['ls', '-R', folder])).stdout.split('\n').filter(Boolean).sort();

describe('export and import', () => {
  const facts = { metadata: { album: 'beach', page: 3 }, type: 'image/x-own' };

  beforeAll(async () => {
    await client().upload('one', { name: 'a.txt', folder: 'from', ...facts, externalId: 'photo-1' });
    await client().upload('two', { name: 'a.txt', folder: 'from' });
    await client().upload('three', { name: 'über.txt', folder: 'from/日本', checksum: true });
    await client().folders.ensure(['from/empty', 'from/a.txt']);
  });

  test('bring everything to another place, once', async () => {
    const folder = join(place.folder, 'backup');
    const exported = await place.json<Report>(['export', folder, 'cadiz:/from']);
    expect([exported.done.length, exported.failed]).toEqual([3, []]);
    expect(await place.json<Report>(['export', folder, 'cadiz:/from'])).toMatchObject({ done: [], unchanged: 3 });
    const [head, ...lines] = (await readFile(join(folder, 'manifest.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(head).toMatchObject({ kind: 'cadiz-export', version: 1, folder: 'from', projectId: place.projectId });
    expect(lines).toContainEqual(
      expect.objectContaining({
        kind: 'file',
        path: 'a.txt',
        size: 3,
        type: 'image/x-own',
        metadata: facts.metadata,
        externalId: 'photo-1',
        sha256: expect.stringMatching(/^[\da-f]{64}$/),
      }),
    );

    await place.ok(['rm', '-ry', 'from']);
    const dry = await place.ok(['import', folder, '--to', 'cadiz:/to', '--dry-run']);
    expect(dry.stdout.split('\n').filter(Boolean)).toHaveLength(3);
    expect((await place.cadiz(['ls', 'to'])).code).toBe(3);
    expect((await place.json<Report>(['import', folder, '--to', 'cadiz:/to'])).done).toHaveLength(3);
    expect(await pathsIn('to')).toEqual(['a.txt', 'a.txt', 'a.txt/', 'empty/', '日本/', '日本/über.txt'].sort());
    const { files } = await client().files.page({ folder: 'to', externalId: 'photo-1' });
    expect(files).toEqual([
      expect.objectContaining({ mimeType: 'image/x-own', metadata: facts.metadata, sha256State: 'verified' }),
    ]);
    const manifest = await readFile(join(folder, 'manifest.jsonl'), 'utf8');
    await writeFile(join(folder, 'manifest.jsonl'), `\ufeff${manifest.replaceAll('\n', '\r\n')}\r\n`);
    expect(await place.json<Report>(['import', join(folder, 'manifest.jsonl'), '--to', 'to'])).toMatchObject({
      done: [],
      unchanged: 3,
    });
  });

  test('files that share a name as long as names may be are all exported, and come back', async () => {
    const folder = join(place.folder, 'long');
    const name = `ab${'日'.repeat(84)}`;
    await client().upload('one', { name, folder: 'long' });
    await client().upload('two', { name, folder: 'long' });
    expect(await place.json<Report>(['export', folder, 'cadiz:/long'])).toMatchObject({ failed: [] });
    expect((await place.json<Report>(['import', folder, '--to', 'cadiz:/long-again'])).done).toHaveLength(2);
    expect(await pathsIn('long-again')).toEqual([name, name]);
  });

  test('a file that is not as the manifest says is not imported', async () => {
    const folder = join(place.folder, 'damaged');
    await client().upload('right', { name: 'x.txt', folder: 'damage' });
    await client().upload('good', { name: 'y.txt', folder: 'damage' });
    await place.ok(['export', folder, 'damage']);
    await writeFile(join(folder, 'files/x.txt'), 'wrong');
    const { code, stdout } = await place.spawn(['import', folder, '--to', 'mended', '--json']);
    const report: Report = JSON.parse(stdout);
    expect([code, report.done.map(({ path }) => path), report.failed]).toEqual([
      5,
      ['y.txt'],
      [expect.objectContaining({ path: 'x.txt', error: expect.stringContaining('SHA-256') })],
    ]);
    expect(await pathsIn('mended')).toEqual(['y.txt']);
  });

  test('a manifest cannot name files outside its folder', async () => {
    const folder = join(place.folder, 'hostile');
    await mkdir(folder);
    const line = {
      kind: 'file',
      path: 'x',
      at: '../../secret',
      size: 1,
      sha256: '',
      type: 'text/plain',
      metadata: {},
      externalId: null,
    };
    await writeFile(
      join(folder, 'manifest.jsonl'),
      `${JSON.stringify({ kind: 'cadiz-export', version: 1 })}\n${JSON.stringify(line)}\n`,
    );
    expect(await place.cadiz(['import', folder])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('line 2 is not of a manifest'),
    });
    expect((await place.cadiz(['import', place.folder])).code).toBe(3);
  });
});

describe('import from S3', () => {
  const keys = { accessKeyId: 'importer', secretAccessKey: 'a secret of the importer' };
  let store: RunningStore;
  let env: Record<string, string>;
  const big = randomBytes(70 * 1024 ** 2);
  /** Without checksums, ETags are MD5s. */
  const open = () =>
    new S3Client({
      endpoint: `http://127.0.0.1:${store.port}`,
      region: 'us-east-1',
      credentials: keys,
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
    });

  beforeAll(async () => {
    store = await openStore({ ...keys, dataDir: join(place.folder, 's3'), host: '127.0.0.1', port: 0 });
    const endpoint = `http://127.0.0.1:${store.port}`;
    env = {
      AWS_ACCESS_KEY_ID: keys.accessKeyId,
      AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
      AWS_ENDPOINT_URL: endpoint,
    };
    const s3 = open();
    await s3.send(new CreateBucketCommand({ Bucket: 'media' }));
    const put = (Key: string, Body: string | Buffer, more = {}) =>
      s3.send(new PutObjectCommand({ Bucket: 'media', Key, Body, ...more }));
    await put('photos/2027/über + 100%.jpg', 'a picture', { ContentType: 'image/jpeg', Metadata: { album: 'beach' } });
    await put('photos/big.bin', big);
    await put('photos/empty/', Buffer.alloc(0));
    await put('photos//twice.txt', 'x');
    await put('photos/../up.txt', 'x');
    await put('other/x.txt', 'x');
    await put('encoded/page.html', gzipSync('hello hello hello'), {
      ContentEncoding: 'gzip',
      ContentType: 'text/html',
    });
    for (let index = 0; index < 12; index++) await put(`many/${index}.txt`, `${index}`);
    s3.destroy();
  });
  afterAll(() => store.close());

  test('prefixes become folders, facts are kept, and what cannot be is told', async () => {
    const dry = await place.cadiz(['import', 's3://media/photos/', '--to', 'cadiz:/s3', '--dry-run'], { env });
    expect([dry.code, dry.stdout]).toEqual([5, 'import  2027/über + 100%.jpg\nimport  big.bin\n']);
    const { code, stdout } = await place.cadiz(['import', 's3://media/photos/', '--to', 'cadiz:/s3', '--json'], {
      env,
    });
    const report: Report = JSON.parse(stdout);
    expect([code, report.done.map(({ path }) => path).sort()]).toEqual([5, ['2027/über + 100%.jpg', 'big.bin']]);
    expect(report.failed.map(({ path }) => path).sort()).toEqual(['photos/../up.txt', 'photos//twice.txt']);
    expect(await pathsIn('s3')).toEqual(['2027/', '2027/über + 100%.jpg', 'big.bin', 'empty/'].sort());
    const [picture] = (await client().files.page({ folder: 's3/2027' })).files;
    const facts = { album: 'beach', mtime: expect.any(String), 'mtime-of': picture?.etag };
    expect(picture).toMatchObject({ mimeType: 'image/jpeg', metadata: facts });
    const [file] = (await client().files.page({ folder: 's3', search: 'big' })).files;
    const stored = await (await client().files.download(file?.id ?? '')).arrayBuffer();
    expect(Buffer.from(stored).equals(big)).toBe(true);
    const again = await place.cadiz(['import', 's3://media/photos/', '--to', 'cadiz:/s3', '--json'], { env });
    expect(JSON.parse(again.stdout)).toMatchObject({ done: [], unchanged: 2 });
  });

  test('an object with a Content-Encoding comes as it is stored', async () => {
    await place.ok(['import', 's3://media/encoded/', '--to', 'encoded'], { env });
    const [page] = (await client().files.page({ folder: 'encoded' })).files;
    const stored = await (await client().files.download(page?.id ?? '')).arrayBuffer();
    expect([page?.mimeType, gunzipSync(stored).toString()]).toEqual(['text/html', 'hello hello hello']);
  });

  test('a prefix need not end with a slash, and names keep what follows the last one', async () => {
    await place.ok(['import', 's3://media/many/1', '--to', 'some'], { env });
    expect(await pathsIn('some')).toEqual(['1.txt', '10.txt', '11.txt']);
  });

  test('missing and wrong credentials, buckets and addresses are told', async () => {
    expect((await place.cadiz(['import', 's3://media'])).code).toBe(2);
    expect((await place.cadiz(['import', 's3:///x'], { env })).code).toBe(2);
    for (const command of ['import', 'export']) {
      const { code, stderr } = await place.cadiz([command, place.folder, '--endpoint', 'http://127.0.0.1:9']);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--endpoint is of S3')]);
    }
    expect((await place.cadiz(['import', 's3://nowhere'], { env })).code).toBe(3);
    const wrong = await place.cadiz(['import', 's3://media'], { env: { ...env, AWS_SECRET_ACCESS_KEY: 'wrong' } });
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('403 SignatureDoesNotMatch')]);
  });

  test('an endpoint may have a path, as that of Supabase has, and a session token is signed', async () => {
    const asked: string[] = [];
    const origin = await serve((request, response) => {
      const { method = '', url = '', rawHeaders } = request;
      const seen = { method, rawUrl: url, rawHeaders, now: Date.now() };
      const verdict = verifyRequest(seen, { region: 'eu-central-1', findSecretAccessKey: () => keys.secretAccessKey });
      asked.push(
        `${method} ${url.split('?')[0]} ${verdict.ok ? verdict.signedHeaders.has('x-amz-security-token') : verdict.code}`,
      );
      const entry =
        '<Key>a%2Bb+c.txt</Key><Size>3</Size><ETag>&quot;900150983cd24fb0d6963f7d28e17f72&quot;</ETag><LastModified>2026-01-02T03:04:05.000Z</LastModified>';
      if (url.includes('list-type'))
        response.end(
          `<ListBucketResult><EncodingType>url</EncodingType><Contents>${entry}</Contents></ListBucketResult>`,
        );
      else
        response
          .writeHead(request.headers.range ? 206 : 200, { 'content-type': 'text/plain', 'content-length': 3 })
          .end(method === 'HEAD' ? '' : 'abc');
    });
    const endpoint = `${origin}/storage/v1/s3/`;
    const own = { ...env, AWS_ENDPOINT_URL_S3: endpoint, AWS_REGION: 'eu-central-1', AWS_SESSION_TOKEN: 'a token' };
    await place.ok(['import', 's3://avatars', '--to', 'avatars'], { env: own });
    expect((await place.ok(['cat', 'avatars/a+b c.txt'])).stdout).toBe('abc');
    const path = '/storage/v1/s3/avatars';
    expect(asked).toEqual([`GET ${path} true`, `HEAD ${path}/a%2Bb%20c.txt true`, `GET ${path}/a%2Bb%20c.txt true`]);
  });

  test('of a store that throttles, loses objects and has hostile names, what can be is imported', async () => {
    const pages = [
      {
        keys: ['good.txt', 'gone.txt', '..%2Fup.txt', '%2Fabs.txt', 'nul%00.txt', 'esc%1B%5B31m.txt', '%FF.txt'],
        more: '<EncodingType>url</EncodingType><NextContinuationToken>next</NextContinuationToken>',
      },
      { keys: ['100%.txt', `${'x'.repeat(300)}.txt`], more: '' },
    ];
    let throttled = 0;
    const AWS_ENDPOINT_URL_S3 = await serve((request, response) => {
      const url = new URL(request.url ?? '', 'http://store');
      if (url.searchParams.has('list-type')) {
        if (throttled++ === 0) return response.writeHead(503, { 'retry-after': '0' }).end('<Code>SlowDown</Code>');
        const isEndless = url.pathname === '/endless';
        const { keys = [], more = '' } = pages[url.searchParams.has('continuation-token') && !isEndless ? 1 : 0] ?? {};
        const facts = '<Size>3</Size><ETag>&quot;e&quot;</ETag><LastModified>2026-01-02T03:04:05.000Z</LastModified>';
        const entries = keys.map((key) => `<Contents><Key>${key}</Key>${facts}</Contents>`);
        return response.end(`<ListBucketResult>${more}${entries.join('')}</ListBucketResult>`);
      }
      if (!/\/(?:good|100%25)\.txt$/.test(url.pathname)) return response.writeHead(404).end();
      response.writeHead(request.headers.range ? 206 : 200, { 'content-length': 3 });
      return response.end(request.method === 'HEAD' ? '' : 'abc');
    });
    const own = { env: { ...env, AWS_ENDPOINT_URL_S3 } };
    const { code, stdout, stderr } = await place.cadiz(['import', 's3://odd', '--to', 'odd', '--json'], own);
    const report: Report = JSON.parse(stdout);
    expect([code, report.done.map(({ path }) => path).sort()]).toEqual([5, ['100%.txt', 'good.txt']]);
    expect(report.failed).toHaveLength(7);
    expect(stderr).not.toContain('\u001b');
    const endless = await place.cadiz(['import', 's3://endless', '--to', 'odd'], own);
    expect([endless.code, endless.stderr]).toEqual([1, expect.stringContaining('the same page of its list again')]);
  });

  test.each<[string, string, (response: ServerResponse) => unknown]>([
    [
      'says that its list goes on, but not how',
      'does not say how its list goes on',
      (response) => response.end('<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'),
    ],
    ['answers a page', 'does not answer as an S3 store does', (response) => response.end('<html></html>')],
    ['answers no XML', 'does not answer as an S3 store does', (response) => response.end('Welcome')],
    [
      'answers an error with 200',
      'the store answered 500 InternalError',
      (response) => response.end('<Error><Code>InternalError</Code></Error>'),
    ],
    [
      'sends elsewhere',
      'the store answered 307',
      (response) => response.writeHead(307, { location: `${env.AWS_ENDPOINT_URL}/media?list-type=2` }).end(),
    ],
  ])('a store that %s is told, and nothing passes for imported', async (_, told, answer) => {
    const endpoint = await serve((_request, response) => answer(response));
    const { code, stderr } = await place.cadiz(['import', 's3://media', '--to', 'never', '--endpoint', endpoint], {
      env,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining(told)]);
  });

  describe('export to a bucket', () => {
    const facts = { metadata: { album: 'beach' }, type: 'image/x-own', externalId: 'photo-2' };
    const target = (prefix: string) => ['--endpoint', endpoint, `s3://media/${prefix}`];
    let endpoint: string;
    beforeAll(async () => {
      endpoint = env.AWS_ENDPOINT_URL ?? '';
      await client().upload('one', { name: 'ä + 1.txt', folder: 'bucket', checksum: true, ...facts });
      await client().upload('two', { name: 'ä + 1.txt', folder: 'bucket' });
      await client().upload(new Blob([big]), { name: 'large.bin', folder: 'bucket/deep' });
      await client().folders.ensure(['bucket/empty']);
    });
    const own = () => ({ env: { ...env, AWS_ENDPOINT_URL: '' } });

    test('brings everything there and back, once, and mends what is missing', async () => {
      const dry = await place.ok(['export', '--dry-run', ...target('backup'), 'bucket'], own());
      expect(dry.stderr).toContain('Would export 2 folders and 3 files');
      const report = await place.json<Report & { manifest: string }>(['export', ...target('backup'), 'bucket'], own());
      expect([report.manifest, report.done.length, report.failed]).toEqual(['s3://media/backup/manifest.jsonl', 3, []]);
      const again = await place.json<Report>(['export', ...target('backup/'), 'bucket'], own());
      expect(again).toMatchObject({ done: [], unchanged: 3 });

      // As a proxy that compresses does, which marks the ETags of what it may change.
      const through = await serve((asked, response) => {
        const { method, url: path, headers } = asked;
        const passed = forward({ port: store.port, host: '127.0.0.1', method, path, headers }, (answer) => {
          const { etag } = answer.headers;
          answer.pipe(
            response.writeHead(answer.statusCode ?? 0, { ...answer.headers, ...(etag && { etag: `W/${etag}` }) }),
          );
        });
        asked.pipe(passed);
      });
      const unchanged = ['export', '--endpoint', through, 's3://media/backup', 'bucket'];
      expect(await place.json<Report>(unchanged, own())).toMatchObject({ done: [], unchanged: 3, failed: [] });

      const s3 = open();
      const large = { Bucket: 'media', Key: 'backup/files/deep/large.bin' };
      await s3.send(new DeleteObjectCommand(large));
      const mended = await place.json<Report>(['export', ...target('backup'), 'bucket'], own());
      expect(mended).toMatchObject({ done: [{ path: 'deep/large.bin' }], unchanged: 2 });

      await place.ok(['rm', '-ry', 'bucket']);
      await s3.send(new DeleteObjectCommand(large));
      const partial = await place.cadiz(['import', ...target('backup'), '--to', 'bucket-back', '--json'], own());
      expect([partial.code, JSON.parse(partial.stdout)]).toMatchObject([
        5,
        { done: [{}, {}], failed: [{ path: 'deep/large.bin', error: expect.stringContaining('is missing') }] },
      ]);
      await s3.send(new PutObjectCommand({ ...large, Body: big }));
      s3.destroy();

      const back = await place.json<Report>(['import', ...target('backup/'), '--to', 'bucket-back'], own());
      expect(back).toMatchObject({ done: [{ path: 'deep/large.bin' }], unchanged: 2, failed: [] });
      expect(await pathsIn('bucket-back')).toEqual(
        ['deep/', 'deep/large.bin', 'empty/', 'ä + 1.txt', 'ä + 1.txt'].sort(),
      );
      const { files } = await client().files.page({ folder: 'bucket-back', externalId: 'photo-2' });
      expect(files).toEqual([expect.objectContaining({ mimeType: 'image/x-own', metadata: { album: 'beach' } })]);
      const [file] = (await client().files.page({ folder: 'bucket-back/deep' })).files;
      expect(file?.sha256).toBe(createHash('sha256').update(big).digest('hex'));
    });

    test('has brought what the store has joined, also if its answer was lost', async () => {
      await client().upload(new Blob([big]), { name: 'large.bin', folder: 'joined' });
      const lost: string[] = [];
      // As stores do that forget an upload once it is completed.
      const through = await serve((asked, response) => {
        const { method, url: path = '', headers } = asked;
        const isCompletion = method === 'POST' && path.includes('uploadId=');
        if (isCompletion && lost.includes(path)) {
          asked.resume();
          return response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>');
        }
        const passed = forward({ port: store.port, host: '127.0.0.1', method, path, headers }, (answer) => {
          if (!isCompletion) return answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
          lost.push(path);
          return answer.resume().on('end', () => response.destroy());
        });
        return asked.pipe(passed);
      });
      const report = await place.json<Report>(['export', '--endpoint', through, 's3://media/joined', 'joined'], own());
      expect([lost.length, report.done, report.failed]).toMatchObject([1, [{ path: 'large.bin' }], []]);
    });

    test('reads a file again that breaks off', async () => {
      await client().upload(new Blob([big]), { name: 'large.bin', folder: 'broken' });
      const { PORT, STORE_PORT } = place.settings;
      let asked = 0;
      // The service, whose URLs of files lead to a store that breaks off at first.
      const through: string = await serve((request, response) => {
        const { method, url: path = '', headers } = request;
        if (!path.startsWith('/api/')) {
          asked += 1;
          if (asked > 1) return response.writeHead(302, { location: `http://localhost:${STORE_PORT}${path}` }).end();
          return response.writeHead(200, { 'content-length': big.length }).write('half', () => response.destroy());
        }
        const passed = forward({ port: PORT, host: '127.0.0.1', method, path, headers }, async (answer) => {
          const { 'content-length': _, ...kept } = answer.headers;
          const words = Buffer.concat(await answer.toArray()).toString();
          response
            .writeHead(answer.statusCode ?? 0, kept)
            .end(words.replaceAll(`http://localhost:${STORE_PORT}`, through));
        });
        return request.pipe(passed);
      });
      const how = { env: { ...own().env, CADIZ_URL: through } };
      const report = await place.json<Report>(['export', ...target('broken'), 'broken'], how);
      expect([asked, report.done, report.failed]).toMatchObject([2, [{ path: 'large.bin' }], []]);
    });

    test('leaves no parts behind of what fails', async () => {
      await client().upload(new Blob([big.subarray(0, 20 * 1024 ** 2)]), { name: 'large.bin', folder: 'partial' });
      const through = await serve((asked, response) => {
        const { method, url: path = '', headers } = asked;
        if (path.includes('partNumber=2')) {
          asked.resume();
          return response.writeHead(403).end();
        }
        const passed = forward({ port: store.port, host: '127.0.0.1', method, path, headers }, (answer) =>
          answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers)),
        );
        return asked.pipe(passed);
      });
      const failed = await place.cadiz(
        ['export', '--endpoint', through, 's3://media/partial', 'partial', '--json'],
        own(),
      );
      expect([failed.code, JSON.parse(failed.stdout)]).toMatchObject([
        5,
        { done: [], failed: [{ path: 'large.bin', error: expect.stringContaining('the store answered 403') }] },
      ]);
      const s3 = open();
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket: 'media', Prefix: 'partial/' }));
      s3.destroy();
      expect(Uploads).toEqual([]);
    });

    test('bytes that are not as the manifest says are not imported', async () => {
      await client().upload('right', { name: 'small.txt', folder: 'damage-s3' });
      await client().upload(new Blob([big]), { name: 'large.bin', folder: 'damage-s3' });
      await place.ok(['export', ...target('damaged'), 'damage-s3'], own());
      const s3 = open();
      const put = (name: string, Body: string | Buffer) =>
        s3.send(new PutObjectCommand({ Bucket: 'media', Key: `damaged/files/${name}`, Body }));
      await put('small.txt', 'wrong');
      await put('large.bin', Buffer.alloc(big.length));
      s3.destroy();
      const { code, stdout } = await place.cadiz(['import', ...target('damaged'), '--to', 'never', '--json'], own());
      const error = expect.stringContaining('its SHA-256 is another');
      expect([code, JSON.parse(stdout)]).toMatchObject([5, { done: [], failed: [{ error }, { error }] }]);
    });
  });
});
