import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from '../../test/browser.ts';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../test/service.ts';

const password = 'correct horse battery';
const newPassword = 'nanoseconds are short';
const wrong = 'wrong horse battery';

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);

/** On PostgreSQL, the stranger sends requests to another process. */
describe.each(testableKinds)('a stranger who guesses at an account (checklist 14; %s)', (kind) => {
  let service: TestService;
  let strangers: TestService;

  beforeAll(async () => {
    service = await startTestService({ db: await openTestDatabase(kind) });
    strangers = kind === 'postgres' ? await startTestService({ beside: service }) : service;
    await service.signUp('Owner');
  });
  afterAll(() => service.close());

  const signIn = (browser: TestBrowser, email: string, secret = password) =>
    browser.call('POST', '/api/auth/sign-in/email', { body: { email, password: secret } }).then(outcome);
  const change = (browser: TestBrowser, currentPassword: string, next = newPassword) =>
    browser.call('POST', '/api/account/password', { body: { currentPassword, newPassword: next } }).then(outcome);

  /** Somebody whose browser is a known device of their account. */
  async function openKnown(): Promise<TestBrowser & { person: Person }> {
    const person = await service.signUp();
    const browser = openBrowser(service);
    for (const pair of person.cookie.split('; ')) {
      const at = pair.indexOf('=');
      browser.cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return Object.assign(browser, { person });
  }

  /** Guesses from everywhere until no more guesses are accepted. */
  async function closeToStrangers(email: string): Promise<void> {
    for (let guess = 0; guess < 6; guess++) await signIn(openBrowser(strangers), email, wrong);
    expect(await signIn(openBrowser(strangers), email)).toBe('429 too_many_attempts');
    expect(await signIn(openBrowser(service), email)).toBe('429 too_many_attempts');
  }

  test('closes it neither to a session, which goes on and changes the password, nor to browsers that it is known on', async () => {
    const ada = await openKnown();
    await closeToStrangers(ada.person.email);
    expect(outcome(await ada.call('GET', '/api/projects'))).toBe(200);
    expect(outcome(await ada.call('POST', '/api/auth/two-factor/enable', { body: { password } }))).toBe(200);
    expect(await change(ada, password)).toBe(200);
    expect(outcome(await ada.call('POST', '/api/auth/sign-out'))).toBe(200);
    expect(await signIn(ada, ada.person.email, newPassword)).toBe(200);
    expect(await signIn(openBrowser(strangers), ada.person.email, newPassword)).toBe('429 too_many_attempts');
  });

  test('gains nothing by guesses of its owner that are right: they open the account where they were made only', async () => {
    const ada = await openKnown();
    await closeToStrangers(ada.person.email);
    expect(await signIn(ada, ada.person.email)).toBe(200);
    expect(await signIn(openBrowser(strangers), ada.person.email, wrong)).toBe('429 too_many_attempts');
  });

  test('gets five guesses in a browser that it is known on, and five more within a session: no more than that', async () => {
    const ada = await openKnown();
    const guesses = [];
    for (let guess = 0; guess < 7; guess++) guesses.push(await signIn(ada, ada.person.email, wrong));
    expect(guesses).toEqual([
      ...Array(5).fill('401 invalid_email_or_password'),
      ...Array(2).fill('429 too_many_attempts'),
    ]);
    expect(await signIn(ada, ada.person.email)).toBe('429 too_many_attempts');
    const changes = [];
    for (let guess = 0; guess < 6; guess++) changes.push(await change(ada, wrong));
    expect(changes).toEqual([...Array(5).fill('403 wrong_password'), '429 too_many_attempts']);
    // Another session of the account has no guesses of its own.
    const other = openBrowser(service);
    expect(await signIn(other, ada.person.email)).toBe(200);
    expect(await change(other, wrong)).toBe('429 too_many_attempts');
  });

  test('is not taken for its owner: a cookie is good for its account, as it is, while the password is what it was', async () => {
    const [ada, eve] = [await openKnown(), await openKnown()];
    const { email } = ada.person;
    await closeToStrangers(email);
    const own = ada.cookies.get('cadiz.device') ?? '';
    const tampered = [
      eve.cookies.get('cadiz.device') ?? '',
      own.slice(0, -1) + (own.endsWith('A') ? 'B' : 'A'),
      `${own.split('.')[0]}.`,
      `${own.split('.')[0]}`,
      own.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
      '',
    ];
    for (const cookie of tampered) {
      const browser = openBrowser(service);
      browser.cookies.set('cadiz.device', cookie);
      expect(await signIn(browser, email)).toBe('429 too_many_attempts');
    }
    const copy = openBrowser(service);
    copy.cookies.set('cadiz.device', own);
    expect(await signIn(copy, email)).toBe(200);

    expect(await change(ada, password)).toBe(200);
    const outdated = openBrowser(service);
    outdated.cookies.set('cadiz.device', own);
    expect(await signIn(outdated, email, newPassword)).toBe('429 too_many_attempts');
    // The browser that changed the password is a known device under the new one.
    expect(await signIn(ada, email, newPassword)).toBe(200);
  });

  test('keeps nobody out who comes from a known browser, however many guesses are made at that moment', async () => {
    const ada = await openKnown();
    const guesses = Array.from({ length: 8 }, () => signIn(openBrowser(strangers), ada.person.email, wrong));
    const own = signIn(ada, ada.person.email);
    const seen = await Promise.all(guesses);
    expect(await own).toBe(200);
    expect(seen.filter((answer) => answer === '401 invalid_email_or_password')).toHaveLength(5);
  });
});
