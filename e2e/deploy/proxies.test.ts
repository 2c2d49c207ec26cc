import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createPresigner } from '@cadiz/sigv4';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanUp, embeddedSettings, type Service, type Settings, startService, stopService } from '../service.ts';
import { hasPrograms, isAsked } from './programs.ts';
import {
  type Answer,
  type Asked,
  ask,
  behindProxy,
  carryOverHttp2,
  hosts,
  open,
  type Person,
  type ProxyName,
  presign,
  type RunningProxy,
  signUp,
  startProxy,
  untilServing,
} from './proxies.ts';

const mebibyte = 1024 * 1024;
const storeKeys = { accessKeyId: 'AKIAPROXIES', secretAccessKey: 'a-secret-of-proxies' };

/** With its program, what prints its version, and what it logs of an upload. */
const proxies: [ProxyName, string, string, RegExp][] = [
  ['haproxy', 'haproxy', '-v', /PUT 200/],
  ['nginx', 'nginx', '-v', /PUT 200/],
  ['apache', 'apache2', '-v', /PUT 200/],
  ['caddy', 'caddy', 'version', /"method":"PUT".+"status":200/],
];

for (const [name, program, option, logged] of proxies) {
  const canRun = isAsked && hasPrograms(`deploy/${name}`, { [program]: option, openssl: 'version', curl: '--version' });
  describe.runIf(canRun)(`${name}, with its file in deploy/`, () => {
    let folder: string;
    let settings: Settings;
    let service: Service;
    let proxy: RunningProxy;
    let ada: Person;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), `cadiz-${name}-`));
      settings = {
        ...(await embeddedSettings()),
        ...behindProxy,
        STORE_ACCESS_KEY_ID: storeKeys.accessKeyId,
        STORE_SECRET_ACCESS_KEY: storeKeys.secretAccessKey,
      };
      service = await startService(settings);
      proxy = await startProxy(name, folder, { services: [Number(settings.PORT)], store: Number(settings.STORE_PORT) });
      await untilServing(proxy);
      const claimed = { 'X-Forwarded-For': '203.0.113.7' };
      ada = await signUp(proxy, service.welcome, { localAddress: '127.0.0.2', headers: claimed });
    });
    afterAll(async () => {
      await proxy?.close();
      await cleanUp(settings);
      await rm(folder, { recursive: true, force: true });
    });

    test('passes on the address of a client, not what it claims', async () => {
      const { body } = await ask(proxy, '/api/account/sessions', { headers: ada.headers, localAddress: '127.0.0.2' });
      expect(JSON.parse(String(body))).toMatchObject({ sessions: [{ ipAddress: '127.0.0.2' }] });
    });

    test('sends people from http to https', async () => {
      const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
        const path = '/setup?a=b';
        http
          .get({ host: '127.0.0.1', port: proxy.httpPort, path, headers: { Host: hosts.cadiz } }, resolve)
          .once('error', reject);
      });
      answer.resume();
      expect([answer.statusCode, answer.headers.location]).toEqual([308, `https://${hosts.cadiz}/setup?a=b`]);
    });

    test.each(['HTTP/1.1', 'HTTP/2'])('carries a large file to the store and back over %s', async (version) => {
      const { put, get, said } = version === 'HTTP/2' ? overHttp2() : overHttp1();
      const bytes = randomBytes(24 * mebibyte);
      const { path, record } = await presign(proxy, ada, bytes.length);
      expect(await put(path, bytes)).toBe(said);
      const { id } = read(await record());
      const headers = { Authorization: `Bearer ${ada.key}` };
      const { url } = read(await ask(proxy, `/api/storage/files/${id}/url`, { method: 'POST', headers, body: '{}' }));
      const downloaded = await get(url.slice(behindProxy.S3_PUBLIC_ENDPOINT.length));
      expect([downloaded.said, toDigest(downloaded.bytes)]).toEqual([said, toDigest(bytes)]);
    });

    test('takes a mebibyte of an upload over HTTP/2 before the browser has to wait for an answer', async () => {
      const { httpsPort: port, ca } = proxy;
      const session = connect(`https://127.0.0.1:${port}`, { ca, servername: hosts.objects });
      const [{ initialWindowSize }] = await once(session, 'remoteSettings');
      session.destroy();
      expect(initialWindowSize).toBeGreaterThanOrEqual(mebibyte);
    });

    function overHttp1() {
      const { objects: host } = hosts;
      return {
        said: '200',
        put: async (path: string, body: Buffer) =>
          String((await ask(proxy, path, { host, method: 'PUT', body })).status),
        async get(path: string) {
          const { status, body: bytes } = await ask(proxy, path, { host });
          return { said: String(status), bytes };
        },
      };
    }

    function overHttp2() {
      return { said: '2 200', ...carryOverHttp2(proxy, folder) };
    }

    test('passes an upload on as it comes', async () => {
      const bytes = randomBytes(8 * mebibyte);
      const { path, record } = await presign(proxy, ada, bytes.length);
      const upload = open(proxy, path, {
        ...{ host: hosts.objects, method: 'PUT' },
        headers: { 'Content-Length': String(bytes.length) },
      });
      const status = new Promise((resolve, reject) => {
        upload.once('error', reject).once('response', (response) => resolve(response.resume().statusCode));
      });
      upload.write(bytes.subarray(0, 4 * mebibyte));
      // The store has it while the client still holds the other half.
      await expect.poll(() => incomingBytes(settings)).toBeGreaterThan(3 * mebibyte);
      upload.end(bytes.subarray(4 * mebibyte));
      expect(await status).toBe(200);
      expect((await record()).status).toBe(200);
    });

    test('delivers an event when it happens', async () => {
      const headers = { Authorization: `Bearer ${ada.key}`, Accept: 'text/event-stream' };
      const stream = open(proxy, `/api/storage/events?projectId=${ada.projectId}&after=latest`, { headers });
      let received = '';
      stream.once('response', (response) =>
        response.setEncoding('utf8').on('data', (text) => {
          received += text;
        }),
      );
      stream.end();
      await expect.poll(() => received).toContain('retry:');
      const { path, record } = await presign(proxy, ada, 5);
      await ask(proxy, path, { host: hosts.objects, method: 'PUT', body: Buffer.from('Cadiz') });
      const { id } = read(await record());
      await expect.poll(() => received).toContain(id);
      stream.destroy();
    });

    test('writes no signed URL into its log', async () => {
      const { path } = await presign(proxy, ada, 5);
      await ask(proxy, path, { host: hosts.objects, method: 'PUT', body: Buffer.from('Cadiz') });
      await expect.poll(() => proxy.output()).toMatch(logged);
      expect(proxy.output()).not.toMatch(/X-Amz-Signature|api\/storage/);
    });

    test.each([
      ['a key like a path', 'a//b/./c/../100%2F+ü', (bytes: Buffer) => bytes, {}],
      ['a compressed object', 'compressed', gzipSync, { 'Content-Encoding': 'gzip' }],
    ])('leaves %s as it is', async (_what, key, encode, encoding) => {
      const body = encode(Buffer.from('Cadiz '.repeat(1000)));
      const sign = createPresigner({ ...storeKeys, region: 'us-east-1', endpoint: behindProxy.S3_PUBLIC_ENDPOINT });
      const askStore = (method: 'GET' | 'PUT', asked: Asked) => {
        const url = sign({ method, bucket: 'cadiz', key, expiresInSeconds: 60, now: Date.now() });
        const path = url.slice(behindProxy.S3_PUBLIC_ENDPOINT.length);
        return ask(proxy, path, { host: hosts.objects, method, ...asked });
      };
      const put = await askStore('PUT', { body, headers: { 'Content-Type': 'text/plain', ...encoding } });
      expect(put.status, String(put.body)).toBe(200);
      for (const headers of [{}, { 'Accept-Encoding': 'gzip' }]) {
        const got = await askStore('GET', { headers });
        expect(got.headers).toMatchObject({ etag: put.headers.etag, 'content-length': String(body.length) });
        expect(got.body.equals(body)).toBe(true);
      }
    });

    describe('with no process behind it', () => {
      beforeAll(() => stopService(service));

      test('writes no URL into its log', async () => {
        const { status } = await ask(proxy, '/api/storage/archives/secret');
        expect(status).toBeGreaterThanOrEqual(502);
        await expect.poll(() => proxy.output()).toMatch(new RegExp(`GET ${status}|"status":${status}`));
        expect(proxy.output()).not.toMatch(/api\/storage/);
      });

      test.runIf(name === 'haproxy')('answers in JSON', async () => {
        const refused = await ask(proxy, '/api/storage/list');
        expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2']);
        expect(read(refused)).toMatchObject({ code: 'not_ready', status: 503 });
      });
    });
  });
}

function read({ body }: Answer) {
  return JSON.parse(String(body));
}

function toDigest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** How much of uploads in progress the embedded store has. */
function incomingBytes({ CADIZ_DATA_DIR = '' }: Settings): number {
  const incoming = join(CADIZ_DATA_DIR, 'objects/incoming');
  if (!existsSync(incoming)) return 0;
  const sizes = readdirSync(incoming, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}
