import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';

const services: TestService[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});
afterAll(() => expect(services).toEqual([]));

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);

/** The first user is the owner of the service. */
async function start(settings: Record<string, string>) {
  const service = await startTestService({ settings });
  services.push(service);
  const [owner, eve] = [await service.signUp('Ada'), await service.signUp('Eve')];
  const make = (as: Person, body: object = {}) =>
    service.call('POST', '/api/projects', { as, body: { name: 'P', ...body } });
  const change = (as: Person, projectId: string, body: object) =>
    service.call('PATCH', `/api/projects/${projectId}`, { as, body });
  return { service, owner, eve, make, change };
}

test('everybody can create projects, unless a setting reserves that for the owner of the service', async () => {
  const open = await start({});
  expect(outcome(await open.make(open.eve))).toBe(200);
  const closed = await start({ PROJECT_CREATION: 'owner' });
  expect(outcome(await closed.make(closed.eve))).toBe('403 owner_required');
  expect((await closed.service.call('GET', '/api/projects', { as: closed.eve })).body.projects).toEqual([]);
  expect(outcome(await closed.make(closed.owner))).toBe(200);
});

describe('PROJECT_QUOTA_BYTES', () => {
  test('is the quota of a new project, and the maximum that anybody but the owner of the service can set', async () => {
    const { owner, eve, make, change } = await start({ PROJECT_QUOTA_BYTES: '1000' });
    const { body } = await make(eve);
    expect(body.quotaBytes).toBe(1000);
    expect((await make(eve, { quotaBytes: 500 })).body.quotaBytes).toBe(500);
    for (const quotaBytes of [1001, null]) {
      const refused = await make(eve, { quotaBytes });
      expect(outcome(refused)).toBe('403 owner_required');
      expect(refused.body.detail).toContain('1000');
      expect(outcome(await change(eve, body.id, { quotaBytes }))).toBe('403 owner_required');
      expect((await make(owner, { quotaBytes })).body.quotaBytes).toBe(quotaBytes);
    }
    expect((await change(eve, body.id, { quotaBytes: 10 })).body.quotaBytes).toBe(10);
    expect((await change(eve, body.id, { quotaBytes: 1000 })).body.quotaBytes).toBe(1000);
    expect((await make(owner)).body.quotaBytes).toBe(1000);
  });

  test('leaves the quota that the owner of the service set, whatever else is changed', async () => {
    const { service, owner, eve, make, change } = await start({ PROJECT_QUOTA_BYTES: '1000' });
    const { body } = await make(owner, { quotaBytes: 5000 });
    await service.join(owner, body.id, 'owner', eve);
    expect(outcome(await change(eve, body.id, { name: 'Q', quotaBytes: 5000 }))).toBe(200);
    expect(outcome(await change(eve, body.id, { quotaBytes: 5001 }))).toBe('403 owner_required');
    // A quota can be lowered to less than it is now, which then becomes the new maximum.
    expect(outcome(await change(eve, body.id, { quotaBytes: 2000 }))).toBe(200);
    expect(outcome(await change(eve, body.id, { quotaBytes: 5000 }))).toBe('403 owner_required');
  });
});

describe('one account', () => {
  test('can have this many projects, including those left to others, and deleting one makes room', async () => {
    const { service, owner, eve, make } = await start({ PROJECTS_PER_ACCOUNT: '3' });
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.push((await make(eve)).body.id);
    expect(outcome(await make(eve))).toBe('409 too_many_projects');
    await service.join(eve, ids[0], 'owner', owner);
    await service.call('DELETE', `/api/projects/${ids[0]}/members/${eve.id}`, { as: eve });
    expect(outcome(await make(eve))).toBe('409 too_many_projects');
    expect(outcome(await make(owner))).toBe(200);
    await service.call('DELETE', `/api/projects/${ids[1]}`, { as: eve });
    const answers = await Promise.all([make(eve), make(eve), make(eve)]);
    expect(answers.map(outcome).sort()).toEqual([200, '409 too_many_projects', '409 too_many_projects']);
  });

  test('can have this many living keys, created or rotated, and revoking one makes room', async () => {
    const { service, eve, make } = await start({ API_KEYS_PER_ACCOUNT: '3' });
    const projectId = (await make(eve)).body.id;
    const create = (id: string | null = projectId) =>
      service.call('POST', '/api/api-keys', { as: eve, body: { name: 'K', projectId: id } });
    const rotate = (id: string) =>
      service.call('POST', `/api/api-keys/${id}/rotate`, { as: eve, body: { overlapSeconds: 0 } });
    const { body: first } = await create();
    const { body: second } = await rotate(first.id);
    const answers = await Promise.all([create(null), create(), create(null), create()]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(outcome(await create())).toBe('409 too_many_api_keys');
    expect(outcome(await rotate(second.id))).toBe('409 too_many_api_keys');
    await service.call('DELETE', `/api/api-keys/${second.id}`, { as: eve });
    expect(outcome(await create())).toBe(200);
  });
});
