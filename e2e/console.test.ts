import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ConsoleUnderTest,
  email,
  executablePath,
  findBarriers,
  hasBrowser,
  password,
  startConsole,
} from './console-page.ts';

const built = fileURLToPath(new URL('../packages/console/dist/app', import.meta.url));

let tested: ConsoleUnderTest;
let projectId: string;

beforeAll(async () => {
  if (!hasBrowser) return;
  tested = await startConsole();
  projectId = await tested.createProject('Harbour Journal');
});

afterAll(async () => {
  if (hasBrowser) await tested.stop();
});

describe.runIf(hasBrowser)('the console', () => {
  test('an address is asked for after signing in, and leads to no other host', async () => {
    const page = await tested.openPage();
    const address = `${tested.url}/projects/${projectId}/usage`;
    await page.goto(address);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill('a wrong password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    // What was right stays.
    expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(address);
    for (const elsewhere of ['https://example.com', '//example.com', '/\\example.com']) {
      await page.goto(`${tested.url}/sign-in?to=${encodeURIComponent(elsewhere)}`);
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL(/\/projects\/[^/]+\/files/);
    }
    await page.context().close();
  });

  test.each(['light', 'dark'] as const)('nothing is in the way of anybody: %s', async (colorScheme) => {
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const guest = await tested.openPage({ colorScheme, viewport });
      await guest.goto(`${tested.url}/sign-in`);
      await guest.getByLabel('E-mail').waitFor();
      expect(await findBarriers(guest)).toEqual([]);
      await guest.goto(`${tested.url}/forgot-password`);
      await guest.getByLabel('E-mail').waitFor();
      expect(await findBarriers(guest)).toEqual([]);
      await guest.context().close();
    }
  });

  test('a browser that is told to keep nothing says what signing in takes', async () => {
    const profile = await mkdtemp(join(tmpdir(), 'cadiz-profile-'));
    await mkdir(join(profile, 'Default'));
    const blocked = { profile: { default_content_setting_values: { cookies: 2 } } };
    await writeFile(join(profile, 'Default/Preferences'), JSON.stringify(blocked));
    const context = await chromium.launchPersistentContext(profile, { executablePath, args: ['--no-sandbox'] });
    try {
      const page = await context.newPage();
      await page.goto(tested.url);
      await page.getByText('This browser keeps no cookies').waitFor();
      expect(await findBarriers(page)).toEqual([]);
    } finally {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    }
  });

  test.each(['localStorage', 'sessionStorage', 'indexedDB'])(
    'a browser that throws where %s is looked at shows the console',
    async (name) => {
      const page = await tested.openAsOwner('/account');
      await page.addInitScript((one) => {
        Object.defineProperty(globalThis, one, {
          get() {
            throw new DOMException('The operation is insecure.', 'SecurityError');
          },
        });
      }, name);
      await page.reload();
      await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor();
      await page.context().close();
    },
  );

  test('an address that nothing has shows people a page, and programs a problem', async () => {
    const ask = (path: string, accept: string) => fetch(`${tested.url}${path}`, { headers: { accept } });
    const asked = await ask('/nonsense', 'application/json');
    expect([asked.status, await asked.json()]).toMatchObject([404, { code: 'not_found' }]);
    const ofApi = await ask('/api/nonsense', 'text/html');
    expect([ofApi.status, await ofApi.json()]).toMatchObject([404, { code: 'not_found' }]);
    expect((await ask('/nonsense', 'text/html')).status).toBe(404);
    const root = await ask('/', '*/*');
    expect(await root.text()).toContain('<title>Cadiz</title>');
    expect(root.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await (await ask('/', 'application/json')).json()).toMatchObject({ name: 'cadiz' });
    const page = await tested.openPage();
    await page.goto(`${tested.url}/nonsense/deep?q=1`);
    await page.getByRole('heading', { name: 'There is nothing here' }).first().waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'Go to your projects' }).click();
    await page.getByLabel('E-mail').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the project is switched on tablets as well', async () => {
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, { viewport: { width: 900, height: 700 } });
    await page.getByTitle('Switch project').click();
    await page.getByRole('menuitem', { name: 'All projects' }).click();
    await page.waitForURL(`${tested.url}/projects`);
    await page.context().close();
  });

  test('the first load stays small: all that is fetched before the files are seen', async () => {
    const assets = new Set<string>();
    const page = await tested.openPage();
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith('/assets/')) assets.add(pathname);
    });
    await page.goto(`${tested.url}/sign-in`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    // What a person has loaded who was here before.
    const context = page.context();
    await context.request.post(`${tested.url}/api/auth/sign-in/email`, { data: { email, password } });
    const folder = { projectId, name: 'Press', parentId: null };
    const created = await context.request.post(`${tested.url}/api/storage/folders`, { data: folder });
    expect(created.status()).toBe(200);
    await page.goto('about:blank');
    assets.clear();
    await page.goto(tested.url);
    await page.getByText('Press', { exact: true }).first().waitFor();
    // What is loaded ahead comes later.
    const seen = [...assets];
    const sizeOf = async (type: string) => {
      const files = seen.filter((name) => name.endsWith(type));
      expect(files.length).toBeGreaterThan(0);
      const sizes = await Promise.all(files.map(async (name) => gzipSync(await readFile(join(built, name))).length));
      return sizes.reduce((sum, size) => sum + size, 0);
    };
    expect(await sizeOf('.js')).toBeLessThanOrEqual(184_000);
    expect(await sizeOf('.css')).toBeLessThanOrEqual(12_000);
    await context.close();
  });
});
