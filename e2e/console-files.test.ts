import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, findFlaws, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

/** A file as a browser takes it. */
const toFile = (name: string, mimeType: string, text = `This is ${name}.`) => ({
  name,
  mimeType,
  buffer: Buffer.from(text),
});

const filesOf = (page: Page) => page.locator('input[type=file][data-folder=false]').first();
const entryOf = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

describe.runIf(triesJourneys)('the files of a project', () => {
  test('are uploaded, found, renamed, deleted and brought back', async () => {
    const projectId = await tested.createProject('Harbour');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByText('Drop files or folders here').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await filesOf(page).setInputFiles([
      toFile('notes.txt', 'text/plain'),
      toFile('palette.json', 'application/json', '{"sea":"#006982"}'),
      toFile('empty', '', ''),
    ]);
    await page.getByRole('heading', { name: '3 files uploaded' }).waitFor();
    await entryOf(page, 'palette.json').waitFor();
    expect(await findBarriers(page)).toEqual([]);

    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name of the folder').fill('a/b');
    await page.keyboard.press('Enter');
    // A name that cannot be is explained at its field.
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Name of the folder').fill('100 % # ? ‮abc');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /100 %/ }).waitFor();

    // By keyboard alone: down to the second row, another name, and into the trash.
    await page.getByRole('row', { name: /100 %/ }).click();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('F2');
    await page.getByLabel('New name').fill('notes.txt');
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: /notes/ }).click();
    await page.keyboard.press('F2');
    await page.getByLabel('New name').fill('diary.txt');
    await page.keyboard.press('Enter');
    await entryOf(page, 'diary.txt').waitFor();
    await page.getByRole('row', { name: /diary/ }).click();
    await page.keyboard.press('Delete');
    await entryOf(page, 'diary.txt').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await entryOf(page, 'diary.txt').waitFor();

    // What is searched for stands in the address, and survives a reload.
    await page.getByLabel('Search this folder').fill('diar');
    await entryOf(page, 'palette.json').waitFor({ state: 'detached' });
    expect(page.url()).toContain('q=diar');
    await page.reload();
    await entryOf(page, 'diary.txt').waitFor();
    expect(await entryOf(page, 'palette.json').count()).toBe(0);

    await page.getByRole('row', { name: /diary/ }).click();
    await page.keyboard.press('Delete');
    await entryOf(page, 'diary.txt').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Trash' }).click();
    await page.getByRole('row', { name: /diary/ }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    // How much would go for good.
    await page.getByRole('button', { name: 'Empty the trash' }).click();
    await page
      .getByRole('dialog')
      .getByText(/^1 file, \d+ B\. Everything in it is deleted for good/)
      .waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The trash is empty').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('come back from the trash, as many as somebody chooses', async () => {
    const projectId = await tested.createProject('Back at once');
    const cadiz = await tested.connect(projectId);
    const { id: folderId } = await cadiz.folders.create('folder');
    const send = (name: string) => cadiz.upload(new File([name], name, { type: 'text/plain' }));
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await send(name);
    const inside = await cadiz.upload(new File(['inside'], 'inside.txt'), { folder: 'folder' });
    await cadiz.files.delete(inside.id);
    const { files } = await cadiz.files.page({ folder: null });
    await cadiz.files.deleteMany({ fileIds: files.map(({ id }) => id), folderIds: [folderId] });
    await cadiz.folders.create('folder');
    const page = await tested.openAsOwner(`/projects/${projectId}/trash`);
    const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
    await rowOf('a.txt')
      .locator('time')
      .getByText(/^in (?:29|30) days$/)
      .waitFor();
    await page.getByText('Each goes for good 30 days after it was deleted').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await rowOf('a.txt')
      .getByText(/^5 B · goes in (?:29|30) days$/)
      .waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    // As for what was deleted a month ago.
    await page.route(/\/api\/storage\/trash\?/, async (route) => {
      const answer = await route.fetch();
      const json = (await answer.json()) as { entries: { name: string; restorableUntil: string }[] };
      for (const entry of json.entries)
        if (entry.name === 'b.txt') entry.restorableUntil = new Date(Date.now() + 86_400_000).toISOString();
      await route.fulfill({ response: answer, json });
    });
    await page.reload();
    await rowOf('b.txt').locator('.badge.warn').getByText('tomorrow').waitFor();
    expect(await rowOf('a.txt').locator('.badge').count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Select all that are shown' }).check();
    await page.getByRole('row').filter({ hasText: 'inside.txt' }).getByText('a deleted folder').waitFor();
    for (const name of ['a.txt', 'inside.txt']) await page.getByRole('checkbox', { name: `Select ${name}` }).uncheck();
    expect(await page.getByRole('checkbox', { name: 'Select all that are shown' }).isChecked()).toBe(false);
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Restore 3 items' }).click();
    await page.getByText('3 items are back. What had a name that was taken has another now.').waitFor();
    await page.getByRole('button', { name: 'Empty the trash' }).waitFor();
    // The button that was pressed is gone.
    await page.locator('h1:focus').waitFor();
    expect((await cadiz.trash.page()).items.map(({ name }) => name)).toEqual(['a.txt', 'inside.txt']);
    await page.getByRole('button', { name: 'Restore: inside.txt' }).press('Enter');
    await page.getByRole('checkbox', { name: 'Select inside.txt' }).waitFor({ state: 'detached' });
    await page.locator('h1:focus').waitFor();
    const back = await cadiz.files.page({ folder: null, sort: 'name' });
    expect(back.files.map(({ fileName }) => fileName)).toEqual(['b.txt', 'c.txt']);
    expect(back.folders).toHaveLength(2);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are all in the trash with one step more, when hundreds were deleted at once', async () => {
    const projectId = await tested.createProject('Hundreds at once');
    const cadiz = await tested.connect(projectId);
    const names = Array.from({ length: 250 }, (_, index) => `one ${index}`);
    for (let at = 0; at < names.length; at += 100) await cadiz.folders.ensure(names.slice(at, at + 100));
    await cadiz.files.deleteMany({ select: { folder: null } });
    const page = await tested.openAsOwner(`/projects/${projectId}/trash`);
    await page
      .getByRole('checkbox', { name: /^Select one/ })
      .nth(10)
      .waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.locator(`[aria-rowcount="${names.length + 1}"]`).waitFor();
    await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });
    // Only those in sight are drawn; the last of them are the first that were created.
    const rows = page.getByRole('checkbox', { name: /^Select one/ });
    const first = page.getByRole('checkbox', { name: 'Select one 249' });
    await page.locator('main .scroll').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByRole('checkbox', { name: 'Select one 0' }).waitFor();
    expect(await rows.count()).toBeLessThan(100);
    expect(await first.count()).toBe(0);
    await page.locator('main .scroll').evaluate((element) => element.scrollTo(0, 0));
    await first.waitFor();
    // Except the one that has the focus, from which the keys go on.
    await first.focus();
    await page.locator('main .scroll').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByRole('checkbox', { name: 'Select one 0' }).waitFor();
    expect(await rows.count()).toBeLessThan(100);
    expect(await first.evaluate((one) => one === document.activeElement)).toBe(true);
    const rowsInOrder = page.locator('.trash-table tbody tr[aria-rowindex]');
    const indexes = await rowsInOrder.evaluateAll((all) => all.map((one) => Number(one.getAttribute('aria-rowindex'))));
    expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
    await page.keyboard.press('Tab');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Restore');
    await page.locator('main .scroll').evaluate((element) => element.scrollTo(0, 0));
    // All of them can be chosen nevertheless.
    await page.getByRole('checkbox', { name: 'Select all that are shown' }).check();
    await page.getByRole('button', { name: 'Restore 250 items' }).click();
    await page.getByText('The trash is empty').waitFor();
    expect((await cadiz.files.page({ folder: null, counts: true })).total).toBe(names.length);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are in the trash, and in their folder, also if that was being read before they came', async () => {
    const projectId = await tested.createProject('Late answers');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByText('Drop files or folders here').waitFor();

    /** What is asked here gets the answer of this moment, once `release` is called. */
    async function hold(path: RegExp, method = 'GET') {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      let answered = () => {};
      const isAnswered = new Promise<void>((resolve) => {
        answered = resolve;
      });
      await page.route(
        path,
        async (route) => {
          if (route.request().method() !== method) return route.fallback();
          const response = await route.fetch();
          answered();
          await released;
          await route.fulfill({ response });
        },
        { times: 1 },
      );
      return { release, isAnswered };
    }

    const listing = await hold(/\/api\/storage\/list\?/);
    await page.reload();
    await listing.isAnswered;
    await filesOf(page).setInputFiles([toFile('late.txt', 'text/plain')]);
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    listing.release();
    // Every half minute, listings are read again in any case.
    await entryOf(page, 'late.txt').waitFor({ timeout: 20_000 });

    let send = () => {};
    const mayBeSent = new Promise<void>((resolve) => {
      send = resolve;
    });
    await page.route(/\/api\/storage\/bulk/, async (route) => {
      await mayBeSent;
      await route.continue();
    });
    const trash = await hold(/\/api\/storage\/trash\?/);
    await page.getByRole('row', { name: /late/ }).click();
    await page.keyboard.press('Delete');
    await entryOf(page, 'late.txt').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Trash' }).click();
    await trash.isAnswered;
    send();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    trash.release();
    await page.getByRole('row', { name: /late/ }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('never run in the console, whatever they are', async () => {
    const projectId = await tested.createProject('Hostile');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const script = '<script>top.document.title = "ran"; document.title = "ran"</script>';
    await filesOf(page).setInputFiles([
      toFile('page.html', 'text/html', script),
      toFile(
        'drawing.svg',
        'image/svg+xml',
        `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${script}</svg>`,
      ),
    ]);
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    await entryOf(page, 'page.html').click();
    await page.getByText(script).waitFor();
    await page.getByLabel('Previous file').click();
    await page.getByRole('img', { name: 'drawing.svg' }).waitFor();
    expect(await page.title()).not.toBe('ran');
    expect(await findBarriers(page)).toEqual([]);
    // Back closes it, and a link opens it.
    const address = page.url();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goto(address);
    await page.getByRole('dialog').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are shared by links that everybody can open, until they are revoked', async () => {
    const projectId = await tested.createProject('Shared');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await filesOf(page).setInputFiles([toFile('letter.txt', 'text/plain', 'Dear all,')]);
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    await entryOf(page, 'letter.txt').click();
    await page.getByRole('button', { name: 'Create a link and copy it' }).click();
    await page.getByLabel('Revoke the link').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(await (await fetch(link)).text()).toBe('Dear all,');
    await page.getByLabel('Revoke the link').click();
    await page.getByRole('dialog', { name: 'Revoke' }).getByText('Revoke the link').click();
    await page.getByText('Nobody outside can open this file.').waitFor();
    expect((await fetch(link)).status).toBe(404);
    await page.context().close();
  });

  test('come in folders: a thousand at once, while somebody looks elsewhere', async () => {
    const projectId = await tested.createProject('Many');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByText('Drop files or folders here').waitFor();
    // As a browser gives a folder that is dropped.
    await page.evaluate(() => {
      const names = Array.from({ length: 1000 }, (_, index) => index);
      const toEntry = (path: string, children?: unknown[]) => ({
        isFile: children === undefined,
        isDirectory: children !== undefined,
        fullPath: path,
        file: (resolve: (file: File) => void) => resolve(new File([path], path.split('/').at(-1) ?? '')),
        createReader: () => {
          let rest = children ?? [];
          return {
            readEntries(resolve: (some: unknown[]) => void) {
              resolve(rest.slice(0, 100));
              rest = rest.slice(100);
            },
          };
        },
      });
      const folders = Array.from({ length: 10 }, (_, folder) =>
        toEntry(
          `/tree/${folder}`,
          names.filter((name) => name % 10 === folder).map((name) => toEntry(`/tree/${folder}/file ${name}.txt`)),
        ),
      );
      const event = new DragEvent('drop', { bubbles: true, cancelable: true });
      const items = [{ webkitGetAsEntry: () => toEntry('/tree', folders), getAsFile: () => null }];
      Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items } });
      window.dispatchEvent(event);
    });
    await page.getByText(/Uploading \d+ of 1,000/).waitFor();
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('heading', { name: '1,000 files uploaded' }).waitFor({ timeout: 120_000 });
    const cadiz = await tested.connect(projectId);
    const inSeven: string[] = [];
    for await (const { fileName } of cadiz.files.list({ folder: 'tree/7' })) inSeven.push(fileName);
    expect(inSeven.sort()).toEqual(Array.from({ length: 100 }, (_, index) => `file ${index * 10 + 7}.txt`).sort());
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a thousand are scrolled through, and a session that ends in between loses nothing', async () => {
    const [{ id: projectId = '' } = { id: '' }] = (
      await tested.ask<{ projects: { id: string; name: string }[] }>('GET', '/api/projects')
    ).projects.filter(({ name }) => name === 'Many');
    const page = await tested.openAsOwner(`/projects/${projectId}/files?q=file&scope=project`);
    await entryOf(page, 'file 0.txt').waitFor();
    await page.getByText('1,000 found').waitFor();
    await page.getByRole('row', { name: /file 0\.txt/ }).click();
    await page.context().clearCookies();
    await page.keyboard.press('End');
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in and go on' }).click();
    await page.getByText('Your session has ended').waitFor({ state: 'detached' });
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return entryOf(page, 'file 999.txt').count();
      })
      .toBe(1);
    await page.context().close();
  });
});
