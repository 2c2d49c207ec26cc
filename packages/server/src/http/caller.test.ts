import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../test/service.ts';

const ownUrl = 'https://media.example.com';

let service: TestService;
let ada: Person;
let projectId: string;
let key: string;

beforeAll(async () => {
  service = await startTestService({ settings: { CADIZ_PUBLIC_URL: ownUrl } });
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  ({ key } = await service.createKey(ada, projectId));
});
afterAll(() => service.close());

const origins: Record<string, string | undefined> = {
  absent: undefined,
  'the public address': ownUrl,
  // Under DNS rebinding, Origin and Host carry the same name.
  'the host that was asked': 'https://rebound.example.net:8443',
  'another site': 'https://evil.example.com',
  'a name that begins like ours': 'https://media.example.com.evil.example.com',
  'our host on another port': 'https://media.example.com:444',
  'our host without TLS': 'http://media.example.com',
  null: 'null',
  nonsense: 'media.example.com',
};

const yes = 200;
const no = '403 cross_site_request';

/** The answer to a state-changing request with a cookie, by Sec-Fetch-Site and Origin. */
// biome-ignore format: a table is read by its columns
const expected: Record<string, (string | number)[]> = {
  // Origin:       absent ours host other prefix port http null nonsense
  absent:        [yes,   yes, no,  no,   no,    no,  no,  no,  no],
  'same-origin': [yes,   yes, yes, yes,  yes,   yes, yes, yes, yes],
  none:          [yes,   yes, yes, yes,  yes,   yes, yes, yes, yes],
  'same-site':   [no,    no,  no,  no,   no,    no,  no,  no,  no],
  'cross-site':  [no,    no,  no,  no,   no,    no,  no,  no,  no],
  '':            [no,    no,  no,  no,   no,    no,  no,  no,  no],
};

const cells = Object.entries(expected).flatMap(([site, row]) =>
  Object.keys(origins).map((origin, column) => [site, origin, row[column]] as const),
);

function headersOf(site: string, origin: string): Record<string, string> {
  const value = origins[origin];
  return {
    Host: 'rebound.example.net:8443',
    ...(site === 'absent' ? {} : { 'Sec-Fetch-Site': site }),
    ...(value === undefined ? {} : { Origin: value }),
  };
}

async function outcome(answer: ReturnType<TestService['call']>): Promise<string | number> {
  const { status, body } = await answer;
  return status === 200 ? 200 : `${status} ${body.code}`;
}

describe.each(cells)('Sec-Fetch-Site %s, Origin %s: %s', (site, origin, wanted) => {
  test('with a cookie', async () => {
    const headers = headersOf(site, origin);
    expect(await outcome(service.call('POST', '/api/projects', { as: ada, headers, body: { name: 'P' } }))).toBe(
      wanted,
    );
    const body = { projectId, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null };
    expect(await outcome(service.call('POST', '/api/storage/presign', { as: ada, headers, body }))).toBe(wanted);
  });

  test('reading is never refused, nor is a key, with which no browser can be tricked', async () => {
    const headers = headersOf(site, origin);
    expect(await outcome(service.call('GET', '/api/projects', { as: ada, headers }))).toBe(200);
    const list = `/api/storage/list?projectId=${projectId}`;
    expect(await outcome(service.call('GET', list, { as: ada, headers }))).toBe(200);
    const body = { projectId, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null };
    expect(await outcome(service.call('POST', '/api/storage/presign', { key, headers, body }))).toBe(200);
    expect(await outcome(service.call('POST', '/api/storage/presign', { key, as: ada, headers, body }))).toBe(200);
  });
});

describe('a service on loopback', () => {
  test.each<[string, string, string | number]>([
    ['its own address', 'http://localhost:4000', yes],
    ['the same machine by IPv4', 'http://127.0.0.1:4000', yes],
    ['the same machine by IPv6', 'http://[::1]:4000', yes],
    ['another port of it', 'http://localhost:4001', no],
    ['another port by IPv4', 'http://127.0.0.1:4001', no],
    ['another protocol', 'https://localhost:4000', no],
    ['a name below it', 'http://sub.localhost:4000', no],
    ['a name that was pointed here (DNS rebinding)', 'http://rebound.example:4000', no],
    ['an address of the network', 'http://192.0.2.1:4000', no],
  ])('takes %s (%s) for what it is: %s', async (_what, origin, wanted) => {
    const local = await startTestService({ beside: service });
    const bob = await local.signUp('Bob');
    const headers = { Host: new URL(origin).host, Origin: origin };
    expect(await outcome(local.call('POST', '/api/projects', { as: bob, headers, body: { name: 'P' } }))).toBe(wanted);
    const signIn = { email: bob.email, password: 'correct horse battery' };
    expect(await outcome(local.call('POST', '/api/auth/sign-in/email', { headers, body: signIn }))).toBe(wanted);
    await local.close();
  });

  test('is the same machine to itself only: elsewhere, loopback is another site', async () => {
    const headers = { Host: 'localhost:4000', Origin: 'http://localhost:4000' };
    expect(await outcome(service.call('POST', '/api/projects', { as: ada, headers, body: { name: 'P' } }))).toBe(no);
  });
});

test.each([
  ['POST', '/api/projects', { name: 'P' }],
  ['PATCH', '/api/projects/{projectId}', { name: 'P' }],
  ['DELETE', '/api/projects/{projectId}', undefined],
  ['POST', '/api/api-keys', { name: 'K', projectId: null }],
  ['DELETE', '/api/api-keys/01990000-0000-7000-8000-000000000000', undefined],
  ['POST', '/api/storage/presign', {}],
  ['POST', '/api/storage/record', {}],
  ['POST', '/api/storage/folders', {}],
  ['POST', '/api/auth/sign-out', undefined],
  // Signing a victim in as the attacker is an attack as well, and needs no cookie.
  ['POST', '/api/auth/sign-in/email', { email: 'a@example.com', password: 'x' }],
  ['POST', '/api/auth/sign-up/email', { name: 'E', email: 'e@example.com', password: 'correct horse battery' }],
])('%s %s from another site is refused, and ends or makes no session', async (method, path, body) => {
  const answer = await service.call(method, path.replace('{projectId}', projectId), {
    as: ada,
    headers: { 'Sec-Fetch-Site': 'cross-site' },
    body,
  });
  expect([answer.status, answer.body.code]).toEqual([403, 'cross_site_request']);
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect((await service.call('GET', '/api/projects', { as: ada })).status).toBe(200);
});

test('no answer lets another site read it', async () => {
  for (const Origin of ['https://evil.example.com', ownUrl, 'null']) {
    const answer = await service.call('GET', '/api/projects', { as: ada, headers: { Origin } });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  }
});

describe('the credential', () => {
  const list = () => `/api/storage/list?projectId=${projectId}`;

  test.each(['', 'Bearer', 'Bearer a b', 'Basic Og==', 'KEY', 'xBearer KEY', 'Bearer KEY x'])(
    'Authorization: %s is not accepted, and a session does not make up for it',
    async (text) => {
      const Authorization = text.replace('KEY', key);
      const answer = await service.call('GET', list(), { as: ada, headers: { Authorization } });
      expect([answer.status, answer.body.code]).toEqual([401, 'invalid_api_key']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    },
  );

  test('of a person is a session, and never beside a key', async () => {
    expect(await outcome(service.call('GET', '/api/projects', { key }))).toBe('401 session_required');
    expect(await outcome(service.call('GET', '/api/projects', { key, as: ada }))).toBe('401 session_required');
    expect(await outcome(service.call('GET', '/api/projects', { as: ada }))).toBe(200);
  });

  test('that is missing is told before the site is asked for; HEAD is reading, as GET is', async () => {
    const headers = { 'Sec-Fetch-Site': 'cross-site' };
    expect(await outcome(service.call('POST', '/api/projects', { headers, body: { name: 'P' } }))).toBe(
      '401 session_required',
    );
    expect((await service.call('HEAD', '/api/projects', { as: ada, headers })).status).toBe(200);
  });

  test('of a program, sent by a page, is warned of in every answer, and once in the log', async () => {
    const { id, key: shown } = await service.createKey(ada, projectId);
    const warned = () =>
      service
        .logged()
        .split('\n')
        .filter((line) => line.includes(id) && line.includes('by a browser'));
    expect((await service.call('GET', list(), { key: shown })).headers.get('cadiz-warning')).toBeNull();
    expect(warned()).toEqual([]);
    const headers = { Origin: 'https://app.example.com' };
    for (let n = 0; n < 2; n += 1) {
      const answer = await service.call('GET', list(), { key: shown, headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cadiz-warning')).toContain('everybody who opens that page can take it');
    }
    expect(warned()).toHaveLength(1);
    expect(JSON.parse(warned()[0] ?? '')).toMatchObject({ keyId: id, origin: 'https://app.example.com' });
  });
});
