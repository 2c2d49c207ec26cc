import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import { openBrowser, type TestBrowser } from '../../test/browser.ts';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import { type Mailbox, startMailbox } from '../../test/mailbox.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../test/service.ts';
import { awaitEarlyStep, readSecret, totp } from '../../test/totp-app.ts';
import { runCommand } from '../users/run-command.ts';

const password = 'correct horse battery';
const newPassword = 'nanoseconds are short';
const unproven = '403 email_not_verified';
const rounds = series({ full: 25, ci: 10, short: 8 });

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);

/**
 * Everybody may sign up, with any address, and the service sends mail. Beside it, on PostgreSQL as another process, is
 * a service that sends none: accounts created there are like those from before there was a mail server.
 */
describe.each(testableKinds)('an account with the address of somebody else (%s)', (kind) => {
  let mailbox: Mailbox;
  let service: TestService;
  let mailless: TestService;
  let owner: Person;
  let projectId: string;

  beforeAll(async () => {
    mailbox = await startMailbox();
    service = await startTestService({ db: await openTestDatabase(kind), settings: mailbox.settings });
    mailless = await startTestService({ beside: service });
    owner = await service.signUp('Owner');
    projectId = await service.createProject(owner);
  });
  afterAll(async () => {
    await mailless.close();
    await service.close();
    await mailbox.stop();
  });

  const newEmail = () => `victim-${randomUUID()}@example.com`;
  const post = (browser: TestBrowser, path: string, body: object = {}, headers: Record<string, string> = {}) =>
    browser.call('POST', path, { body, headers });
  const query = async (sql: string, id: string) => (await service.deps.db.pool.query(sql, [id])).rows;

  interface Account {
    id: string;
    email: string;
    browser: TestBrowser;
  }

  async function signUp(on: TestService, email = newEmail(), headers: Record<string, string> = {}): Promise<Account> {
    const browser = openBrowser(on);
    const { body } = await post(browser, '/api/auth/sign-up/email', { name: 'Mallory', email, password }, headers);
    return { id: body.user.id, email, browser };
  }

  async function invite(email: string): Promise<string> {
    const body = { email, role: 'editor' };
    const answer = await service.call('POST', `/api/projects/${projectId}/invitations`, { as: owner, body });
    return answer.body.url.split('#')[1];
  }

  async function lastToken(email: string, page: 'verify-email' | 'reset-password'): Promise<string> {
    await service.deps.mail?.idle();
    return mailbox.tokensFor(email, page).at(-1) ?? '';
  }

  const verify = (browser: TestBrowser, token: string) => post(browser, '/api/account/email/verify', { token });

  /** @returns the secret of the second factor */
  async function arm({ browser }: Account): Promise<Buffer> {
    const { body } = await post(browser, '/api/auth/two-factor/enable', { password });
    await awaitEarlyStep();
    const secret = readSecret(body.totpURI);
    const verified = await post(browser, '/api/auth/two-factor/verify-totp', { code: totp(secret, -1) });
    expect(outcome(verified)).toBe(200);
    return secret;
  }

  const createKey = ({ browser }: Account) => post(browser, '/api/api-keys', { name: 'K', projectId: null });
  const useKey = (key: string) =>
    service.call('GET', `/api/storage/list?projectId=${projectId}`, { key }).then(outcome);

  async function resetByMail(email: string, more: object = {}): Promise<Answer> {
    await service.call('POST', '/api/auth/request-password-reset', { body: { email } });
    const body = { token: await lastToken(email, 'reset-password'), newPassword, ...more };
    return service.call('POST', '/api/auth/reset-password', { body });
  }

  async function signIn(email: string): Promise<{ browser: TestBrowser; answer: Answer }> {
    const browser = openBrowser(service);
    return { browser, answer: await post(browser, '/api/auth/sign-in/email', { email, password: newPassword }) };
  }

  describe('until the address is proven', () => {
    test('makes no key, second factor, passkey, webhook or invitation, and accepts none; the rest works', async () => {
      const mallory = await signUp(service);
      const { browser, email } = mallory;
      const project = await post(browser, '/api/projects', { name: 'Mine' });
      expect(outcome(project)).toBe(200);
      const own = project.body.id;
      const tried = async () => [
        outcome(await createKey(mallory)),
        outcome(await post(browser, '/api/api-keys', { name: 'K', projectId: own })),
        outcome(await post(browser, '/api/auth/two-factor/enable', { password })),
        outcome(await browser.call('GET', '/api/auth/passkey/generate-register-options')),
        outcome(await post(browser, '/api/auth/passkey/verify-registration', { response: attestation })),
        outcome(await post(browser, `/api/projects/${own}/webhooks`, { url: 'https://a.example.com/' })),
        outcome(await post(browser, `/api/projects/${own}/invitations`, { email: newEmail(), role: 'owner' })),
        outcome(await post(browser, '/api/invitations/accept', { token: await invite(email) })),
      ];
      expect(await tried()).toEqual(Array(8).fill(unproven));
      expect(await query('select id from api_keys where created_by = $1', mallory.id)).toEqual([]);

      const token = await lastToken(email, 'verify-email');
      expect((await verify(browser, token)).body).toEqual({ email, emailVerified: true });
      expect((await browser.call('GET', '/api/auth/get-session')).body.user.emailVerified).toBe(true);
      expect(await tried()).toEqual([200, 200, 200, 200, '401 passkey_refused', 200, 200, 200]);
    });

    test('rotates no key that it has from when the service sent no mail', async () => {
      const mallory = await signUp(service);
      const before = openBrowser(mailless);
      await post(before, '/api/auth/sign-in/email', { email: mallory.email, password });
      const { id } = (await post(before, '/api/api-keys', { name: 'K', projectId: null })).body;
      const rotate = async () => outcome(await post(mallory.browser, `/api/api-keys/${id}/rotate`));
      expect(await rotate()).toBe(unproven);
      expect(await query('select id from api_keys where created_by = $1', mallory.id)).toEqual([{ id }]);
      await verify(mallory.browser, await lastToken(mallory.email, 'verify-email'));
      expect(await rotate()).toBe(200);
    });

    test('the token proves it in a session of the account only, once, and for a day', async () => {
      const [mallory, eve] = [await signUp(service), await signUp(service)];
      const token = await lastToken(mallory.email, 'verify-email');
      expect(outcome(await verify(openBrowser(service), token))).toBe('401 session_required');
      expect(outcome(await verify(eve.browser, token))).toBe('400 invalid_email_token');
      expect(outcome(await verify(mallory.browser, 'x'.repeat(43)))).toBe('400 invalid_email_token');
      expect(outcome(await verify(mallory.browser, 'x'))).toBe('400 invalid_request');
      const answers = await Promise.all([1, 2, 3].map(() => verify(mallory.browser, token)));
      expect(answers.map(outcome).sort()).toEqual([200, '400 invalid_email_token', '400 invalid_email_token']);

      const late = await lastToken(eve.email, 'verify-email');
      await service.deps.db.pool.query('update email_verifications set expires_at = $1', [
        new Date(service.deps.now() - 1),
      ]);
      expect(outcome(await verify(eve.browser, late))).toBe('400 invalid_email_token');
    });

    test('the message is sent again, three times an hour, and those before stay good', async () => {
      const mallory = await signUp(service);
      const first = await lastToken(mallory.email, 'verify-email');
      const again = () => mallory.browser.call('POST', '/api/account/email/verification');
      const answers = [await again(), await again(), await again()];
      expect(answers.map(({ body }) => body)).toEqual(Array(3).fill({ sent: true }));
      expect(outcome(await again())).toBe('429 too_many_attempts');
      await service.deps.mail?.idle();
      expect(mailbox.tokensFor(mallory.email, 'verify-email')).toHaveLength(4);
      expect(outcome(await verify(mallory.browser, first))).toBe(200);
      expect((await again()).body).toEqual({ sent: false });
      const last = mailbox.tokensFor(mallory.email, 'verify-email').at(-1) ?? '';
      expect(outcome(await verify(mallory.browser, last))).toBe('400 invalid_email_token');
    });

    test('the token is kept as its SHA-256, and in no log', async () => {
      const { email } = await signUp(service);
      const token = await lastToken(email, 'verify-email');
      const { rows } = await service.deps.db.pool.query(
        'select email_verifications::text as text from email_verifications',
      );
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain(token);
      expect(service.logged()).not.toContain(token);
    });

    test('is not asked of who made it where there is no mail, of who is invited, and of the owner', async () => {
      const early = await signUp(mailless);
      expect(outcome(await createKey(early))).toBe(200);
      expect(outcome(await early.browser.call('POST', '/api/account/email/verification'))).toBe('409 mail_off');
      const email = newEmail();
      const guest = await signUp(service, email, { 'X-Invitation': await invite(email) });
      expect(outcome(await createKey(guest))).toBe(200);
      expect(outcome(await guest.browser.call('GET', '/api/auth/passkey/generate-register-options'))).toBe(200);
      const { body } = await service.call('GET', '/api/auth/get-session', { as: owner });
      expect(body.user.emailVerified).toBe(true);
    });

    test('a second factor is asked proof for of the invited, too, who invite themselves otherwise', async () => {
      const email = newEmail();
      const guest = await signUp(service, email, { 'X-Invitation': await invite(email) });
      const enable = () => post(guest.browser, '/api/auth/two-factor/enable', { password });
      expect(outcome(await enable())).toBe(unproven);
      expect(outcome(await verify(guest.browser, await lastToken(email, 'verify-email')))).toBe(200);
      expect(outcome(await enable())).toBe(200);
    });

    test('an operator can vouch for it', async () => {
      const mallory = await signUp(service);
      const command = { command: 'verify-email', email: mallory.email, revokeApiKeys: false };
      await runCommand({ ...service.deps, close: async () => undefined }, command);
      expect(outcome(await createKey(mallory))).toBe(200);
    });
  });

  describe('is taken back by a reset of its password by e-mail (T35, checklist 8)', () => {
    test('with its keys, its passkeys and the second factor that was set up before the address was proven', async () => {
      const mallory = await signUp(mailless);
      const { key } = (await createKey(mallory)).body;
      await arm(mallory);
      await addPasskey(mallory.id);

      const reset = await resetByMail(mallory.email);
      expect(reset.body).toEqual({
        endedSessions: 1,
        revokedApiKeys: 1,
        removedPasskeys: 1,
        removedSecondFactor: true,
      });
      const { browser, answer } = await signIn(mallory.email);
      expect(answer.body.user).toMatchObject({ emailVerified: true, twoFactorEnabled: false });
      expect(outcome(await post(browser, '/api/invitations/accept', { token: await invite(mallory.email) }))).toBe(200);
      expect(await useKey(key)).toBe('401 invalid_api_key');
      expect(outcome(await mallory.browser.call('GET', '/api/projects'))).toBe('401 session_required');
    });

    test('but its owner keeps a second factor that was set up on a proven address, and is asked for it', async () => {
      const ada = await signUp(service);
      await verify(ada.browser, await lastToken(ada.email, 'verify-email'));
      const secret = await arm(ada);
      const reset = await resetByMail(ada.email, { revokeApiKeys: false });
      expect(reset.body).toMatchObject({ removedSecondFactor: false });
      const { browser, answer } = await signIn(ada.email);
      expect(answer.body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ['totp'] });
      expect(outcome(await browser.call('GET', '/api/projects'))).toBe('401 session_required');
      const finished = await post(browser, '/api/auth/two-factor/verify-totp', { code: totp(secret) });
      expect(outcome(finished)).toBe(200);
    });

    test('but its owner keeps a second factor that was there when the address was proven', async () => {
      const ada = await signUp(service);
      await verify(ada.browser, await lastToken(ada.email, 'verify-email'));
      await arm(ada);
      // The state of an account whose second factor was set up before there was a mail server.
      await query('update users set email_verified = false where id = $1', ada.id);
      await query('update two_factors set address_proven = false where user_id = $1', ada.id);
      expect((await ada.browser.call('POST', '/api/account/email/verification')).body).toEqual({ sent: true });
      expect(outcome(await verify(ada.browser, await lastToken(ada.email, 'verify-email')))).toBe(200);
      expect((await resetByMail(ada.email)).body).toMatchObject({ removedSecondFactor: false });
    });

    test('a reset proves the address', async () => {
      const ada = await signUp(service);
      await resetByMail(ada.email);
      const { browser } = await signIn(ada.email);
      expect(outcome(await createKey({ ...ada, browser }))).toBe(200);
    });
  });

  describe(`is taken back also from who is at work at that moment, in ${rounds} races (checklist 8)`, () => {
    /** A reset, concurrent with something done in an earlier session. */
    async function race(round: number, mallory: Account, work: () => Promise<unknown>): Promise<void> {
      await service.call('POST', '/api/auth/request-password-reset', { body: { email: mallory.email } });
      const body = { token: await lastToken(mallory.email, 'reset-password'), newPassword };
      // The reset hashes for a while first, so the work begins at some point of these 50 ms.
      const resetting = service.call('POST', '/api/auth/reset-password', { body });
      await new Promise((resolve) => setTimeout(resolve, (50 * round) / rounds));
      const working = work();
      expect(outcome(await resetting)).toBe(200);
      await working;
    }
    const aliveKeys = (id: string) => query('select id from api_keys where created_by = $1 and revoked_at is null', id);

    test('making keys', async () => {
      for (let round = 0; round < rounds; round++) {
        const mallory = await signUp(mailless);
        await race(round, mallory, () => Promise.all([createKey(mallory), createKey(mallory), createKey(mallory)]));
        expect(await aliveKeys(mallory.id)).toEqual([]);
      }
    });

    test('rotating keys', async () => {
      for (let round = 0; round < rounds; round++) {
        const mallory = await signUp(mailless);
        const { id } = (await createKey(mallory)).body;
        const rotate = () => post(mallory.browser, `/api/api-keys/${id}/rotate`);
        await race(round, mallory, () => Promise.all([rotate(), rotate(), rotate()]));
        expect(await aliveKeys(mallory.id)).toEqual([]);
      }
    });

    test('setting a second factor up', async () => {
      for (let round = 0; round < rounds; round++) {
        const mallory = await signUp(mailless);
        const { body } = await post(mallory.browser, '/api/auth/two-factor/enable', { password });
        await awaitEarlyStep();
        const code = totp(readSecret(body.totpURI), -1);
        await race(round, mallory, () => post(mallory.browser, '/api/auth/two-factor/verify-totp', { code }));
        expect(await query('select two_factor_enabled as on from users where id = $1', mallory.id)).toEqual([
          { on: false },
        ]);
        expect(await query('select id from two_factors where user_id = $1', mallory.id)).toEqual([]);
        expect((await signIn(mallory.email)).answer.body.user).toMatchObject({ id: mallory.id });
      }
    });
  });

  test('no message carries a word of anybody', async () => {
    const name = 'Ada, your account is locked: https://evil.example/unlock <b>now</b>';
    const email = newEmail();
    const body = { name, email, password };
    await service.call('POST', '/api/auth/sign-up/email', { body });
    await service.call('POST', '/api/auth/request-password-reset', { body: { email } });
    await service.deps.mail?.idle();
    const messages = mailbox.received.filter(({ to }) => to.includes(email));
    expect(messages.map(({ text }) => /^Subject: (.*)\r$/m.exec(text)?.[1]).sort()).toEqual([
      'A new password for Cadiz',
      'Your e-mail address at Cadiz',
    ]);
    for (const { text } of messages) {
      expect(text).not.toMatch(/Ada|evil|locked|unlock|<b>/);
      const links = text.match(/https?:\/\/[^\s"',.]+/g) ?? [];
      expect(new Set(links.map((link) => new URL(link).origin))).toEqual(new Set(['http://localhost:4000']));
      expect(/^From: (.*)\r$/m.exec(text)?.[1]).toBe('Cadiz <media@example.com>');
      expect(/^To: (.*)\r$/m.exec(text)?.[1]).toBe(email);
    }
  });

  const addPasskey = (userId: string) =>
    service.deps.db.pool.query(
      `insert into passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up)
       values ($1, $2, $3, '', 0, 'singleDevice', false)`,
      [randomUUID(), userId, randomUUID()],
    );
});

/** Well-formed, but valid for nobody. */
const attestation = {
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: 'AAAA', attestationObject: 'AAAA' },
  clientExtensionResults: {},
};
