import { randomUUID } from 'node:crypto';
import { type OperationId, type Route, routes, takesKeys } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from '../../../test/browser.ts';
import { type Answer, startTestService, type TestService } from '../../../test/service.ts';
import { awaitEarlyStep, readSecret, totp } from '../../../test/totp-app.ts';
import { runCommand } from '../../users/run-command.ts';
import { findTotpStep } from './totp.ts';

const password = 'correct horse battery';
let service: TestService;
let without: TestService;

beforeAll(async () => {
  service = await startTestService();
  without = await startTestService({ beside: service, settings: { SECOND_FACTOR: 'off' } });
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);

interface Account {
  id: string;
  email: string;
  browser: TestBrowser;
  secret: Buffer;
  backupCodes: string[];
}

const post = (browser: TestBrowser, path: string, body: object) => browser.call('POST', `/api/auth/${path}`, { body });
const signIn = (browser: TestBrowser, email: string) => post(browser, 'sign-in/email', { email, password });
const isSignedIn = async (browser: TestBrowser) => (await browser.call('GET', '/api/auth/get-session')).body !== null;

async function signUp(on = service): Promise<{ id: string; email: string; browser: TestBrowser }> {
  const browser = openBrowser(on);
  const email = `ada-${randomUUID()}@example.com`;
  const { body } = await post(browser, 'sign-up/email', { name: 'Ada', email, password });
  return { id: body.user.id, email, browser };
}

/** An account with a second factor; the code of the previous time step is used up. */
async function enroll(): Promise<Account> {
  const account = await signUp();
  const { body } = await post(account.browser, 'two-factor/enable', { password });
  const secret = readSecret(body.totpURI);
  await awaitEarlyStep();
  const verified = await post(account.browser, 'two-factor/verify-totp', { code: totp(secret, -1) });
  expect(outcome(verified)).toBe(200);
  return { ...account, secret, backupCodes: body.backupCodes };
}

const wrongCodeOf = ({ secret }: Account) => {
  const right = [-1, 0, 1, 2].map((step) => totp(secret, step));
  return ['123456', '234567', '345678', '456789', '567890'].find((code) => !right.includes(code)) ?? '';
};

/** A browser in which the password has been entered. */
async function afterPassword({ email }: { email: string }): Promise<TestBrowser> {
  const browser = openBrowser(service);
  expect((await signIn(browser, email)).body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ['totp'] });
  return browser;
}

const eventsOf = async (id: string) =>
  (
    await service.deps.db.pool.query<{ type: string }>(
      `select type from audit_events where user_id = $1 or subject->>'userId' = $1::text order by id`,
      [id],
    )
  ).rows.map(({ type }) => type);

describe('setting a second factor up', () => {
  test('takes the password, shows the secret once, and counts from the first right code', async () => {
    const { browser, email, id } = await signUp();
    expect(outcome(await post(browser, 'two-factor/enable', { password: 'wrong horse battery' }))).toBe(
      '403 wrong_password',
    );
    const { body } = await post(browser, 'two-factor/enable', { password });
    const uri = new URL(body.totpURI);
    expect([uri.protocol, uri.host, uri.searchParams.get('issuer')]).toEqual(['otpauth:', 'totp', 'Cadiz']);
    expect(decodeURIComponent(uri.pathname)).toContain(email);
    expect(new Set(body.backupCodes).size).toBe(10);
    // No second factor is required before a code was right.
    expect((await signIn(openBrowser(service), email)).body.user.id).toBe(id);

    const before = browser.cookies.get('cadiz.session_token');
    const secret = readSecret(uri.href);
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code: '000000' }))).toBe(
      '401 invalid_second_factor',
    );
    const verified = await post(browser, 'two-factor/verify-totp', { code: totp(secret) });
    expect(verified.body.user.twoFactorEnabled).toBe(true);
    expect(browser.cookies.get('cadiz.session_token')).not.toBe(before);
    expect(await isSignedIn(browser)).toBe(true);
    expect((await signIn(openBrowser(service), email)).body.twoFactorRedirect).toBe(true);

    expect(outcome(await post(browser, 'two-factor/enable', { password }))).toBe('409 second_factor_set_up');
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code: totp(secret, 1) }))).toBe(
      '409 second_factor_set_up',
    );
    expect(await eventsOf(id)).toContain('second_factor.added');
  });

  test('replaces the session, even if that is the first of a hundred to expire', async () => {
    const { browser, id } = await signUp();
    await service.deps.db.pool.query(
      `insert into sessions (id, user_id, token, expires_at)
       select gen_random_uuid(), $1, gen_random_uuid()::text, now() + interval '8 days' from generate_series(1, 99)`,
      [id],
    );
    const { body } = await post(browser, 'two-factor/enable', { password });
    const code = totp(readSecret(body.totpURI));
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code }))).toBe(200);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('a secret that was never confirmed is replaced by the next', async () => {
    const { browser } = await signUp();
    const first = await post(browser, 'two-factor/enable', { password });
    const second = await post(browser, 'two-factor/enable', { password });
    const codeOf = ({ body }: Answer) => totp(readSecret(body.totpURI));
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code: codeOf(first) }))).toBe(
      '401 invalid_second_factor',
    );
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code: codeOf(second) }))).toBe(200);
  });

  test('secrets and backup codes are in no row and no log as they are', async () => {
    const { secret, backupCodes } = await enroll();
    const { rows } = await service.deps.db.pool.query('select * from two_factors');
    for (const text of [secret.toString(), ...backupCodes]) {
      expect(JSON.stringify(rows)).not.toContain(text);
      expect(service.logged()).not.toContain(text);
    }
    expect(rows.length).toBeGreaterThan(0);
  });

  test('off: no account gets one, and who has one still needs it', async () => {
    const { browser } = await signUp(without);
    expect(outcome(await post(browser, 'two-factor/enable', { password }))).toBe('404 sign_in_method_off');
    expect((await without.call('GET', '/api/auth/methods')).body.secondFactor).toBe(false);
    expect((await service.call('GET', '/api/auth/methods')).body.secondFactor).toBe(true);
    const { email } = await enroll();
    expect((await signIn(openBrowser(without), email)).body.twoFactorRedirect).toBe(true);
  });
});

describe('signing in in two steps', () => {
  test('the password alone opens no route, and leaves no session', async () => {
    const account = await enroll();
    await service.deps.db.pool.query('delete from sessions where user_id = $1', [account.id]);
    const browser = await afterPassword(account);
    expect([...browser.cookies.keys()]).toEqual(['cadiz.two_factor']);
    const { rowCount } = await service.deps.db.pool.query('select from sessions where user_id = $1', [account.id]);
    expect(rowCount).toBe(0);
    expect(await isSignedIn(browser)).toBe(false);
    // The cookie of the first step is not accepted as a session cookie either.
    const disguised = openBrowser(service);
    disguised.cookies.set('cadiz.session_token', browser.cookies.get('cadiz.two_factor') ?? '');

    const closed = (Object.entries(routes) as [OperationId, Route][]).filter(([, { access }]) => access !== 'anybody');
    expect(closed.length).toBeGreaterThan(40);
    for (const [operationId, { method, path, access, body }] of closed) {
      const url = path.replaceAll(/\{\w+\}/g, randomUUID());
      for (const jar of [browser, disguised]) {
        const answer = await jar.call(method, url, body ? { body: {} } : {});
        const ofKeys = takesKeys({ access }) ? '401 invalid_api_key' : '401 session_required';
        const code = { ticket: '401 invalid_ticket', objectStore: '409 store_events_off' }[access as string] ?? ofKeys;
        expect([operationId, outcome(answer)]).toEqual([operationId, code]);
      }
    }
  });

  test('a code opens a session, and the token is in the cookie alone (checklist 2)', async () => {
    const account = await enroll();
    const browser = await afterPassword(account);
    const signedIn = await post(browser, 'two-factor/verify-totp', { code: totp(account.secret) });
    expect(signedIn.body).toEqual({ user: expect.objectContaining({ id: account.id, twoFactorEnabled: true }) });
    expect([...browser.cookies.keys()].sort()).toEqual(['cadiz.device', 'cadiz.session_token']);
    expect(await isSignedIn(browser)).toBe(true);
    expect(await eventsOf(account.id)).toEqual(expect.arrayContaining(['sign_in.succeeded']));
  });

  test('a code counts once, also for many at once, and none of before counts after it', async () => {
    const account = await enroll();
    const enrollment = await afterPassword(account);
    expect(outcome(await post(enrollment, 'two-factor/verify-totp', { code: totp(account.secret, -1) }))).toBe(
      '401 invalid_second_factor',
    );
    const browsers = [];
    for (let i = 0; i < 4; i++) browsers.push(await afterPassword(account));
    const code = totp(account.secret, 1);
    const answers = await Promise.all(browsers.map((browser) => post(browser, 'two-factor/verify-totp', { code })));
    expect(answers.map(outcome).sort()).toEqual([200, ...Array(3).fill('401 invalid_second_factor')]);
    const late = await afterPassword(account);
    expect(outcome(await post(late, 'two-factor/verify-totp', { code: totp(account.secret) }))).toBe(
      '401 invalid_second_factor',
    );
  });

  test('a backup code signs in once, also for many at once', async () => {
    const account = await enroll();
    const [code = '', other = ''] = account.backupCodes;
    const browsers = [];
    for (let i = 0; i < 3; i++) browsers.push(await afterPassword(account));
    const answers = await Promise.all(
      browsers.map((browser) => post(browser, 'two-factor/verify-backup-code', { code })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers) expect([200, '401 invalid_second_factor']).toContain(outcome(answer));
    const again = await afterPassword(account);
    expect(outcome(await post(again, 'two-factor/verify-backup-code', { code }))).toBe('401 invalid_second_factor');
    expect(outcome(await post(again, 'two-factor/verify-backup-code', { code: other }))).toBe(200);
    expect(await isSignedIn(again)).toBe(true);
  });

  test('five wrong codes end an attempt, and ten lock the account for a while (checklist 14)', async () => {
    const account = await enroll();
    const guess = (browser: TestBrowser, code: string) => post(browser, 'two-factor/verify-totp', { code });
    const wrong = wrongCodeOf(account);
    const first = await afterPassword(account);
    for (let i = 0; i < 5; i++) expect(outcome(await guess(first, wrong))).toBe('401 invalid_second_factor');
    expect(outcome(await guess(first, totp(account.secret)))).toBe('401 second_factor_expired');
    const second = await afterPassword(account);
    for (let i = 0; i < 5; i++) expect(outcome(await guess(second, wrong))).toBe('401 invalid_second_factor');
    const third = await afterPassword(account);
    const locked = await guess(third, totp(account.secret, 1));
    expect(outcome(locked)).toBe('429 second_factor_locked');
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await eventsOf(account.id)).toEqual(expect.arrayContaining(['sign_in.failed']));
  });

  test('ten are compared, however many are sent at once (checklist 14)', async () => {
    const account = await enroll();
    const browsers: TestBrowser[] = [];
    for (let i = 0; i < 5; i++) browsers.push(await afterPassword(account));
    const code = wrongCodeOf(account);
    const guesses = [1, 2, 3, 4, 5].flatMap(() =>
      browsers.map((browser) => post(browser, 'two-factor/verify-totp', { code })),
    );
    const outcomes = (await Promise.all(guesses)).map(outcome);
    expect(outcomes.filter((one) => one === '401 invalid_second_factor')).toHaveLength(10);
    expect(outcomes.filter((one) => one === '429 second_factor_locked')).toHaveLength(15);
  });

  test('without the first step, with its cookie altered, and after it is used, no code counts', async () => {
    const account = await enroll();
    const code = totp(account.secret);
    expect(outcome(await post(openBrowser(service), 'two-factor/verify-totp', { code }))).toBe(
      '401 second_factor_expired',
    );
    const browser = await afterPassword(account);
    const cookie = browser.cookies.get('cadiz.two_factor') ?? '';
    const altered = openBrowser(service);
    altered.cookies.set('cadiz.two_factor', `x${cookie}`);
    expect(outcome(await post(altered, 'two-factor/verify-totp', { code }))).toBe('401 second_factor_expired');
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code }))).toBe(200);
    const replay = openBrowser(service);
    replay.cookies.set('cadiz.two_factor', cookie);
    expect(outcome(await post(replay, 'two-factor/verify-totp', { code: totp(account.secret, 1) }))).toBe(
      '401 second_factor_expired',
    );
    const [backup = ''] = account.backupCodes;
    expect(outcome(await post(replay, 'two-factor/verify-backup-code', { code: backup }))).toBe(
      '401 second_factor_expired',
    );
  });

  test('after ten minutes an attempt is over: its code is not used up, and its row is left to the job', async () => {
    const account = await enroll();
    const { pool } = service.deps.db;
    const late = await afterPassword(account);
    await pool.query(`update verifications set expires_at = now() - interval '1 second' where value = $1`, [
      account.id,
    ]);
    const code = totp(account.secret);
    expect(outcome(await post(late, 'two-factor/verify-totp', { code }))).toBe('401 second_factor_expired');
    expect((await pool.query('select from verifications where value = $1', [account.id])).rowCount).toBe(1);
    const again = await afterPassword(account);
    expect(outcome(await post(again, 'two-factor/verify-totp', { code }))).toBe(200);
  });

  test('an account disabled between the steps gets no session (checklist 7)', async () => {
    const account = await enroll();
    const browser = await afterPassword(account);
    await service.deps.db.pool.query('update users set disabled_at = now() where id = $1', [account.id]);
    expect(outcome(await post(browser, 'two-factor/verify-totp', { code: totp(account.secret) }))).toBe(
      '403 account_disabled',
    );
    expect(await isSignedIn(browser)).toBe(false);
  });

  test('a new password ends what the old one has begun (checklist 8)', async () => {
    const account = await enroll();
    const [backup = ''] = account.backupCodes;
    const browsers = [await afterPassword(account), await afterPassword(account)];
    const body = { currentPassword: password, newPassword: 'nanoseconds are short' };
    expect(outcome(await account.browser.call('POST', '/api/account/password', { body }))).toBe(200);
    const answers = [
      await post(browsers[0] as TestBrowser, 'two-factor/verify-totp', { code: totp(account.secret) }),
      await post(browsers[1] as TestBrowser, 'two-factor/verify-backup-code', { code: backup }),
    ];
    expect(answers.map(outcome)).toEqual(Array(2).fill('401 second_factor_expired'));
  });

  test.each([
    ['a sign-in by a code', '401 second_factor_expired'],
    ['a sign-in by a backup code', '401 second_factor_expired'],
    ['a first code', '401 second_factor_expired'],
    ['taking it away', '401 session_required'],
  ])('%s leaves no session when the password is changed at that moment (checklist 8)', async (what, code) => {
    const { pool } = service.deps.db;
    const [id, act] = await prepare(what);
    // As if the change had been committed just before the session is created: it ends the sessions that exist then.
    await pool.query(`
      create function change_meanwhile() returns trigger language plpgsql as $$begin
        update accounts set password = 'another' where user_id = new.user_id;
        delete from sessions where user_id = new.user_id;
        return new;
      end$$;
      create trigger change_meanwhile before insert on sessions for each row execute function change_meanwhile()`);
    try {
      const answer = await act();
      expect(outcome(answer)).toBe(code);
      expect(answer.headers.getSetCookie()).toEqual([]);
      expect((await pool.query('select from sessions where user_id = $1', [id])).rowCount).toBe(0);
    } finally {
      await pool.query('drop trigger change_meanwhile on sessions; drop function change_meanwhile()');
    }
  });

  async function prepare(what: string): Promise<[id: string, act: () => Promise<Answer>]> {
    if (what === 'a first code') {
      const { id, browser } = await signUp();
      const { body } = await post(browser, 'two-factor/enable', { password });
      const secret = readSecret(body.totpURI);
      return [id, () => post(browser, 'two-factor/verify-totp', { code: totp(secret) })];
    }
    const { id, email, browser, secret, backupCodes } = await enroll();
    const code = totp(secret);
    if (what === 'taking it away') return [id, () => post(browser, 'two-factor/disable', { password, code })];
    const waiting = await afterPassword({ email });
    if (what === 'a sign-in by a code') return [id, () => post(waiting, 'two-factor/verify-totp', { code })];
    return [id, () => post(waiting, 'two-factor/verify-backup-code', { code: backupCodes[0] })];
  }

  test('what was right does not count for the address, in either step (checklist 14)', async () => {
    const address = '203.0.113.70';
    const from = (browser: TestBrowser, path: string, body: object) =>
      browser.call('POST', `/api/auth/${path}`, { body, address });
    const right = async () => {
      const { email, browser } = await signUp();
      const { body } = await post(browser, 'two-factor/enable', { password });
      const secret = readSecret(body.totpURI);
      const answers = [await from(browser, 'two-factor/verify-totp', { code: totp(secret) })];
      const again = openBrowser(service);
      answers.push(await from(again, 'sign-in/email', { email, password }));
      answers.push(await from(again, 'two-factor/verify-totp', { code: totp(secret, 1) }));
      const other = openBrowser(service);
      answers.push(await from(other, 'sign-in/email', { email, password }));
      answers.push(await from(other, 'two-factor/verify-backup-code', { code: body.backupCodes[0] }));
      return answers.map(outcome);
    };
    for (let time = 0; time < 4; time++) expect(await right()).toEqual(Array(5).fill(200));
    const guesses = [];
    for (let guess = 0; guess < 11; guess++) {
      guesses.push(await from(openBrowser(service), 'two-factor/verify-totp', { code: '123456' }));
    }
    expect(guesses.map(outcome)).toEqual([...Array(10).fill('401 second_factor_expired'), '429 too_many_attempts']);
  });

  test('a right password without a code counts for the account all the same (checklist 14)', async () => {
    const { email } = await enroll();
    const answers = [];
    for (let time = 0; time < 6; time++) answers.push(await signIn(openBrowser(service), email));
    expect(answers.map(outcome)).toEqual([...Array(5).fill(200), '429 too_many_attempts']);
  });

  test('the answer to a wrong password does not say that there is a second factor', async () => {
    const { email } = await enroll();
    const body = { email, password: 'wrong horse battery' };
    const answer = await service.call('POST', '/api/auth/sign-in/email', { body });
    expect(outcome(answer)).toBe('401 invalid_email_or_password');
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  test('another site can send no code (checklist 17)', async () => {
    const headers = { Origin: 'https://evil.example.com' };
    for (const [path, code] of [
      ['verify-totp', '123456'],
      ['verify-backup-code', 'aB3dE-fG5hI'],
    ]) {
      const answer = await service.call('POST', `/api/auth/two-factor/${path}`, { body: { code }, headers });
      expect(outcome(answer)).toBe('403 cross_site_request');
    }
  });

  test.each([
    ['verify-totp', { code: '12345' }],
    ['verify-totp', { code: 123456 }],
    ['verify-totp', { code: '١٢٣٤٥٦' }],
    ['verify-backup-code', { code: 'abc' }],
    ['verify-backup-code', {}],
  ])('%s with %j: 400', async (path, body) => {
    expect(outcome(await post(openBrowser(service), `two-factor/${path}`, body))).toBe('400 invalid_request');
  });
});

describe('who is signed in', () => {
  test.each(['a code', 'a backup code'])(
    'renews the backup codes by the password and %s, and the old ones are void',
    async (what) => {
      const account = await enroll();
      const [used = '', old = ''] = account.backupCodes;
      const code = what === 'a code' ? totp(account.secret) : used;
      const wrongCode = what === 'a code' ? '000000' : 'aaaaa-aaaaa';
      const renew = (body: object) => post(account.browser, 'two-factor/generate-backup-codes', body);
      expect(outcome(await renew({ password: 'wrong horse battery', code }))).toBe('403 wrong_password');
      expect(outcome(await renew({ password, code: wrongCode }))).toBe('401 invalid_second_factor');
      expect(outcome(await renew({ password }))).toBe('400 invalid_request');
      expect(await eventsOf(account.id)).not.toContain('second_factor.codes_renewed');
      const { body } = await renew({ password, code });
      expect(body.backupCodes).toHaveLength(10);
      expect(await eventsOf(account.id)).toContain('second_factor.codes_renewed');
      expect(outcome(await renew({ password, code }))).toBe('401 invalid_second_factor');

      const browser = await afterPassword(account);
      expect(outcome(await post(browser, 'two-factor/verify-backup-code', { code: old }))).toBe(
        '401 invalid_second_factor',
      );
      expect(outcome(await post(browser, 'two-factor/verify-backup-code', { code: body.backupCodes[0] }))).toBe(200);
    },
  );

  test.each(['a code', 'a backup code'])('disables it by the password and %s', async (what) => {
    const account = await enroll();
    const code = what === 'a code' ? totp(account.secret) : (account.backupCodes[0] ?? '');
    const wrongCode = what === 'a code' ? '000000' : 'aaaaa-aaaaa';
    const disable = (body: object) => post(account.browser, 'two-factor/disable', body);
    expect(outcome(await disable({ password: 'wrong horse battery', code }))).toBe('403 wrong_password');
    expect(outcome(await disable({ password, code: wrongCode }))).toBe('401 invalid_second_factor');
    expect(outcome(await disable({ password }))).toBe('400 invalid_request');
    expect(outcome(await disable({ password, code }))).toBe(200);
    expect(await isSignedIn(account.browser)).toBe(true);
    expect((await signIn(openBrowser(service), account.email)).body.user.twoFactorEnabled).toBe(false);
    expect(await eventsOf(account.id)).toContain('second_factor.removed');
    expect(outcome(await disable({ password, code }))).toBe('409 second_factor_not_set_up');
  });
});

test('codes in a session count with those at sign-in, whatever else the session does (checklist 14)', async () => {
  const account = await enroll();
  const { browser } = account;
  const code = wrongCodeOf(account);
  let current = password;
  const guess = (path: string, send = code) => post(browser, `two-factor/${path}`, { password: current, code: send });
  /** A right password: it clears the count of the attempts in sessions. */
  const changePassword = async () => {
    const newPassword = current === password ? 'nanoseconds are short' : password;
    const body = { currentPassword: current, newPassword };
    expect(outcome(await browser.call('POST', '/api/account/password', { body }))).toBe(200);
    current = newPassword;
  };
  for (let i = 0; i < 3; i++) expect(outcome(await guess('disable'))).toBe('401 invalid_second_factor');
  // A right code ends the series of wrong ones.
  expect(outcome(await guess('generate-backup-codes', account.backupCodes[0]))).toBe(200);
  for (const times of [4, 4, 2]) {
    await changePassword();
    for (let i = 0; i < times; i++) expect(outcome(await guess('disable'))).toBe('401 invalid_second_factor');
  }
  for (const path of ['disable', 'generate-backup-codes']) {
    const locked = await guess(path, totp(account.secret));
    expect(outcome(locked)).toBe('429 second_factor_locked');
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  // Three changes have set a password other than the first.
  const waiting = openBrowser(service);
  await post(waiting, 'sign-in/email', { email: account.email, password: current });
  expect(outcome(await post(waiting, 'two-factor/verify-totp', { code: totp(account.secret) }))).toBe(
    '429 second_factor_locked',
  );
});

describe('the codes of RFC 6238 (appendix B, the last six digits)', () => {
  test.each([
    [1_111_111_111, '050471'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ])('at %d s', (seconds, code) => {
    const secret = '12345678901234567890';
    const step = Math.floor(seconds / 30);
    expect(findTotpStep(secret, code, seconds * 1000)).toBe(step);
    expect(findTotpStep(secret, code, (seconds + 30) * 1000)).toBe(step);
    expect(findTotpStep(secret, code, (seconds - 30) * 1000)).toBe(step);
    expect(findTotpStep(secret, code, (seconds + 60) * 1000)).toBeUndefined();
    expect(findTotpStep(secret, '000000', seconds * 1000)).toBeUndefined();
  });
});

test('npm run users takes away a second factor that was lost (checklist 8)', async () => {
  const ada = await enroll();
  const run = () =>
    runCommand(
      { ...service.deps, close: async () => undefined },
      { command: 'remove-second-factor', email: ada.email, revokeApiKeys: false },
    );
  expect(await run()).toBe(`Removed the second factor of ${ada.email}, and ended 1 sessions.`);
  expect(await isSignedIn(ada.browser)).toBe(false);
  expect((await signIn(openBrowser(service), ada.email)).body.user.email).toBe(ada.email);
  expect(await eventsOf(ada.id)).toContain('second_factor.removed');
  await expect(run()).rejects.toThrow('The account has no second factor.');
  // The account can set up another one.
  const again = openBrowser(service);
  await signIn(again, ada.email);
  const { body } = await post(again, 'two-factor/enable', { password });
  const secret = readSecret(body.totpURI);
  expect(outcome(await post(again, 'two-factor/verify-totp', { code: totp(secret) }))).toBe(200);
});
