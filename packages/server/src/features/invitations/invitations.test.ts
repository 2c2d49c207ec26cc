import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);

interface Invited {
  id: string;
  url: string;
  token: string;
  expiresAt: string;
}

async function invite(email: string, role = 'editor'): Promise<Invited> {
  const { status, body } = await service.call('POST', `/api/projects/${projectId}/invitations`, {
    as: ada,
    body: { email, role },
  });
  expect(status).toBe(200);
  return { ...body, token: body.url.split('#')[1] };
}

const accept = (as: Person, token: string) => service.call('POST', '/api/invitations/accept', { as, body: { token } });
const listed = async () =>
  (await service.call('GET', `/api/projects/${projectId}/invitations`, { as: ada })).body.invitations;
const shown = async () => (await listed()).map(({ id }: Invited) => id);
const roleOf = async (person: Person) => {
  const { body } = await service.call('GET', `/api/projects/${projectId}/members`, { as: ada });
  return body.members.find(({ userId }: { userId: string }) => userId === person.id)?.role;
};

test('an invited person becomes a member with the role of the invitation, once', async () => {
  const eve = await service.signUp('Eve');
  const { token, url } = await invite(eve.email.toUpperCase(), 'viewer');
  expect(url).toBe(`http://localhost:4000/invitation#${token}`);
  const { body } = await accept(eve, token);
  expect(body).toEqual({ projectId, role: 'viewer' });
  expect(await roleOf(eve)).toBe('viewer');
  expect(outcome(await accept(eve, token))).toBe('404 invitation_not_found');
});

test('of ten acceptances at once, one succeeds', async () => {
  const eve = await service.signUp('Eve');
  const { token } = await invite(eve.email);
  const answers = await Promise.all(Array.from({ length: 10 }, () => accept(eve, token)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test('somebody else can neither use nor consume it', async () => {
  const [eve, mallory] = [await service.signUp('Eve'), await service.signUp('Mallory')];
  const { token } = await invite(eve.email);
  expect(outcome(await accept(mallory, token))).toBe('404 invitation_not_found');
  expect(await roleOf(mallory)).toBeUndefined();
  expect(outcome(await accept(eve, token))).toBe(200);
});

test('an unknown token opens nothing, and of two invitations only the accepted one is consumed', async () => {
  const eve = await service.signUp('Eve');
  const [first, second] = [await invite(eve.email, 'viewer'), await invite(eve.email, 'editor')];
  expect(outcome(await accept(eve, randomBytes(32).toString('base64url')))).toBe('404 invitation_not_found');
  expect((await accept(eve, second.token)).body).toEqual({ projectId, role: 'editor' });
  expect(await shown()).toContain(first.id);
});

const added = async ({ id }: Person) => {
  const { events } = (await service.call('GET', `/api/projects/${projectId}/audit`, { as: ada })).body;
  return events.filter(
    ({ type, userId }: { type: string; userId: string }) => type === 'member.added' && userId === id,
  );
};

test('a member keeps their role, whatever their role elsewhere, and is added once', async () => {
  const { token } = await invite(ada.email, 'viewer');
  expect((await accept(ada, token)).body).toEqual({ projectId, role: 'owner' });
  expect(await added(ada)).toEqual([]);
  const eve = await service.signUp('Eve');
  await service.createProject(eve);
  await service.createProject(eve);
  for (const role of ['viewer', 'editor']) {
    const invited = await invite(eve.email, role);
    expect((await accept(eve, invited.token)).body).toEqual({ projectId, role: 'viewer' });
  }
  expect(await added(eve)).toMatchObject([{ subject: { userId: eve.id, role: 'viewer' } }]);
});

test('a member who is removed at the moment they accept another invitation gets an answer', async () => {
  const eve = await service.join(ada, projectId, 'viewer');
  const { token } = await invite(eve.email, 'editor');
  const { pool } = service.deps.db;
  await pool.query(`
    create function remove_meanwhile() returns trigger language plpgsql as
      $$begin delete from project_members where user_id = '${eve.id}'; return null; end$$;
    create trigger remove_meanwhile after insert on project_members execute function remove_meanwhile()`);
  try {
    expect((await accept(eve, token)).body).toEqual({ projectId, role: 'viewer' });
  } finally {
    await pool.query('drop trigger remove_meanwhile on project_members; drop function remove_meanwhile()');
  }
});

test('the list shows the invitations that can be accepted, and never the token', async () => {
  const email = `${randomUUID()}@example.com`;
  const invited = await invite(email);
  const found = (await listed()).find(({ id }: { id: string }) => id === invited.id);
  expect(found).toEqual({
    id: invited.id,
    email,
    role: 'editor',
    createdAt: expect.any(String),
    expiresAt: invited.expiresAt,
  });
  const { rows } = await service.deps.db.pool.query('select invitations::text as text from invitations');
  expect(JSON.stringify(rows)).not.toContain(invited.token);
  expect(service.logged()).not.toContain(invited.token);
});

test('a withdrawn invitation is gone', async () => {
  const eve = await service.signUp('Eve');
  const { id, token } = await invite(eve.email);
  const withdraw = () => service.call('DELETE', `/api/projects/${projectId}/invitations/${id}`, { as: ada });
  expect((await withdraw()).body).toEqual({ id, removed: true });
  expect(outcome(await withdraw())).toBe('404 invitation_not_found');
  expect(outcome(await accept(eve, token))).toBe('404 invitation_not_found');
});

test('a project lists and withdraws its own invitations, one at a time', async () => {
  const [first, second] = [await invite('a@example.com'), await invite('b@example.com')];
  const other = await service.createProject(ada);
  const path = `/api/projects/${other}/invitations`;
  const body = { email: 'c@example.com', role: 'viewer' };
  const elsewhere = (await service.call('POST', path, { as: ada, body })).body.id;
  expect(await shown()).toEqual(expect.arrayContaining([first.id, second.id]));
  expect(await shown()).not.toContain(elsewhere);
  const get = (id: string) => service.call('GET', `/api/projects/${projectId}/invitations/${id}`, { as: ada });
  const one = { id: first.id, email: 'a@example.com', role: 'editor' };
  expect((await get(first.id)).body).toEqual({ ...one, createdAt: expect.any(String), expiresAt: expect.any(String) });
  expect(outcome(await get(elsewhere))).toBe('404 invitation_not_found');
  expect(outcome(await service.call('DELETE', `${path}/${first.id}`, { as: ada }))).toBe('404 invitation_not_found');
  const withdraw = `/api/projects/${projectId}/invitations/${first.id}`;
  expect(outcome(await service.call('DELETE', withdraw, { as: ada }))).toBe(200);
  expect(await shown()).toContain(second.id);
  expect(await shown()).not.toContain(first.id);
});

describe('a sign-up with an invitation', () => {
  let closed: TestService;
  beforeAll(async () => {
    closed = await startTestService({ beside: service, settings: { CADIZ_SIGN_UP: 'first' } });
  });
  afterAll(() => closed.close());

  const signUp = (email: string, token?: string, on = closed) =>
    on.call('POST', '/api/auth/sign-up/email', {
      body: { name: 'Eve', email, password: 'correct horse battery' },
      headers: token === undefined ? {} : { 'X-Invitation': token },
    });

  test('creates an account and a membership even if sign-up is closed, but never an owner of the service', async () => {
    const email = `${randomUUID()}@example.com`;
    expect(outcome(await signUp(email))).toBe('403 sign_up_closed');
    const { token } = await invite(email);
    const { status, body } = await signUp(email, token);
    expect({ status, role: body.user.role }).toEqual({ status: 200, role: 'member' });
    const { rows } = await service.deps.db.pool.query(
      'select role from project_members where project_id = $1 and user_id = $2',
      [projectId, body.user.id],
    );
    expect(rows).toEqual([{ role: 'editor' }]);
    expect(outcome(await signUp(`${randomUUID()}@example.com`, token))).toBe('404 invitation_not_found');
  });

  test('is refused for another address, another token and after its end: no account is created, nothing is consumed', async () => {
    const [email, other, late] = ['ada', 'bob', 'eve'].map((name) => `${name}-${randomUUID()}@example.com`);
    if (!email || !other || !late) throw new Error('There must be three of them.');
    const { token } = await invite(email);
    const over = await invite(late);
    await service.deps.db.pool.query('update invitations set expires_at = $2 where id = $1', [
      over.id,
      new Date(service.deps.now() - 1),
    ]);
    expect(outcome(await signUp(other, token))).toBe('404 invitation_not_found');
    expect(outcome(await signUp(email, randomBytes(32).toString('base64url')))).toBe('404 invitation_not_found');
    expect(outcome(await signUp(late, over.token))).toBe('404 invitation_not_found');
    const { rows } = await service.deps.db.pool.query('select email from users where email = any ($1)', [
      [email, other, late],
    ]);
    expect(rows).toEqual([]);
    expect(outcome(await signUp(email, token))).toBe(200);
  });

  test('of six at once, one creates an account', async () => {
    const email = `${randomUUID()}@example.com`;
    const { token } = await invite(email);
    const answers = await Promise.all(Array.from({ length: 6 }, () => signUp(email, token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers)
      expect([200, '409 account_exists', '404 invitation_not_found']).toContain(outcome(answer));
  });

  test('reports an existing account, and the invitation stays valid for it', async () => {
    const eve = await service.signUp('Eve');
    const { token } = await invite(eve.email);
    expect(outcome(await signUp(eve.email, token))).toBe('409 account_exists');
    expect(outcome(await accept(eve, token))).toBe(200);
  });
});

test.each([
  ['no address', { role: 'viewer' }, 'email'],
  ['an invalid address', { email: 'x', role: 'viewer' }, 'email'],
  ['an unknown role', { email: 'a@example.com', role: 'root' }, 'role'],
])('%s: 400', async (_what, body, path) => {
  const answer = await service.call('POST', `/api/projects/${projectId}/invitations`, { as: ada, body });
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.issues).toMatchObject([{ path }]);
});

test('a malformed token is 400', async () => {
  for (const token of ['', 'x', `${'a'.repeat(42)}/`, 'a'.repeat(44)]) {
    expect(outcome(await accept(ada, token))).toBe('400 invalid_request');
  }
});

test.each([
  ['is removed', 'delete from project_members where project_id = $1 and user_id = $2'],
  ['is no longer an owner', `update project_members set role = 'editor' where project_id = $1 and user_id = $2`],
  ['is disabled', 'update users set disabled_at = now() where $1::uuid is not null and id = $2'],
])('an owner who %s leaves no way in behind and can invite nobody', async (_what, sql) => {
  const [bob, eve] = [await service.join(ada, projectId, 'owner'), await service.signUp('Eve')];
  const newcomer = `${randomUUID()}@example.com`;
  const inviting = (email: string) =>
    service.call('POST', `/api/projects/${projectId}/invitations`, { as: bob, body: { email, role: 'owner' } });
  const [forEve, forNewcomer] = [(await inviting(eve.email)).body, (await inviting(newcomer)).body];
  expect(await shown()).toEqual(expect.arrayContaining([forEve.id, forNewcomer.id]));
  // As another process would whose message has not arrived yet: this one still has Bob cached as an owner.
  await service.deps.db.pool.query(sql, [projectId, bob.id]);
  expect(outcome(await accept(eve, forEve.url.split('#')[1]))).toBe('404 invitation_not_found');
  const body = { name: 'Eve', email: newcomer, password: 'correct horse battery' };
  const headers = { 'X-Invitation': forNewcomer.url.split('#')[1] };
  const signingUp = await service.call('POST', '/api/auth/sign-up/email', { body, headers });
  expect(outcome(signingUp)).toBe('404 invitation_not_found');
  expect(await shown()).not.toContain(forEve.id);
  expect(['403 role_missing', '401 session_required']).toContain(outcome(await inviting(eve.email)));
});

test('an invitation expires after a week', async () => {
  const eve = await service.signUp('Eve');
  const { id, token } = await invite(eve.email);
  await service.deps.db.pool.query('update invitations set expires_at = $2 where id = $1', [
    id,
    new Date(service.deps.now() - 1),
  ]);
  expect(outcome(await accept(eve, token))).toBe('404 invitation_not_found');
  expect(await shown()).not.toContain(id);
});

test('a project has at most a thousand open invitations; of two for the last place, one is created', async () => {
  const crowded = await service.createProject(ada);
  const inviting = () =>
    service.call('POST', `/api/projects/${crowded}/invitations`, {
      as: ada,
      body: { email: `${randomUUID()}@example.com`, role: 'viewer' },
    });
  const { body: first } = await inviting();
  await service.deps.db.pool.query(
    `insert into invitations (project_id, id, email, role, token_hash, created_by, created_at, expires_at)
     select project_id, gen_random_uuid(), email, role, sha256(n::text::bytea), created_by, created_at,
            case when n <= 998 then expires_at else created_at end
     from invitations cross join generate_series(1, 1100) n where id = $1`,
    [first.id],
  );
  const answers = await Promise.all([inviting(), inviting()]);
  expect(answers.map(outcome).sort()).toEqual([200, '409 too_many_invitations']);
  const withdrawn = await service.call('DELETE', `/api/projects/${crowded}/invitations/${first.id}`, { as: ada });
  expect([withdrawn, await inviting(), await inviting()].map(outcome)).toEqual([200, 200, '409 too_many_invitations']);
});
