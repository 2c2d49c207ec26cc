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
  page = await (await browser.newContext()).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return () => page.context().close();
});

describe.runIf(installed)('the pages of the service', () => {
  test('an invitation leads to an account and a membership, even if sign-up is closed', async () => {
    await page.goto(await invite('grace@example.com'));
    expect(await page.locator('h1').textContent()).toBe('You have been invited to a project');
    // The token disappears from the address bar.
    expect(page.url()).toBe(`${site}/invitation`);
    await page.fill('#sign-up [name=name]', 'Grace');
    await page.fill('#sign-up [name=email]', 'grace@example.com');
    await page.fill('#sign-up [name=password]', 'too short');
    await page.click('#sign-up button[type=submit]');
    expect(await page.locator('#done').isVisible()).toBe(false);
    await page.fill('#sign-up [name=password]', password);
    await page.click('#sign-up button[type=submit]');
    await page.getByText('you are a member of the project').waitFor();
    const { members } = (await (await ask('GET', `/api/projects/${projectId}/members`)).json()) as {
      members: { email: string; role: string }[];
    };
    expect(members).toContainEqual(expect.objectContaining({ email: 'grace@example.com', role: 'editor' }));
    expect(complaints).toEqual([]);
  });

  test('a user with an account signs in and accepts; a used token is reported', async () => {
    await ask('POST', `/api/projects/${projectId}/invitations`, { email: 'ada@example.com', role: 'owner' });
    const other = (await (await ask('POST', '/api/projects', { name: 'Q' })).json()) as { id: string };
    const invited = await ask('POST', `/api/projects/${other.id}/invitations`, {
      email: 'grace@example.com',
      role: 'viewer',
    });
    const { url } = (await invited.json()) as { url: string };
    for (const expected of ['your role in the project is viewer', 'invitation']) {
      await page.goto('about:blank');
      await page.goto(url);
      if (expected !== 'invitation') {
        await page.click('text=I have an account already');
        await page.fill('#sign-in [name=email]', 'grace@example.com');
        await page.fill('#sign-in [name=password]', password);
        await page.click('#sign-in button[type=submit]');
      }
      await page.getByText('You are signed in as').waitFor();
      await page.click('text=Accept the invitation');
      const shown = expected === 'invitation' ? page.locator('#accept [role=alert]') : page.locator('#done');
      await shown.getByText(expected).waitFor();
    }
  });

  test('a password is set with the token from a message, and a wrong token is reported in words', async () => {
    await page.goto(`${site}/reset-password#${'x'.repeat(43)}`);
    await page.fill('[name=newPassword]', 'another horse battery');
    await page.click('button[type=submit]');
    await page.locator('[role=alert]').getByText('This token does not reset the password.').waitFor();
    expect(await page.locator('button').isEnabled()).toBe(true);
  });

  test('the link that verifies an address asks for a session first, and reports a wrong token in words', async () => {
    await page.goto(`${site}/verify-email#${'x'.repeat(43)}`);
    await page.fill('#sign-in [name=email]', 'ada@example.com');
    await page.fill('#sign-in [name=password]', password);
    await page.click('#sign-in button[type=submit]');
    await page.getByText('You are signed in as ada@example.com').waitFor();
    await page.click('text=Confirm the address');
    const alert = page.locator('#verify [role=alert]');
    await expect.poll(() => alert.textContent()).toMatch(/\w/);
    expect(await page.locator('#done').isVisible()).toBe(false);
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
    for (const path of ['/invitation', '/reset-password', '/verify-email', '/docs', '/pages.js']) {
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
    for (const path of ['/nothing', '/docs/nothing.js', '/..%2f..%2fpackage.json', '/pages.css%00', '/%zz']) {
      const answer = await fetch(site + path);
      expect([400, 404]).toContain(answer.status);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });
});
