import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { errorCatalogue } from '@cadiz/contract';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { send, startTestService, type TestService } from '../../../test/service.ts';
import { createS3Store } from '../../store/s3-store.ts';
import { createHealth } from '../../telemetry/health.ts';
import { logOptions } from '../../telemetry/log.ts';
import { version } from '../../telemetry/version.ts';
import { createApp, handlers } from '../app.ts';
import { fromFetch } from '../fetch.ts';
import { listen } from '../listen.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

type Deps = TestService['deps'];

/** The service with some of its parts in a state of failure. */
async function ask(path: string, change: Partial<Deps>) {
  const response = await createApp({ ...service.deps, ...change }).fetch(new Request(`http://localhost${path}`));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Health with a database that does this when it is asked. */
function healthWith(check: () => Promise<void>, log = service.deps.log): Deps['health'] {
  return createHealth({ database: { check }, objectStore: { check: async () => undefined } }, log);
}

const healthy = { database: { status: 'healthy' }, objectStore: { status: 'healthy' } };
const databaseDown = { ...healthy, database: { status: 'down', detail: 'does not answer' } };

test('GET /livez, /readyz and /healthz answer anybody while all is well', async () => {
  expect((await service.call('GET', '/livez')).body).toEqual({ status: 'ok', version });
  expect((await service.call('GET', '/readyz')).body).toEqual({ status: 'ready', dependencies: healthy });
  expect((await service.call('GET', '/healthz')).body).toEqual({ status: 'healthy', dependencies: healthy });
});

test('GET / says what this is', async () => {
  const { body } = await service.call('GET', '/');
  expect(body).toEqual({
    name: 'cadiz',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    openapi: 'http://localhost:4000/openapi.json',
  });
});

test('a dependency that is down is named, does not make the process unready, and recovers by itself', async () => {
  let down = true;
  const database = async () => {
    if (down) throw new Error('connect ECONNREFUSED db.internal:5432 as cadiz');
  };
  const health = healthWith(database);
  const found = await ask('/healthz', { health });
  expect(found).toMatchObject({
    status: 503,
    body: { code: 'dependency_down', detail: 'Down: database.', dependencies: databaseDown },
  });
  expect(JSON.stringify(found)).not.toContain('internal:5432');
  expect(await ask('/readyz', { health })).toEqual({
    status: 200,
    body: { status: 'ready', dependencies: databaseDown },
  });
  down = false;
  await expect.poll(() => ask('/healthz', { health })).toMatchObject({ status: 200, body: { dependencies: healthy } });
});

test('a dependency that hangs is down, and holds up nobody who asks whether the process is ready', async () => {
  const health = healthWith(() => new Promise<void>(() => undefined));
  const looking = ask('/healthz', { health });
  // The last known state, until the check has finished.
  expect(await ask('/readyz', { health })).toEqual({ status: 200, body: { status: 'ready', dependencies: healthy } });
  expect(await looking).toMatchObject({ status: 503, body: { detail: 'Down: database.' } });
  expect(await ask('/readyz', { health })).toMatchObject({ status: 200, body: { dependencies: databaseDown } });
});

test.each([
  ['301', 301, {}, '', 'answers 301'],
  [
    '403 and a code',
    403,
    {},
    '<Error><Code>AccessDenied</Code><Message>for arn:aws:iam::1:user/x</Message></Error>',
    'answers 403 (AccessDenied)',
  ],
  ['403 and what is no code', 403, {}, '<Error><Code>no entry for s3.internal</Code></Error>', 'answers 403'],
  ['503', 503, {}, 'no backend for s3.internal', 'answers 503'],
  ['200 and a page', 200, { 'content-type': 'text/html' }, '<html></html>', 'answers, but not as an object store does'],
  [
    '200 and a listing that has the type of a page',
    200,
    { 'content-type': 'text/html' },
    '<ListBucketResult></ListBucketResult>',
    undefined,
  ],
])(
  'an object store that answers %s is told apart from one that does not answer',
  async (_, code, headers, text, detail) => {
    const server = createServer((_request, response) => response.writeHead(code, headers).end(text));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const objects = createS3Store({ ...service.deps.storeSettings, endpoint }, Date.now);
    onTestFinished(() => {
      objects.close();
      server.close();
    });
    const health = createHealth({ database: { check: async () => undefined }, objectStore: objects }, service.deps.log);
    const objectStore = detail === undefined ? { status: 'healthy' } : { status: 'down', detail };
    const { status, body } = await ask('/healthz', { health });
    expect([status, body.dependencies]).toEqual([detail === undefined ? 200 : 503, { ...healthy, objectStore }]);
  },
);

test('a folder of this process that takes no writes makes it unready, and leaves what it holds available', async () => {
  const check = async () => undefined;
  const health = createHealth(
    { database: { check, folder: '/proc' }, objectStore: { check, folder: tmpdir() } },
    service.deps.log,
  );
  const dependencies = {
    ...healthy,
    database: {
      status: 'available',
      detail: expect.stringMatching(/^its disk (?:is full|accepts no writes \(E[A-Z]+\))$/),
    },
  };
  expect(await ask('/healthz', { health })).toEqual({ status: 200, body: { status: 'available', dependencies } });
  expect(await ask('/readyz', { health })).toMatchObject({
    status: 503,
    body: { code: 'not_ready', detail: 'The service cannot write to its own disk: database.', dependencies },
  });
});

test('while the service stops it is not ready, but alive, and says what it depends on', async () => {
  const draining = () => true;
  expect(await ask('/readyz', { draining })).toMatchObject({
    status: 503,
    body: { code: 'not_ready', detail: 'The service is stopping.', dependencies: healthy },
  });
  expect((await ask('/livez', { draining })).status).toBe(200);
  expect((await ask('/healthz', { draining })).status).toBe(200);
});

test('what changes is logged once, however often it is asked for', async () => {
  const lines: string[] = [];
  const log = pino({ ...logOptions }, { write: (line) => void lines.push(line) });
  let down = false;
  let now = 0;
  const check = async () => {
    if (down) throw new Error('connection refused');
  };
  const health = createHealth({ database: { check }, objectStore: { check: async () => undefined } }, log, () => now);
  const askBoth = async () => {
    now += 10_000;
    for (const path of ['/readyz', '/healthz']) await ask(path, { health, log });
  };
  for (down of [false, false, true, true, true, false, false]) await askBoth();
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, dependency: 'database', status: 'down', error: expect.anything() }),
    expect.objectContaining({ level: 30, dependency: 'database', msg: 'A dependency is healthy again' }),
  ]);
});

test('a clock that differs from that of the store is named and logged once, and nothing is down because of it', async () => {
  const lines: string[] = [];
  const log = pino({ ...logOptions }, { write: (line) => void lines.push(line) });
  let now = 0;
  let aheadSeconds = 0;
  const objects = createS3Store(service.deps.storeSettings, () => Date.now() + aheadSeconds * 1000);
  onTestFinished(() => objects.close());
  const objectStore = { check: objects.check, findWarning: objects.clockWarning };
  const health = createHealth({ database: { check: async () => undefined }, objectStore }, log, () => now);
  const warningOf = async (seconds: number) => {
    aheadSeconds = seconds;
    now += 10_000;
    const { status, body } = await ask('/healthz', { health, log });
    expect([status, body.status]).toEqual([200, 'healthy']);
    expect((await ask('/readyz', { health, log })).status).toBe(200);
    return (body.dependencies as Record<string, { detail?: string }>).objectStore?.detail;
  };
  const behind = expect.stringContaining('behind that of the store: URLs expire early');
  expect(await warningOf(0)).toBeUndefined();
  expect(await warningOf(-50)).toBeUndefined();
  // Clocks drift to and fro.
  for (const seconds of [-600, -65, -55, -65]) expect(await warningOf(seconds)).toEqual(behind);
  expect(await warningOf(-5)).toBeUndefined();
  expect(await warningOf(300)).toContain('ahead of that of the store: URLs last longer');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, dependency: 'objectStore', status: 'healthy', detail: behind }),
    expect.objectContaining({ level: 30, dependency: 'objectStore' }),
    expect.objectContaining({ level: 40, dependency: 'objectStore', status: 'healthy' }),
  ]);
});

describe('an answer that is the same for everybody', () => {
  const paths = ['/openapi.json', ...Object.keys(errorCatalogue).map((code) => `/errors/${code}`)];

  test('is made once, however often it is asked for', () => {
    for (const path of paths) {
      const ask = () => {
        const exchange = fromFetch(new Request(`http://localhost${path}`));
        const code = path.split('/')[2];
        if (code === undefined) return handlers.openapi(service.deps, exchange);
        return handlers.errorPage(service.deps, { ...exchange, params: { code } });
      };
      expect(ask()).toBe(ask());
    }
  });

  test('is sent in one piece, with its length', async () => {
    const listening = await listen(createApp(service.deps), '127.0.0.1', 0);
    for (const path of ['/openapi.json', '/errors/not_found', '/livez']) {
      const answer = await send('GET', `http://127.0.0.1:${listening.port}${path}`);
      expect([path, answer.status, Number(answer.headers['content-length'])]).toEqual([
        path,
        200,
        Buffer.byteLength(answer.text),
      ]);
      expect(answer.headers['cache-control']).toBe('no-store');
      const head = await send('HEAD', `http://127.0.0.1:${listening.port}${path}`);
      expect([head.headers['content-length'], head.text]).toEqual([answer.headers['content-length'], '']);
    }
    await listening.close(0);
  });
});
