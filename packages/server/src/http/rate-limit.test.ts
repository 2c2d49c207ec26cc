import { errorsOf, type OperationId, type Route, routes } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type CallOptions, type Person, startTestService, type TestService } from '../../test/service.ts';
import { apiKeyTokens } from '../access/api-key-token.ts';

const limits = {
  RATE_LIMITS: 'on',
  RATE_LIMIT_UPLOADS: '5',
  RATE_LIMIT_READS: '6',
  RATE_LIMIT_CHANGES: '7',
  RATE_LIMIT_ADDRESS: '8',
  RATE_LIMIT_INVALID_KEYS: '4',
};

let base: TestService;
let ada: Person;
let projectId: string;
const limited: TestService[] = [];

beforeAll(async () => {
  base = await startTestService();
  ada = await base.signUp();
  projectId = await base.createProject(ada);
});
afterAll(async () => {
  for (const service of limited) await service.close();
  await base.close();
});

/** A service of its own, with no requests counted yet and the data of the first. */
async function startLimited(settings: Record<string, string> = {}): Promise<TestService> {
  const service = await startTestService({ beside: base, settings: { ...limits, ...settings } });
  limited.push(service);
  return service;
}

const presign = (service: TestService, options: CallOptions) =>
  service.call('POST', '/api/storage/presign', {
    body: { projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null },
    ...options,
  });
const list = (service: TestService, options: CallOptions) =>
  service.call('GET', `/api/storage/list?projectId=${projectId}`, options);
const change = (service: TestService, options: CallOptions) =>
  service.call('POST', '/api/storage/folders', { body: {}, ...options });

/** Each service signs its cookies with its own secret. */
async function signIn(service: TestService, { id, email }: Person): Promise<Person> {
  const { headers } = await service.call('POST', '/api/auth/sign-in/email', {
    body: { email, password: 'correct horse battery' },
  });
  const cookies = headers.getSetCookie().map((line) => line.split(';')[0]);
  return { id, email, cookie: cookies.join('; ') };
}

async function statusesOf(times: number, ask: () => Promise<Answer>): Promise<(number | string)[]> {
  const statuses = [];
  for (let i = 0; i < times; i += 1) {
    const { status, body } = await ask();
    statuses.push(status === 429 ? body.code : status);
  }
  return statuses;
}

const repeat = (times: number, value: number | string) => Array.from({ length: times }, () => value);

describe('limits of a key and of a session', () => {
  test('a batch counts once for each entry, and one that does not fit counts as one request', async () => {
    const service = await startLimited();
    const caller = { key: (await base.createKey(ada, projectId)).key };
    const file = { fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null };
    const presignMany = (count: number, more: object = {}) =>
      service.call('POST', '/api/storage/presign/batch', {
        ...caller,
        body: { projectId, files: Array(count).fill({ ...file, ...more }) },
      });
    // As a single request does, an invalid entry counts.
    const three = await presignMany(3, { fileSize: -1 });
    expect([three.status, three.headers.get('ratelimit')?.slice(0, 13)]).toEqual([200, '"uploads";r=2']);
    const refused = await presignMany(3);
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('ratelimit')).toMatch(/^"uploads";r=1;t=\d+$/);
    expect(await statusesOf(2, () => presign(service, caller))).toEqual([200, 'rate_limited']);
  });

  test('ensuring folders counts once for each folder that it may create, and creates none if they do not fit', async () => {
    const service = await startLimited();
    const project = await base.createProject(ada);
    const caller = { key: (await base.createKey(ada, project)).key };
    const ensure = (...paths: string[]) =>
      service.call('POST', '/api/storage/folders/ensure', {
        ...caller,
        body: { projectId: project, parentId: null, paths },
      });
    const left = async (answer: Promise<Answer>) => (await answer).headers.get('ratelimit')?.slice(0, 13);
    expect(await left(ensure('a/b/c', 'a/b/d', 'a'))).toBe('"changes";r=3');
    const refused = await ensure('e/f/g/h');
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    const listed = await base.call('GET', `/api/storage/list?projectId=${project}`, { as: ada });
    expect(listed.body.folders).toHaveLength(4);
    expect(await left(ensure('a/b'))).toBe('"changes";r=0');
  });

  test.each([
    ['uploads', 5, presign, 200],
    ['reads', 6, list, 200],
    ['changes', 7, change, 400],
  ] as const)('%s: %i a minute, then 429, and each has its own', async (policy, limit, ask, status) => {
    const service = await startLimited();
    const [first, second] = [await base.createKey(ada, projectId), await base.createKey(ada, projectId)];
    for (const caller of [{ key: first.key }, { key: second.key }, { as: await signIn(service, ada) }]) {
      expect(await statusesOf(limit + 2, () => ask(service, caller))).toEqual([
        ...repeat(limit, status),
        ...repeat(2, 'rate_limited'),
      ]);
      const refused = await ask(service, caller);
      const reset = Number(refused.headers.get('retry-after'));
      expect(reset).toBeGreaterThan(0);
      expect(reset).toBeLessThanOrEqual(60);
      expect(refused.headers.get('ratelimit')).toBe(`"${policy}";r=0;t=${reset}`);
      expect(refused.headers.get('ratelimit-policy')).toBe(`"${policy}";q=${limit};w=60`);
    }
    // Using up one kind leaves the others unaffected.
    const other = ask === list ? presign : list;
    expect((await other(service, { key: first.key })).status).toBe(200);
  });

  test('two sessions of one person are counted apart', async () => {
    const service = await startLimited();
    const [first, second] = [await signIn(service, ada), await signIn(service, ada)];
    await statusesOf(6, () => service.call('GET', '/api/projects', { as: first }));
    expect((await service.call('GET', '/api/projects', { as: first })).status).toBe(429);
    expect((await service.call('GET', '/api/projects', { as: second })).status).toBe(200);
  });

  test('every answer says what is left, as structured fields (RFC 9651)', async () => {
    const service = await startLimited();
    const { key } = await base.createKey(ada, projectId);
    for (const remaining of [4, 3, 2, 1, 0]) {
      const { headers } = await presign(service, { key });
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"uploads";r=${remaining};t=(60|5\\d)$`));
      expect(headers.get('ratelimit-policy')).toBe('"uploads";q=5;w=60');
      expect(headers.has('retry-after')).toBe(false);
    }
  });

  test('nothing happens for a refused request', async () => {
    const service = await startLimited({ RATE_LIMIT_CHANGES: '1' });
    const as = await signIn(service, ada);
    const create = (name: string) => service.call('POST', '/api/projects', { as, body: { name } });
    expect((await create('taken')).status).toBe(200);
    expect((await create('refused')).status).toBe(429);
    const { body } = await base.call('GET', '/api/projects', { as: ada });
    expect(body.projects.map(({ name }: { name: string }) => name)).not.toContain('refused');
  });

  test('switched off, nothing is counted and no header says so', async () => {
    const service = await startLimited({ RATE_LIMITS: 'off' });
    const { key } = await base.createKey(ada, projectId);
    expect(await statusesOf(10, () => presign(service, { key, address: '192.0.2.1' }))).toEqual(repeat(10, 200));
    expect((await presign(service, { key })).headers.has('ratelimit')).toBe(false);
  });
});

describe('limits of an address', () => {
  const address = '192.0.2.7';

  test.each([
    ['what anybody may ask', (service: TestService) => service.call('GET', '/openapi.json', { address }), 200],
    ['nothing that is there', (service: TestService) => service.call('GET', '/nothing', { address }), 404],
    ['a wrong method', (service: TestService) => service.call('PUT', '/api/projects', { address }), 405],
    ['no credential', (service: TestService) => list(service, { address }), 401],
    ['no session', (service: TestService) => service.call('GET', '/api/projects', { address }), 401],
    [
      'no session, but a key',
      (service: TestService) => service.call('GET', '/api/projects', { address, key: 'x' }),
      401,
    ],
    [
      'an invalid session',
      (service: TestService) =>
        service.call('GET', '/api/projects', { address, headers: { Cookie: 'cadiz.session_token=x.y' } }),
      401,
    ],
  ])('%s: 8 a minute, then 429', async (_what, ask, status) => {
    const service = await startLimited();
    expect(await statusesOf(10, () => ask(service))).toEqual([...repeat(8, status), ...repeat(2, 'rate_limited')]);
    expect((await service.call('GET', '/openapi.json', { address: '192.0.2.8' })).status).toBe(200);
  });

  test('counts a network of IPv6 as one, and believes no header', async () => {
    const service = await startLimited();
    let count = 0;
    const ask = () => {
      count += 1;
      const headers = { 'X-Forwarded-For': `203.0.113.${count}`, Forwarded: `for=203.0.113.${count}` };
      return service.call('GET', '/openapi.json', { address: `2001:db8:1:2::${count}`, headers });
    };
    expect(await statusesOf(10, ask)).toEqual([...repeat(8, 200), ...repeat(2, 'rate_limited')]);
    expect((await service.call('GET', '/openapi.json', { address: '2001:db8:1:3::1' })).status).toBe(200);
  });

  test('behind a trusted proxy counts the client', async () => {
    const service = await startLimited({ TRUSTED_PROXIES: '10.0.0.0/8' });
    const ask = (client: string) =>
      service.call('GET', '/openapi.json', {
        address: '10.0.0.1',
        headers: { 'X-Forwarded-For': `1.2.3.4, ${client}` },
      });
    expect(await statusesOf(9, () => ask('203.0.113.1'))).toEqual([...repeat(8, 200), 'rate_limited']);
    expect((await ask('203.0.113.2')).status).toBe(200);
  });

  test('affects neither callers with a credential nor the probes', async () => {
    const service = await startLimited();
    await statusesOf(9, () => service.call('GET', '/openapi.json', { address }));
    const { key } = await base.createKey(ada, projectId);
    expect((await presign(service, { key, address })).status).toBe(200);
    expect((await presign(service, { as: await signIn(service, ada), address })).status).toBe(200);
    expect(await statusesOf(10, () => service.call('GET', '/livez', { address }))).toEqual(repeat(10, 200));
    expect(await statusesOf(10, () => service.call('GET', '/readyz', { address }))).toEqual(repeat(10, 200));
    expect(await statusesOf(10, () => service.call('GET', '/healthz', { address }))).toEqual(repeat(10, 200));
  });
});

describe('keys that are not accepted', () => {
  const address = '198.51.100.3';

  /** How often the database was asked for a key. */
  function countLookUps(): { count(): number; stop(): void } {
    const { pool } = base.deps.db;
    const query = pool.query;
    let count = 0;
    pool.query = ((...all: Parameters<typeof query>) => {
      if ((all[0] as { name?: string }).name === 'find-api-key') count += 1;
      return query.apply(pool, all);
    }) as typeof query;
    return {
      count: () => count,
      stop: () => {
        pool.query = query;
      },
    };
  }

  test('are limited per address, and a good one is accepted whatever else its address sends', async () => {
    const service = await startLimited();
    const answers = await statusesOf(10, () => presign(service, { key: apiKeyTokens.mint(), address }));
    expect(answers).toEqual([...repeat(4, 401), ...repeat(6, 'rate_limited')]);
    // This process has never seen these keys, as after a restart.
    const { key } = await base.createKey(ada, projectId);
    const { key: fresh } = await service.createKey(await signIn(service, ada), projectId);
    for (const good of [key, fresh]) expect((await presign(service, { key: good, address })).status).toBe(200);
    service.advance(11_000);
    expect((await presign(service, { key, address })).status).toBe(200);
    expect((await presign(service, { key: apiKeyTokens.mint(), address: '198.51.100.4' })).status).toBe(401);
  });

  test('beyond the limit are looked up together, the good one among them', async () => {
    const service = await startLimited();
    await statusesOf(5, () => presign(service, { key: apiKeyTokens.mint(), address }));
    const { key } = await base.createKey(ada, projectId);
    const lookUps = countLookUps();
    try {
      const keys = [...Array.from({ length: 100 }, apiKeyTokens.mint), key];
      const answers = await Promise.all(keys.map((each) => presign(service, { key: each, address })));
      expect(answers.map(({ status }) => status)).toEqual([...repeat(100, 429), 200]);
      expect(lookUps.count()).toBeLessThan(50);
    } finally {
      lookUps.stop();
    }
  });

  test.each([
    ['malformed', 'cz_live_x'],
    ['with a wrong checksum', `cz_live_${'a'.repeat(49)}`],
    ['of somebody else', 'sk_live_1234567890'],
  ])('%s: never SQL, and limited the same', async (_what, key) => {
    const service = await startLimited();
    const lookUps = countLookUps();
    try {
      expect(await statusesOf(6, () => presign(service, { key, address }))).toEqual([
        ...repeat(4, 401),
        ...repeat(2, 'rate_limited'),
      ]);
      expect(lookUps.count()).toBe(0);
    } finally {
      lookUps.stop();
    }
  });

  test.each(['revoked', 'expired'])(
    'a key that was %s is counted by itself, without SQL each time, and costs its address nothing',
    async (how) => {
      const service = await startLimited();
      const dead = await base.createKey(ada, projectId, {
        expiresAt: how === 'expired' ? new Date(service.deps.now() + 60_000).toISOString() : null,
      });
      const good = await base.createKey(ada, projectId);
      if (how === 'expired') service.advance(60_001);
      else await base.call('DELETE', `/api/api-keys/${dead.id}`, { as: ada });
      const lookUps = countLookUps();
      try {
        expect(await statusesOf(8, () => presign(service, { key: dead.key, address }))).toEqual([
          ...repeat(4, 401),
          ...repeat(4, 'rate_limited'),
        ]);
        // Once, and once more if this process was notified of the revocation in between.
        expect(lookUps.count()).toBeLessThanOrEqual(2);
        expect((await presign(service, { key: good.key, address })).status).toBe(200);
        expect(await statusesOf(5, () => presign(service, { key: apiKeyTokens.mint(), address }))).toEqual([
          ...repeat(4, 401),
          'rate_limited',
        ]);
      } finally {
        lookUps.stop();
      }
    },
  );

  test('a dead key and an unknown one are answered alike', async () => {
    const service = await startLimited();
    const { id, key } = await base.createKey(ada, projectId);
    await base.call('DELETE', `/api/api-keys/${id}`, { as: ada });
    const [dead, unknown] = [await presign(service, { key }), await presign(service, { key: apiKeyTokens.mint() })];
    const facts = ({ status, headers, body }: Answer) => {
      const kept = [...headers].filter(([name]) => name !== 'x-request-id').sort();
      return { status, headers: kept, body: { ...body, requestId: '' } };
    };
    expect(facts(dead)).toEqual(facts(unknown));
  });
});

test.each(Object.entries(routes) as [OperationId, Route][])('%s names rate_limited among its errors', (_id, route) => {
  expect(errorsOf(route).includes('rate_limited')).toBe(!['/livez', '/readyz', '/healthz'].includes(route.path));
});
