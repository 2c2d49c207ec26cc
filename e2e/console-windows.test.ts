import { chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ConsoleUnderTest,
  executablePath,
  findBarriers,
  password,
  startConsole,
  triesJourneys,
} from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

const ended = (page: Page) => page.getByRole('dialog', { name: 'Sign in again to go on' });

/** What a browser says to a window that somebody comes back to. */
const comeBack = (page: Page) => page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));

const typeFolder = async (page: Page, name: string) => {
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByRole('dialog', { name: 'New folder' }).getByRole('textbox').fill(name);
};

async function signOut(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('Sign out');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

describe.runIf(triesJourneys)('a window of a browser in which another one', () => {
  test('has signed out asks for a sign-in, and keeps what was typed', async () => {
    const projectId = await tested.createProject('Signed out elsewhere');
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    await typeFolder(page, 'Typed before');
    const other = await page.context().newPage();
    await other.goto(`${tested.url}/projects`);
    await other.getByRole('link', { name: 'Signed out elsewhere' }).waitFor();
    await signOut(other);
    await comeBack(page);
    await ended(page).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    // Two ways to sign in, with a word between two lines.
    const or = ended(page).getByText('or', { exact: true });
    expect(await or.evaluate((one) => getComputedStyle(one, '::before').content)).toBe('""');
    // Whose session it was is known.
    await page.waitForFunction(() => document.activeElement?.matches('[name=password]'));
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await ended(page).waitFor({ state: 'detached' });
    await page.getByRole('dialog', { name: 'New folder' }).getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'Typed before' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has signed the same person in again goes on where it was', async () => {
    const projectId = await tested.createProject('Signed in elsewhere');
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    await typeFolder(page, 'Waits for it');
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await page.keyboard.press('Enter');
    await ended(page).waitFor();
    await page.context().addCookies(cookies);
    await comeBack(page);
    await page.getByRole('link', { name: 'Waits for it' }).waitFor();
    await ended(page).waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has signed out keeps a name that is half typed, and saves it no sooner than asked', async () => {
    const projectId = await tested.createProject('Half typed');
    const cadiz = await tested.connect(projectId);
    await cadiz.folders.ensure(['before']);
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    await page.getByRole('row', { name: 'before' }).click();
    await page.keyboard.press('F2');
    const field = page.getByRole('textbox', { name: 'New name', includeHidden: true });
    await field.fill('aft');
    await page.context().clearCookies();
    await comeBack(page);
    await ended(page).getByLabel('Password', { exact: true }).fill(password);
    await ended(page).getByRole('button', { name: 'Sign in and go on' }).click();
    await ended(page).waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate(() => document.activeElement?.ariaLabel)).toBe('New name');
    expect((await cadiz.files.page({ folder: null })).folders.map(({ name }) => name)).toEqual(['before']);
    await page.keyboard.type('er');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'after' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has signed somebody else in does nothing as them, although nobody has come back to it', async () => {
    const projectId = await tested.createProject('Side by side');
    const cadiz = await tested.connect(projectId);
    await cadiz.folders.ensure(['kept']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByRole('row', { name: 'kept' }).click();
    const editor = await tested.openAsMember(projectId, 'editor', '/projects');
    await page.context().clearCookies();
    await page.context().addCookies(await editor.context().cookies());
    const other = await page.context().newPage();
    await other.goto(`${tested.url}/projects`);
    await other.getByRole('link', { name: 'Side by side' }).waitFor();
    await page.getByRole('button', { name: 'Vera the editor' }).waitFor();
    expect(await page.getByText('Ada Example').count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await editor.context().close();
    await page.context().close();
  });

  test('has signed somebody else in begins anew for them', async () => {
    const projectId = await tested.createProject('Of two people');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await typeFolder(page, 'Of the owner');
    const viewer = await tested.openAsMember(projectId, 'viewer', '/projects');
    await page.context().clearCookies();
    await page.context().addCookies(await viewer.context().cookies());
    await comeBack(page);
    await page.getByRole('button', { name: 'Vera the viewer' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.getByText('Ada Example').count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await viewer.context().close();
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('a browser that keeps pages as they were left', () => {
  test('shows nothing of somebody who has signed out to whoever goes back', async () => {
    const projectId = await tested.createProject('Left behind');
    const cadiz = await tested.connect(projectId);
    await cadiz.upload(new File(['x'], 'secret.txt', { type: 'text/plain' }));
    const member = await tested.openAsMember(projectId, 'viewer', '/projects');
    // Tools that drive Chromium switch this off.
    const browser = await chromium.launch({
      executablePath,
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
      args: ['--no-sandbox', '--disable-gpu'],
    });
    const context = await browser.newContext({ storageState: await member.context().storageState() });
    const page = await context.newPage();
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await page.getByRole('link', { name: 'secret.txt' }).waitFor();
    await page.goto(`${tested.url}/projects`);
    await page.getByRole('link', { name: 'Left behind' }).waitFor();
    await signOut(page);
    await page.evaluate(() => history.go(-2));
    await page.waitForURL(/sign-in\?to=.*files/);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText('secret').count()).toBe(0);
    await browser.close();
    await member.context().close();
  });
});
