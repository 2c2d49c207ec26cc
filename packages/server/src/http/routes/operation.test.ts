import { errorCatalogue } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send, startTestService, type TestService } from '../../../test/service.ts';
import { createApp, handlers } from '../app.ts';
import { fromFetch } from '../fetch.ts';
import { listen } from '../listen.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

type Deps = TestService['deps'];

/** The service with some of its parts as they are when something is wrong. */
async function askReady(change: Partial<Deps>) {
  const response = await createApp({ ...service.deps, ...change }).fetch(new Request('http://localhost/readyz'));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('GET /livez and GET /readyz answer anybody while all is well', async () => {
  expect((await service.call('GET', '/livez')).body).toEqual({ status: 'ok' });
  expect((await service.call('GET', '/readyz')).body).toEqual({
    status: 'ready',
    dependencies: { database: { status: 'up' }, objectStore: { status: 'up' } },
  });
});

test('GET / says what this is', async () => {
  const { body } = await service.call('GET', '/');
  expect(body).toEqual({
    name: 'cadiz',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    openapi: 'http://localhost:4000/openapi.json',
  });
});

test('a dependency that is down is named, and the service recovers by itself', async () => {
  let down = true;
  const check = async () => {
    if (down) throw new Error('connect ECONNREFUSED db.internal:5432 as cadiz');
  };
  const db = { ...service.deps.db, check };
  const objects = { ...service.deps.objects, check };

  const one = await askReady({ db });
  expect(one).toMatchObject({ status: 503, body: { code: 'not_ready', detail: 'Down: database.' } });
  expect(JSON.stringify(one)).not.toContain('internal:5432');
  expect(await askReady({ objects })).toMatchObject({
    status: 503,
    body: { dependencies: { database: { status: 'up' }, objectStore: { status: 'down' } } },
  });
  expect((await askReady({ db, objects })).body.detail).toBe('Down: database, objectStore.');
  down = false;
  expect((await askReady({ db, objects })).status).toBe(200);
});

test('a dependency that hangs is down', async () => {
  const db = { ...service.deps.db, check: () => new Promise<void>(() => undefined) };
  expect(await askReady({ db })).toMatchObject({ status: 503, body: { detail: 'Down: database.' } });
});

test('while the service stops it is not ready, but alive', async () => {
  const draining = () => true;
  expect(await askReady({ draining })).toMatchObject({
    status: 503,
    body: { code: 'not_ready', detail: 'The service is stopping.', dependencies: { database: { status: 'up' } } },
  });
  const live = await createApp({ ...service.deps, draining }).fetch(new Request('http://localhost/livez'));
  expect(live.status).toBe(200);
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
    for (const path of ['/openapi.json', '/errors/not_found', '/', '/livez']) {
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
