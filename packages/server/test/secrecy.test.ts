import { type Route, routes, takesKeys } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from './service.ts';

interface Used {
  service: TestService;
  ada: Person;
  key: string;
}

async function use(service: TestService): Promise<Used> {
  const ada = await service.signUp();
  const { key } = await service.createKey(ada, await service.createProject(ada));
  return { service, ada, key };
}

describe('a test fails if its service has logged or stored a credential (checklist 27, 46)', () => {
  let host: TestService;
  beforeAll(async () => {
    host = await startTestService();
  });
  afterAll(() => host.close());

  const signed = `https://store/b/k?X-Amz-Signature=${'0'.repeat(64)}`;
  const logged: Record<string, (used: Used) => void> = {
    'an API key': ({ service, key }) => service.deps.log.trace({ asked: { key } }, 'request'),
    'a session': ({ service, ada }) => service.deps.log.trace(`as ${ada.cookie}`),
    'a password': ({ service }) => service.deps.log.info({ body: { is: 'correct horse battery' } }, 'request'),
    'a header': ({ service }) => service.deps.log.info({ headers: { authorization: 'x' } }, 'request'),
    'a signed address': ({ service }) => service.deps.log.error({ error: new Error(signed) }, 'failed'),
  };

  test.each(Object.keys(logged))('%s in its log', async (what) => {
    const used = await use(await startTestService({ beside: host }));
    logged[what]?.(used);
    await expect(used.service.close()).rejects.toThrow('A credential was written down');
  });

  test('an API key in a row', async () => {
    const { service, ada, key } = await use(await startTestService());
    await service.createProject(ada, key);
    await expect(service.close()).rejects.toThrow('A credential was written down');
  });
});

test('nothing of a header, a query or a body is logged at any level, answered or failed (checklist 46, T25)', async () => {
  const { service, ada, key } = await use(await startTestService());
  const mark = 'W0rdsThatNobodyElseWouldLog';
  const headers = { 'User-Agent': mark, 'X-Invitation': mark, 'X-Setup-Token': mark, 'X-Forwarded-For': mark };
  const body = { password: mark, email: `${mark}@example.com`, name: mark, token: mark, key: mark, code: mark };

  /** Calls every operation, with the mark wherever a client can put it. Returns the statuses. */
  async function askEverything(): Promise<number[]> {
    const statuses: number[] = [];
    for (const [operation, route] of Object.entries<Route>(routes)) {
      const { method, path } = route;
      // After sign-out, every request would be refused.
      if (operation === 'signOut') continue;
      const asked = `${path.replaceAll(/\{\w+\}/g, mark)}?projectId=${mark}&q=${mark}`;
      const credentials = [{ as: ada }, ...(takesKeys(route) ? [{ key }, { key: mark }] : [])];
      for (const credential of credentials) {
        const sent = method === 'GET' ? {} : { body };
        statuses.push((await service.call(method, asked, { ...credential, headers, ...sent })).status);
      }
    }
    return statuses;
  }

  expect(await askEverything()).not.toContain(503);
  await service.deps.db.close();
  expect(await askEverything()).toContain(503);
  expect(service.logged().split('\n').length).toBeGreaterThan(2 * Object.keys(routes).length);
  expect(service.logged()).not.toContain(mark);
  await service.close();
});
