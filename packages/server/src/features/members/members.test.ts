import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let bob: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  bob = await service.signUp('Bob');
});
beforeEach(async () => {
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const members = (as: Person) => service.call('GET', `/api/projects/${projectId}/members`, { as });
const change = (as: Person, userId: string, role: unknown) =>
  service.call('PATCH', `/api/projects/${projectId}/members/${userId}`, { as, body: { role } });
const remove = (as: Person, userId: string) =>
  service.call('DELETE', `/api/projects/${projectId}/members/${userId}`, { as });
const read = (as: Person) => service.call('GET', `/api/storage/list?projectId=${projectId}`, { as });
const write = (as: Person) =>
  service.call('POST', '/api/storage/folders', { as, body: { projectId, name: randomUUID(), parentId: null } });

test('every member of a project sees its members, with their names, addresses and roles', async () => {
  const viewer = await service.join(ada, projectId, 'viewer');
  const { body } = await members(viewer);
  expect(body).toEqual({
    members: [
      { userId: ada.id, name: 'Ada', email: ada.email, role: 'owner' },
      { userId: viewer.id, name: 'Eve', email: viewer.email, role: 'viewer' },
    ],
  });
});

test('a new role counts at once, even if the old one was cached', async () => {
  const eve = await service.join(ada, projectId, 'editor');
  expect(outcome(await write(eve))).toBe(200);
  expect(outcome(await change(ada, eve.id, 'viewer'))).toBe(200);
  expect([outcome(await read(eve)), outcome(await write(eve))]).toEqual([200, '403 role_missing']);
  await change(ada, eve.id, 'owner');
  expect(outcome(await change(eve, ada.id, 'editor'))).toBe(200);
  expect(outcome(await change(ada, eve.id, 'viewer'))).toBe('403 role_missing');
});

test('a change affects this member in this project only, and returns the entry that the list shows', async () => {
  const eve = await service.join(ada, projectId, 'editor');
  const first = projectId;
  projectId = await service.createProject(ada);
  await service.join(ada, projectId, 'editor', eve);
  const { body } = await change(ada, eve.id, 'viewer');
  expect(body).toEqual({ userId: eve.id, name: 'Eve', email: eve.email, role: 'viewer' });
  expect((await members(ada)).body.members).toContainEqual(body);
  projectId = first;
  expect((await members(ada)).body.members).toContainEqual({ ...body, role: 'editor' });
  expect(outcome(await remove(ada, eve.id))).toBe(200);
  expect((await members(ada)).body.members).toHaveLength(1);
});

test('a member removed from a project stays in the others', async () => {
  const eve = await service.join(ada, projectId, 'editor');
  const first = projectId;
  projectId = await service.createProject(ada);
  await service.join(ada, projectId, 'editor', eve);
  expect(outcome(await remove(ada, eve.id))).toBe(200);
  projectId = first;
  expect(outcome(await read(eve))).toBe(200);
});

test.each(['viewer', 'editor'])(
  'an owner who has since become %s may change nobody, not even themselves',
  async (role) => {
    const eve = await service.join(ada, projectId, 'owner');
    const bystander = await service.join(ada, projectId, 'viewer');
    expect(outcome(await change(eve, bystander.id, 'editor'))).toBe(200);
    // As another process would whose message has not arrived yet: this one still has Eve cached as an owner.
    expect(outcome(await members(eve))).toBe(200);
    await service.deps.db.pool.query('update project_members set role = $3 where project_id = $1 and user_id = $2', [
      projectId,
      eve.id,
      role,
    ]);
    expect(outcome(await change(eve, eve.id, 'owner'))).toBe('403 role_missing');
    expect(outcome(await change(eve, bystander.id, 'viewer'))).toBe('403 role_missing');
    expect(outcome(await remove(eve, bystander.id))).toBe('403 role_missing');
    expect(outcome(await remove(eve, eve.id))).toBe(200);
  },
);

test('a removed member finds nothing any more, and neither does their untied key', async () => {
  const eve = await service.join(ada, projectId, 'editor');
  const { key } = await service.createKey(eve, null);
  const list = () => service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
  expect(outcome(await list())).toBe(200);
  expect(outcome(await remove(ada, eve.id))).toBe(200);
  expect(outcome(await read(eve))).toBe('404 project_not_found');
  expect(outcome(await list())).toBe('404 project_not_found');
});

test('an untied key has the role of the person who made it', async () => {
  const eve = await service.join(ada, projectId, 'viewer');
  const { key } = await service.createKey(eve, null);
  const body = { projectId, name: 'F', parentId: null };
  expect(outcome(await service.call('POST', '/api/storage/folders', { key, body }))).toBe('403 role_missing');
  await change(ada, eve.id, 'editor');
  expect(outcome(await service.call('POST', '/api/storage/folders', { key, body }))).toBe(200);
});

test('every member may leave, and only owners may remove others', async () => {
  const [eve, editor] = [await service.join(ada, projectId, 'viewer'), await service.join(ada, projectId, 'editor')];
  expect(outcome(await remove(editor, eve.id))).toBe('403 role_missing');
  expect(outcome(await remove(eve, eve.id))).toBe(200);
  expect(outcome(await remove(ada, eve.id))).toBe('404 member_not_found');
});

describe('the last owner', () => {
  test('can neither leave nor step down', async () => {
    await service.join(ada, projectId, 'editor');
    expect(outcome(await remove(ada, ada.id))).toBe('409 last_owner');
    expect(outcome(await change(ada, ada.id, 'viewer'))).toBe('409 last_owner');
    expect(outcome(await change(ada, ada.id, 'owner'))).toBe(200);
  });

  test('stays when two owners remove each other, or leave, at the same moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      projectId = await service.createProject(ada);
      const eve = await service.join(ada, projectId, 'owner');
      const each =
        round % 2 === 0 ? [remove(ada, eve.id), remove(eve, ada.id)] : [remove(ada, ada.id), remove(eve, eve.id)];
      await Promise.all(each);
      const { rows } = await service.deps.db.pool.query(
        `select count(*)::int as owners from project_members where project_id = $1 and role = 'owner'`,
        [projectId],
      );
      expect(rows).toEqual([{ owners: 1 }]);
    }
  });
});

test.each([
  ['an unknown role', { role: 'admin' }],
  ['no role', {}],
  ['a role as a number', { role: 1 }],
])('%s: 400', async (_what, body) => {
  const answer = await service.call('PATCH', `/api/projects/${projectId}/members/${ada.id}`, { as: ada, body });
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.issues).toMatchObject([{ path: 'role' }]);
});

test('a stranger is not a member, whether or not the account exists', async () => {
  expect(outcome(await change(ada, bob.id, 'viewer'))).toBe('404 member_not_found');
  expect(outcome(await change(ada, randomUUID(), 'viewer'))).toBe('404 member_not_found');
  expect(outcome(await change(bob, ada.id, 'viewer'))).toBe('404 project_not_found');
  expect(outcome(await remove(ada, 'no-uuid'))).toBe('400 invalid_request');
});
