import { type OperationId, type Route, routes, takesKeys, takesTickets } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../test/service.ts';
import { createApp } from './app.ts';

const all = Object.entries(routes) as [OperationId, Route][];
/** The code of a request without a credential. */
const noCredential = (route: Route) => (takesKeys(route) ? 'invalid_api_key' : 'invalid_ticket');
const bearer = all.filter(([, route]) => takesKeys(route) || takesTickets(route));
/** Those that anybody opens, from pages of any origin. */
const files: OperationId[] = ['openLink', 'openImage'];
const others = all.filter((one) => !bearer.includes(one) && !files.includes(one[0]));
const id = '01990000-0000-7000-8000-000000000000';
const pathOf = ({ path }: Route) => path.replaceAll('{code}', 'not_found').replaceAll(/\{\w+\}/g, id);

let service: TestService;
let overTls: TestService;
let ada: Person;
let key: string;
let keyId: string;

beforeAll(async () => {
  service = await startTestService();
  overTls = await startTestService({ beside: service, settings: { CADIZ_PUBLIC_URL: 'https://media.example.com' } });
  ada = await service.signUp();
  ({ id: keyId, key } = await service.createKey(ada, await service.createProject(ada)));
});
afterAll(async () => {
  await overTls.close();
  await service.close();
});

function ask(route: Route, headers: Record<string, string> = {}, of = service): Promise<Answer> {
  // Ada stays signed in.
  const { Cookie: _, ...withoutCookie } = headers;
  const sent = route === routes.signOut ? withoutCookie : headers;
  return of.call(route.method, pathOf(route), { headers: sent, ...(route.body ? { body: {} } : {}) });
}

/** The protective headers of an answer, without those that differ between answers. */
function protectionOf({ headers }: Answer): Record<string, string> {
  const names = ['cache-control', 'referrer-policy', 'strict-transport-security', 'x-content-type-options'];
  return Object.fromEntries(
    [...headers].filter(([name]) => names.includes(name) || /^(?:content-security|cross-origin|x-frame)/.test(name)),
  );
}

const protection = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
const html = { ...protection, 'cross-origin-opener-policy': 'same-origin' };
const hsts = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };

describe('headers that protect (checklist 20, 21, 22, 23, 24)', () => {
  test.each(all)('%s: of every answer, without a credential, with a session and with a key', async (_id, route) => {
    const wanted = route.answerType === 'text/html' ? html : protection;
    for (const headers of [{}, { Cookie: ada.cookie }, { Authorization: `Bearer ${key}` }]) {
      expect(protectionOf(await ask(route, headers))).toEqual(wanted);
    }
  });

  test.each(all)('%s: HSTS when the public address is https, and only then (checklist 22)', async (_id, route) => {
    const wanted = route.answerType === 'text/html' ? html : protection;
    expect(protectionOf(await ask(route, {}, overTls))).toEqual({ ...wanted, ...hsts });
  });

  test.each([
    ['what is not there', 'GET', '/nothing', {}, 404],
    ['a wrong method', 'TRACY', '/api/projects', {}, 405],
    ['a body that is too large', 'POST', '/api/projects', { 'Content-Length': '99999999' }, 413],
    ['a body that is no JSON', 'POST', '/api/auth/sign-in/email', { 'Content-Type': 'text/plain' }, 415],
    ['a success', 'GET', '/livez', {}, 200],
  ])('%s', async (_what, method, path, headers, status) => {
    const answer = await overTls.call(method, path, { headers, ...(method === 'POST' ? { body: '{}' } : {}) });
    expect([answer.status, protectionOf(answer)]).toEqual([status, { ...protection, ...hsts }]);
  });

  test('bytes that are no HTTP', () => {
    const { headers } = createApp(overTls.deps).refuse(new Error('Parse Error'));
    const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : [])) as [
      string,
      string,
    ][];
    expect(protectionOf({ headers: new Headers(pairs) } as Answer)).toEqual({ ...protection, ...hsts });
  });

  test('a page has no script, no style and no handler in it (checklist 21)', async () => {
    const { text } = await service.call('GET', '/errors/invalid_request');
    expect(text).toContain('<h1>');
    expect(text).not.toMatch(/<script|<style|\son\w+=|\sstyle=|javascript:/i);
  });
});

const origins = ['https://app.example.com', 'http://localhost:4000', 'http://127.0.0.1:3000', 'null'];
const preflight = (Origin: string, method: string) => ({
  Origin,
  'Access-Control-Request-Method': method,
  'Access-Control-Request-Headers': 'authorization,content-type',
});

const allowed = 'Authorization, Content-Type, If-Match, If-None-Match, If-Range, Last-Event-ID, Range, Traceparent';

/** The headers by which a browser decides what a page of another origin may do. */
const corsOf = ({ headers }: Answer) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

describe('other origins: any may use a key, none a cookie (T19, checklist 19)', () => {
  describe.each(origins)('%s', (Origin) => {
    test.each(bearer)('%s, which takes a key, can be read', async (_id, route) => {
      for (const headers of [{}, { Authorization: `Bearer ${key}` }, { Cookie: ada.cookie }]) {
        expect(corsOf(await ask(route, { Origin, ...headers }))).toEqual({
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Cadiz-Warning',
        });
      }
    });

    test.each(bearer)('%s, which takes a key, may be asked for', async (_id, route) => {
      const answer = await service.call('OPTIONS', pathOf(route), { headers: preflight(Origin, route.method) });
      expect([answer.status, answer.text]).toEqual([204, '']);
      const { 'access-control-allow-methods': methods, ...rest } = corsOf(answer);
      expect(methods?.split(', ')).toContain(route.method);
      expect(rest).toEqual({
        'access-control-allow-origin': '*',
        'access-control-allow-headers': allowed,
        'access-control-max-age': '7200',
      });
      expect(protectionOf(answer)).toEqual(protection);
    });

    test.each(files)('%s, which needs none, can be read and asked for, also when it fails', async (id) => {
      const path = pathOf(routes[id]);
      for (const headers of [{}, { Origin }]) {
        const answer = await service.call('GET', path, { headers });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(corsOf(answer)).toEqual({
          'access-control-allow-origin': '*',
          'access-control-expose-headers':
            'X-Request-Id, Retry-After, Accept-Ranges, Content-Disposition, Content-Range, ETag',
        });
      }
      const headers = { ...preflight(Origin, 'GET'), 'Access-Control-Request-Headers': 'if-none-match,range' };
      const answer = await service.call('OPTIONS', path, { headers });
      expect([answer.status, corsOf(answer)]).toEqual([
        204,
        {
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET',
          'access-control-allow-headers': allowed,
          'access-control-max-age': '7200',
        },
      ]);
    });

    test.each(others)('%s, which takes none, has no such header, nor may be asked for', async (_id, route) => {
      for (const headers of [{}, { Authorization: `Bearer ${key}` }, { Cookie: ada.cookie }]) {
        expect(corsOf(await ask(route, { Origin, ...headers }))).toEqual({});
      }
      const answer = await service.call('OPTIONS', pathOf(route), { headers: preflight(Origin, route.method) });
      expect([answer.status, corsOf(answer)]).toEqual([405, {}]);
    });
  });

  test('without an origin there is no such header, and OPTIONS alone is no preflight', async () => {
    for (const [, route] of bearer) expect(corsOf(await ask(route))).toEqual({});
    for (const headers of [{}, { Origin: 'https://app.example.com' }, { 'Access-Control-Request-Method': 'POST' }]) {
      const answer = await service.call('OPTIONS', '/api/storage/presign', { headers });
      expect([answer.status, answer.headers.get('allow'), corsOf(answer)]).toEqual([405, 'POST', {}]);
    }
  });

  test('no answer allows credentials, nor names an origin', async () => {
    for (const [, route] of all) {
      const { headers } = await ask(route, { Origin: 'https://app.example.com', Cookie: ada.cookie });
      expect(headers.has('access-control-allow-credentials')).toBe(false);
      expect(headers.get('access-control-allow-origin') ?? '*').toBe('*');
    }
  });
});

describe('a key in a browser', () => {
  const warnings = () =>
    service
      .logged()
      .split('\n')
      .filter((line) => line.includes('sent by a browser'));

  test('is warned of: with every answer, and once in the log, without the key', async () => {
    const Origin = 'https://app.example.com';
    const before = warnings().length;
    const { id: otherId, key: other } = await service.createKey(ada, null);
    for (const token of [other, other, other]) {
      const { headers } = await service.call('GET', '/api/storage/list', { key: token, headers: { Origin } });
      expect(headers.get('cadiz-warning')).toMatch(/^An API key was sent by a browser/);
    }
    const logged = warnings().slice(before);
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({ level: 40, keyId: otherId, origin: Origin });
    expect(logged[0]).not.toContain(other);
  });

  test('there is no warning without an origin, nor about an invalid key', async () => {
    const before = warnings().length;
    const quiet = await service.call('GET', '/api/storage/list', { key });
    const none = await service.call('GET', '/api/storage/list', { key: 'x', headers: { Origin: 'null' } });
    for (const { headers } of [quiet, none]) expect(headers.has('cadiz-warning')).toBe(false);
    expect(
      warnings()
        .slice(before)
        .filter((line) => line.includes(keyId)),
    ).toEqual([]);
  });
});

describe('a key anywhere but in its header (checklist 35)', () => {
  const names = ['key', 'apiKey', 'api_key', 'token', 'access_token', 'authorization', 'bearer', 'X-Api-Key'];

  test.each(bearer)('%s: 401 with the key in the query, in another header or in a cookie', async (_id, route) => {
    const bodyless = { ...(route.body ? { body: {} } : {}) };
    for (const name of names) {
      for (const value of [key, `Bearer ${key}`]) {
        const query = new URLSearchParams({ [name]: value, projectId: id });
        const answer = await service.call(route.method, `${pathOf(route)}?${query}`, bodyless);
        expect([name, answer.status, answer.body.code]).toEqual([name, 401, noCredential(route)]);
        expect(answer.text).not.toContain(key);
      }
    }
    for (const headers of [
      { 'X-Api-Key': key },
      { Cookie: `key=${key}` },
      { Authorization: `Basic ${key}` },
      { Authorization: key },
    ]) {
      const answer = await service.call(route.method, pathOf(route), { ...bodyless, headers });
      expect([answer.status, answer.body.code]).toEqual([401, noCredential(route)]);
    }
  });

  test('the same key in its header is accepted', async () => {
    expect((await service.call('GET', '/api/storage/list?projectId=x', { key })).status).toBe(400);
  });
});

describe('a body that is no JSON (checklist 18)', () => {
  test.each(all.filter(([, { body, anyMediaType }]) => body && !anyMediaType))(
    '%s: 415, whoever asks',
    async (_id, route) => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
        for (const headers of [{ Cookie: ada.cookie }, { Authorization: `Bearer ${key}` }]) {
          const answer = await service.call(route.method, pathOf(route), {
            body: '{"name":"x"}',
            headers: { 'Content-Type': type, ...headers },
          });
          // An operation that is switched off ignores the body.
          if (answer.body.code === 'sign_in_method_off') continue;
          // A caller without access is not told what the body should be.
          const wanted = 'Authorization' in headers && ['session', 'serviceOwner'].includes(route.access) ? 401 : 415;
          expect([type, answer.status]).toEqual([type, wanted]);
        }
      }
    },
  );
});
