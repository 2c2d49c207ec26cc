import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

test('both keys work during the overlap, then only the new one (checklist 34)', async () => {
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

test('without an overlap the old key is dead at once, even if it has just been used', async () => {
  const old = await service.createKey(ada, projectId);
  expect(await use(old.key)).toBe(200);
  expect(outcome(await rotate(ada, old.id, { overlapSeconds: 0 }))).toBe(200);
  expect(await use(old.key)).toBe('401 invalid_api_key');
});

test('the default overlap is a day', async () => {
  const old = await service.createKey(ada, projectId);
  const before = service.deps.now();
  await rotate(ada, old.id);
  const expiresAt = Date.parse(String((await find(old.id)).expiresAt));
  expect(expiresAt).toBeGreaterThanOrEqual(before + day);
  expect(expiresAt).toBeLessThanOrEqual(service.deps.now() + day);
});

test('the new key inherits name, project, scopes and expiry, and the old one never lives longer', async () => {
  const expiresAt = new Date(service.deps.now() + 3_600_000).toISOString();
  const old = await service.createKey(ada, projectId, { name: 'CI', scopes: ['files:read'], expiresAt });
  const { body } = await rotate(ada, old.id, { overlapSeconds: 604_800 });
  expect(await find(body.id)).toMatchObject({ name: 'CI', projectId, scopes: ['files:read'], expiresAt });
  expect(await find(old.id)).toMatchObject({ expiresAt });
});

test('the new key can have another expiry or none', async () => {
  const expiresAt = new Date(service.deps.now() + 3_600_000).toISOString();
  const old = await service.createKey(ada, projectId, { expiresAt });
  const later = new Date(service.deps.now() + 5 * day).toISOString();
  const { body: second } = await rotate(ada, old.id, { expiresAt: later });
  expect(await find(second.id)).toMatchObject({ expiresAt: later });
  const { body: third } = await rotate(ada, second.id, { expiresAt: null });
  expect(await find(third.id)).toMatchObject({ expiresAt: null });
});

test('a dead key cannot be rotated', async () => {
  const revoked = await service.createKey(ada, projectId);
  await service.call('DELETE', `/api/api-keys/${revoked.id}`, { as: ada });
  const expired = await service.createKey(ada, projectId, {
    expiresAt: new Date(service.deps.now() + 1000).toISOString(),
  });
  service.advance(1001);
  for (const { id } of [revoked, expired]) expect(outcome(await rotate(ada, id))).toBe('409 api_key_dead');
});

test('a simultaneous rotation and revocation never leave the old key alive', async () => {
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

test('a stranger gets the same answer as for an absent key', async () => {
  const { id } = await service.createKey(ada, projectId);
  const foreign = await rotate(bob, id);
  const absent = await rotate(bob, randomUUID());
  expect(outcome(foreign)).toBe('404 api_key_not_found');
  expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
});

describe('rotating a key takes the right to create such a key', () => {
  const setRole = (userId: string, role: string) =>
    service.call('PATCH', `/api/projects/${projectId}/members/${userId}`, { as: ada, body: { role } });
  const remove = (userId: string) =>
    service.call('DELETE', `/api/projects/${projectId}/members/${userId}`, { as: ada });
  const countKeys = async () => (await service.deps.db.pool.query('select from api_keys')).rowCount;
  const countEvents = async () => (await service.deps.db.pool.query('select from audit_events')).rowCount;

  test('an editor can rotate their own keys, but not after becoming a viewer: nothing is written', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const own = await service.createKey(eve, projectId);
    const { body } = await rotate(eve, own.id);
    expect(await use(body.key)).toBe(200);
    await setRole(eve.id, 'viewer');
    const before = [await countKeys(), await countEvents()];
    expect(outcome(await rotate(eve, own.id))).toBe('403 role_missing');
    expect([await countKeys(), await countEvents()]).toEqual(before);
  });

  test('a removed member can rotate nothing there, and their keys stay dead when they return', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const own = await service.createKey(eve, projectId);
    await remove(eve.id);
    const before = [await countKeys(), await countEvents()];
    expect(outcome(await rotate(eve, own.id))).toBe('404 project_not_found');
    expect([await countKeys(), await countEvents()]).toEqual(before);
    await service.join(ada, projectId, 'editor', eve);
    expect(await use(own.key)).toBe('401 invalid_api_key');
    expect(outcome(await rotate(eve, own.id))).toBe('409 api_key_dead');
  });

  test('only an owner can rotate another member’s key, which is then theirs', async () => {
    const [eve, max] = [await service.join(ada, projectId, 'editor'), await service.join(ada, projectId, 'editor')];
    const own = await service.createKey(ada, projectId);
    const other = await service.createKey(max, projectId);
    for (const { id } of [own, other]) expect(outcome(await rotate(eve, id))).toBe('403 role_missing');
    expect(await find(own.id)).toMatchObject({ expiresAt: null });
    const { body } = await rotate(ada, other.id, { overlapSeconds: 0 });
    expect([await use(other.key), await use(body.key)]).toEqual(['401 invalid_api_key', 200]);
    await remove(max.id);
    expect(await use(body.key)).toBe(200);
  });

  test('the key of a disabled account is dead and cannot be rotated', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const { id } = await service.createKey(eve, projectId);
    await service.deps.db.pool.query('update users set disabled_at = now() where id = $1', [eve.id]);
    expect(outcome(await rotate(ada, id))).toBe('409 api_key_dead');
  });

  test('the key of a folder that is gone cannot be rotated', async () => {
    const folder = { projectId, name: randomUUID(), parentId: null };
    const folderId = (await service.call('POST', '/api/storage/folders', { as: ada, body: folder })).body.id;
    const { id } = await service.createKey(ada, projectId, { folderId });
    await service.call('DELETE', `/api/storage/folders/${folderId}`, { as: ada });
    expect(outcome(await rotate(ada, id))).toBe('404 folder_not_found');
  });
});

describe('after a removal that this process has not heard of yet', () => {
  test.each(['rotates', 'makes'])('a member who was just removed %s no key', async (how) => {
    const eve = await service.join(ada, projectId, 'editor');
    const { id, key } = await service.createKey(eve, projectId);
    expect(await use(key)).toBe(200);
    const make = () =>
      how === 'rotates'
        ? rotate(eve, id)
        : service.call('POST', '/api/api-keys', { as: eve, body: { name: 'K', projectId } });
    expect(outcome(await make())).toBe(200);
    await service.deps.db.pool.query('delete from project_members where project_id = $1 and user_id = $2', [
      projectId,
      eve.id,
    ]);
    const before = (await service.deps.db.pool.query('select from api_keys')).rowCount;
    expect(outcome(await make())).toBe('404 project_not_found');
    expect((await service.deps.db.pool.query('select from api_keys')).rowCount).toBe(before);
  });

  test('a racing removal leaves no key that the next invitation would revive', async () => {
    for (let round = 0; round < 10; round += 1) {
      const eve = await service.join(ada, projectId, 'editor');
      const own = await service.createKey(eve, projectId);
      const path = `/api/projects/${projectId}/members/${eve.id}`;
      const [rotated, created, removed] = await Promise.all([
        rotate(eve, own.id),
        service.call('POST', '/api/api-keys', { as: eve, body: { name: 'K', projectId } }),
        service.call('DELETE', path, { as: ada }),
      ]);
      expect(removed.status).toBe(200);
      await service.join(ada, projectId, 'editor', eve);
      for (const { status, body } of [rotated, created]) {
        if (status === 200) expect(await use(body.key)).toBe('401 invalid_api_key');
      }
      expect(await use(own.key)).toBe('401 invalid_api_key');
    }
  });
});

test.each([
  ['a negative overlap', { overlapSeconds: -1 }, 'overlapSeconds'],
  ['more than a week', { overlapSeconds: 604_801 }, 'overlapSeconds'],
  ['half a second', { overlapSeconds: 0.5 }, 'overlapSeconds'],
  ['a string', { overlapSeconds: '60' }, 'overlapSeconds'],
  ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
])('%s: 400', async (_what, body, path) => {
  const { id } = await service.createKey(ada, projectId);
  const answer = await rotate(ada, id, body);
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.issues).toMatchObject([{ path }]);
  expect(await find(id)).toMatchObject({ expiresAt: null });
});
