import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Mailbox, startMailbox } from '../packages/server/test/mailbox.ts';
import { startTestIssuer, type TestIssuer } from '../packages/server/test/oidc-issuer.ts';
import { type ConsoleUnderTest, email, findFlaws, password, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;
let mailbox: Mailbox;
let issuer: TestIssuer;

beforeAll(async () => {
  if (!triesJourneys) return;
  mailbox = await startMailbox();
  issuer = await startTestIssuer();
  issuer.person = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace' };
  tested = await startConsole({
    ...mailbox.settings,
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: issuer.clientId,
    OIDC_CLIENT_SECRET: issuer.clientSecret,
    OIDC_NAME: 'Harbour office',
    OIDC_SIGN_UP: 'open',
  });
  await tested.createProject('Harbour Journal');
});

afterAll(async () => {
  if (!triesJourneys) return;
  await tested.stop();
  await mailbox.stop();
  await issuer.stop();
});

describe.runIf(triesJourneys)('before there is a session', () => {
  test('a sign-in whose session cannot be read says so, and is tried again', async () => {
    const page = await tested.openPage();
    // The drawing beside the form is no part of it.
    await page.route(/\/assets\/harbour-/, (route) => route.abort());
    await page.goto(`${tested.url}/sign-in`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.route('**/api/auth/get-session', (route) => route.abort());
    const submit = page.getByRole('button', { name: 'Sign in', exact: true });
    await submit.click();
    await page.getByRole('alert').waitFor();
    await page.unrouteAll();
    await submit.click();
    await page.getByRole('link', { name: 'API keys' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a wrong password leaves the address, and is typed again at once', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/sign-in`);
    const typed = page.getByLabel('Password', { exact: true });
    await page.getByLabel('E-mail').fill(email);
    for (const wrong of ['not my password', 'nor is this one']) {
      await typed.fill(wrong);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('alert').getByText('wrong').waitFor();
      await expect.poll(() => typed.inputValue()).toBe('');
      expect(await typed.evaluate((one) => one === document.activeElement)).toBe(true);
      expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    }
    expect(await findFlaws(page)).toEqual([]);
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'API keys' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a forgotten password is reset by a link that works once', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/sign-in`);
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    // The page before it asks for an address as well.
    await page.getByRole('button', { name: 'Send the link' }).waitFor();
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText('a link is on its way').waitFor();
    await expect.poll(() => mailbox.tokensFor(email, 'reset-password').length).toBe(1);
    const [token] = mailbox.tokensFor(email, 'reset-password');
    await page.goto(`${tested.url}/reset-password#${token}`);
    const field = page.getByLabel('New password', { exact: true });
    await field.waitFor();
    // Neither the address nor the history keeps it.
    expect(page.url()).toBe(`${tested.url}/reset-password`);
    expect(await findFlaws(page)).toEqual([]);
    await field.fill('password1234');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('alert').first().waitFor();
    await field.fill('another horse battery');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('Your new password is set').waitFor();
    await page.goto('about:blank');
    await page.goto(`${tested.url}/reset-password#${token}`);
    await field.fill('a third horse battery');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password', { exact: true }).fill('another horse battery');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('link', { name: 'API keys' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the issuer refuses, and the sign-in page says so', async () => {
    issuer.refusal = 'access_denied';
    const page = await tested.openPage();
    await page.goto(`${tested.url}/sign-in?to=/projects`);
    await page.getByRole('button', { name: 'Continue with Harbour office' }).click();
    await page.getByRole('alert').getByText('cancelled or refused there').waitFor();
    expect(page.url()).toBe(`${tested.url}/sign-in?to=%2Fprojects&error=oidc_refused`);
    expect(await findFlaws(page)).toEqual([]);
    issuer.refusal = undefined;
    await page.getByRole('button', { name: 'Continue with Harbour office' }).click();
    await page.getByRole('heading', { name: 'No projects yet' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the button of the issuer signs in', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/sign-in`);
    const button = page.getByRole('button', { name: 'Continue with Harbour office' });
    await button.waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await button.click();
    await page.getByRole('heading', { name: 'No projects yet' }).waitFor();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByText('grace@example.com').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the issuer leads back to exactly where a session has ended', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/sign-in`);
    await page.getByRole('button', { name: 'Continue with Harbour office' }).click();
    await page.getByRole('heading', { name: 'No projects yet' }).waitFor();
    const created = await page.evaluate(async () => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch('/api/projects', { method: 'POST', headers, body: '{"name":"Pilots"}' })).json();
    });
    const place = `${tested.url}/projects/${created.id}/files?view=grid&q=chart`;
    await page.goto(place);
    await page.getByText('Nothing is called “chart” here').waitFor();
    await page.context().clearCookies();
    // It reads again what is old when somebody comes back to the window.
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    const ended = page.getByText('Your session has ended');
    await ended.waitFor();
    await page.getByRole('button', { name: 'Continue with Harbour office' }).click();
    await ended.waitFor({ state: 'detached' });
    await expect.poll(() => page.url()).toBe(place);
    await page.getByText('Nothing is called “chart” here').waitFor();
    await page.context().close();
  });

  // As the last: the attempts of its address are counted for a minute.
  test('too many attempts are told until when they wait, in seconds as in hours', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/sign-in`);
    const typed = page.getByLabel('Password', { exact: true });
    const submit = page.getByRole('button', { name: 'Sign in', exact: true });
    await page.getByLabel('E-mail').fill('nobody@example.com');
    const refusal = page.getByRole('alert');
    for (let attempt = 0; attempt < 5; attempt++) {
      await typed.fill('guess');
      await submit.click();
      await refusal.getByText('wrong').waitFor();
    }
    await typed.fill('guess');
    await submit.click();
    const words = await refusal.getByText('Too many attempts').innerText();
    expect(words).toMatch(/ Try again after \d\d:\d\d\.$/);
    // It can be sent again by then.
    expect(await typed.inputValue()).toBe('guess');
    expect(await findFlaws(page)).toEqual([]);
    await page.route('**/api/auth/sign-in/email', async (route) => {
      const json = { title: 'Too many attempts.', status: 429, code: 'too_many_attempts' };
      const headers = { 'Retry-After': '20' };
      await route.fulfill({ status: 429, contentType: 'application/problem+json', headers, json });
    });
    await submit.click();
    await page
      .getByRole('status')
      .getByText(/^Cadiz asks to wait until \d\d:\d\d:\d\d, and goes on then\.$/)
      .waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
