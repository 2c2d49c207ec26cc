import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@cadiz/client';
import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };

/** A project with a folder of two files, a picture and a letter, seen on a phone. */
async function openFilled(name: string): Promise<{ cadiz: Client; page: Page }> {
  const projectId = await tested.createProject(name);
  const cadiz = await tested.connect(projectId);
  await cadiz.upload(toFile('one.txt'), { folder: 'drafts' });
  await cadiz.upload(toFile('two.txt'), { folder: 'drafts' });
  await cadiz.upload(toFile('letter.txt'));
  const sea = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'blue' } })
    .png()
    .toBuffer();
  await cadiz.upload(new File([new Uint8Array(sea)], 'sea.png', { type: 'image/png' }));
  const page = await tested.openAsOwner(`/projects/${projectId}/files`, phone);
  await rowOf(page, 'sea.png').waitFor();
  return { cadiz, page };
}

const toFile = (name: string) => new File([`This is ${name}.`], name, { type: 'text/plain' });

const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const tileOf = (page: Page, name: string) =>
  page.getByRole('gridcell').filter({ has: page.getByRole('link', { name, exact: true }) });

async function middleOf(one: Locator): Promise<{ x: number; y: number }> {
  const box = await one.boundingBox();
  if (!box) throw new Error('It is not in sight.');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** A finger, which rests where it is put down until it is moved or lifted. */
async function createFinger(page: Page) {
  const session = await page.context().newCDPSession(page);
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: { x: number; y: number }[]) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints });
  return {
    down: async (one: Locator) => send('touchStart', [await middleOf(one)]),
    lift: () => send('touchEnd', []),
    /** From the middle of something so many pixels further down, or up. */
    async drag(one: Locator, pixels: number) {
      const { x, y } = await middleOf(one);
      await send('touchStart', [{ x, y }]);
      for (let step = 1; step <= 8; step++) await send('touchMove', [{ x, y: y + (pixels * step) / 8 }]);
      // Else it goes on by itself, which the next tap would stop.
      await delay(200);
      await send('touchMove', [{ x, y: y + pixels }]);
      await send('touchEnd', []);
    },
  };
}

/** Whether an element stands at the lower edge of the window, as wide as that. */
async function isBelow(one: Locator): Promise<boolean> {
  const box = await one.boundingBox();
  return box?.x === 0 && box.width === 390 && Math.round(box.y + box.height) === 844;
}

/** What axe finds wrong as it is, in both themes; and whether it is too wide for phones of 360 pixels. */
async function findFlawsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // Colours that are still on their way to the other theme have the contrast of neither.
    await expect.poll(() => page.evaluate('document.getAnimations().length')).toBe(0);
    found.push(...(await findBarriers(page)));
  }
  await page.setViewportSize({ width: 360, height: 844 });
  const tooWide = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
  if (tooWide) found.push('It is too wide.');
  await page.setViewportSize(phone.viewport);
  return found;
}

const isOverlaid = (page: Page) => page.getByRole('menu').or(page.getByRole('dialog')).isVisible();

describe.runIf(triesJourneys)('a phone', () => {
  test('opens the menu of an entry as a sheet from below, which is drawn down', async () => {
    const { page, cadiz } = await openFilled('Sheets');
    const finger = await createFinger(page);
    const menu = page.getByRole('menu');
    const open = async (name: string) => {
      await page.getByRole('button', { name: `Actions of ${name}` }).tap();
      await menu.getByRole('menuitem', { name: 'Rename' }).waitFor();
      await expect.poll(() => isBelow(menu)).toBe(true);
    };
    const isClosed = async () => {
      await expect.poll(() => menu.count()).toBe(0);
      // The keys go on where they were.
      expect(await page.evaluate(() => document.activeElement?.closest('[id^=entry-]') !== null)).toBe(true);
    };
    await open('letter.txt');
    const head = menu.locator('.grip');
    await head.getByText(/^19 B · text\/plain · \d+ \w+$/).waitFor();
    for (const item of await menu.getByRole('menuitem').all()) expect((await item.boundingBox())?.height).toBe(48);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      // Colours that are still on their way to the other theme have the contrast of neither.
      await expect.poll(() => page.evaluate('document.getAnimations().length')).toBe(0);
      expect(await findBarriers(page)).toEqual([]);
    }
    // A little does not close it.
    const { y } = await middleOf(head);
    await finger.drag(head, 40);
    expect((await middleOf(head)).y).toBe(y);
    await finger.drag(head, 200);
    await isClosed();
    await open('letter.txt');
    await page.keyboard.press('Escape');
    await isClosed();
    await open('sea.png');
    const picture = head.getByRole('img', { includeHidden: true }).or(head.locator('img'));
    await expect.poll(() => picture.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
    await page.touchscreen.tap(195, 60);
    await isClosed();
    await open('drafts');
    await head.getByText(/^2 items · \d+ \w+$/).waitFor();
    await menu.getByRole('menuitem', { name: 'Rename' }).tap();
    await page.getByLabel('New name').fill('letters');
    await page.keyboard.press('Enter');
    await rowOf(page, 'letters').waitFor();
    expect((await cadiz.folders.getByPath('letters')).name).toBe('letters');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('draws a dialog down, unless something has been typed', async () => {
    const { page } = await openFilled('Drawn down');
    const finger = await createFinger(page);
    const title = page.getByRole('dialog').getByRole('heading');
    const add = page.getByRole('button', { name: 'Upload or new folder' });
    const open = async () => {
      await add.tap();
      await page.getByRole('menuitem', { name: 'New folder' }).tap();
      await title.waitFor();
    };
    await open();
    await finger.drag(title, 200);
    await expect.poll(() => title.count()).toBe(0);
    await open();
    await page.getByLabel('Name of the folder').fill('Covers');
    await finger.drag(title, 200);
    await page.keyboard.press('Enter');
    await rowOf(page, 'Covers').waitFor();
    await page.getByRole('button', { name: 'More', exact: true }).last().tap();
    await finger.drag(title, 200);
    await expect.poll(() => isOverlaid(page)).toBe(false);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has one button for what can be put into a folder, beside the search', async () => {
    const { page, cadiz } = await openFilled('Added by phone');
    const add = page.getByRole('button', { name: 'Upload or new folder' });
    expect(await add.boundingBox()).toMatchObject({ width: 44, height: 44 });
    // Those of wide windows are not there.
    expect(await page.getByRole('button', { name: /^(?:Upload|New folder)$/ }).count()).toBe(0);
    await add.tap();
    await page.getByRole('menuitem', { name: 'New folder' }).waitFor();
    await expect.poll(() => isBelow(page.getByRole('menu'))).toBe(true);
    expect(await findFlawsOf(page)).toEqual([]);
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('menuitem', { name: 'Choose files' }).tap();
    await (await choosing).setFiles({ name: 'by hand.txt', mimeType: 'text/plain', buffer: Buffer.from('!') });
    await rowOf(page, 'by hand.txt').waitFor();
    expect((await cadiz.files.page({ folder: null, search: 'by hand' })).files).toHaveLength(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says in each row how large it is, and since when it is there', async () => {
    const { page } = await openFilled('Second lines');
    const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' }).format(new Date());
    await rowOf(page, 'letter.txt').getByText(`19 B · ${day}`, { exact: true }).waitFor();
    await rowOf(page, 'drafts').getByText(`2 items · ${day}`, { exact: true }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('opens with a tap, and starts selecting with a finger that rests', async () => {
    const { page } = await openFilled('Touched');
    const finger = await createFinger(page);
    // Beside the name as well.
    await rowOf(page, 'letter.txt').tap({ position: { x: 250, y: 10 } });
    await page.waitForURL(/file=/);
    await page.goBack();
    await page.getByRole('link', { name: 'drafts', exact: true }).tap();
    await rowOf(page, 'two.txt').waitFor();
    await page.goBack();

    const count = page.getByRole('toolbar').getByRole('status');
    for (const entryOf of [rowOf, tileOf]) {
      await finger.down(page.getByRole('link', { name: 'letter.txt', exact: true }));
      await count.getByText('1 selected').waitFor();
      await finger.lift();
      // Now taps select.
      await page.getByRole('link', { name: 'drafts', exact: true }).tap();
      await count.getByText('2 selected').waitFor();
      await entryOf(page, 'sea.png').tap({ position: { x: 100, y: 30 } });
      await count.getByText('3 selected').waitFor();
      await page.getByRole('link', { name: 'letter.txt', exact: true }).tap();
      await count.getByText('2 selected').waitFor();
      expect(await page.getByRole('menu').count()).toBe(0);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole('button', { name: 'Clear the selection' }).tap();
      await count.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Grid' }).tap();
      await tileOf(page, 'sea.png').waitFor();
    }
    // A mouse still selects with a click, and opens the menu with its other button.
    await tileOf(page, 'letter.txt').click({ position: { x: 100, y: 30 } });
    await count.getByText('1 selected').waitFor();
    await tileOf(page, 'letter.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has what can be done with a selection in the place of its tabs', async () => {
    const { page, cadiz } = await openFilled('Selected');
    const finger = await createFinger(page);
    const tabs = page.getByRole('navigation', { name: 'Main' });
    const actions = page.getByRole('toolbar', { name: 'Actions of the selection' });
    const wordsOf = (bar: Locator) => bar.getByRole('button').allInnerTexts();
    const nameOf = (name: string) => page.getByRole('link', { name, exact: true });
    const start = async (name: string) => {
      await finger.down(nameOf(name));
      await actions.waitFor();
      await finger.lift();
    };
    const tabsAt = await tabs.boundingBox();
    const firstAt = await rowOf(page, 'drafts').boundingBox();
    await start('letter.txt');
    expect(await actions.boundingBox()).toEqual(tabsAt);
    expect(await tabs.isVisible()).toBe(false);
    // No row goes away beneath the finger.
    expect(await rowOf(page, 'drafts').boundingBox()).toEqual(firstAt);
    expect(await wordsOf(actions)).toEqual(['Download', 'Move', 'Links', 'More', 'Delete']);
    expect(await wordsOf(page.getByRole('toolbar', { name: 'Selection', exact: true }))).toEqual(['']);
    for (const button of await page.getByRole('toolbar').getByRole('button').all()) {
      const { width = 0, height = 0 } = (await button.boundingBox()) ?? {};
      expect(Math.min(width, height)).toBeGreaterThanOrEqual(44);
    }
    expect(await findFlawsOf(page)).toEqual([]);

    // One entry has a menu as well.
    await actions.getByRole('button', { name: 'More' }).tap();
    const menu = page.getByRole('menu');
    await expect.poll(() => isBelow(menu)).toBe(true);
    expect(await menu.getByRole('menuitem').allInnerTexts()).toEqual(['Open', 'Rename', 'Details']);
    await menu.getByRole('menuitem', { name: 'Rename' }).tap();
    await page.getByLabel('New name').fill('post.txt');
    await page.keyboard.press('Enter');
    await rowOf(page, 'post.txt').waitFor();
    await actions.getByRole('button', { name: 'Links' }).tap();
    await page.getByRole('dialog').getByText('Nobody outside can open this file.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    // Several have what is done with several.
    await nameOf('drafts').tap();
    expect(await wordsOf(actions)).toEqual(['Download', 'Move', 'Links', 'Delete']);
    await nameOf('drafts').tap();
    await nameOf('sea.png').tap();
    await actions.getByRole('button', { name: 'Move' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'drafts', exact: true }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Move to drafts' }).tap();
    await page.getByText('2 items moved to drafts').waitFor();
    await tabs.waitFor();
    const namesIn = async (folder: string | null) => {
      const { folders, files } = await cadiz.files.page({ folder });
      return [...folders.map(({ name }) => name), ...files.map(({ fileName }) => fileName)].sort();
    };
    const { id } = await cadiz.folders.getByPath('drafts');
    await expect.poll(() => namesIn(id)).toEqual(['one.txt', 'post.txt', 'sea.png', 'two.txt']);
    await nameOf('drafts').tap();
    await start('two.txt');
    await actions.getByRole('button', { name: 'Delete' }).tap();
    await rowOf(page, 'two.txt').waitFor({ state: 'detached' });
    await tabs.waitFor();
    // The keys go on in the list.
    await expect.poll(() => page.evaluate(() => document.activeElement?.id.startsWith('entry-'))).toBe(true);
    await page.getByText('1 item moved to the trash').waitFor();
    await page.getByRole('button', { name: 'Undo' }).tap();
    await rowOf(page, 'two.txt').waitFor();
    expect(await namesIn(id)).toEqual(['one.txt', 'post.txt', 'sea.png', 'two.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('offers a viewer to download a selection, and nothing else', async () => {
    const projectId = await tested.createProject('Looked at');
    const cadiz = await tested.connect(projectId);
    for (const name of ['one.txt', 'two.txt']) await cadiz.upload(toFile(name));
    const page = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files`);
    await page.setViewportSize(phone.viewport);
    const actions = page.getByRole('toolbar', { name: 'Actions of the selection' });
    await rowOf(page, 'one.txt').click({ position: { x: 250, y: 10 } });
    await expect.poll(() => actions.getByRole('button').allInnerTexts()).toEqual(['Download', 'More']);
    await rowOf(page, 'two.txt').click({ position: { x: 250, y: 10 }, modifiers: ['Control'] });
    await expect.poll(() => actions.getByRole('button').allInnerTexts()).toEqual(['Download']);
    const download = page.waitForEvent('download');
    await actions.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toMatch(/\.zip$/);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('hits with a finger what is smaller than one', async () => {
    const { page, cadiz } = await openFilled('Small targets');
    const { files } = await cadiz.files.page({ search: 'letter' });
    await cadiz.files.delete(files[0]?.id ?? '');
    /** How high the part of the page is in which a tap hits something, in pixels. */
    const toHeight = (one: Locator) =>
      one.evaluate((element) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        const hits = (offset: number) =>
          document.elementFromPoint(left + width / 2, top + height / 2 + offset)?.closest('button, input') === element;
        return Array.from({ length: 60 }, (_, index) => index - 30).filter(hits).length;
      });
    const address = page.url();
    await page.goto(address.replace('/files', '/trash'));
    const box = page.getByRole('checkbox', { name: 'Select letter.txt' });
    await box.waitFor();
    expect(await toHeight(box)).toBeGreaterThanOrEqual(44);
    expect(await toHeight(page.getByRole('checkbox', { name: 'Select all' }))).toBeGreaterThanOrEqual(44);
    const { x, y } = await middleOf(box);
    await page.touchscreen.tap(x, y + 20);
    await page.getByRole('button', { name: 'Restore 1 item' }).waitFor();
    await page.goto(address.replace('/files', '/settings'));
    const copy = page.getByRole('button', { name: 'Copy the project ID' });
    await copy.waitFor();
    expect(await toHeight(copy)).toBeGreaterThanOrEqual(44);
    await page.goto(address.replace('/files', '/audit'));
    const event = page.getByRole('button', { name: /^File deleted/ });
    await event.waitFor();
    expect(await toHeight(event)).toBeGreaterThanOrEqual(44);
    await page.context().close();
  });

  test('makes the uploads small again when they are drawn down', async () => {
    const { page } = await openFilled('Uploads drawn down');
    const finger = await createFinger(page);
    const uploads = page.getByRole('region', { name: 'Uploads' });
    const title = uploads.getByRole('heading');
    const tab = page.getByRole('button', { name: 'Uploads' });
    await tab.tap();
    // The handle says that it can be drawn.
    const handleOf = (one: Locator) => one.evaluate((sheet) => getComputedStyle(sheet, '::before').width);
    expect(await handleOf(uploads)).toBe('36px');
    const { y } = await middleOf(title);
    await finger.drag(title, 40);
    expect((await middleOf(title)).y).toBe(y);
    await finger.drag(title, 200);
    await uploads.waitFor({ state: 'detached' });
    await expect.poll(() => tab.evaluate((button) => button === document.activeElement)).toBe(true);

    await page
      .locator('input[type=file][data-folder=false]')
      .first()
      .setInputFiles({ name: 'by phone.txt', mimeType: 'text/plain', buffer: Buffer.from('!') });
    await uploads.getByRole('button', { name: 'Expand' }).tap();
    await finger.drag(title, 200);
    await uploads.getByRole('button', { name: 'Expand' }).waitFor();
    expect(await handleOf(uploads)).not.toBe('36px');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
