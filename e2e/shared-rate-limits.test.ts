import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiKeyTokens } from '../packages/server/src/access/api-key-token.ts';
import {
  cleanUp,
  embeddedSettings,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from './service.ts';

const shared = process.env.TEST_DATABASE_URL !== undefined;
if (!shared) console.warn('LEFT OUT: rate limits of two processes, because TEST_DATABASE_URL names no PostgreSQL.');

const limit = 20;
let settings: Settings[] = [];
let services: Service[] = [];
let cookie: string;

beforeAll(async () => {
  if (!shared) return;
  const first = {
    ...(await testedSettings()),
    CADIZ_SECRET: randomBytes(32).toString('hex'),
    RATE_LIMIT_READS: `${limit}`,
    RATE_LIMIT_INVALID_KEYS: '5',
  };
  const { PORT = '', STORE_PORT = '', CADIZ_DATA_DIR = '' } = await embeddedSettings();
  settings = [first, { ...first, PORT, STORE_PORT, CADIZ_DATA_DIR }];
  services = await Promise.all(settings.map((each) => startService(each)));
  const answer = await fetch(`${services[0]?.url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Ada', email: 'ada@example.com', password: 'nanoseconds are short' }),
  });
  cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
});
afterAll(async () => {
  await Promise.all(services.map(stopService));
  for (const each of settings.reverse()) await cleanUp(each);
});

const ask = (service?: Service) => fetch(`${service?.url}/api/projects`, { headers: { Cookie: cookie } });

describe.runIf(shared)('two processes on one PostgreSQL', () => {
  test('count together: a request let through by one counts at the other', async () => {
    const [first, second] = services;
    for (let i = 0; i < limit; i += 1) expect((await ask(first)).status).toBe(200);
    // The second learns of it when it reports its own count, a second after the first request that it sees.
    const deadline = Date.now() + 20_000;
    let letThrough = 0;
    let status = 200;
    while (status === 200 && Date.now() < deadline) {
      await delay(100);
      ({ status } = await ask(second));
      if (status === 200) letThrough += 1;
    }
    expect(status).toBe(429);
    expect(letThrough).toBeLessThan(limit);
  });

  test('a good key that a process has never seen is accepted, even if both are full of bad ones from its address', async () => {
    const [first, second] = services;
    const made = await fetch(`${first?.url}/api/api-keys`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Cookie: cookie },
      body: JSON.stringify({ name: 'K', projectId: null }),
    });
    const { key } = (await made.json()) as { key: string };
    const use = async (service: Service | undefined, raw: string) => {
      const path = `/api/storage/list?projectId=${randomUUID()}`;
      const answer = await fetch(`${service?.url}${path}`, { headers: { Authorization: `Bearer ${raw}` } });
      return answer.status;
    };
    for (const service of [first, second]) {
      await expect.poll(() => use(service, apiKeyTokens.mint())).toBe(429);
      // There is no such project; a key that was not accepted would get 401 or 429.
      expect(await use(service, key)).toBe(404);
    }
  });
});
