import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, findFlaws, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;
let projectId: string;

beforeAll(async () => {
  if (!triesJourneys) return;
  tested = await startConsole();
  projectId = await tested.createProject('Harbour Journal');
  await tested.createProject('Lighthouse app');
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

const views = [
  { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'light', viewport: { width: 900, height: 700 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

const phone = { width: 390, height: 844 };
const field = (page: Page) => page.getByRole('combobox', { name: /Search files/ });
const option = (page: Page, name: string | RegExp) => page.getByRole('option', { name });
const listOf = (page: Page) => page.getByRole('dialog', { name: 'Keyboard shortcuts' });
const trashOf = (page: Page) => page.getByRole('heading', { name: 'Trash', level: 1 });

async function openFiles(options: Parameters<ConsoleUnderTest['openAsOwner']>[1] = {}): Promise<Page> {
  const page = await tested.openAsOwner(`/projects/${projectId}/files`, options);
  await page.getByRole('heading', { name: 'Harbour Journal', level: 1 }).waitFor({ state: 'attached' });
  return page;
}

async function openPalette(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await field(page).fill(words);
}

/** Keeps parts of the console from being loaded. @returns what lets them be */
async function holdParts(page: Page): Promise<() => void> {
  let load = () => {};
  const isAsked = new Promise<void>((resolve) => {
    load = resolve;
  });
  await page.route(/\.js$/, async (route) => {
    await isAsked;
    await route.continue();
  });
  return load;
}

/** What tells an element from others where colours are forced. */
const toLook = (one: Locator) =>
  one.evaluate((element) => {
    const { backgroundColor, borderBottomStyle, outlineStyle, outlineWidth } = getComputedStyle(element);
    return `${backgroundColor} ${borderBottomStyle} ${outlineStyle} ${outlineWidth}`;
  });

const theme = (page: Page) => page.evaluate(() => document.documentElement.dataset.theme);

describe.runIf(triesJourneys)('from everywhere', () => {
  test('the palette finds, leads and does', async () => {
    const page = await openFiles();
    const before = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => name)
        .join(),
    );
    expect(before).not.toContain('palette');
    await page
      .locator('input[type=file][data-folder=false]')
      .first()
      .setInputFiles([
        { name: 'first light.txt', mimeType: 'text/plain', buffer: Buffer.from('Ahoy') },
        { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Notes.') },
      ]);
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor();

    // What it does: a folder is made, and found.
    await openPalette(page, 'folder');
    await option(page, 'New folder…').and(page.locator('[aria-selected=true]')).waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('Name of the folder').fill('Slides, light table');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /light table/ }).waitFor();

    await openPalette(page, 'light');
    await option(page, /^Slides/)
      .and(page.locator('[aria-selected=true]'))
      .waitFor();
    await option(page, /Lighthouse app/).waitFor();
    await option(page, /first light/).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Ahoy').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await openPalette(page, 'light table');
    await option(page, /^Slides/)
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/files\/[\w-]{36}$/);

    // Going around at the ends, Escape, and other screens and projects.
    await openPalette(page, 'trash');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await trashOf(page).waitFor();
    await openPalette(page, 'no such thing at all');
    await option(page, /Search the whole project/).waitFor();
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await openPalette(page, 'lighthouse');
    await option(page, /Lighthouse app/).click();
    await page.getByRole('heading', { name: 'Lighthouse app', level: 1 }).waitFor({ state: 'attached' });

    await openPalette(page, 'create api');
    await option(page, 'Create API key…').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Create key' }).waitFor();
    await page.keyboard.press('Escape');
    await openPalette(page, 'invite');
    await option(page, 'Invite somebody…').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Invite' }).waitFor();
    await page.keyboard.press('Escape');
    const choosing = page.waitForEvent('filechooser');
    await openPalette(page, 'upload');
    await option(page, 'Upload files…').waitFor();
    await page.keyboard.press('Enter');
    await (await choosing).setFiles({ name: 'by palette.txt', mimeType: 'text/plain', buffer: Buffer.from('!') });
    await page.getByRole('link', { name: 'by palette.txt', exact: true }).waitFor();

    const opening = page.context().waitForEvent('page');
    await openPalette(page, 'settings');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Control+Enter');
    await (await opening).waitForURL(/\/settings$/);

    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the palette runs what somebody has gone to, also if files are found meanwhile', async () => {
    const cadiz = await tested.connect(projectId, 'Late');
    await cadiz.upload(new File(['x'], 'usage report.txt', { type: 'text/plain' }));
    const page = await openFiles();
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/search=usage/, async (route) => {
      await isReleased;
      await route.continue();
    });
    const asked = page.waitForRequest(/search=usage/);
    await openPalette(page, 'usage');
    await asked;
    const chosen = page.locator('[role=option][aria-selected=true]');
    const places = await page.getByRole('option').count();
    await page.keyboard.press('ArrowDown');
    const label = await chosen.innerText();
    release();
    await option(page, /usage report/).waitFor();
    expect(await page.getByRole('option').count()).toBeGreaterThan(places);
    expect(await chosen.innerText()).toBe(label);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the palette finds names as the service does, whatever the language of the browser', async () => {
    const cadiz = await tested.connect(projectId, 'Names');
    await cadiz.upload(new File(['x'], 'cafe\u0301 I.txt', { type: 'text/plain' }));
    // Where the small letter of I has no dot.
    const page = await openFiles({ locale: 'tr-TR' });
    await openPalette(page, 'invite');
    await option(page, 'Invite somebody…').waitFor();
    await field(page).fill('Café i');
    await option(page, /^cafe\u0301 I\.txt/).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await listOf(page).getByLabel('Find a shortcut').fill('THIS LIST');
    await expect.poll(() => listOf(page).locator('.sc').count()).toBe(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the palette searches for exactly what was typed, whatever an address would take that for', async () => {
    const page = await openFiles();
    const search = page.getByRole('searchbox', { name: 'Search this folder' });
    for (const words of ['true', '12345678901234567890', '"5 %"']) {
      await openPalette(page, words);
      await option(page, /Search the whole project/).click();
      await expect.poll(() => search.inputValue()).toBe(words);
      await page.getByText(`Nothing is called “${words}”`).waitFor();
      await page.reload();
      await expect.poll(() => search.inputValue()).toBe(words);
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the palette offers as many projects as can be looked through, and any once it is named', async () => {
    for (let count = 0; count < 60; count++) await tested.createProject(`Buoy ${count}`);
    const page = await openFiles();
    await page.keyboard.press('Control+k');
    await option(page, /Buoy/).first().waitFor();
    expect(await option(page, /^(?:Buoy|Lighthouse)/).count()).toBe(50);
    await option(page, /^All projects/).waitFor();
    await field(page).fill('buoy 59');
    await option(page, /^Buoy 59/).waitFor();
    await page.context().close();
  });

  test('what was begun in one project is not carried into another by going back', async () => {
    const other = await tested.createProject('Breakwater');
    const page = await tested.openAsOwner(`/projects/${other}/members`);
    await page.getByRole('button', { name: 'Invite' }).waitFor();
    await openPalette(page, 'harbour journal');
    await option(page, /^Harbour Journal/).click();
    await page.waitForURL(`**/${projectId}/**`);
    await page.getByRole('link', { name: 'Members' }).click();
    await page.waitForURL(`**/${projectId}/members`);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByLabel('E-mail').fill('grace@example.com');
    await page.evaluate(() => history.go(-2));
    await page.waitForURL(`**/${other}/members`);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a part that an update of the service has taken away takes nothing with it, and the page can be loaded again', async () => {
    const page = await tested.openAsOwner(`/projects/${projectId}/settings`);
    await page.getByLabel('Name').fill('Typed');
    await page.route(/\/assets\/(?:palette|dialog-popup|toast-region)-/, (route) => route.fulfill({ status: 404 }));
    await page.keyboard.press('Control+k');
    await page.getByRole('alert').getByText('Cadiz has been updated').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Typed');
    expect(await findBarriers(page)).toEqual([]);
    await page.getByLabel('Name').fill('Harbour Journal');
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Load this page again' }).click();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await openPalette(page, 'trash');
    await option(page, /Trash/).waitFor();
    await page.context().close();
  });

  test('an update of the service is found by pages that are open, which lose nothing', async () => {
    const page = await tested.openAsOwner(`/projects/${projectId}/settings`);
    const start = `${tested.url}/`;
    const strip = page.getByRole('status').filter({ hasText: 'Cadiz has been updated' });
    await page.getByLabel('Name').waitFor();
    const read = page.waitForResponse(start);
    await tested.whileStopped(() => page.getByText('Cadiz does not answer').waitFor());
    await read;
    await page.getByText('Cadiz does not answer').waitFor({ state: 'detached' });
    expect(await strip.count()).toBe(0);
    await page.getByLabel('Name').fill('Typed');
    await page.route(start, async (route) => {
      const body = (await (await route.fetch()).text()).replaceAll('/assets/index-', '/assets/later-');
      await route.fulfill({ contentType: 'text/html', body });
    });
    await tested.whileStopped(() => page.getByText('Cadiz does not answer').waitFor());
    await strip.waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Typed');
    expect(await findFlaws(page)).toEqual([]);
    await page.unrouteAll();
    await page.getByLabel('Name').fill('Harbour Journal');
    await strip.getByRole('button', { name: 'Load this page again' }).click();
    await strip.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await page.context().close();
  });

  test('a page that is left open looks for an update now and then', async () => {
    const page = await tested.openAsOwner(`/projects/${projectId}/settings`);
    await page.clock.install();
    await page.reload();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await page.route(`${tested.url}/`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<script type="module" crossorigin src="/assets/later.js">' }),
    );
    await page.clock.fastForward('06:00');
    await page.getByRole('status').filter({ hasText: 'Cadiz has been updated' }).waitFor();
    await page.context().close();
  });

  test('where the keys are can be seen where colours are forced', async () => {
    const page = await openFiles({ forcedColors: 'active' });
    await openPalette(page, '');
    await option(page, /Trash/).waitFor();
    expect(await toLook(page.locator('[role=option][aria-selected=true]'))).not.toBe(
      await toLook(page.locator('[role=option][aria-selected=false]').first()),
    );
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await page.locator('.me').click();
    await page.locator('.menu').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('.menu [data-highlighted]').waitFor();
    expect(await toLook(page.locator('.menu [data-highlighted]'))).not.toBe(
      await toLook(page.locator('.menu [role=menuitem]:not([data-highlighted])').first()),
    );
    await page.keyboard.press('Escape');
    await page.locator('.menu').waitFor({ state: 'detached' });
    const search = page.locator('.search-field');
    const button = page.getByRole('button', { name: 'New folder' }).first();
    const before = { search: await toLook(search), button: await toLook(button) };
    await search.locator('input').focus();
    expect(await toLook(search)).not.toBe(before.search);
    expect(await toLook(search)).not.toMatch(/ none \S+$/);
    await page.keyboard.press('Tab');
    expect(await toLook(button)).not.toBe(before.button);
    await page.context().close();
  });

  test('what is selected, and every picture, can be seen where colours are forced, whatever the theme', async () => {
    const projectId = await tested.createProject('Forced colours');
    await tested.ask('PATCH', `/api/projects/${projectId}`, { quotaBytes: 1_000_000 });
    const cadiz = await tested.connect(projectId, 'Forced');
    await cadiz.upload(new File(['x'], 'forced.txt', { type: 'text/plain' }));
    const media = { forcedColors: 'active', colorScheme: 'dark' } as const;
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, media);
    const row = page.getByRole('row').filter({ hasText: 'forced.txt' });
    await row.waitFor();
    // The colours of this theme are for a ground that is not there.
    await page.evaluate(() => {
      document.documentElement.dataset.theme = 'light';
    });
    const findUnseen = () =>
      page
        .locator('svg:is(.i, .mark)')
        .evaluateAll((pictures) =>
          pictures.filter((one) => getComputedStyle(one).color !== getComputedStyle(one.parentElement ?? one).color),
        );
    expect(await findUnseen()).toEqual([]);
    expect(await toLook(page.locator('.quota .meter'))).toMatch(/ solid 1px$/);
    const toDiffer = async (one: Locator, other: Locator) =>
      expect(await toLook(one.first())).not.toBe(await toLook(other.first()));
    const current = await page.locator('.nav [aria-current]').evaluate((element) => {
      const { backgroundColor, color } = getComputedStyle(element);
      const system = element.ownerDocument.createElement('i');
      element.append(system);
      system.style.cssText = 'background: Highlight; color: HighlightText';
      const expected = getComputedStyle(system);
      const looks = [backgroundColor, color, expected.backgroundColor, expected.color];
      system.remove();
      return looks;
    });
    expect(current.slice(0, 2)).toEqual(current.slice(2));
    await toDiffer(page.locator('.segs [aria-pressed=true]'), page.locator('.segs [aria-pressed=false]'));

    await row.click();
    await page.getByRole('toolbar').getByText('1 selected').waitFor();
    // The picture has the colour of the words beside it, on the same ground.
    const looks = (css: string) => row.locator(css).evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await looks('.thumb')).toBe(await looks('.name'));
    await page.keyboard.press('ArrowDown');
    const { outline, color } = await row.evaluate((element) => {
      const { outlineColor, color } = getComputedStyle(element);
      return { outline: outlineColor, color };
    });
    expect(outline).toBe(color);

    await page.setViewportSize(phone);
    await toDiffer(page.locator('.tabbar [aria-current]'), page.locator('.tabbar a:not([aria-current])'));
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${tested.url}/projects/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Seen');
    await page.keyboard.press('Enter');
    await page.getByRole('tab').first().waitFor();
    await toDiffer(page.locator('[role=tab][aria-selected=true]'), page.locator('[role=tab][aria-selected=false]'));
    await page.context().close();
  });

  test('where a button is can be seen where more contrast is asked for', async () => {
    const page = await openFiles({ contrast: 'more' });
    const edge = page.getByRole('button', { name: 'New folder' }).first();
    // That of a field, 3 : 1 on what is around it.
    expect(await edge.evaluate((button) => getComputedStyle(button).boxShadow)).toContain('rgb(132, 131, 125)');
    await page.context().close();
  });

  test('there is room for lists and dialogs in a window that is enlarged four times', async () => {
    // The smallest that WCAG 2.2 asks for (1.4.10): 1280 by 1024 pixels at 400 %.
    const viewport = { width: 320, height: 256 };
    const page = await tested.openAsOwner(`/projects/${projectId}/files?q=txt&scope=project`, { viewport });
    const cadiz = await tested.connect(projectId, 'Room');
    await cadiz.upload(new File(['x'], 'room.txt', { type: 'text/plain' }));
    await page.reload();
    const list = page.getByRole('grid');
    await list.waitFor();
    await page.locator('.sheet').evaluate((sheet) => sheet.scrollTo(0, sheet.scrollHeight));
    expect((await list.boundingBox())?.height).toBeGreaterThan(150);
    await page.goto(`${tested.url}/projects/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    await dialog.waitFor();
    expect(await dialog.locator('.in').evaluate((body) => body.scrollHeight - body.clientHeight)).toBe(0);
    const top = dialog.getByRole('heading', { name: 'Create key' });
    await top.scrollIntoViewIfNeeded();
    expect((await top.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await dialog.getByRole('button', { name: 'Create key' }).click({ trial: true });
    await page.context().close();
  });

  test('a browser that translates pages leaves alone what React changes', async () => {
    const page = await openFiles();
    /** What Google Translate does to each text that may be translated. */
    const translate = () =>
      page.evaluate(() => {
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const texts: Text[] = [];
        while (walker.nextNode()) texts.push(walker.currentNode as Text);
        for (const text of texts) {
          if (!text.parentElement?.translate || text.data.trim() === '') continue;
          const translated = document.createElement('font');
          translated.append(document.createElement('font'));
          translated.firstElementChild?.append(text.data);
          text.replaceWith(translated);
        }
      });
    await openPalette(page, '');
    await option(page, /Trash/).waitFor();
    await translate();
    await field(page).fill('tr');
    await translate();
    await field(page).fill('trash');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await trashOf(page).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('viewers are offered what they may do, and can sign out', async () => {
    const page = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files`);
    await page.getByRole('heading', { name: 'Harbour Journal', level: 1 }).waitFor({ state: 'attached' });
    await page
      .getByText(/items?$/)
      .first()
      .waitFor();
    await openPalette(page, '');
    await option(page, /Trash/).waitFor();
    expect(await option(page, /…/).count()).toBe(0);
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await openPalette(page, 'sign out');
    // A key that is pressed while the page is being loaded again is never answered.
    const loadedAgain = page.waitForEvent('load');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/sign-in/);
    await loadedAgain;
    await page.keyboard.press('Control+k');
    await expect.poll(() => field(page).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('keys do what the list of shortcuts says, and single letters can be switched off', async () => {
    const page = await openFiles();
    // The browser is told now, so that it knows when the key is pressed.
    const choosing = page.waitForEvent('filechooser');
    await page.keyboard.press('?');
    await listOf(page).getByText('Open or close uploads').waitFor();
    await listOf(page).getByLabel('Find a shortcut').fill('renam');
    await expect.poll(() => listOf(page).locator('.sc').count()).toBe(1);
    await page.keyboard.press('Escape');
    await listOf(page).waitFor({ state: 'detached' });

    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await trashOf(page).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('f');
    await page.getByRole('row', { name: /notes/ }).waitFor();
    // Whoever may not upload has no such key.
    await page.getByRole('button', { name: 'Upload', exact: true }).waitFor();
    await page.keyboard.press('u');
    await (await choosing).setFiles({ name: 'by key.txt', mimeType: 'text/plain', buffer: Buffer.from('!') });
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    const tray = page.getByRole('region', { name: 'Uploads' });
    await tray.getByRole('listitem').waitFor();
    await page.keyboard.press('Shift+U');
    await tray.getByRole('listitem').waitFor({ state: 'detached' });

    // Caps Lock is on, and then the letters are those of another script.
    await page.locator('h1').focus();
    const press = (init: { key: string; code: string; ctrlKey?: boolean }) =>
      page.evaluate(
        (init) =>
          document.activeElement?.dispatchEvent(
            new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init }),
          ),
        init,
      );
    await press({ key: 'N', code: 'KeyN' });
    await page.getByRole('dialog', { name: 'New folder' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'New folder' }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /notes/ }).focus();
    await press({ key: 'ч', code: 'KeyX' });
    await page.getByText('1 selected').waitFor();
    await press({ key: 'A', code: 'KeyA', ctrlKey: true });
    await expect.poll(() => page.locator('[role=row][aria-selected=false]').count()).toBe(0);
    await press({ key: 'л', code: 'KeyK', ctrlKey: true });
    await field(page).waitFor();
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: /Ada Example/ }).click();
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click();
    await listOf(page).getByLabel('Single-letter shortcuts').uncheck();
    await page.keyboard.press('Escape');
    await listOf(page).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('row', { name: /notes/ }).waitFor();
    await page.keyboard.press('?');
    await page.keyboard.press('n');
    await page.keyboard.press('Control+k');
    await field(page).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('what is typed while a dialog is being loaded is for that dialog', async () => {
    const typing = await tested.createProject('Typing');
    await (await tested.connect(typing)).upload(new File(['x'], 'boats.txt'));
    const path = `/projects/${typing}/files`;
    for (const [key, name] of [
      ['n', 'New folder'],
      ['Control+k', 'Search or jump to'],
    ] as const) {
      const page = await tested.openAsOwner(path);
      await page.getByRole('row', { name: /boats/ }).waitFor();
      const load = await holdParts(page);
      await page.keyboard.press(key);
      // Each of these does something to the list.
      await page.keyboard.type('xvmuz');
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Delete');
      load();
      const dialog = page.getByRole('dialog', { name });
      await dialog.waitFor();
      await expect.poll(() => dialog.locator('input').inputValue()).toBe('xvmu');
      expect(await page.getByRole('dialog').count()).toBe(1);
      expect(new URL(page.url()).search).toBe('');
      expect(await page.locator('[role=row][aria-selected=true]').count()).toBe(0);
      expect(tested.complaints).toEqual([]);
      await page.context().close();
    }
  });

  test('a dialog that is being loaded is given up by Escape, with what was typed for it', async () => {
    const page = await openFiles();
    await page.getByRole('button', { name: 'Upload', exact: true }).first().waitFor();
    const load = await holdParts(page);
    await page.keyboard.press('n');
    await page.keyboard.type('given up');
    await page.keyboard.press('Escape');
    load();
    // One of these letters would have changed the view.
    expect(new URL(page.url()).search).toBe('');
    await page.keyboard.press('Control+k');
    await field(page).waitFor();
    await page.keyboard.type('ok');
    expect(await field(page).inputValue()).toBe('ok');
    expect(await page.getByRole('dialog').count()).toBe(1);
    await page.context().close();
  });

  test('keys count as soon as a project is there', async () => {
    const page = await tested.openAsOwner('/projects');
    await page.getByRole('link', { name: /Lighthouse/ }).waitFor();
    const empty = await tested.createProject('Empty');
    await page.route(`**/api/projects/${empty}/members`, async (route) => {
      const answer = await route.fetch();
      // It comes after everything else.
      await page.waitForLoadState('load');
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
      await route.fulfill({ response: answer });
    });
    await page.goto(`${tested.url}/projects/${empty}/files`, { waitUntil: 'commit' });
    await page.getByRole('heading', { name: 'Empty', level: 1 }).waitFor({ state: 'attached' });
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New folder' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('the appearance and the language are chosen in the menu of the account, and kept', async () => {
    const page = await openFiles();
    const choose = async (account: RegExp, choice: string) => {
      await page.getByRole('button', { name: account }).click();
      await page.getByRole('menuitemradio', { name: choice }).click();
    };
    await choose(/Ada Example/, 'Appearance: dark');
    expect(await theme(page)).toBe('dark');
    await choose(/Ada Example/, 'Appearance: light');
    expect(await theme(page)).toBe('light');
    await page.reload();
    await page.getByRole('row', { name: /notes/ }).waitFor();
    expect(await theme(page)).toBe('light');
    await choose(/Ada Example/, 'Appearance: as the system');
    expect(await theme(page)).toBe(undefined);
    await choose(/Ada Example/, 'Deutsch');
    await page.getByRole('link', { name: 'Papierkorb' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Papierkorb' }).waitFor();
    await page.getByRole('button', { name: /Ada Example/ }).click();
    expect(await page.getByRole('menuitemradio', { name: 'Deutsch' }).getAttribute('aria-checked')).toBe('true');
    await page.getByRole('menuitemradio', { name: 'English' }).click();
    await page.getByRole('link', { name: 'Trash' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test.each([1280, 900])('a low window of %i pixels leads to the menu of the account, too', async (width) => {
    const page = await openFiles({ viewport: { width, height: 420 } });
    await page.getByRole('button', { name: /Ada Example/ }).click();
    await page.getByRole('menuitemradio', { name: 'Appearance: dark' }).click();
    expect(await theme(page)).toBe('dark');
    await page.context().close();
  });

  test('phones have uploads and everything else at the bottom', async () => {
    const page = await openFiles({ viewport: phone });
    const tabs = page.getByRole('navigation', { name: 'Main' });
    await tabs.getByRole('button', { name: 'Uploads' }).click();
    await page.getByRole('heading', { name: 'Nothing is being uploaded' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await tabs.getByRole('button', { name: 'Uploads' }).evaluate((tab) => tab === document.activeElement)).toBe(
      true,
    );
    await page
      .locator('input[type=file][data-folder=false]')
      .first()
      .setInputFiles([{ name: 'by phone.txt', mimeType: 'text/plain', buffer: Buffer.from('!') }]);
    await page.getByRole('region', { name: 'Uploads' }).getByText('1 file uploaded').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Expand' }).click();
    await page.getByRole('region', { name: 'Uploads' }).getByText('by phone').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Collapse' }).click();

    await tabs.getByRole('button', { name: 'More' }).click();
    const more = page.getByRole('dialog', { name: 'Harbour Journal' });
    await more.getByText('Ada Example · Owner').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await more.getByRole('button', { name: 'Appearance: dark' }).click();
    expect(await theme(page)).toBe('dark');
    await tabs.getByRole('button', { name: 'More' }).click();
    await more.getByRole('link', { name: 'Trash' }).click();
    await trashOf(page).waitFor();
    await more.waitFor({ state: 'detached' });
    await tabs.getByRole('button', { name: 'More' }).click();
    await more.getByRole('button', { name: 'Search or jump to' }).click();
    await field(page).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test.each(views)('nothing is in the way of anybody: $colorScheme, $viewport.width', async (view) => {
    const page = await openFiles(view);
    const isPhone = view.viewport.width === phone.width;
    await openPalette(page, '');
    await option(page, /Trash/).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await listOf(page).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    expect(widths[0]).toBe(widths[1]);
    await page.keyboard.press('Escape');

    // Addresses that lead nowhere.
    const gone = '00000000-0000-4000-8000-000000000000';
    await page.goto(`${tested.url}/projects/${gone}/files`);
    await page.getByRole('heading', { name: 'There is no such project', level: 2 }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.goto(`${tested.url}/projects/${projectId}/nowhere`);
    await page.getByRole('heading', { name: 'There is nothing here', level: 2 }).waitFor();
    expect(await findBarriers(page)).toEqual([]);

    expect(tested.complaints).toEqual([]);

    // The service refuses.
    const requestId = 'c0ffee00-0000-4000-8000-000000000000';
    const problem = { type: '', title: 'No', status: 403, code: 'forbidden', detail: 'Not today.', requestId };
    const refuse = { status: 403, contentType: 'application/problem+json', body: JSON.stringify(problem) };
    await page.route('**/api/projects', (route) => route.fulfill(refuse));
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await page.getByRole('heading', { name: 'Not today.' }).waitFor();
    await page.getByText(requestId).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.unroute('**/api/projects');
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('row', { name: /notes/ }).waitFor();

    // A screen has a mistake: others can still be reached.
    await page.route('**/api/storage/trash?*', (route) => route.fulfill({ json: { entries: [null] } }));
    if (isPhone) await page.goto(`${tested.url}/projects/${projectId}/trash`);
    else await page.getByRole('link', { name: 'Trash' }).click();
    await page.getByRole('heading', { name: 'This page has stopped working', level: 2 }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Load this page again' }).waitFor();
    if (!isPhone) await page.getByRole('link', { name: 'Files', exact: true }).click();
    if (!isPhone) await page.getByRole('row', { name: /notes/ }).waitFor();
    // What failed is complained about.
    tested.complaints.length = 0;
    await page.context().close();
  });
});
