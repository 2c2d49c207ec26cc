import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onAndroid } from '../../../test/android-attestation.ts';
import {
  type Attestation,
  type Authenticator,
  assert,
  attest,
  byItself,
  makeAuthenticator,
} from '../../../test/authenticator.ts';
import { openBrowser, type TestBrowser } from '../../../test/browser.ts';
import { type Answer, startTestService, type TestService } from '../../../test/service.ts';
import { runCommand } from '../../users/run-command.ts';

// The browser's side is tested in Chromium: e2e/passkeys-in-chromium.test.ts.

const password = 'correct horse battery';
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);
const origin = () => service.deps.config.publicUrl;
const get = (browser: TestBrowser, path: string) => browser.call('GET', `/api/auth/${path}`);
const post = (browser: TestBrowser, path: string, body: object) => browser.call('POST', `/api/auth/${path}`, { body });
const isSignedIn = async (browser: TestBrowser) => (await get(browser, 'get-session')).body !== null;

async function signUp(): Promise<{ id: string; email: string; browser: TestBrowser }> {
  const browser = openBrowser(service);
  const email = `ada-${randomBytes(8).toString('hex')}@example.com`;
  const { body } = await post(browser, 'sign-up/email', { name: 'Ada', email, password });
  return { id: body.user.id, email, browser };
}

async function register(browser: TestBrowser, authenticator: Authenticator, how?: Attestation): Promise<Answer> {
  const { challenge } = (await get(browser, 'passkey/generate-register-options')).body;
  return post(browser, 'passkey/verify-registration', attest(authenticator, { challenge, origin: origin() }, how));
}

async function signIn(browser: TestBrowser, authenticator: Authenticator): Promise<Answer> {
  const { challenge } = (await get(browser, 'passkey/generate-authenticate-options')).body;
  return post(browser, 'passkey/verify-authentication', assert(authenticator, { challenge, origin: origin() }));
}

async function signUpWithPasskey() {
  const account = await signUp();
  const authenticator = makeAuthenticator();
  expect(outcome(await register(account.browser, authenticator))).toBe(200);
  expect(outcome(await signIn(openBrowser(service), authenticator))).toBe(200);
  return { ...account, authenticator };
}

const run = (command: string, email: string) =>
  runCommand({ ...service.deps, close: async () => undefined }, { command, email, revokeApiKeys: false });
const count = async (table: 'passkeys' | 'sessions', userId: string) =>
  (await service.deps.db.pool.query(`select from ${table} where user_id = $1`, [userId])).rowCount;

/** Runs something in the transaction of each new row of a table, as if it had been committed just before. */
async function whileAdding<T>(table: string, meanwhile: string, work: () => Promise<T>): Promise<T> {
  const { pool } = service.deps.db;
  await pool.query(`
    create function meanwhile() returns trigger language plpgsql as $$begin ${meanwhile}; return new; end$$;
    create trigger meanwhile before insert on ${table} for each row execute function meanwhile()`);
  try {
    return await work();
  } finally {
    await pool.query(`drop trigger meanwhile on ${table}; drop function meanwhile()`);
  }
}

describe('passkeys of an account that somebody else was in (checklist 8)', () => {
  test('go when the operator resets the password, and stay when their owner changes it', async () => {
    const { id, email, browser, authenticator } = await signUpWithPasskey();
    const body = { currentPassword: password, newPassword: 'nanoseconds are short' };
    expect(outcome(await browser.call('POST', '/api/account/password', { body }))).toBe(200);
    expect(outcome(await signIn(openBrowser(service), authenticator))).toBe(200);

    expect(await run('reset-password', email)).toContain('Ended 2 sessions, removed 1 passkeys, revoked 0 API keys.');
    expect(outcome(await signIn(openBrowser(service), authenticator))).toBe('401 passkey_refused');
    expect([await count('passkeys', id), await count('sessions', id)]).toEqual([0, 0]);
  });

  test('are removed by the operator: all of them, and all sessions end', async () => {
    const { id, email, browser, authenticator } = await signUpWithPasskey();
    const bob = await signUpWithPasskey();
    expect(await run('remove-passkeys', email)).toBe(`Removed 1 passkeys of ${email}, and ended 2 sessions.`);
    expect(await isSignedIn(browser)).toBe(false);
    expect(outcome(await signIn(openBrowser(service), authenticator))).toBe('401 passkey_refused');
    expect(outcome(await signIn(openBrowser(service), bob.authenticator))).toBe(200);
    await expect(run('remove-passkeys', email)).rejects.toThrow('The account has no passkeys.');
    const { rows } = await service.deps.db.pool.query(
      `select subject, ip from audit_events where type = 'passkey.removed' and subject->>'userId' = $1`,
      [id],
    );
    expect(rows).toEqual([{ subject: { userId: id, removedPasskeys: 1, endedSessions: 2 }, ip: 'operator' }]);
  });

  test('sign nobody in when they are removed at that moment', async () => {
    const { id, authenticator } = await signUpWithPasskey();
    const meanwhile =
      'delete from passkeys where user_id = new.user_id; delete from sessions where user_id = new.user_id';
    const answer = await whileAdding('sessions', meanwhile, () => signIn(openBrowser(service), authenticator));
    expect(outcome(answer)).toBe('401 passkey_refused');
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(await count('sessions', id)).toBe(0);
  });

  test('are not added when the session ends at that moment', async () => {
    const { id, browser } = await signUp();
    const meanwhile = 'delete from sessions where user_id = new.user_id';
    const answer = await whileAdding('passkeys', meanwhile, () => register(browser, makeAuthenticator()));
    expect(outcome(answer)).toBe('401 session_required');
    expect(await count('passkeys', id)).toBe(0);
  });
});

test('an account that guesses have closed stays closed to them when its owner signs in with a passkey (checklist 14)', async () => {
  const { email, authenticator } = await signUpWithPasskey();
  const guess = () => post(openBrowser(service), 'sign-in/email', { email, password: 'wrong horse battery' });
  for (let time = 0; time < 5; time++) expect(outcome(await guess())).toBe('401 invalid_email_or_password');
  expect(outcome(await guess())).toBe('429 too_many_attempts');
  expect(outcome(await signIn(openBrowser(service), authenticator))).toBe(200);
  expect(outcome(await guess())).toBe('429 too_many_attempts');
});

describe('an attestation, which nobody has asked for', () => {
  test('is accepted if the passkey made it itself', async () => {
    const { browser } = await signUp();
    const authenticator = makeAuthenticator();
    expect(outcome(await register(browser, authenticator, byItself))).toBe(200);
    expect(outcome(await signIn(openBrowser(service), authenticator))).toBe(200);
  });

  test('is refused if certificates come with it, and their revocation lists are not fetched', async () => {
    const { browser, id } = await signUp();
    const requested: (string | undefined)[] = [];
    const inside = createServer((request, answer) => {
      requested.push(request.url);
      answer.end();
    });
    await once(inside.listen(0, '127.0.0.1'), 'listening');
    const { port } = inside.address() as AddressInfo;
    const answer = await register(browser, makeAuthenticator(), onAndroid(`http://127.0.0.1:${port}/revoked`));
    expect(outcome(answer)).toBe('401 passkey_refused');
    expect(requested).toEqual([]);
    expect(await count('passkeys', id)).toBe(0);
    inside.close();
  });
});

describe('a cookie under the name of another', () => {
  const rename = (from: TestBrowser, name: string, as: string) => {
    const to = openBrowser(service);
    to.cookies.set(as, from.cookies.get(name) ?? '');
    return to;
  };

  test.each([
    ['verify-totp', '123456'],
    ['verify-backup-code', 'aB3dE-fG5hI'],
  ])('that of a question for a passkey finishes no sign-in: %s', async (path, code) => {
    const asked = openBrowser(service);
    await get(asked, 'passkey/generate-authenticate-options');
    const disguised = rename(asked, 'cadiz.passkey', 'cadiz.two_factor');
    expect(outcome(await post(disguised, `two-factor/${path}`, { code }))).toBe('401 second_factor_expired');
  });

  test('that of a sign-in that waits for its second factor is no question for a passkey', async () => {
    const { id, email, browser } = await signUp();
    await service.deps.db.pool.query('update users set two_factor_enabled = true where id = $1', [id]);
    const begin = async () => {
      const waiting = openBrowser(service);
      expect((await post(waiting, 'sign-in/email', { email, password })).body.twoFactorRedirect).toBe(true);
      return waiting.cookies.get('cadiz.two_factor') ?? '';
    };
    const disguised = openBrowser(service);
    disguised.cookies.set('cadiz.passkey', await begin());
    const answer = await post(
      disguised,
      'passkey/verify-authentication',
      assert(makeAuthenticator(), { challenge: 'x', origin: origin() }),
    );
    expect(outcome(answer)).toBe('401 passkey_expired');

    const registering: TestBrowser = {
      cookies: browser.cookies,
      async call(method, path, options) {
        const answer = await browser.call(method, path, options);
        if (method === 'GET') browser.cookies.set('cadiz.passkey', await begin());
        return answer;
      },
    };
    expect(outcome(await register(registering, makeAuthenticator()))).toBe('401 passkey_expired');
  });
});
