import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cleanUp, type Service, type Settings, startService, stopService, testedSettings } from './service.ts';

const executablePath = '/usr/bin/chromium';
const installed = existsSync(executablePath);
if (!installed)
  console.warn(`LEFT OUT: the pages of the service in a browser, because ${executablePath} is not installed.`);

const password = 'correct horse battery';

let settings: Settings;
let service: Service;
let site: string;
let browser: Browser;
let page: Page;
let cookie: string;
let projectId: string;
/** Complaints of the pages: errors, and refusals by the Content-Security-Policy. */
let complaints: string[];

async function ask(method: string, path: string, body?: unknown): Promise<Response> {
  const headers = { Cookie: cookie ?? '', 'Content-Type': 'application/json' };
  return fetch(site + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

async function invite(email: string): Promise<string> {
  const answer = await ask('POST', `/api/projects/${projectId}/invitations`, { email, role: 'editor' });
  return ((await answer.json()) as { url: string }).url;
}

beforeAll(async () => {
  if (!installed) return;
  settings = await testedSettings();
  service = await startService(settings);
  site = `http://localhost:${settings.PORT}`;
  const signedUp = await ask('POST', '/api/auth/sign-up/email', { name: 'Ada', email: 'ada@example.com', password });
  cookie = signedUp.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  projectId = ((await (await ask('POST', '/api/projects', { name: 'P' })).json()) as { id: string }).id;
  const args = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking';
  browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [...args.split(' '), '--disable-component-update', '--disable-sync'],
  });
});

afterAll(async () => {
  if (!installed) return;
  await browser?.close();
  await stopService(service);
  await cleanUp(settings);
});

beforeEach(async () => {
  if (!installed) return;
  complaints = [];
  page = await (await browser.newContext({ locale: 'en-GB' })).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Answers that are errors are shown to people; the browser lists them as well.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text());
  });
  return () => page.context().close();
});

describe.runIf(installed)('the pages of the service', () => {
  test('an invitation leads to an account and a membership, even if sign-up is closed', async () => {
    await page.goto(await invite('grace@example.com'));
    await page.getByRole('heading', { name: 'You are invited' }).waitFor();
    // The token disappears from the address bar.
    expect(page.url()).toBe(`${site}/invitation`);
    await page.getByLabel('Name').fill('Grace');
    await page.getByLabel('E-mail').fill('grace@example.com');
    await page.getByLabel('Password', { exact: true }).fill('too short');
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByRole('link', { name: 'P', exact: false }).first().waitFor();
    const { members } = (await (await ask('GET', `/api/projects/${projectId}/members`)).json()) as {
      members: { email: string; role: string }[];
    };
    expect(members).toContainEqual(expect.objectContaining({ email: 'grace@example.com', role: 'editor' }));
    expect(complaints).toEqual([]);
  });

  test('a user with an account signs in and accepts; a used token is reported', async () => {
    const other = (await (await ask('POST', '/api/projects', { name: 'Q' })).json()) as { id: string };
    const invited = await ask('POST', `/api/projects/${other.id}/invitations`, {
      email: 'grace@example.com',
      role: 'viewer',
    });
    const { url } = (await invited.json()) as { url: string };
    await page.goto(url);
    await page.getByText('You have an account already?').click();
    await page.getByLabel('E-mail').fill('grace@example.com');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('You are signed in as grace@example.com').waitFor();
    await page.getByRole('button', { name: 'Accept the invitation' }).click();
    await page.waitForURL(`${site}/projects/${other.id}/files`);
    await page.goto('about:blank');
    await page.goto(url);
    await page.getByRole('button', { name: 'Accept the invitation' }).click();
    await page.getByRole('alert').getByText('invitation').first().waitFor();
  });

  test('a password is set with the token from a message, and a wrong token is reported in words', async () => {
    await page.goto(`${site}/reset-password#${'x'.repeat(43)}`);
    await page.getByLabel('New password').fill('another horse battery');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('alert').getByText('This token does not reset the password.').waitFor();
    expect(await page.getByRole('button', { name: 'Set the password' }).isEnabled()).toBe(true);
  });

  test('the link that verifies an address asks for a session first, and reports a wrong token in words', async () => {
    await page.goto(`${site}/verify-email#${'x'.repeat(43)}`);
    await page.getByLabel('E-mail').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('You are signed in as ada@example.com').waitFor();
    await page.getByRole('button', { name: 'Confirm the address' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/\w/);
  });

  test('the API reference shows every tag, and requests nothing from other hosts', async () => {
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
    await page.goto(`${site}/docs`);
    for (const tag of ['Storage', 'Uploads', 'API keys']) {
      await page.locator('h2', { hasText: tag }).first().waitFor();
    }
    expect([...asked].filter((origin) => origin !== site && origin !== 'null')).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('pages have the headers of every answer, and a policy of their own without inline scripts', async () => {
    for (const path of ['/invitation', '/reset-password', '/verify-email', '/docs', '/projects/x/files']) {
      const answer = await fetch(site + path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
      const policy = answer.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/);
      expect(policy).not.toContain("script-src 'self' 'unsafe-inline'");
      const etag = answer.headers.get('etag') ?? '';
      expect((await fetch(site + path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    }
  });

  test('any other path is answered by the API', async () => {
    for (const path of ['/nothing', '/docs/nothing.js', '/..%2f..%2fpackage.json', '/favicon.svg%00', '/%zz']) {
      const answer = await fetch(site + path);
      expect([400, 404]).toContain(answer.status);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });
});
