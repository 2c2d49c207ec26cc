import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type ConsoleUnderTest, email, hasBrowser, password, startConsole } from './console-page.ts';

const built = fileURLToPath(new URL('../packages/console/dist/app', import.meta.url));

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (!hasBrowser) return;
  tested = await startConsole();
  await tested.createProject('Harbour Journal');
});

afterAll(async () => {
  if (hasBrowser) await tested.stop();
});

/** What a screen reader or a keyboard would trip over. */
async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

describe.runIf(hasBrowser)('the console', () => {
  test('from the printed link to a project, by keyboard, in German and in English', async () => {
    const tested = await startConsole();
    onTestFinished(() => tested.stop());
    const page = await tested.openPage();
    // As `npm start` prints it.
    const link = /\S+\/setup#\S+/.exec(tested.service.welcome)?.[0] ?? '';
    await page.goto(link);
    await page.getByRole('heading', { name: 'Set up Cadiz' }).waitFor();
    expect(page.url()).toBe(`${tested.url}/setup`);
    expect(await findBarriers(page)).toEqual([]);
    // The first field has the focus.
    await page.keyboard.type('Ada Example');
    await page.keyboard.press('Tab');
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Name a project' }).waitFor();
    await page.keyboard.type('Harbour Journal');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/projects\/[^/]+\/files/);
    // Whoever has one project lands in it.
    await page.goto(tested.url);
    await page.waitForURL(/\/projects\/[^/]+\/files/);
    await page.getByRole('button', { name: 'Ada Example' }).click();
    await page.getByRole('menuitem', { name: 'Deutsch' }).click();
    await page.getByRole('link', { name: 'Papierkorb' }).waitFor();
    await page.getByRole('button', { name: 'Ada Example' }).click();
    await page.getByRole('menuitem', { name: 'Abmelden' }).click();
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor();
    expect(tested.complaints).toEqual([]);
  });

  test('an address is asked for after signing in, and leads to no other host', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/account`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill('a wrong password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    // What was right stays.
    expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${tested.url}/account`);
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
});

test('the first load stays small', async () => {
  const page = await readFile(join(built, 'index.html'), 'utf8');
  const assets = await readdir(join(built, 'assets'));
  const sizeOf = async (names: string[]) => {
    const sizes = await Promise.all(
      names.map(async (name) => gzipSync(await readFile(join(built, 'assets', name))).length),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  const scripts = assets.filter((name) => name.endsWith('.js') && page.includes(name));
  const styles = assets.filter((name) => name.endsWith('.css') && page.includes(name));
  expect(scripts.length).toBeGreaterThan(0);
  expect(await sizeOf(scripts)).toBeLessThanOrEqual(190_000);
  expect(await sizeOf(styles)).toBeLessThanOrEqual(12_000);
});
