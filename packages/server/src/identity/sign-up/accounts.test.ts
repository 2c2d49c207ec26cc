import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, startTestService, type TestService, type TestServiceOptions } from '../../../test/service.ts';
import { readConfig } from '../../settings/config.ts';
import { toWelcome } from '../../start/welcome.ts';
import { makeSetup } from './setup.ts';

const password = 'correct horse battery';

let open: TestService;
let first: TestService;
let closed: TestService;
let guarded: TestService;
let secure: TestService;
let local: TestService;
const localToken = 'a-token-for-who-comes-from-elsewhere';

beforeAll(async () => {
  open = await startTestService();
  const beside = (options: TestServiceOptions) => startTestService({ ...options, beside: open });
  first = await beside({ settings: { CADIZ_SIGN_UP: 'first' } });
  closed = await beside({ settings: { CADIZ_SIGN_UP: 'closed' } });
  guarded = await beside({ setup: { token: 'a-token-of-the-start-up-message', asksEverybody: true } });
  local = await beside({ setup: { token: localToken, asksEverybody: false } });
  secure = await beside({ settings: { CADIZ_PUBLIC_URL: 'https://media.example.com' } });
});
afterAll(() => open.close());

const forgetEverybody = () => open.deps.db.pool.query('truncate users cascade');
const newEmail = () => `ada-${randomUUID()}@example.com`;

async function count(table: 'users' | 'accounts' | 'sessions'): Promise<number> {
  return (await open.deps.db.pool.query(`select from ${table}`)).rowCount ?? 0;
}

function signUp(service: TestService, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const body = { name: 'Ada', email: newEmail(), password, ...more };
  return service.call('POST', '/api/auth/sign-up/email', { body, headers });
}

function signIn(service: TestService, email: string, secret = password) {
  return service.call('POST', '/api/auth/sign-in/email', { body: { email, password: secret } });
}

function cookieOf(answer: Answer): string {
  return (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
}

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);
const getSession = (service: TestService, Cookie: string) =>
  service.call('GET', '/api/auth/get-session', { headers: { Cookie } });

describe('who may sign up', () => {
  beforeEach(forgetEverybody);

  test('first: the first account becomes the owner, and nobody comes after it', async () => {
    const owner = await signUp(first);
    expect(outcome(owner)).toBe(200);
    expect(owner.body.user.role).toBe('owner');
    expect(outcome(await signUp(first))).toBe('403 sign_up_closed');
    expect(await count('users')).toBe(1);
  });

  test('open: the first is the owner, the others are members', async () => {
    expect((await signUp(open)).body.user.role).toBe('owner');
    expect((await signUp(open)).body.user.role).toBe('member');
    expect((await signUp(open)).body.user.role).toBe('member');
  });

  test('closed: nobody, not even the first', async () => {
    expect(outcome(await signUp(closed))).toBe('403 sign_up_closed');
    expect(await count('users')).toBe(0);
  });

  test('with a setup token: only whoever has it becomes the owner', async () => {
    expect(outcome(await signUp(guarded))).toBe('403 setup_token_required');
    for (const wrong of [
      '',
      'a-token',
      'a-token-of-the-start-up-messagX',
      'a-token-of-the-start-up-message-and-more',
    ]) {
      expect(outcome(await signUp(guarded, {}, { 'X-Setup-Token': wrong }))).toBe('403 setup_token_required');
    }
    expect(await count('users')).toBe(0);
    const right = { 'X-Setup-Token': 'a-token-of-the-start-up-message' };
    expect((await signUp(guarded, {}, right)).body.user.role).toBe('owner');
    expect((await signUp(guarded)).body.user.role).toBe('member');
  });

  test.each<[string, Record<string, string>, boolean]>([
    ['as localhost', { Host: 'localhost:4000' }, true],
    ['as 127.0.0.1', { Host: '127.0.0.1:4000' }, true],
    ['as ::1', { Host: '[::1]:4000' }, true],
    ['under a name that leads here (DNS rebinding)', { Host: 'rebound.example:4000' }, false],
    ['under a name that looks like it', { Host: 'localhost.example' }, false],
    ['under no name', { Host: 'a b' }, false],
    ['through a proxy that names itself', { Host: 'localhost:4000', Via: '1.1 proxy' }, false],
    ['through a proxy that names the client', { Host: 'localhost:4000', 'X-Forwarded-For': '127.0.0.1' }, false],
    ['through nginx', { Host: '127.0.0.1:4000', 'X-Real-IP': '192.0.2.1' }, false],
    ['through a proxy of RFC 7239', { Host: '127.0.0.1:4000', Forwarded: 'for=192.0.2.1' }, false],
  ])('on loopback, %s: needs the setup token unless it is from here', async (_how, headers, isFromHere) => {
    expect(outcome(await signUp(local, {}, headers))).toBe(isFromHere ? 200 : '403 setup_token_required');
    expect(await count('users')).toBe(isFromHere ? 1 : 0);
    if (isFromHere) return;
    expect((await signUp(local, {}, { ...headers, 'X-Setup-Token': localToken })).body.user.role).toBe('owner');
  });

  test.each<[string, Record<string, string>, boolean]>([
    ['on this machine only', {}, false],
    ['on this machine only, under another name of it', { CADIZ_PUBLIC_URL: 'http://127.0.0.1:4000' }, false],
    ['on every network', { HOST: '0.0.0.0' }, true],
    ['behind a proxy', { CADIZ_PUBLIC_URL: 'https://media.example.com' }, true],
  ])('%s: whether a request as localhost needs the setup token', async (_where, settings, isAsked) => {
    const config = readConfig(settings);
    const setup = makeSetup(config, 'a secret of thirty-two characters');
    const service = await startTestService({ beside: open, setup, settings });
    const hasToken = toWelcome(config, { setup, failed: new Promise(() => undefined), stop: async () => undefined });
    expect(hasToken.includes(`-H 'X-Setup-Token: ${setup.token}'`)).toBe(isAsked);
    const asLocalhost = { Host: 'localhost' };
    expect(outcome(await signUp(service, {}, asLocalhost))).toBe(isAsked ? '403 setup_token_required' : 200);
    if (!isAsked) return;
    const headers = { ...asLocalhost, 'X-Setup-Token': setup.token };
    expect((await signUp(service, {}, headers)).body.user.role).toBe('owner');
  });

  test('processes that share CADIZ_SECRET accept the setup token that any of them printed, and no others', async () => {
    const config = readConfig({ HOST: '0.0.0.0' });
    const [printed, own, foreign] = ['shared', 'shared', 'another'].map((secret) => makeSetup(config, secret));
    const service = await startTestService({ beside: open, ...(own ? { setup: own } : {}) });
    const withToken = (token = '') => signUp(service, {}, { 'X-Setup-Token': token });
    expect(outcome(await withToken(foreign?.token))).toBe('403 setup_token_required');
    expect(outcome(await withToken(printed?.token))).toBe(200);
  });

  test('one e-mail address raced makes one account', async () => {
    await signUp(open);
    const email = newEmail();
    const answers = await Promise.all(Array.from({ length: 6 }, () => signUp(open, { email })));
    expect(answers.map(outcome).sort()).toEqual([200, ...Array(5).fill('409 account_exists')]);
    expect(outcome(await signIn(open, email))).toBe(200);
  });

  test.each(['accounts', 'sessions'])('what fails in the middle, at %s, leaves no user behind', async (table) => {
    const email = newEmail();
    await open.deps.db.pool.query(`alter table ${table} add constraint broken check (user_id is null) not valid`);
    try {
      expect(outcome(await signUp(open, { email }))).toBe('500 internal_error');
    } finally {
      await open.deps.db.pool.query(`alter table ${table} drop constraint broken`);
    }
    expect([await count('users'), await count('accounts'), await count('sessions')]).toEqual([0, 0, 0]);
    const again = await signUp(open, { email });
    expect([outcome(again), again.body.user.role]).toEqual([200, 'owner']);
  });
});

describe('what an account is made of', () => {
  test('unknown fields are ignored, and set nothing that is not the caller’s to set', async () => {
    await signUp(open);
    const id = randomUUID();
    const answer = await signUp(open, {
      id,
      role: 'owner',
      emailVerified: true,
      email_verified: true,
      image: 'https://example.com/x.png',
      callbackURL: 'https://evil.example.com',
      rememberMe: false,
      createdAt: '2001-01-01T00:00:00.000Z',
    });
    expect(outcome(answer)).toBe(200);
    expect(answer.body.user).toMatchObject({ role: 'member', emailVerified: false });
    expect(answer.body.user.id).not.toBe(id);
    expect(answer.body.user.image ?? null).toBeNull();
    expect(answer.body.user.createdAt > '2020').toBe(true);
  });

  test.each([
    ['a name with NUL', { name: 'A\0da' }, 'name'],
    ['a name with a control', { name: 'A\nda' }, 'name'],
    ['a name with half of a surrogate pair', { name: 'A\ud800da' }, 'name'],
    ['a name of 201 bytes', { name: `${'é'.repeat(100)}x` }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that is no text', { name: 5 }, 'name'],
    ['no name', { name: undefined }, 'name'],
    ['an invalid e-mail address', { email: 'ada' }, 'email'],
    ['an e-mail address with NUL', { email: 'a\0@example.com' }, 'email'],
    ['an e-mail address that is a list', { email: ['ada@example.com'] }, 'email'],
    ['an e-mail address of 255 characters', { email: `${'a'.repeat(243)}@example.com` }, 'email'],
    ['a password of 11 characters', { password: 'elevenchars' }, 'password'],
    ['a password of 1025 characters', { password: 'x'.repeat(1025) }, 'password'],
    ['a password with NUL', { password: 'correct horse\0battery' }, 'password'],
    ['a password with half of a surrogate pair', { password: 'correct horse \udc00 battery' }, 'password'],
    ['no password', { password: null }, 'password'],
  ])('%s: 400', async (_what, wrong, path) => {
    const before = await count('users');
    const answer = await signUp(open, wrong);
    expect(outcome(answer)).toBe('400 invalid_request');
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
    expect(await count('users')).toBe(before);
  });

  test('everything that is wrong is told at once', async () => {
    const { body } = await signUp(open, { name: '', email: '', password: '' });
    expect(body.issues.map((issue: { path: string }) => issue.path)).toEqual(['name', 'email', 'password']);
  });

  test.each([
    ['of 12 characters', 'twelve chars'],
    ['of 1024 characters', `grün ${'ü'.repeat(1019)}`],
    ['of 64 characters', 'nine horses walk into a bar and order 1 oat latte each, please!!'],
    ['in any script', 'パスワードはとても長いです🙂'],
  ])('a password %s is taken as it is, to its last character (checklist 12)', async (_what, secret) => {
    const email = newEmail();
    expect(outcome(await signUp(open, { email, password: secret }))).toBe(200);
    expect(outcome(await signIn(open, email, secret))).toBe(200);
    expect(outcome(await signIn(open, email, secret.slice(0, -1)))).toBe('401 invalid_email_or_password');
    expect(outcome(await signIn(open, email, secret.toUpperCase().slice(1)))).toBe('401 invalid_email_or_password');
  });

  test('a password that looks the same is the same, however a keyboard composes it (NFKC)', async () => {
    const email = newEmail();
    await signUp(open, { email, password: 'cafe\u0301 au lait, bitte' });
    expect(outcome(await signIn(open, email, 'caf\u00e9 au lait, bitte'))).toBe(200);
  });

  test.each([
    ['four that are twelve', '\u334d\u3351\u3322x', 200],
    ['22 that are eleven', [...'aeiouycnszr'].map((letter) => `${letter}\u0301`).join(''), '400 invalid_request'],
  ])(
    '%s characters once they are composed (NFKC) are judged alike at sign-up and at a change',
    async (_what, secret, judged) => {
      expect(outcome(await signUp(open, { password: secret }))).toBe(judged);
      const headers = { Cookie: cookieOf(await signUp(open)) };
      const body = { currentPassword: password, newPassword: secret };
      expect(outcome(await open.call('POST', '/api/account/password', { body, headers }))).toBe(judged);
    },
  );

  test('upper and lower case are the same in an e-mail address', async () => {
    const email = newEmail();
    await signUp(open, { email: email.toUpperCase() });
    expect(outcome(await signUp(open, { email }))).toBe('409 account_exists');
    const { body } = await signIn(open, email.replace('ada', 'Ada'));
    expect(body.user.email).toBe(email);
  });

  test('the password is kept as argon2id, and nowhere as it was (checklist 11)', async () => {
    const email = newEmail();
    await signUp(open, { email });
    const { rows } = await open.deps.db.pool.query(
      'select a.* from accounts a join users u on u.id = a.user_id where u.email = $1',
      [email],
    );
    expect(rows[0].password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(JSON.stringify(rows)).not.toContain(password);
    expect(open.logged()).not.toContain(password);
  });
});

describe('sessions', () => {
  test('a wrong password and an unknown address get the same answer', async () => {
    const email = newEmail();
    await signUp(open, { email });
    const comparable = ({ status, headers, body }: Answer) => ({
      status,
      body: { ...body, requestId: '' },
      headers: [...headers].filter(([name]) => name !== 'x-request-id'),
    });
    const wrong = await signIn(open, email, 'wrong horse battery');
    expect(outcome(wrong)).toBe('401 invalid_email_or_password');
    expect(comparable(await signIn(open, newEmail()))).toEqual(comparable(wrong));
    expect(wrong.headers.getSetCookie()).toEqual([]);
  });

  test('a session serves from sign-in to sign-out, and a kept cookie is worth nothing after it (checklist 6)', async () => {
    const email = newEmail();
    await signUp(open, { email });
    const signedIn = await signIn(open, email);
    const cookie = cookieOf(signedIn);
    const session = await getSession(open, cookie);
    expect(session.body.user).toEqual(signedIn.body.user);
    expect(session.body.session.userId).toBe(signedIn.body.user.id);

    const signOut = await open.call('POST', '/api/auth/sign-out', { headers: { Cookie: cookie } });

    expect(signOut.body).toEqual({ success: true });
    expect(signOut.headers.getSetCookie()[0]).toMatch(/^cadiz\.session_token=; Max-Age=0/);
    expect((await getSession(open, cookie)).text).toBe('null');
    expect(outcome(await open.call('GET', '/api/projects', { headers: { Cookie: cookie } }))).toBe(
      '401 session_required',
    );
    expect(outcome(await open.call('POST', '/api/auth/sign-out', { headers: { Cookie: cookie } }))).toBe(200);
  });

  test('a sign-up ends the session that the browser had, and a refused one does not (checklist 4)', async () => {
    const Cookie = cookieOf(await signUp(open));
    const email = newEmail();
    expect(outcome(await signUp(open, { email }, { Cookie }))).toBe(200);
    expect((await getSession(open, Cookie)).text).toBe('null');
    const other = cookieOf(await signUp(open));
    expect(outcome(await signUp(open, { email }, { Cookie: other }))).toBe('409 account_exists');
    expect((await getSession(open, other)).body.user.email).not.toBe(email);
  });

  test('signing out ends this session and no other', async () => {
    const email = newEmail();
    const here = cookieOf(await signUp(open, { email }));
    const there = cookieOf(await signIn(open, email));
    expect(there).not.toBe(here);
    await open.call('POST', '/api/auth/sign-out', { headers: { Cookie: here } });
    expect((await getSession(open, here)).body).toBeNull();
    expect((await getSession(open, there)).body.user.email).toBe(email);
  });

  test('a session that could not be deleted is not said to be over', async () => {
    const cookie = cookieOf(await signUp(open));
    const { pool } = open.deps.db;
    await pool.query(`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused' using errcode = '57014'; end $$`);
    await pool.query('create trigger refuse before delete on sessions for each row execute function refuse()');
    try {
      const answer = await open.call('POST', '/api/auth/sign-out', { headers: { Cookie: cookie } });
      expect(outcome(answer)).toBe('503 database_unavailable');
      expect(answer.headers.getSetCookie()).toEqual([]);
    } finally {
      await pool.query('drop function refuse cascade');
    }
    expect(outcome(await open.call('POST', '/api/auth/sign-out', { headers: { Cookie: cookie } }))).toBe(200);
    expect((await getSession(open, cookie)).body).toBeNull();
  });

  test('nobody is null', async () => {
    expect((await getSession(open, '')).text).toBe('null');
    expect((await getSession(open, 'cadiz.session_token=x.y')).text).toBe('null');
    expect((await getSession(open, 'cadiz.session_token=%E0%A4%A.y; cadiz.session_token')).text).toBe('null');
  });

  test('an expired session is not accepted', async () => {
    const cookie = cookieOf(await signUp(open));
    await open.deps.db.pool.query("update sessions set expires_at = now() - interval '1 second'");
    expect((await getSession(open, cookie)).body).toBeNull();
    expect(outcome(await open.call('GET', '/api/projects', { headers: { Cookie: cookie } }))).toBe(
      '401 session_required',
    );
  });

  test('a session signed with another secret is not accepted', async () => {
    const cookie = cookieOf(await signUp(open));
    expect(outcome(await first.call('GET', '/api/projects', { headers: { Cookie: cookie } }))).toBe(
      '401 session_required',
    );
  });

  test('the token is in the cookie alone: in no body, and in the database only as its SHA-256 (checklist 2, 3)', async () => {
    const email = newEmail();
    const answers = [await signUp(open, { email }), await signIn(open, email)];
    const cookies = answers.map(cookieOf);
    answers.push(await getSession(open, cookies[1] ?? ''));
    answers.push(await open.call('GET', '/api/projects', { headers: { Cookie: cookies[1] ?? '' } }));
    const tokens = cookies.map((cookie) => decodeURIComponent(cookie.split('=')[1] ?? '').split('.')[0] ?? '');

    const { rows } = await open.deps.db.pool.query<{ token: string }>('select * from sessions');
    for (const token of tokens) {
      // 32 characters out of an alphabet of 64: 192 bits, where 128 are required.
      expect(token).toMatch(/^[\w-]{32,}$/);
      for (const answer of answers) expect(answer.text).not.toContain(token);
      expect(JSON.stringify(rows)).not.toContain(token);
      expect(open.logged()).not.toContain(token);
      expect(rows.map((row) => row.token)).toContain(createHash('sha256').update(token).digest('base64url'));
    }
  });

  test('the cookie is out of reach of scripts and of other sites (checklist 1)', async () => {
    const cookies = (await signUp(open)).headers.getSetCookie();
    expect(cookies.map((cookie) => cookie.split('=')[0])).toEqual(['cadiz.session_token', 'cadiz.device']);
    for (const cookie of cookies) {
      const [, ...attributes] = cookie.split('; ');
      expect(attributes.sort()).toEqual(['HttpOnly', expect.stringMatching(/^Max-Age=\d+$/), 'Path=/', 'SameSite=Lax']);
    }
  });

  test('under https it is Secure besides, of this host alone (__Host-), and works (checklist 1)', async () => {
    const answer = await signUp(secure);
    const names = answer.headers.getSetCookie().map((cookie) => cookie.split('=')[0]);
    expect(names).toEqual(['__Host-cadiz.session_token', '__Host-cadiz.device']);
    for (const cookie of answer.headers.getSetCookie()) {
      const [, ...attributes] = cookie.split('; ');
      expect(attributes.sort()).toEqual([
        'HttpOnly',
        expect.stringMatching(/^Max-Age=\d+$/),
        'Path=/',
        'SameSite=Lax',
        'Secure',
      ]);
    }
    const Cookie = cookieOf(answer);
    expect(outcome(await secure.call('POST', '/api/projects', { headers: { Cookie }, body: { name: 'P' } }))).toBe(200);
    const plain = Cookie.replace('__Host-', '');
    expect(outcome(await secure.call('GET', '/api/projects', { headers: { Cookie: plain } }))).toBe(
      '401 session_required',
    );
  });
});

describe('what the contract does not have', () => {
  test.each([
    ['GET', 'ok'],
    ['GET', 'error'],
    ['GET', 'list-sessions'],
    ['GET', 'list-accounts'],
    ['POST', 'update-user'],
    ['POST', 'update-session'],
    ['POST', 'delete-user'],
    ['POST', 'change-password'],
    ['POST', 'change-email'],
    ['POST', 'revoke-session'],
    ['POST', 'revoke-sessions'],
    ['POST', 'forget-password'],
    ['POST', 'verify-password'],
    ['GET', 'callback/github'],
    ['POST', 'get-access-token'],
    ['GET', ''],
  ])('%s /api/auth/%s cannot be reached', async (method, path) => {
    const ada = await open.signUp();
    const answer = await open.call(method, `/api/auth/${path}`, {
      as: ada,
      ...(method === 'POST' ? { body: {} } : {}),
    });
    expect(outcome(answer)).toBe('404 not_found');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });
});

describe('a flood (checklist 14)', () => {
  test('of 200 sign-ins at once is let in a few at a time, and the service goes on', async () => {
    const email = newEmail();
    await signUp(open, { email });
    const flood = Promise.all(Array.from({ length: 200 }, () => signIn(open, newEmail(), 'wrong horse battery')));
    expect(outcome(await open.call('GET', '/livez'))).toBe(200);
    const answers = await flood;

    const outcomes = new Set(answers.map(outcome));
    expect([...outcomes].sort()).toEqual(['401 invalid_email_or_password', '429 too_many_sign_ins']);
    for (const { status, headers } of answers) {
      if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(outcome(await signIn(open, email))).toBe(200);
  });
});
