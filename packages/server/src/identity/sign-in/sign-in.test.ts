import { randomUUID } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, send, startTestService, type TestService } from '../../../test/service.ts';
import { runCommand } from '../../users/run-command.ts';
import { createPasswords } from '../passwords/passwords.ts';

const password = 'correct horse battery';
const other = 'wrong horse battery';

let service: TestService;
let owner: Person;
let hashed: string[];
/** Something that somebody else does once, while a password is compared with the hash that was read before. */
let meanwhile: (() => Promise<unknown>) | undefined;

beforeAll(async () => {
  const passwords = createPasswords();
  hashed = [];
  service = await startTestService({
    settings: { CADIZ_SIGN_UP: 'open' },
    passwords: {
      ...passwords,
      hash(secret) {
        hashed.push('hash');
        return passwords.hash(secret);
      },
      async verify(attempt) {
        hashed.push('verify');
        const isRight = await passwords.verify(attempt);
        const act = meanwhile;
        meanwhile = undefined;
        await act?.();
        return isRight;
      },
    },
  });
  owner = await service.signUp('Owner');
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);
const newEmail = () => `${randomUUID()}@example.com`;
const cookieOf = (answer: Answer) => answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';

interface From {
  address?: string;
  headers?: Record<string, string>;
}

function signIn(email: string, secret = password, from: From = {}): Promise<Answer> {
  return service.call('POST', '/api/auth/sign-in/email', { body: { email, password: secret }, ...from });
}

async function startSession({ email, id }: Person, from: From = {}): Promise<Person> {
  return { id, email, cookie: cookieOf(await signIn(email, password, from)) };
}

const isAlive = async (as: Person) => (await service.call('GET', '/api/projects', { as })).status === 200;

/** The answer without anything that differs between any two. */
function comparable({ status, headers, text }: Answer) {
  const id = headers.get('x-request-id') ?? '';
  return { status, text: text.replace(id, ''), headers: [...headers].filter(([name]) => name !== 'x-request-id') };
}

describe('somebody who guesses', () => {
  test('learns nothing of which accounts exist, by any byte or by the work done (checklist 13)', async () => {
    const { email } = await service.signUp();
    const disabled = await service.signUp();
    const body = { disabled: true };
    await service.call('PATCH', `/api/users/${disabled.id}`, { as: owner, body });
    const withoutPassword = await service.signUp();
    await service.deps.db.pool.query('update accounts set password = null where user_id = $1', [withoutPassword.id]);

    const seen = [];
    for (const tried of [email, newEmail(), disabled.email, withoutPassword.email]) {
      hashed.length = 0;
      const answer = await signIn(tried, other);
      seen.push({ ...comparable(answer), hashes: hashed.length });
    }
    expect(seen[0]).toMatchObject({ status: 401, hashes: 1 });
    for (const one of seen) expect(one).toEqual(seen[0]);
  });

  test('from one address gets ten a minute, whatever X-Forwarded-For says (checklist 14)', async () => {
    const answers = [];
    for (let guess = 0; guess < 50; guess++) {
      const headers = { 'X-Forwarded-For': `198.51.100.${guess}`, 'X-Cadiz-Client-Address': `198.51.100.${guess}` };
      answers.push(await signIn(newEmail(), other, { address: '203.0.113.1', headers }));
    }
    expect(answers.map(outcome)).toEqual([
      ...Array(10).fill('401 invalid_email_or_password'),
      ...Array(40).fill('429 too_many_attempts'),
    ]);
    const retryAfter = Number(answers[10]?.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(outcome(await signIn(owner.email, password, { address: '203.0.113.2' }))).toBe(200);
  });

  test('gains nothing by the 2^64 addresses of an IPv6 network (checklist 14)', async () => {
    const answers = [];
    for (let guess = 0; guess < 12; guess++) {
      answers.push(await signIn(newEmail(), other, { address: `2001:db8:a:b::${guess.toString(16)}` }));
    }
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429, 429]);
  });

  test('behind a trusted proxy is told apart from other clients (checklist 14)', async () => {
    const beside = await startTestService({ beside: service, settings: { TRUSTED_PROXIES: '10.0.0.0/8' } });
    const statuses = [];
    for (let guess = 0; guess < 12; guess++) {
      const headers = { 'X-Forwarded-For': `198.51.100.${guess}, 203.0.113.9` };
      const body = { email: newEmail(), password: other };
      statuses.push(
        (await beside.call('POST', '/api/auth/sign-in/email', { body, headers, address: '10.1.1.1' })).status,
      );
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    const headers = { 'X-Forwarded-For': '203.0.113.10' };
    const body = { email: newEmail(), password: other };
    const elsewhere = await beside.call('POST', '/api/auth/sign-in/email', { body, headers, address: '10.1.1.1' });
    expect(elsewhere.status).toBe(401);
    await beside.close();
  });

  test('at one account from everywhere gets five, and then not even the right one (checklist 14)', async () => {
    const { email } = await service.signUp();
    for (const tried of [email, newEmail()]) {
      const answers = [];
      for (let guess = 0; guess < 8; guess++) answers.push(await signIn(tried.toUpperCase(), other));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
      const refused = await signIn(tried);
      expect(outcome(refused)).toBe('429 too_many_attempts');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800);
    }
  });

  test('five at once are five, too (checklist 14)', async () => {
    const email = newEmail();
    const answers = await Promise.all(Array.from({ length: 20 }, () => signIn(email, other)));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  });

  test('is counted, but whoever signs in rightly is not', async () => {
    const { email } = await service.signUp();
    for (let time = 0; time < 12; time++) {
      await signIn(email, other);
      expect((await signIn(email, password, { address: '203.0.113.3' })).status).toBe(200);
    }
  });

  test('is not confused with several who sign in rightly at the same moment', async () => {
    const { email } = await service.signUp();
    const answers = await Promise.all(Array.from({ length: 12 }, () => signIn(email)));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
  });

  test('nobody has an account that was not made (checklist 15)', async () => {
    const empty = await startTestService();
    expect((await empty.deps.db.pool.query('select from users')).rowCount).toBe(0);
    for (const name of ['admin', 'root', 'cadiz', 'owner']) {
      const body = { email: `${name}@example.com`, password: name };
      expect((await empty.call('POST', '/api/auth/sign-in/email', { body })).status).toBe(401);
    }
    await empty.close();
  });
});

describe('a flood of sign-ins (checklist 14)', () => {
  test('lets presigns and uploads through while its hashes wait', async () => {
    const projectId = await service.createProject(owner);
    const { key } = await service.createKey(owner, projectId);
    const order: string[] = [];
    const flood = Array.from({ length: 32 }, () => signIn(newEmail(), other).then(() => order.push('sign-in')));
    const facts = { projectId, fileName: 'a.bin', mimeType: 'application/octet-stream', folderId: null };
    const body = { ...facts, fileSize: 200_000 };
    const presigned = await service.call('POST', '/api/storage/presign', { key, body });
    order.push('presign');
    const put = await send('PUT', presigned.body.presignedUrl, Buffer.alloc(200_000, 'x'));
    order.push('upload');
    await Promise.all(flood);

    expect([presigned.status, put.status]).toEqual([200, 200]);
    expect(order.filter((what) => what === 'sign-in')).toHaveLength(32);
    expect(order.indexOf('presign')).toBeLessThan(8);
    expect(order.slice(order.indexOf('upload')).filter((what) => what === 'sign-in').length).toBeGreaterThan(8);
  });
});

describe('a session', () => {
  test('is a new one at each sign-in, which ends the one that was there (checklist 4)', async () => {
    const ada = await service.signUp();
    const next = await startSession(ada, { headers: { Cookie: ada.cookie } });
    expect(next.cookie).not.toBe(ada.cookie);
    expect([await isAlive(ada), await isAlive(next)]).toEqual([false, true]);
    expect((await signIn(ada.email, other, { headers: { Cookie: next.cookie } })).status).toBe(401);
    expect(await isAlive(next)).toBe(true);
  });

  /** Lets time pass for the sessions of one person only: their rows are moved into the past. */
  const age = ({ id }: Person, by: string) =>
    service.deps.db.pool.query(
      `update sessions set created_at = created_at - $2::interval, updated_at = updated_at - $2::interval,
       expires_at = expires_at - $2::interval where user_id = $1`,
      [id, by],
    );
  const getSession = async (as: Person) => (await service.call('GET', '/api/auth/get-session', { as })).body;

  async function expectOver(person: Person): Promise<void> {
    expect(await isAlive(person)).toBe(false);
    expect(await getSession(person)).toBeNull();
    const { sessions } = (await service.call('GET', '/api/account/sessions', { as: await startSession(person) })).body;
    expect(sessions).toMatchObject([{ current: true }]);
  }

  test('that is over takes no cookie from a browser, which may have a new one by then', async () => {
    const ada = await service.signUp();
    const next = await startSession(ada, { headers: { Cookie: ada.cookie } });
    const late = await service.call('GET', '/api/auth/get-session', { as: ada });
    expect([late.text, late.headers.getSetCookie()]).toEqual(['null', []]);
    expect(await isAlive(next)).toBe(true);
  });

  test('ends after a week without use (checklist 5)', async () => {
    const ada = await service.signUp();
    await age(ada, '6 days 23 hours');
    expect(await isAlive(ada)).toBe(true);
    await age(ada, '2 hours');
    await expectOver(ada);
  });

  test('lives another week from each use, but never longer than thirty days (checklist 5)', async () => {
    const ada = await service.signUp();
    for (let week = 0; week < 4; week++) {
      await age(ada, '6 days 23 hours');
      expect((await getSession(ada)).user.email).toBe(ada.email);
    }
    const [listed] = (await service.call('GET', '/api/account/sessions', { as: ada })).body.sessions;
    const { expiresAt } = (await getSession(ada)).session;
    expect(Date.parse(expiresAt) - Date.parse(listed.createdAt)).toBe(30 * 24 * 3600_000);
    await age(ada, '2 days 2 hours');
    expect(await isAlive(ada)).toBe(true);
    await age(ada, '3 hours');
    await expectOver(ada);
  });

  test('beyond a hundred ends the one of its account that would expire first', async () => {
    const [ada, bob] = [await service.signUp(), await service.signUp('Bob')];
    const { pool } = service.deps.db;
    const alive = async ({ id }: Person) =>
      (await pool.query('select id from sessions where user_id = $1 order by expires_at desc', [id])).rows;
    await pool.query(
      `insert into sessions (id, user_id, token, expires_at)
       select gen_random_uuid(), $1, gen_random_uuid()::text, now() + n * interval '1 hour' from generate_series(1, 120) as n`,
      [ada.id],
    );
    const before = await alive(ada);
    const list = async () => (await service.call('GET', '/api/account/sessions', { as: ada })).body.sessions;
    expect(await list()).toHaveLength(100);

    const phone = await startSession(ada);
    expect((await alive(ada)).slice(1)).toEqual(before.slice(0, 99));
    expect(await Promise.all([ada, phone, bob].map(isAlive))).toEqual([true, true, true]);
    expect(await list()).toHaveLength(100);
    await Promise.all(Array.from({ length: 4 }, () => startSession(ada)));
    await startSession(ada);
    expect(await alive(ada)).toHaveLength(100);
  });

  test('is listed and ended by whose it is (checklist 9)', async () => {
    const ada = await service.signUp();
    const phone = await startSession(ada, {
      address: '203.0.113.77',
      headers: { 'User-Agent': `Phone/1 ${'x'.repeat(500)}` },
    });
    const bob = await service.signUp('Bob');

    const { sessions } = (await service.call('GET', '/api/account/sessions', { as: ada })).body;
    expect(sessions).toHaveLength(2);
    expect(sessions[0]).toMatchObject({ ipAddress: '203.0.113.77', current: false });
    expect(sessions[0].userAgent).toMatch(/^Phone\/1 x{292}$/);
    expect(sessions[1]).toMatchObject({ current: true });
    expect(JSON.stringify(sessions)).not.toContain('token');

    const path = `/api/account/sessions/${sessions[0].id}`;
    const foreign = await service.call('DELETE', path, { as: bob });
    const absent = await service.call('DELETE', `/api/account/sessions/${randomUUID()}`, { as: bob });
    expect(outcome(foreign)).toBe('404 session_not_found');
    expect(comparable(foreign)).toEqual(comparable(absent));
    expect(await isAlive(phone)).toBe(true);
    expect((await service.call('DELETE', path, { as: ada })).body).toEqual({ id: sessions[0].id, ended: true });
    expect([await isAlive(phone), await isAlive(ada)]).toEqual([false, true]);
    expect(outcome(await service.call('DELETE', path, { as: ada }))).toBe('404 session_not_found');
    expect(outcome(await service.call('DELETE', '/api/account/sessions/x', { as: ada }))).toBe('400 invalid_request');
  });

  test('can be the only one that is left (checklist 9)', async () => {
    const ada = await service.signUp();
    const others = [await startSession(ada), await startSession(ada)];
    const bob = await service.signUp('Bob');
    expect((await service.call('DELETE', '/api/account/sessions', { as: ada })).body).toEqual({ endedSessions: 2 });
    expect(await Promise.all([ada, ...others, bob].map(isAlive))).toEqual([true, false, false, true]);
  });
});

describe('a password change (checklist 8)', () => {
  const change = (as: Person, body: object) => service.call('POST', '/api/account/password', { as, body });
  const newPassword = 'nanoseconds are short';

  test('ends every other session and the old password, and a new token replaces that of its own session', async () => {
    const ada = await service.signUp();
    const elsewhere = await startSession(ada);
    const { key } = await service.createKey(ada, null);
    const answer = await change(ada, { currentPassword: password, newPassword });
    expect(answer.body).toEqual({ endedSessions: 1, revokedApiKeys: 0 });
    const renewed = { ...ada, cookie: cookieOf(answer) };
    expect(await Promise.all([renewed, ada, elsewhere].map(isAlive))).toEqual([true, false, false]);
    expect(outcome(await signIn(ada.email))).toBe('401 invalid_email_or_password');
    expect(outcome(await signIn(ada.email, newPassword))).toBe(200);
    expect(service.deps.apiKeys.find(key)).toBeDefined();
  });

  test('makes its session no younger', async () => {
    const ada = await service.signUp();
    await service.deps.db.pool.query(
      "update sessions set created_at = created_at - interval '2 hours' where user_id = $1",
      [ada.id],
    );
    const cookie = cookieOf(await change(ada, { currentPassword: password, newPassword }));
    const as = { ...ada, cookie };
    expect((await service.call('GET', '/api/account/sessions', { as })).body.sessions).toHaveLength(1);
    expect(outcome(await service.call('GET', '/api/auth/passkey/generate-register-options', { as }))).toBe(
      '403 session_not_fresh',
    );
  });

  test('has no effect once its session has ended', async () => {
    const ada = await service.signUp();
    meanwhile = () => service.call('POST', '/api/auth/sign-out', { as: ada });
    const answer = await change(ada, { currentPassword: password, newPassword });
    expect(outcome(answer)).toBe('401 session_required');
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(outcome(await signIn(ada.email))).toBe(200);
  });

  const resetByOperator = async ({ email }: Person) => {
    const command = { command: 'reset-password', email, revokeApiKeys: false };
    const said = await runCommand({ ...service.deps, close: async () => undefined }, command);
    return /^ {2}([\w-]{20})$/m.exec(said)?.[1] ?? '';
  };
  const rowsOf = async ({ id }: Person) =>
    (
      await service.deps.db.pool.query(
        `select (select count(*)::int from sessions where user_id = $1) as sessions,
                (select count(*)::int from verifications where value = $1::text) as challenges`,
        [id],
      )
    ).rows[0];

  test('ends a sign-in by the old one that was under way', async () => {
    const ada = await service.signUp();
    meanwhile = () => resetByOperator(ada);
    const answer = await signIn(ada.email);
    expect(outcome(answer)).toBe('401 invalid_email_or_password');
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(await rowsOf(ada)).toEqual({ sessions: 0, challenges: 0 });
  });

  test('ends such a sign-in also where it would go on to a second factor', async () => {
    const ada = await service.signUp();
    await service.deps.db.pool.query('update users set two_factor_enabled = true where id = $1', [ada.id]);
    expect((await signIn(ada.email)).body.twoFactorRedirect).toBe(true);
    expect(await rowsOf(ada)).toMatchObject({ challenges: 1 });
    meanwhile = () => resetByOperator(ada);
    expect(outcome(await signIn(ada.email))).toBe('401 invalid_email_or_password');
    expect(await rowsOf(ada)).toEqual({ sessions: 0, challenges: 0 });
  });

  test('leaves no session but its own, however many sign in by the old one at that moment', async () => {
    for (let round = 0; round < 8; round++) {
      const ada = await service.signUp();
      const racing = [1, 2, 3].map(() => signIn(ada.email));
      const changed = change(ada, { currentPassword: password, newPassword });
      await Promise.all([...racing, changed]);
      expect(outcome(await changed)).toBe(200);
      expect(await rowsOf(ada)).toEqual({ sessions: 1, challenges: 0 });
      expect(await isAlive({ ...ada, cookie: cookieOf(await changed) })).toBe(true);
    }
  });

  test('does not replace one that was set after the current one was compared', async () => {
    const ada = await service.signUp();
    let byOperator = '';
    meanwhile = async () => {
      byOperator = await resetByOperator(ada);
    };
    expect(outcome(await change(ada, { currentPassword: password, newPassword }))).toBe('403 wrong_password');
    expect(outcome(await signIn(ada.email, newPassword))).toBe('401 invalid_email_or_password');
    expect(outcome(await signIn(ada.email, byOperator))).toBe(200);
  });

  test('revokes the API keys too, when asked', async () => {
    const ada = await service.signUp();
    const projectId = await service.createProject(ada);
    const { key } = await service.createKey(ada, projectId);
    const list = () => service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
    expect(outcome(await list())).toBe(200);
    const answer = await change(ada, { currentPassword: password, newPassword, revokeApiKeys: true });
    expect(answer.body).toEqual({ endedSessions: 0, revokedApiKeys: 1 });
    expect(outcome(await list())).toBe('401 invalid_api_key');
  });

  test('asks for the current one, five times, and for a good new one', async () => {
    const ada = await service.signUp();
    const wrong = { currentPassword: other, newPassword };
    expect(outcome(await change(ada, { ...wrong, newPassword: 'password12345' }))).toBe('400 password_too_common');
    expect(outcome(await change(ada, { ...wrong, newPassword: 'too short' }))).toBe('400 invalid_request');
    for (let guess = 0; guess < 5; guess++) expect(outcome(await change(ada, wrong))).toBe('403 wrong_password');
    expect(outcome(await change(ada, wrong))).toBe('429 too_many_attempts');
    expect(outcome(await change(ada, { currentPassword: password, newPassword }))).toBe('429 too_many_attempts');
  });
});

describe('the owner of the service', () => {
  test('disables somebody: sessions and keys are dead, and live again only as they should (checklist 7, 10)', async () => {
    const ada = await service.signUp();
    const projectId = await service.createProject(ada);
    const keys = [await service.createKey(ada, projectId), await service.createKey(ada, null)];
    const useKeys = () =>
      Promise.all(
        keys.map(({ key }) => service.call('GET', `/api/storage/list?projectId=${projectId}`, { key }).then(outcome)),
      );
    expect(await useKeys()).toEqual([200, 200]);
    const change = (disabled: boolean) =>
      service.call('PATCH', `/api/users/${ada.id}`, { as: owner, body: { disabled } });

    expect((await change(true)).body).toMatchObject({ id: ada.id, disabledAt: expect.any(String) });
    expect(await isAlive(ada)).toBe(false);
    expect(await useKeys()).toEqual(['401 invalid_api_key', '401 invalid_api_key']);
    expect(outcome(await signIn(ada.email))).toBe('403 account_disabled');
    expect(outcome(await change(true))).toBe(200);

    expect((await change(false)).body.disabledAt).toBeNull();
    expect(await isAlive(ada)).toBe(false);
    expect(await useKeys()).toEqual([200, 200]);
    expect(await isAlive(await startSession(ada))).toBe(true);
  });

  test('disables somebody who signs in at that moment: that session is none (checklist 7)', async () => {
    const ada = await service.signUp();
    await service.deps.db.pool.query('update users set disabled_at = now() where id = $1', [ada.id]);
    expect(await isAlive(ada)).toBe(false);
    expect((await service.call('GET', '/api/auth/get-session', { as: ada })).text).toBe('null');
  });

  test('deletes somebody who signs in at that moment: they get no session (checklist 7)', async () => {
    const ada = await service.signUp();
    const { pool } = service.deps.db;
    await pool.query(`
      create function delete_meanwhile() returns trigger language plpgsql as
        $$begin delete from users where id = new.user_id; return new; end$$;
      create trigger delete_meanwhile before insert on sessions for each row execute function delete_meanwhile()`);
    try {
      const answer = await signIn(ada.email);
      expect(outcome(answer)).toBe('403 account_disabled');
      expect(answer.headers.getSetCookie()).toEqual([]);
    } finally {
      await pool.query('drop trigger delete_meanwhile on sessions; drop function delete_meanwhile()');
    }
  });

  test('deletes somebody: sessions, keys and the way in are gone (checklist 7)', async () => {
    const ada = await service.signUp();
    const { key } = await service.createKey(ada, null);
    const projectId = await service.createProject(ada);
    const list = () => service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
    expect(outcome(await list())).toBe(200);
    const remove = () => service.call('DELETE', `/api/users/${ada.id}`, { as: owner });
    expect(outcome(await remove())).toBe('409 last_owner');
    await service.call('DELETE', `/api/projects/${projectId}`, { as: ada });

    expect((await remove()).body).toEqual({ userId: ada.id, removed: true });
    expect(await isAlive(ada)).toBe(false);
    expect(outcome(await list())).toBe('401 invalid_api_key');
    expect(outcome(await signIn(ada.email))).toBe('401 invalid_email_or_password');
    expect(outcome(await remove())).toBe('404 user_not_found');
  });

  test('ends the sessions of somebody, and lists everybody (checklist 10)', async () => {
    const ada = await service.signUp();
    const phone = await startSession(ada);
    const path = `/api/users/${ada.id}/sessions`;
    expect((await service.call('DELETE', path, { as: owner })).body).toEqual({ endedSessions: 2 });
    expect([await isAlive(ada), await isAlive(phone), await isAlive(owner)]).toEqual([false, false, true]);

    const { users, nextCursor } = (await service.call('GET', '/api/users', { as: owner })).body;
    expect(users[0]).toMatchObject({ id: owner.id, role: 'owner', disabledAt: null });
    const ofAda = users.find((user: { id: string }) => user.id === ada.id);
    expect(ofAda).toMatchObject({ sessionCount: 0, latestSessionAt: null, passkeyCount: 0, twoFactorEnabled: false });
    const [latest] = (await service.call('GET', '/api/account/sessions', { as: owner })).body.sessions;
    expect(users[0].sessionCount).toBeGreaterThan(0);
    expect(users[0].latestSessionAt).toBe(latest.createdAt);
    expect(users.map((user: { id: string }) => user.id)).toContain(ada.id);
    expect(nextCursor).toBeNull();
    expect(JSON.stringify(users)).not.toContain('argon2');
    const after = await service.call('GET', `/api/users?cursor=${owner.id}`, { as: owner });
    expect(after.body.users).toHaveLength(users.length - 1);
  });

  test('cannot lock everybody out, and nobody else can do any of it', async () => {
    const ada = await service.signUp();
    const body = { disabled: true };
    expect(outcome(await service.call('PATCH', `/api/users/${owner.id}`, { as: owner, body }))).toBe('409 last_owner');
    expect(outcome(await service.call('DELETE', `/api/users/${owner.id}`, { as: owner }))).toBe('409 last_owner');
    const absent = await service.call('PATCH', `/api/users/${randomUUID()}`, { as: ada, body });
    const there = await service.call('PATCH', `/api/users/${owner.id}`, { as: ada, body });
    expect(outcome(there)).toBe('403 owner_required');
    expect(comparable(there)).toEqual(comparable(absent));
  });
});

test('a hash of weaker parameters becomes one of today’s at the next sign-in (checklist 11)', async () => {
  const ada = await service.signUp();
  const { pool } = service.deps.db;
  const weak = await hash(password, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
  await pool.query('update accounts set password = $2 where user_id = $1', [ada.id, weak]);
  const stored = async () =>
    (await pool.query('select password from accounts where user_id = $1', [ada.id])).rows[0].password;
  expect((await signIn(ada.email, other)).status).toBe(401);
  expect(await stored()).toBe(weak);
  expect((await signIn(ada.email)).status).toBe(200);
  expect(await stored()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect((await signIn(ada.email)).status).toBe(200);
});

test('two sign-ins of which one renews the hash both succeed, in two processes', async () => {
  const ada = await service.signUp();
  const another = await startTestService({ beside: service });
  const weak = await hash(password, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
  await service.deps.db.pool.query('update accounts set password = $2 where user_id = $1', [ada.id, weak]);
  const inside: number[] = [];
  const body = { email: ada.email, password };
  meanwhile = async () => inside.push((await another.call('POST', '/api/auth/sign-in/email', { body })).status);
  expect([(await signIn(ada.email)).status, ...inside]).toEqual([200, 200]);
  await another.close();
});

test('what was done about accounts is written down, without a secret (checklist 47)', async () => {
  const ada = await service.signUp();
  await signIn(ada.email, other, { address: '203.0.113.50' });
  await service.call('DELETE', '/api/account/sessions', { as: ada });
  const { rows } = await service.deps.db.pool.query(
    `select type, user_id, ip, subject from audit_events where user_id = $1 or subject->>'email' = $2 order by id`,
    [ada.id, ada.email],
  );
  expect(rows.map(({ type }) => type)).toEqual(['account.created', 'sign_in.failed', 'session.revoked']);
  expect(rows[1]).toMatchObject({ user_id: null, ip: '203.0.113.50', subject: { email: ada.email } });
  expect(JSON.stringify(rows)).not.toContain(other);
});
