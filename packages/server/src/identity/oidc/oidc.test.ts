import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from '../../../test/browser.ts';
import { startTestIssuer, type TestIssuer } from '../../../test/oidc-issuer.ts';
import { type Answer, startTestService, type TestService, type TestServiceOptions } from '../../../test/service.ts';
import type { Database } from '../../db/open.ts';
import { findOrMakeAccount } from './find-or-make-account.ts';

const password = 'correct horse battery';
const setupToken = 'a-token-of-the-start-up-message';

let issuer: TestIssuer;
let open: TestService;
let first: TestService;
let closed: TestService;
let welcoming: TestService;
let domains: TestService;
let guarded: TestService;
let secure: TestService;
let without: TestService;

const oidcSettings = () => ({
  OIDC_ISSUER: issuer.url,
  OIDC_CLIENT_ID: issuer.clientId,
  OIDC_CLIENT_SECRET: issuer.clientSecret,
  OIDC_NAME: 'The company',
});

beforeAll(async () => {
  issuer = await startTestIssuer();
  without = await startTestService();
  const beside = (more: Record<string, string>, options: TestServiceOptions = {}) =>
    startTestService({ ...options, beside: without, settings: { ...oidcSettings(), ...more } });
  open = await beside({});
  first = await beside({ CADIZ_SIGN_UP: 'first' });
  closed = await beside({ CADIZ_SIGN_UP: 'closed' });
  welcoming = await beside({ CADIZ_SIGN_UP: 'closed', OIDC_SIGN_UP: 'open' });
  domains = await beside({ CADIZ_SIGN_UP: 'closed', OIDC_SIGN_UP: 'Example.com, example.org' });
  guarded = await beside({}, { setup: { token: setupToken, asksEverybody: true } });
  secure = await beside({ CADIZ_PUBLIC_URL: 'https://media.example.com' });
});
afterAll(async () => {
  await without.close();
  await issuer.stop();
});
beforeEach(() => {
  const sub = randomUUID();
  issuer.person = { sub, email: `${sub}@example.com`, email_verified: true, name: 'Ada' };
});
afterEach(() => {
  Object.assign(issuer, { alter: (claims: unknown) => claims, signWith: undefined, metadata: {}, broken: {} });
  Object.assign(issuer, { refusal: undefined, emailIn: 'id_token' });
});

const endJson = (response: ServerResponse, body: object) =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

const forgetEverybody = () => without.deps.db.pool.query('truncate users cascade');
const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);

const begin = (browser: TestBrowser, more: object = {}, headers: Record<string, string> = {}) =>
  browser.call('POST', '/api/auth/sign-in/social', { body: { provider: 'oidc', ...more }, headers });

/** What the browser brings back from the issuer: path and query. */
async function visitIssuer(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' });
  expect(response.status).toBe(302);
  const { pathname, search } = new URL(response.headers.get('location') ?? '');
  return pathname + search;
}

/** A complete sign-in: to the issuer and back. */
async function signIn(
  service: TestService,
  browser = openBrowser(service),
  headers: Record<string, string> = {},
): Promise<Answer & { browser: TestBrowser }> {
  const begun = await begin(browser, {}, headers);
  expect(outcome(begun)).toBe(200);
  return { ...(await browser.call('GET', await visitIssuer(begun.body.url))), browser };
}

const getUser = async (browser: TestBrowser) => (await browser.call('GET', '/api/auth/get-session')).body?.user;

async function signUpByPassword(service: TestService, email: string): Promise<TestBrowser> {
  const browser = openBrowser(service);
  const body = { name: 'Ada', email, password };
  expect(outcome(await browser.call('POST', '/api/auth/sign-up/email', { body }))).toBe(200);
  return browser;
}

async function link(browser: TestBrowser): Promise<Answer> {
  const begun = await browser.call('POST', '/api/auth/link-social', { body: { provider: 'oidc' } });
  expect(outcome(begun)).toBe(200);
  return browser.call('GET', await visitIssuer(begun.body.url));
}

describe('signing in with an issuer', () => {
  test('leads back to where it began, with a session, and to the same account each time', async () => {
    const browser = openBrowser(open);
    const begun = await begin(browser, { callbackURL: '/projects?x=1' });
    expect(begun.body).toEqual({ url: expect.stringContaining(`${issuer.url}/authorize?tenant=1&`), redirect: true });
    const asked = new URL(begun.body.url).searchParams;
    expect(asked.get('redirect_uri')).toBe('http://localhost:4000/api/auth/callback/oidc');
    expect(asked.get('scope')).toBe('openid email profile');

    const back = await browser.call('GET', await visitIssuer(begun.body.url));

    expect([back.status, back.headers.get('location')]).toEqual([302, 'http://localhost:4000/projects?x=1']);
    expect([...browser.cookies.keys()]).toEqual(['cadiz.session_token']);
    const user = await getUser(browser);
    expect(user).toMatchObject({ email: issuer.person.email, emailVerified: true, name: 'Ada' });
    expect(outcome(await browser.call('POST', '/api/projects', { body: { name: 'Mine' } }))).toBe(200);

    const again = await signIn(open);
    expect((await getUser(again.browser)).id).toBe(user.id);
    expect(again.browser.cookies.get('cadiz.session_token')).not.toBe(browser.cookies.get('cadiz.session_token'));
  });

  test('ends the session that the browser had, also somebody else’s (checklist 4)', async () => {
    const browser = await signUpByPassword(open, 'grace@example.com');
    const kept = openBrowser(open);
    for (const [name, value] of browser.cookies) kept.cookies.set(name, value);
    expect((await getUser(kept)).email).toBe('grace@example.com');
    await signIn(open, browser);
    expect((await getUser(browser)).email).toBe(issuer.person.email);
    expect(await getUser(kept)).toBeUndefined();
  });

  test('the account is the subject’s, whatever becomes of their e-mail address', async () => {
    const { browser } = await signIn(open);
    const { id, email } = await getUser(browser);
    issuer.person = { ...issuer.person, email: `new-${email}`, email_verified: false };
    const later = await signIn(open);
    expect(await getUser(later.browser)).toMatchObject({ id, email });
    const { sub: _, ...nameless } = issuer.person;
    issuer.person = { ...nameless, sub: issuer.person.sub.toUpperCase(), email, email_verified: true };
    expect(outcome(await signIn(open))).toBe('409 oidc_account_not_linked');
  });

  test('the e-mail address may come with the userinfo, which must be about the same person', async () => {
    issuer.emailIn = 'userinfo';
    const { browser } = await signIn(open);
    expect((await getUser(browser)).email).toBe(issuer.person.email);
    issuer.person = { ...issuer.person, sub: randomUUID() };
    issuer.broken['/userinfo'] = (response) => endJson(response, { sub: 'somebody', email: 'x@example.com' });
    expect(outcome(await signIn(open))).toBe('400 oidc_answer_invalid');
  });

  test('no token is in a body, in the log or in the database (checklist 2)', async () => {
    const { text, browser } = await signIn(open);
    const answers = [text, (await browser.call('GET', '/api/auth/get-session')).text];
    const { rows } = await open.deps.db.pool.query('select a.*, s.* from accounts a join sessions s using (user_id)');
    const [session = ''] = decodeURIComponent(browser.cookies.get('cadiz.session_token') ?? '').split('.');
    for (const secret of [...issuer.tokens, issuer.clientSecret, session]) {
      for (const place of [...answers, open.logged(), JSON.stringify(rows)]) expect(place).not.toContain(secret);
    }
    expect(rows.length).toBeGreaterThan(0);
  });

  test('cookies are out of reach of scripts, and Secure under https (checklist 1)', async () => {
    const browser = openBrowser(secure);
    const begun = await begin(browser);
    const back = await browser.call('GET', await visitIssuer(begun.body.url));
    expect(back.headers.get('location')).toBe('https://media.example.com/');
    for (const answer of [begun, back]) {
      for (const line of answer.headers.getSetCookie()) {
        expect(line).toMatch(/^__(Host|Secure)-cadiz\./);
        expect(line.split('; ')).toEqual(expect.arrayContaining(['HttpOnly', 'SameSite=Lax', 'Secure', 'Path=/']));
      }
    }
    expect(back.headers.getSetCookie()).toHaveLength(2);
  });

  test('a body may name no other place, and no other provider', async () => {
    for (const callbackURL of [
      'https://evil.example.com/',
      '//evil.example.com',
      '/\\evil.example.com',
      '/\t/evil.example.com',
      'javascript:alert(1)',
      '@evil.example.com',
      '.evil.example.com',
      '',
      5,
      `/${'x'.repeat(2048)}`,
    ]) {
      expect(outcome(await begin(openBrowser(open), { callbackURL }))).toBe('400 invalid_request');
    }
    expect(outcome(await begin(openBrowser(open), { errorCallbackURL: '//evil.example.com' }))).toBe(
      '400 invalid_request',
    );
    expect(outcome(await begin(openBrowser(open), { provider: 'github' }))).toBe('400 invalid_request');
  });

  test('another site can begin nothing (checklist 17)', async () => {
    const headers = { 'Sec-Fetch-Site': 'cross-site' };
    expect(outcome(await begin(openBrowser(open), {}, headers))).toBe('403 cross_site_request');
    const body = { provider: 'oidc' };
    const as = await open.signUp();
    expect(outcome(await open.call('POST', '/api/auth/link-social', { as, body, headers }))).toBe(
      '403 cross_site_request',
    );
  });

  test('the methods that are on can be asked for', async () => {
    expect((await open.call('GET', '/api/auth/methods')).body.oidc).toEqual({ name: 'The company' });
    expect((await without.call('GET', '/api/auth/methods')).body.oidc).toBeNull();
  });

  test('a disabled account gets no session (checklist 7)', async () => {
    const { browser } = await signIn(open);
    const { id } = await getUser(browser);
    await open.deps.db.pool.query('update users set disabled_at = now() where id = $1', [id]);
    const answer = await signIn(open);
    expect(outcome(answer)).toBe('403 account_disabled');
    expect(answer.browser.cookies.has('cadiz.session_token')).toBe(false);
  });

  test('what was done is written down (checklist 47)', async () => {
    const { browser } = await signIn(open);
    await signIn(open);
    const { id } = await getUser(browser);
    const { rows } = await open.deps.db.pool.query(
      'select type, subject from audit_events where user_id = $1 order by id',
      [id],
    );
    const subject = { userId: id, issuer: issuer.url };
    expect(rows).toEqual(
      ['account.created', 'sign_in.succeeded', 'sign_in.succeeded'].map((type) => ({ type, subject })),
    );
  });

  test('without an issuer it is off', async () => {
    const body = { provider: 'oidc' };
    const as = await without.signUp();
    expect(outcome(await without.call('POST', '/api/auth/sign-in/social', { body }))).toBe('404 sign_in_method_off');
    expect(outcome(await without.call('POST', '/api/auth/link-social', { as, body }))).toBe('404 sign_in_method_off');
    expect(outcome(await without.call('GET', '/api/auth/callback/oidc?code=x&state=y'))).toBe('404 sign_in_method_off');
  });
});

describe('who gets an account', () => {
  beforeEach(forgetEverybody);

  test('first: the first becomes the owner, and nobody comes after', async () => {
    const { browser } = await signIn(first);
    expect((await getUser(browser)).role).toBe('owner');
    issuer.person = { ...issuer.person, sub: 'second', email: 'second@example.com' };
    expect(outcome(await signIn(first))).toBe('403 sign_up_closed');
  });

  test('closed: nobody, not even the first', async () => {
    expect(outcome(await signIn(closed))).toBe('403 sign_up_closed');
    expect((await without.deps.db.pool.query('select from users')).rowCount).toBe(0);
  });

  test('OIDC_SIGN_UP=open: whoever the issuer knows', async () => {
    expect((await getUser((await signIn(welcoming)).browser)).role).toBe('owner');
    issuer.person = { ...issuer.person, sub: 'second', email: 'second@example.net' };
    expect((await getUser((await signIn(welcoming)).browser)).role).toBe('member');
  });

  test('domains: whoever has a verified address of one, and of no other', async () => {
    await without.signUp();
    for (const [email, expected] of [
      ['a@example.com', 302],
      ['B@EXAMPLE.ORG', 302],
      ['c@sub.example.com', '403 sign_up_closed'],
      ['d@notexample.com', '403 sign_up_closed'],
      ['e@example.com.evil.net', '403 sign_up_closed'],
      ['"x@example.com"@evil.net', '403 oidc_email_not_verified'],
    ] as const) {
      issuer.person = { sub: email, email, email_verified: true };
      expect([email, outcome(await signIn(domains))]).toEqual([email, expected]);
    }
    issuer.person = { sub: 'f', email: 'f@example.com', email_verified: false };
    expect(outcome(await signIn(domains))).toBe('403 oidc_email_not_verified');
  });

  test('the first owner needs the setup token, and is told so before going anywhere', async () => {
    const wrong = { 'X-Setup-Token': `${setupToken}x` };
    expect(outcome(await begin(openBrowser(guarded)))).toBe('403 setup_token_required');
    expect(outcome(await begin(openBrowser(guarded), {}, wrong))).toBe('403 setup_token_required');
    const { browser } = await signIn(guarded, undefined, { 'X-Setup-Token': setupToken });
    expect((await getUser(browser)).role).toBe('owner');
    issuer.person = { ...issuer.person, sub: 'second', email: 'second@example.com' };
    expect((await getUser((await signIn(guarded)).browser)).role).toBe('member');
  });

  test('a sign-in that began without the setup token owns nothing when everybody has gone meanwhile', async () => {
    await without.signUp();
    const browser = openBrowser(guarded);
    const begun = await begin(browser);
    await forgetEverybody();
    const back = await browser.call('GET', await visitIssuer(begun.body.url));
    expect(outcome(back)).toBe('403 setup_token_required');
  });

  test('an invitation lets in, once, by the address that was invited', async () => {
    const owner = await without.signUp();
    const projectId = await without.createProject(owner);
    const path = `/api/projects/${projectId}/invitations`;
    const body = { email: issuer.person.email, role: 'editor' };
    const { url } = (await without.call('POST', path, { as: owner, body })).body;
    const headers = { 'X-Invitation': url.split('#')[1] };
    const invited = issuer.person;
    issuer.person = { sub: 'eve', email: 'eve@example.com', email_verified: true };
    expect(outcome(await signIn(closed, undefined, headers))).toBe('404 invitation_not_found');
    issuer.person = invited;
    const { browser } = await signIn(closed, undefined, headers);
    expect((await getUser(browser)).role).toBe('member');
    const members = await without.call('GET', `/api/projects/${projectId}/members`, { as: owner });
    expect(members.body.members.map((member: { role: string }) => member.role).sort()).toEqual(['editor', 'owner']);
    expect(outcome(await signIn(closed, undefined, headers))).toBe(302);
  });

  test.each([
    ['first', () => first, 1],
    ['open', () => open, 6],
  ] as const)(
    '%s: six race to be the first, and one becomes the owner (checklist 16)',
    async (_mode, service, members) => {
      for (let round = 0; round < 5; round++) {
        await forgetEverybody();
        const flows = [];
        for (let i = 0; i < 6; i++) {
          issuer.person = { sub: randomUUID(), email: `${randomUUID()}@example.com`, email_verified: true };
          const browser = openBrowser(service());
          flows.push({ browser, path: await visitIssuer((await begin(browser)).body.url) });
        }
        const answers = await Promise.all(flows.map(({ browser, path }) => browser.call('GET', path)));
        const { rows } = await without.deps.db.pool.query<{ role: string }>('select role from users');
        expect(rows.filter(({ role }) => role === 'owner')).toHaveLength(1);
        expect(rows).toHaveLength(members);
        expect(answers.filter(({ status }) => status === 302)).toHaveLength(members);
        for (const answer of answers) expect([302, '403 sign_up_closed']).toContain(outcome(answer));
      }
    },
    60_000,
  );

  test('one person in several windows at once gets one account', async () => {
    await without.signUp();
    const browsers = Array.from({ length: 4 }, () => openBrowser(open));
    const paths: string[] = [];
    for (const browser of browsers) paths.push(await visitIssuer((await begin(browser)).body.url));
    const answers = await Promise.all(browsers.map((browser, i) => browser.call('GET', paths[i] ?? '')));
    expect(answers.map(outcome)).toEqual([302, 302, 302, 302]);
    const users = await Promise.all(browsers.map(getUser));
    expect(new Set(users.map(({ id }) => id)).size).toBe(1);
  });

  test('a person whose address the issuer has changed between two windows gets one account', async () => {
    await without.signUp();
    const { deps } = open;
    const provider = deps.issuer;
    if (!provider) throw new Error('There must be an issuer.');
    const flow = { state: '', nonce: '', codeVerifier: '', callbackUrl: '/', expiresAt: 0, hasSetupToken: false };
    const sub = randomUUID();
    const arrival = (email: string) => ({
      issuer: provider,
      flow,
      claims: { sub, email, emailVerified: true, name: 'Ada' },
      address: '203.0.113.1',
      requestId: undefined,
    });
    let isFirst = true;
    let made = '';
    const late: Database = {
      ...deps.db,
      async transaction(work) {
        if (isFirst) made = await findOrMakeAccount(deps, arrival(`old-${sub}@example.com`));
        isFirst = false;
        return deps.db.transaction(work);
      },
    };
    const found = await findOrMakeAccount({ ...deps, db: late }, arrival(`new-${sub}@example.com`));
    expect([found, made]).toEqual([made, expect.stringMatching(/^[\da-f-]{36}$/)]);
  });

  test('what conflicts every time fails in the end', async () => {
    await without.signUp();
    const { pool } = without.deps.db;
    await pool.query(`
      create function conflict() returns trigger language plpgsql as
        $$begin raise unique_violation using message = 'always'; end$$;
      create trigger conflict before insert on users for each row execute function conflict()`);
    try {
      expect(outcome(await signIn(open))).toBe('500 internal_error');
    } finally {
      await pool.query('drop trigger conflict on users; drop function conflict()');
    }
  });
});

describe('an account that is there already', () => {
  test('is not opened by its e-mail address, and stays as it was', async () => {
    const email = issuer.person.email ?? '';
    await signUpByPassword(open, email);
    expect(outcome(await signIn(open))).toBe('409 oidc_account_not_linked');
    const { rows } = await open.deps.db.pool.query(
      'select provider_id from accounts a join users u on u.id = a.user_id where email = $1',
      [email],
    );
    expect(rows).toEqual([{ provider_id: 'credential' }]);
  });

  test('is linked by whoever is signed in to both, and can then be opened either way', async () => {
    const browser = await signUpByPassword(open, issuer.person.email ?? '');
    const { id } = await getUser(browser);
    expect(outcome(await link(browser))).toBe(302);
    expect(outcome(await link(browser))).toBe(302);
    const events = 'select type from audit_events where user_id = $1 and type = $2';
    expect((await open.deps.db.pool.query(events, [id, 'identity.linked'])).rowCount).toBe(1);
    expect(await getUser((await signIn(open)).browser)).toMatchObject({ id, emailVerified: true });
    const body = { email: issuer.person.email, password };
    expect((await open.call('POST', '/api/auth/sign-in/email', { body })).body.user.id).toBe(id);
  });

  test('is tied only by the same address, verified, and to nobody else’s', async () => {
    const email = issuer.person.email ?? '';
    const browser = await signUpByPassword(open, email);
    issuer.person.email_verified = false;
    expect(outcome(await link(browser))).toBe('403 oidc_email_not_verified');
    issuer.person = { ...issuer.person, email: `other-${email}`, email_verified: true };
    expect(outcome(await link(browser))).toBe('409 oidc_email_differs');
    expect(outcome(await signIn(open))).toBe(302);
    issuer.person.email = email;
    expect(outcome(await link(browser))).toBe('409 oidc_account_taken');
  });

  test('is tied only in the session that began it', async () => {
    const browser = await signUpByPassword(open, issuer.person.email ?? '');
    const begun = await browser.call('POST', '/api/auth/link-social', { body: { provider: 'oidc' } });
    const path = await visitIssuer(begun.body.url);
    const eve = await signUpByPassword(open, `eve-${issuer.person.email}`);
    const flow = browser.cookies.get('cadiz.oidc') ?? '';
    eve.cookies.set('cadiz.oidc', flow);
    expect(outcome(await eve.call('GET', path))).toBe('400 oidc_sign_in_expired');
    browser.cookies.delete('cadiz.session_token');
    expect(outcome(await browser.call('GET', path))).toBe('400 oidc_sign_in_expired');
  });
});

describe('what comes back that should not', () => {
  test('a state that this browser has not begun, none, and one twice', async () => {
    const victim = openBrowser(open);
    const attacker = openBrowser(open);
    const path = await visitIssuer((await begin(attacker)).body.url);
    expect(outcome(await victim.call('GET', path))).toBe('400 oidc_sign_in_expired');
    await begin(victim);
    expect(outcome(await victim.call('GET', path))).toBe('400 oidc_sign_in_expired');
    expect(outcome(await attacker.call('GET', path.replace(/state=[^&]+/, '')))).toBe('400 oidc_sign_in_expired');
    expect(outcome(await attacker.call('GET', path.replace('state=', 'state=x')))).toBe('400 oidc_sign_in_expired');
    expect(outcome(await attacker.call('GET', path))).toBe(302);
    expect(outcome(await attacker.call('GET', path))).toBe('400 oidc_sign_in_expired');
    expect(victim.cookies.has('cadiz.session_token')).toBe(false);
  });

  test('a cookie that was altered, and a sign-in of more than ten minutes', async () => {
    const browser = openBrowser(open);
    const path = await visitIssuer((await begin(browser)).body.url);
    const flow = browser.cookies.get('cadiz.oidc') ?? '';
    for (const other of ['x', '', `${flow}00`, flow.slice(0, -2), 'null']) {
      browser.cookies.set('cadiz.oidc', other);
      expect([other, outcome(await browser.call('GET', path))]).toEqual([other, '400 oidc_sign_in_expired']);
    }
    browser.cookies.set('cadiz.oidc', flow);
    const later = await startTestService({ beside: without, settings: oidcSettings() });
    const slow = openBrowser(later);
    const slowPath = await visitIssuer((await begin(slow)).body.url);
    later.advance(601_000);
    expect(outcome(await slow.call('GET', slowPath))).toBe('400 oidc_sign_in_expired');
  });

  test('a code twice, of somebody else, and none', async () => {
    const browser = openBrowser(open);
    const path = await visitIssuer((await begin(browser)).body.url);
    const flow = browser.cookies.get('cadiz.oidc') ?? '';
    expect(outcome(await browser.call('GET', path))).toBe(302);
    const replay = openBrowser(open);
    replay.cookies.set('cadiz.oidc', flow);
    const replayed = await replay.call('GET', path);
    expect(outcome(replayed)).toBe('400 oidc_answer_invalid');
    expect(replayed.headers.getSetCookie()).toEqual([]);

    const other = await visitIssuer((await begin(openBrowser(open))).body.url);
    const code = new URL(other, issuer.url).searchParams.get('code');
    const mixed = openBrowser(open);
    const own = await visitIssuer((await begin(mixed)).body.url);
    expect(outcome(await mixed.call('GET', own.replace(/code=[^&]+/, `code=${code}`)))).toBe('400 oidc_answer_invalid');
    const none = openBrowser(open);
    const bare = await visitIssuer((await begin(none)).body.url);
    expect(outcome(await none.call('GET', bare.replace(/code=[^&]+/, '')))).toBe('400 oidc_answer_invalid');
  });

  const seconds = () => Math.floor(Date.now() / 1000);
  test.each([
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['another issuer', { iss: 'https://evil.example.com' }],
    ['another audience', { aud: 'another' }],
    ['an audience that is shared', { aud: ['cadiz', 'another'] }],
    ['another authorized party', { azp: 'another' }],
    ['a time that is over', { iat: seconds() - 900, exp: seconds() - 300 }],
    ['no end', { exp: undefined }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that is no text', { sub: 5 }],
    ['a subject with NUL', { sub: 'a\0da' }],
  ])('an ID token with %s', async (_what, claims) => {
    issuer.alter = (right) => ({ ...right, ...claims });
    const answer = await signIn(open);
    expect(outcome(answer)).toBe('400 oidc_answer_invalid');
    expect(answer.browser.cookies.has('cadiz.session_token')).toBe(false);
    expect((await open.deps.db.pool.query('select from users where email = $1', [issuer.person.email])).rowCount).toBe(
      0,
    );
  });

  test('an ID token that is signed by somebody else, with the client secret, or not at all', async () => {
    issuer.signWith = { alg: 'ES256', key: (await generateKeyPair('ES256')).privateKey };
    expect(outcome(await signIn(open))).toBe('400 oidc_answer_invalid');
    issuer.signWith = { alg: 'HS256', key: new TextEncoder().encode(issuer.clientSecret.padEnd(32)) };
    expect(outcome(await signIn(open))).toBe('400 oidc_answer_invalid');
    issuer.signWith = undefined;
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const { sub, email } = issuer.person;
    const claims = { iss: issuer.url, aud: 'cadiz', sub, email, iat: seconds(), exp: seconds() + 60, nonce: 'x' };
    issuer.broken['/token'] = (response) =>
      endJson(response, {
        token_type: 'Bearer',
        access_token: 'x',
        id_token: `${encode({ alg: 'none' })}.${encode(claims)}.`,
      });
    expect(outcome(await signIn(open))).toBe('400 oidc_answer_invalid');
    issuer.broken['/token'] = (response) => endJson(response, { token_type: 'Bearer', access_token: 'x' });
    expect(outcome(await signIn(open))).toBe('400 oidc_answer_invalid');
  });

  test('an answer that another issuer gave, or that hides who gave it (RFC 9207)', async () => {
    for (const iss of [`iss=${encodeURIComponent('https://evil.example.com')}`, 'x=y']) {
      const browser = openBrowser(open);
      const path = await visitIssuer((await begin(browser)).body.url);
      expect(outcome(await browser.call('GET', path.replace(/iss=[^&]+/, iss)))).toBe('400 oidc_answer_invalid');
    }
  });

  test.each([
    ['not verified', { email_verified: false }],
    ['not said to be verified', { email_verified: undefined }],
    ['verified in another word', { email_verified: 'perhaps' }],
    ['none', { email: undefined }],
    ['no address', { email: 'ada' }],
    ['an address with NUL', { email: 'a\0@example.com' }],
  ])('an e-mail address that is %s makes no account', async (_what, more) => {
    issuer.person = { ...issuer.person, ...more } as typeof issuer.person;
    expect(outcome(await signIn(open))).toBe('403 oidc_email_not_verified');
  });

  test('a failure leads where the body says, and without the cookie nowhere', async () => {
    const browser = openBrowser(open);
    const begun = await begin(browser, { errorCallbackURL: '/sign-in?to=%2Fa' });
    issuer.refusal = 'access_denied';
    const path = await visitIssuer(begun.body.url);
    expect(outcome(await openBrowser(open).call('GET', path))).toBe('400 oidc_sign_in_expired');
    const back = await browser.call('GET', path);
    expect(back.status).toBe(302);
    expect(back.headers.get('location')).toBe('http://localhost:4000/sign-in?to=%2Fa&error=oidc_refused');
    expect(browser.cookies.has('cadiz.session_token')).toBe(false);
    expect(outcome(await browser.call('GET', path))).toBe('400 oidc_sign_in_expired');
  });

  test('a refusal, with the issuer’s word for it and nothing else of its', async () => {
    issuer.refusal = 'access_denied';
    const answer = await signIn(open);
    expect(outcome(answer)).toBe('403 oidc_refused');
    expect(answer.body.detail).toContain('access_denied');
    issuer.refusal = '<script>alert(1)</script>';
    expect((await signIn(open)).body.detail).not.toContain('script');
  });

  test.each([
    ['with controls and half of a surrogate pair', 'A\0d\ud800a\n', 'A d\ufffda'],
    ['of thousands of characters', 'ü'.repeat(5000), 'ü'.repeat(100)],
    ['that is too long by half of a surrogate pair', `${'a'.repeat(198)}😀`, 'a'.repeat(198)],
    ['with a surrogate pair where sixty units end', `${'a'.repeat(59)}😀`, `${'a'.repeat(59)}😀`],
    ['that is invalid', undefined, undefined],
  ])('a name %s is made fit to be stored', async (_what, name, stored) => {
    issuer.person = { ...issuer.person, name } as typeof issuer.person;
    const { browser } = await signIn(open);
    expect((await getUser(browser)).name).toBe(stored ?? issuer.person.email);
  });
});

describe('an issuer that is down (checklist 49)', () => {
  /** A service that has not contacted its issuer yet. */
  const newService = (more: Record<string, string> = {}) =>
    startTestService({ beside: without, settings: { ...oidcSettings(), ...more } });

  test('is told with 503, passwords work meanwhile, and it recovers by itself', async () => {
    const service = await newService();
    const { email } = await service.signUp();
    await issuer.stop();
    try {
      const answer = await begin(openBrowser(service));
      expect(outcome(answer)).toBe('503 oidc_unavailable');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      const body = { email, password };
      expect(outcome(await service.call('POST', '/api/auth/sign-in/email', { body }))).toBe(200);
    } finally {
      await issuer.restart();
    }
    expect(outcome(await signIn(service))).toBe(302);
  });

  test.each([
    ['the token endpoint', '/token'],
    ['the keys', '/jwks'],
    ['the userinfo', '/userinfo'],
  ])('at %s', async (_what, path) => {
    issuer.emailIn = 'userinfo';
    for (const broken of [
      (response: ServerResponse) => void response.writeHead(500).end('{}'),
      (response: ServerResponse) => void response.writeHead(302, { Location: '/elsewhere' }).end(),
      (response: ServerResponse) => void response.destroy(),
    ]) {
      const service = await newService();
      issuer.broken = { [path]: broken };
      expect(outcome(await signIn(service))).toBe('503 oidc_unavailable');
      issuer.broken = {};
    }
    expect(issuer.asked).not.toContain('/elsewhere');
  });

  test('one that signs with a new key is believed at once', async () => {
    const service = await newService();
    for (let keys = 0; keys < 3; keys++) {
      expect(outcome(await signIn(service))).toBe(302);
      await issuer.rotate();
    }
  });

  test('one that never answers is given up', async () => {
    const service = await newService();
    issuer.broken['/.well-known/openid-configuration'] = () => undefined;
    expect(outcome(await begin(openBrowser(service)))).toBe('503 oidc_unavailable');
  });

  test.each([
    ['another issuer', { issuer: 'https://evil.example.com' }],
    ['a slash more', () => ({ issuer: `${issuer.url}/` })],
    ['plain http elsewhere', { token_endpoint: 'http://evil.example.com/token' }],
    ['keys over plain http', { jwks_uri: 'http://127.evil.example.com/jwks' }],
    ['no token endpoint', { token_endpoint: undefined }],
    ['a script to be sent to', { authorization_endpoint: 'javascript:alert(1)' }],
  ])('one whose discovery says %s is not used', async (_what, metadata) => {
    const service = await newService();
    issuer.metadata = typeof metadata === 'function' ? metadata() : metadata;
    expect(outcome(await begin(openBrowser(service)))).toBe('503 oidc_unavailable');
  });

  test('a client secret that is wrong is for the operator to fix', async () => {
    const service = await newService({ OIDC_CLIENT_SECRET: 'wrong' });
    expect(outcome(await signIn(service))).toBe('503 oidc_unavailable');
  });

  test('one that takes the client secret in the body only gets it there', async () => {
    issuer.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
    expect(outcome(await signIn(await newService()))).toBe(302);
  });
});
