import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let bob: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  bob = await service.signUp('Bob');
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const day = 86_400_000;
const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const rotate = (as: Person, id: string, body: unknown = {}) =>
  service.call('POST', `/api/api-keys/${id}/rotate`, { as, body });
const use = async (key: string) =>
  outcome(await service.call('GET', `/api/storage/list?projectId=${projectId}`, { key }));

async function find(id: string): Promise<Record<string, unknown>> {
  const { body } = await service.call('GET', '/api/api-keys', { as: ada });
  return body.apiKeys.find((key: { id: string }) => key.id === id);
}

test('both keys work for the overlap, and then only the new one (checklist 34)', async () => {
  const old = await service.createKey(ada, projectId);
  expect(await use(old.key)).toBe(200);
  const { status, body } = await rotate(ada, old.id, { overlapSeconds: 600 });
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual(['id', 'name', 'key', 'projectId', 'createdAt']);
  expect(body.key).not.toBe(old.key);
  expect([await use(old.key), await use(body.key)]).toEqual([200, 200]);
  service.advance(599_000);
  expect([await use(old.key), await use(body.key)]).toEqual([200, 200]);
  service.advance(2_000);
  expect([await use(old.key), await use(body.key)]).toEqual(['401 invalid_api_key', 200]);
});

test('without an overlap the old key is dead at once, although it was used a moment ago', async () => {
  const old = await service.createKey(ada, projectId);
  expect(await use(old.key)).toBe(200);
  expect(outcome(await rotate(ada, old.id, { overlapSeconds: 0 }))).toBe(200);
  expect(await use(old.key)).toBe('401 invalid_api_key');
});

test('unless told, the overlap is a day', async () => {
  const old = await service.createKey(ada, projectId);
  const before = service.deps.now();
  await rotate(ada, old.id);
  const expiresAt = Date.parse(String((await find(old.id)).expiresAt));
  expect(expiresAt).toBeGreaterThanOrEqual(before + day);
  expect(expiresAt).toBeLessThanOrEqual(service.deps.now() + day);
});

test('the new key has the name, project, scopes and expiry of the old one, and the old one never lives longer', async () => {
  const expiresAt = new Date(service.deps.now() + 3_600_000).toISOString();
  const old = await service.createKey(ada, projectId, { name: 'CI', scopes: ['files:read'], expiresAt });
  const { body } = await rotate(ada, old.id, { overlapSeconds: 604_800 });
  expect(await find(body.id)).toMatchObject({ name: 'CI', projectId, scopes: ['files:read'], expiresAt });
  expect(await find(old.id)).toMatchObject({ expiresAt });
});

test('the new key may be given another expiry, or none', async () => {
  const expiresAt = new Date(service.deps.now() + 3_600_000).toISOString();
  const old = await service.createKey(ada, projectId, { expiresAt });
  const later = new Date(service.deps.now() + 5 * day).toISOString();
  const { body: second } = await rotate(ada, old.id, { expiresAt: later });
  expect(await find(second.id)).toMatchObject({ expiresAt: later });
  const { body: third } = await rotate(ada, second.id, { expiresAt: null });
  expect(await find(third.id)).toMatchObject({ expiresAt: null });
});

test('a key that is dead brings no new one', async () => {
  const revoked = await service.createKey(ada, projectId);
  await service.call('DELETE', `/api/api-keys/${revoked.id}`, { as: ada });
  const expired = await service.createKey(ada, projectId, {
    expiresAt: new Date(service.deps.now() + 1000).toISOString(),
  });
  service.advance(1001);
  for (const { id } of [revoked, expired]) expect(outcome(await rotate(ada, id))).toBe('409 api_key_dead');
});

test('a rotation and a revocation at once leave no key that escaped', async () => {
  for (let round = 0; round < 10; round += 1) {
    const old = await service.createKey(ada, projectId);
    const [rotated, revoked] = await Promise.all([
      rotate(ada, old.id),
      service.call('DELETE', `/api/api-keys/${old.id}`, { as: ada }),
    ]);
    expect(revoked.status).toBe(200);
    expect(['200', '409 api_key_dead']).toContain(String(outcome(rotated)));
    expect(await use(old.key)).toBe('401 invalid_api_key');
  }
});

test('a stranger is told exactly what an absent key is', async () => {
  const { id } = await service.createKey(ada, projectId);
  const foreign = await rotate(bob, id);
  const absent = await rotate(bob, randomUUID());
  expect(outcome(foreign)).toBe('404 api_key_not_found');
  expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
});

test.each([
  ['a negative overlap', { overlapSeconds: -1 }, 'overlapSeconds'],
  ['more than a week', { overlapSeconds: 604_801 }, 'overlapSeconds'],
  ['half a second', { overlapSeconds: 0.5 }, 'overlapSeconds'],
  ['a text', { overlapSeconds: '60' }, 'overlapSeconds'],
  ['an expiry that is over', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
])('%s: 400', async (_what, body, path) => {
  const { id } = await service.createKey(ada, projectId);
  const answer = await rotate(ada, id, body);
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.issues).toMatchObject([{ path }]);
  expect(await find(id)).toMatchObject({ expiresAt: null });
});
