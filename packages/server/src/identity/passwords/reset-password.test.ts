import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Mailbox, startMailbox } from '../../../test/mailbox.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { runCommand } from '../../users/run-command.ts';

let mailbox: Mailbox;
let service: TestService;

beforeAll(async () => {
  mailbox = await startMailbox();
  service = await startTestService({ settings: mailbox.settings });
  await service.signUp('Owner');
});
beforeEach(async () => {
  await service.deps.mail?.idle();
  mailbox.received = [];
});
afterAll(async () => {
  await service.close();
  await mailbox.stop();
});

const newPassword = 'nanoseconds are short';
const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);
const ask = (email: string) => service.call('POST', '/api/auth/request-password-reset', { body: { email } });
const reset = (token: string, more: object = {}, address?: string) =>
  service.call('POST', '/api/auth/reset-password', { body: { token, newPassword, ...more }, address });
const signIn = (email: string, password = newPassword) =>
  service.call('POST', '/api/auth/sign-in/email', { body: { email, password } });
const isAlive = async (as: Person) => (await service.call('GET', '/api/projects', { as })).status === 200;

async function askForToken(person: Person): Promise<string> {
  expect((await ask(person.email)).body).toEqual({ success: true });
  await service.deps.mail?.idle();
  return mailbox.tokensFor(person.email, 'reset-password').at(-1) ?? '';
}

/** A member who has verified the address: otherwise they could create no keys. */
async function signUpProven(name = 'Ada'): Promise<Person> {
  const person = await service.signUp(name);
  await service.deps.db.pool.query('update users set email_verified = true where id = $1', [person.id]);
  return person;
}

const addPasskey = ({ id }: Person) =>
  service.deps.db.pool.query(
    `insert into passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up)
     values ($1, $2, $3, '', 0, 'singleDevice', false)`,
    [randomUUID(), id, randomUUID()],
  );
const addSecondFactor = ({ id }: Person) =>
  service.deps.db.pool.query(
    `insert into two_factors (id, user_id, secret, backup_codes, verified) values ($1, $2, '', '', true)`,
    [randomUUID(), id],
  );

const nothing = { endedSessions: 0, revokedApiKeys: 0, removedPasskeys: 0, removedSecondFactor: false };

describe('a password that is reset by e-mail (checklist 8, 12, 13)', () => {
  test('works once, ends every session, and opens an account that guesses have closed', async () => {
    const ada = await service.signUp();
    for (let guess = 0; guess < 6; guess++) await signIn(ada.email, 'wrong horse battery');
    expect(outcome(await signIn(ada.email, 'correct horse battery'))).toBe('429 too_many_attempts');

    const token = await askForToken(ada);
    const message = mailbox.received.find(({ text }) => text.includes(token));
    expect(message).toMatchObject({ from: 'media@example.com', to: [ada.email] });
    expect(message?.text).toContain('From: Cadiz <media@example.com>');
    expect((await reset(token)).body).toEqual({ ...nothing, endedSessions: 1 });
    expect(await isAlive(ada)).toBe(false);
    expect(outcome(await signIn(ada.email))).toBe(200);
    expect(outcome(await signIn(ada.email, 'correct horse battery'))).toBe('401 invalid_email_or_password');
    expect(outcome(await reset(token))).toBe('400 invalid_reset_token');
  });

  test('removes the passkeys, which somebody else may have added', async () => {
    const [ada, bob] = [await service.signUp(), await service.signUp('Bob')];
    for (const person of [ada, bob]) await addPasskey(person);
    const answer = await reset(await askForToken(ada));
    expect(answer.body).toEqual({ ...nothing, endedSessions: 1, removedPasskeys: 1 });
    const { rows } = await service.deps.db.pool.query('select user_id from passkeys where user_id = any($1)', [
      [ada.id, bob.id],
    ]);
    expect(rows).toEqual([{ user_id: bob.id }]);
  });

  test('of two at the same moment one is the first', async () => {
    const token = await askForToken(await service.signUp());
    const answers = await Promise.all([reset(token), reset(token), reset(token)]);
    expect(answers.map(outcome).sort()).toEqual([200, '400 invalid_reset_token', '400 invalid_reset_token']);
  });

  test('the token is kept as its SHA-256, and in no log', async () => {
    const token = await askForToken(await service.signUp());
    const { rows } = await service.deps.db.pool.query('select * from password_resets');
    expect(rows.map((row) => row.token_hash)).toContainEqual(createHash('sha256').update(token).digest());
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(service.logged()).not.toContain(token);
  });

  test('an absent, expired and outdated token get the same answer, and so does that of a disabled account', async () => {
    const ada = await service.signUp();
    const bob = await service.signUp('Bob');
    const outdated = await askForToken(bob);
    expect(outcome(await reset(await askForToken(bob)))).toBe(200);
    const expired = await askForToken(ada);
    await service.deps.db.pool.query(`update password_resets set expires_at = now() - interval '1 second'`);
    const eve = await service.signUp('Eve');
    const disabled = await askForToken(eve);
    await service.deps.db.pool.query('update users set disabled_at = now() where id = $1', [eve.id]);
    const answers = [];
    for (const token of ['x'.repeat(43), outdated, expired, disabled]) answers.push(await reset(token));
    const comparable = answers.map(({ status, body }) => ({ status, ...body, requestId: '' }));
    expect(comparable[0]).toMatchObject({ status: 400, code: 'invalid_reset_token' });
    for (const one of comparable) expect(one).toEqual(comparable[0]);
    expect(await isAlive(ada)).toBe(true);
  });

  test('an address without an account gets the same answer, and no message', async () => {
    const ada = await service.signUp();
    const disabled = await service.signUp('Eve');
    await service.deps.db.pool.query('update users set disabled_at = now() where id = $1', [disabled.id]);
    const answers = [];
    for (const email of [ada.email, `${randomUUID()}@example.com`, disabled.email]) answers.push(await ask(email));
    await service.deps.mail?.idle();
    const told = [...new Set(mailbox.received.flatMap(({ to }) => to))];
    const sent = told.filter((email) => mailbox.tokensFor(email, 'reset-password').length > 0);
    const comparable = answers.map(({ status, headers, text }) => ({
      status,
      text,
      headers: [...headers].filter(([name]) => name !== 'x-request-id'),
    }));
    for (const one of comparable) expect(one).toEqual(comparable[0]);
    expect(sent).toEqual([ada.email]);
  });

  test('three messages an hour go to one address, and everybody gets one answer', async () => {
    const ada = await service.signUp();
    for (const email of [ada.email, `${randomUUID()}@example.com`]) {
      const answers = [];
      for (let time = 0; time < 5; time++) answers.push(await ask(email));
      expect(answers.map(outcome)).toEqual([200, 200, 200, 200, 200]);
    }
    await service.deps.mail?.idle();
    expect(mailbox.tokensFor(ada.email, 'reset-password')).toHaveLength(3);
  });

  test('a stranger who asks again and again neither spoils nor suppresses the way that its owner has', async () => {
    const ada = await service.signUp();
    const own = await askForToken(ada);
    for (let time = 0; time < 5; time++) expect(outcome(await ask(ada.email))).toBe(200);
    expect(outcome(await reset(own))).toBe(200);

    const bob = await service.signUp('Bob');
    for (let time = 0; time < 5; time++) await ask(bob.email);
    // Bob's own request sends no message any more, but one sent within the hour still works.
    expect(outcome(await reset(await askForToken(bob)))).toBe(200);
    // Once the password is set, messages are sent again.
    expect(outcome(await reset(await askForToken(bob)))).toBe(200);
  });

  test('a session alone cannot take from its owner what was sent', async () => {
    const ada = await service.signUp();
    const token = await askForToken(ada);
    expect(outcome(await service.call('DELETE', '/api/account/sessions', { as: ada }))).toBe(200);
    expect(outcome(await reset(token))).toBe(200);
  });

  const run = (command: string) => (ada: Person) =>
    runCommand({ ...service.deps, close: async () => undefined }, { command, email: ada.email, revokeApiKeys: false });
  const changePassword = (ada: Person) => {
    const body = { currentPassword: 'correct horse battery', newPassword };
    return service.call('POST', '/api/account/password', { as: ada, body });
  };

  test.each<[string, (ada: Person) => Promise<unknown>]>([
    ['a changed password', changePassword],
    ['the operator’s end-sessions', run('end-sessions')],
    ['the operator’s remove-passkeys', async (ada) => [await addPasskey(ada), await run('remove-passkeys')(ada)]],
    [
      'the operator’s remove-second-factor',
      async (ada) => [await addSecondFactor(ada), await run('remove-second-factor')(ada)],
    ],
    [
      'disabling and enabling the account',
      async (ada) => [await run('disable')(ada), await ask(ada.email), await run('enable')(ada)],
    ],
  ])('%s makes what was sent worthless, and the next request sends a message again', async (_how, end) => {
    const ada = await signUpProven();
    const token = await askForToken(ada);
    for (let time = 0; time < 4; time++) await ask(ada.email);
    await end(ada);
    expect(outcome(await reset(token))).toBe('400 invalid_reset_token');
    expect(outcome(await reset(await askForToken(ada)))).toBe(200);
  });

  test('an account of one’s own sends a stranger, whose address it claims, no more messages for a new password', async () => {
    const claimed = await service.signUp();
    for (let time = 0; time < 4; time++) await ask(claimed.email);
    expect(outcome(await changePassword(claimed))).toBe(200);
    await ask(claimed.email);
    await service.deps.mail?.idle();
    expect(mailbox.tokensFor(claimed.email, 'reset-password')).toHaveLength(3);
  });

  test('tokens are guessed ten times a minute from one address (checklist 14)', async () => {
    const answers = [];
    for (let guess = 0; guess < 11; guess++) answers.push(await reset('x'.repeat(43), {}, '203.0.113.60'));
    expect(answers.map(outcome)).toEqual([...Array(10).fill('400 invalid_reset_token'), '429 too_many_attempts']);
  });

  test('the new password follows the rules, and a refused one leaves the token', async () => {
    const token = await askForToken(await service.signUp());
    expect(outcome(await reset(token, { newPassword: 'password12345' }))).toBe('400 password_too_common');
    expect(outcome(await reset(token, { newPassword: 'too short' }))).toBe('400 invalid_request');
    expect(outcome(await reset('x'))).toBe('400 invalid_request');
    expect(outcome(await reset(token))).toBe(200);
  });

  test('API keys are revoked, unless their owner keeps them', async () => {
    const ada = await signUpProven();
    const projectId = await service.createProject(ada);
    const keys = [await service.createKey(ada, projectId), await service.createKey(ada, null)];
    const list = () =>
      Promise.all(
        keys.map(({ key }) => service.call('GET', `/api/storage/list?projectId=${projectId}`, { key }).then(outcome)),
      );
    const kept = await reset(await askForToken(ada), { revokeApiKeys: false });
    expect(kept.body).toEqual({ ...nothing, endedSessions: 1 });
    expect(await list()).toEqual([200, 200]);
    expect((await reset(await askForToken(ada))).body).toEqual({ ...nothing, revokedApiKeys: 2 });
    expect(await list()).toEqual(['401 invalid_api_key', '401 invalid_api_key']);
  });

  test('a mail server that refuses is a line in the log, and no other answer', async () => {
    const ada = await service.signUp();
    await service.deps.mail?.idle();
    mailbox.received = [];
    mailbox.refuses = true;
    try {
      expect((await ask(ada.email)).body).toEqual({ success: true });
      await service.deps.mail?.idle();
    } finally {
      mailbox.refuses = false;
    }
    expect(service.logged()).toContain('Could not send an e-mail');
    expect(mailbox.received).toEqual([]);
  });

  test('a password for the mail server is not sent where it could be read', async () => {
    const guarded = await startTestService({
      beside: service,
      settings: { SMTP_URL: `smtp://ada:hush-hush@127.0.0.1:${mailbox.port}`, SMTP_FROM: 'media@example.com' },
    });
    const ada = await service.signUp();
    await guarded.call('POST', '/api/auth/request-password-reset', { body: { email: ada.email } });
    await guarded.deps.mail?.idle();
    expect(mailbox.tokensFor(ada.email, 'reset-password')).toEqual([]);
    expect(guarded.logged()).toContain('Could not send an e-mail');
    expect(guarded.logged()).not.toContain('hush-hush');
    await guarded.close();
  });

  test('without a mail server it is off, for everybody', async () => {
    const without = await startTestService({ beside: service });
    const body = { email: `${randomUUID()}@example.com` };
    expect(outcome(await without.call('POST', '/api/auth/request-password-reset', { body }))).toBe('409 mail_off');
    await without.close();
  });
});
