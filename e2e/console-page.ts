import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Client, createClient } from '@cadiz/client';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { beforeEach, expect } from 'vitest';
import { cleanUp, type Service, type Settings, settingsForPages, startService, stopService } from './service.ts';

export const executablePath = '/usr/bin/chromium';

/** Whether there is a browser. Without one, tests of the console are left out, and say so. */
export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.warn(`LEFT OUT: the console in a browser, because ${executablePath} is not installed.`);

/** Whether people's whole ways through the console are tried. They take minutes, so `npm test` leaves them to `.ci/run`. */
export const triesJourneys = hasBrowser && process.env.TEST_CONSOLE === 'on';
if (!triesJourneys) console.warn('LEFT OUT: journeys through the console. TEST_CONSOLE=on tries them.');

const heard: string[][] = [];
// One test's complaints are no other's, nor those of its next try.
beforeEach(() => {
  for (const complaints of heard) complaints.length = 0;
});

export const password = 'correct horse battery';
export const email = 'ada@example.com';

/** A service with a browser in front of it. */
export interface ConsoleUnderTest {
  url: string;
  service: Service;
  settings: Settings;
  browser: Browser;
  /** What pages complained about: errors, refusals by the policy, and requests to other hosts. */
  complaints: string[];
  /** A page in a browser of its own, which nobody has signed in with. */
  openPage(options?: BrowserContextOptions): Promise<Page>;
  /** A page that the owner is signed in with, at an address of the console. */
  openAsOwner(path: string, options?: BrowserContextOptions): Promise<Page>;
  /** A page that somebody with a role in a project is signed in with. */
  openAsMember(projectId: string, role: 'viewer' | 'editor', path: string): Promise<Page>;
  /** Asks the service as the owner, whose account is created with the first request. @returns the JSON of a 200 */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  createProject(name: string): Promise<string>;
  /** A client with a new key of a project. @param name the key's */
  connect(projectId: string, name?: string): Promise<Client>;
  /** Does something with the data while the service is stopped, and starts it again. Who was signed in still is. */
  whileStopped(work: (settings: Settings) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export async function startConsole(change: Settings = {}): Promise<ConsoleUnderTest> {
  const settings: Settings = { ...(await settingsForPages()), ...change };
  let service = await startService(settings);
  const url = `http://localhost:${settings.PORT}`;
  const args = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking';
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [...args.split(' '), '--disable-component-update', '--disable-sync'],
  });
  const complaints: string[] = [];
  heard.push(complaints);
  let cookie: string | undefined;

  async function send(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = { 'Content-Type': 'application/json', ...(cookie && { Cookie: cookie }) };
    return fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  }

  async function signUp(): Promise<void> {
    const answer = await send('POST', '/api/auth/sign-up/email', { name: 'Ada Example', email, password });
    if (!answer.ok) throw new Error(await answer.text());
    cookie =
      answer.headers
        .getSetCookie()
        .find((one) => one.includes('session'))
        ?.split(';')[0] ?? '';
  }

  async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    if (cookie === undefined) await signUp();
    const answer = await send(method, path, body);
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as T;
  }

  async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB', ...options });
    // On a busy machine, much takes long.
    context.setDefaultTimeout(120_000);
    const close = context.close.bind(context);
    context.close = async (closing) => {
      // What its routes still have to do would fail then, in whatever test comes next.
      await Promise.all(context.pages().map((one) => one.unrouteAll({ behavior: 'ignoreErrors' })));
      await close(closing);
    };
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // Answers that are errors are shown to people; the browser lists them as well.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) complaints.push(message.text());
    });
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      // The browser itself loads its viewer of documents.
      if (!/^(?:blob|data|chrome|chrome-extension):$/.test(protocol) && !/^(?:localhost|127\.0\.0\.1)$/.test(hostname))
        complaints.push(`a request to ${request.url()}`);
    });
    return page;
  }

  return {
    url,
    get service() {
      return service;
    },
    settings,
    browser,
    complaints,
    openPage,
    ask,
    async openAsOwner(path, options) {
      if (cookie === undefined) await signUp();
      const page = await openPage(options);
      const [name = '', ...value] = (cookie ?? '').split('=');
      await page.context().addCookies([{ name, value: value.join('='), url }]);
      await page.goto(url + path);
      return page;
    },
    async openAsMember(projectId, role, path) {
      const name = `Vera the ${role}`;
      const account = { name, email: `${role}-${randomUUID()}@example.com`, password };
      const invitations = `/api/projects/${projectId}/invitations`;
      const invited = await ask<{ url: string }>('POST', invitations, { email: account.email, role });
      const token = new URL(invited.url).hash.slice(1);
      const page = await openPage();
      const { request } = page.context();
      const headers = { 'X-Invitation': token };
      const signedUp = await request.post(`${url}/api/auth/sign-up/email`, { data: account, headers });
      if (!signedUp.ok()) throw new Error(await signedUp.text());
      await page.goto(url + path);
      return page;
    },
    createProject: async (name) => (await ask<{ id: string }>('POST', '/api/projects', { name })).id,
    async connect(projectId, name = 'Look') {
      const { key } = await ask<{ key: string }>('POST', '/api/api-keys', { name, projectId });
      return createClient({ baseUrl: url, apiKey: key });
    },
    async whileStopped(work) {
      await stopService(service);
      await work(settings);
      service = await startService(settings);
    },
    async stop() {
      await browser.close();
      await stopService(service);
      await cleanUp(settings);
    },
  };
}

/** Something that others wait for until it is released. */
export function createHold(): { over: Promise<void>; release: () => void } {
  let release = () => {};
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { over, release };
}

/** Waits until a page hears of changes: from then on, it shows what others do. */
export async function untilFollowing(page: Page): Promise<void> {
  await page.waitForFunction(() =>
    performance.getEntriesByType('resource').some(({ name }) => name.includes('after=latest')),
  );
}

/** What a screen reader or a keyboard would trip over. @param rules all of them, if not given */
export async function findBarriers(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (runOnly) => (globalThis as unknown as { axe: typeof axe }).axe.run(runOnly === undefined ? {} : { runOnly }),
    rules,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** What axe finds wrong in a page, in both themes, wide and on a phone; and whether it is too wide for phones. */
export async function findFlaws(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of [1440, 390, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (overflow > 0) found.push(`${width}: ${overflow} pixels too wide`);
    if (width === 360) continue;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      // Colours that are still on their way to the other theme have the contrast of neither.
      await expect.poll(() => page.evaluate<number>('document.getAnimations().length')).toBe(0);
      for (const barrier of await findBarriers(page)) found.push(`${width} ${colorScheme} ${barrier}`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  return found;
}
