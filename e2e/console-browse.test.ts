import { readFile } from 'node:fs/promises';
import type { Client } from '@cadiz/client';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasZipTools, readZip } from '../packages/server/test/zip-tools.ts';
import {
  type ConsoleUnderTest,
  createHold,
  findBarriers,
  findFlaws,
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

/** A project, and a client that fills it and looks into it. */
async function createFilled(name: string): Promise<{ projectId: string; cadiz: Client }> {
  const projectId = await tested.createProject(name);
  return { projectId, cadiz: await tested.connect(projectId, name) };
}

async function fill(cadiz: Client, names: readonly string[], folder: string | null = null): Promise<void> {
  const files = names.map((name) => new File([`This is ${name}.`], name, { type: 'text/plain' }));
  const queue = cadiz.uploads.create(files, { folder });
  await queue.done();
}

async function namesIn(cadiz: Client, folder: string | null): Promise<string[]> {
  const { files, folders } = await cadiz.files.page({ folder, sort: 'name' });
  return [...folders.map(({ name }) => name), ...files.map(({ fileName }) => fileName)];
}

const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const tileOf = (page: Page, name: string) =>
  page.getByRole('gridcell').filter({ has: page.getByRole('link', { name, exact: true }) });
const dialogOf = (page: Page) => page.getByRole('dialog');
const labelOfFocus = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
const textOfFocus = (page: Page) => page.evaluate(() => document.activeElement?.textContent);
/** Draws no frame of a page until the function that it returns is called. */
async function holdFrames(page: Page): Promise<() => Promise<void>> {
  const held = await page.evaluateHandle(() => {
    const draw = window.requestAnimationFrame;
    const runs: FrameRequestCallback[] = [];
    window.requestAnimationFrame = (run) => runs.push(run);
    return () => {
      window.requestAnimationFrame = draw;
      for (const run of runs) run(performance.now());
    };
  });
  return () => held.evaluate((draw) => draw());
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `file ${index}.txt`);

describe.runIf(triesJourneys)('what others change', () => {
  test('is seen at once, and moves nothing that somebody looks at', async () => {
    const { projectId, cadiz } = await createFilled('Live');
    await cadiz.folders.ensure(['m']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'm').waitFor();
    await cadiz.folders.ensure(['new']);
    await rowOf(page, 'new').waitFor({ timeout: 10_000 });
    await fill(cadiz, ['from elsewhere.txt']);
    await rowOf(page, 'from elsewhere.txt').waitFor({ timeout: 10_000 });
    await cadiz.folders.delete((await cadiz.folders.getByPath('new')).id);
    await rowOf(page, 'new').waitFor({ state: 'detached', timeout: 10_000 });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('leaves in its place what somebody looks at in a long folder', async () => {
    const { projectId, cadiz } = await createFilled('Steady');
    const names = Array.from({ length: 450 }, (_, index) => `file ${index + 100}.txt`);
    await fill(cadiz, names);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByText('450 items').waitFor();
    const list = page.getByRole('grid');
    // Past the first page, so that what goes from it is filled up from what follows.
    await list.evaluate((element) => element.scrollTo(0, 190 * 36));
    await rowOf(page, 'file 310.txt').waitFor();
    await list.evaluate((element) => element.scrollTo(0, 210 * 36));
    const looked = rowOf(page, 'file 315.txt');
    const place = (await looked.boundingBox())?.y;
    expect(place).toBeGreaterThan(0);
    await looked.click();

    const { files } = await cadiz.files.page({ folder: null, sort: 'name', limit: 50 });
    const gone = files.map(({ id }) => id);
    await cadiz.files.deleteMany({ fileIds: gone });
    await rowOf(page, 'file 330.txt').waitFor();
    await page.getByRole('toolbar').getByText('1 selected').waitFor();
    await expect.poll(() => list.getAttribute('aria-rowcount')).toBe('401');
    expect((await looked.boundingBox())?.y).toBe(place);
    await cadiz.files.restoreMany({ fileIds: gone });
    await expect.poll(() => list.getAttribute('aria-rowcount')).toBe('451');
    expect((await looked.boundingBox())?.y).toBe(place);
    expect(await looked.getAttribute('aria-selected')).toBe('true');

    // Another order is another list, which stays where it is scrolled to.
    await page.goto(`${tested.url}/projects/${projectId}/files?q=file%201`);
    await page.getByText('100 found').waitFor();
    await list.evaluate((element) => element.scrollTo(0, 20 * 36));
    await rowOf(page, 'file 125.txt').click();
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
    await expect.poll(() => rowOf(page, 'file 125.txt').getAttribute('aria-rowindex')).toBe('76');
    expect(await list.evaluate((element) => element.scrollTop)).toBe(20 * 36);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('the file browser', () => {
  test('moves what is chosen: by a dialog, by dragging, and not where it cannot go', async () => {
    const { projectId, cadiz } = await createFilled('Moves');
    await cadiz.folders.ensure(['archive/2026', 'drafts']);
    await fill(cadiz, ['a.txt', 'b.txt', 'c.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);

    // By keyboard alone: the dialog, into a folder, and there.
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('Shift+ArrowDown');
    await page.getByText('2 selected').waitFor();
    await page.keyboard.press('m');
    await expect.poll(() => labelOfFocus(page)).toBe('Find a folder');
    await dialogOf(page).getByRole('button', { name: 'archive' }).waitFor();
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('archive');
    // They are here already.
    expect(
      await dialogOf(page)
        .getByRole('button', { name: /^Move to/ })
        .isDisabled(),
    ).toBe(true);
    expect(await findBarriers(page)).toEqual([]);
    // The focus is at the first folder, and stays among them, also where the next frame is drawn after they have come.
    const draw = await holdFrames(page);
    await page.keyboard.press('Enter');
    await dialogOf(page).getByRole('button', { name: 'Move to archive' }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('2026');
    await draw();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('2026');
    await page.keyboard.press('Enter');
    await dialogOf(page).getByRole('button', { name: 'Move to 2026' }).press('Enter');
    await rowOf(page, 'a.txt').waitFor({ state: 'detached' });
    await expect.poll(() => namesIn(cadiz, 'archive/2026')).toEqual(['a.txt', 'b.txt']);

    await rowOf(page, 'c.txt').dragTo(rowOf(page, 'drafts'));
    await expect.poll(() => namesIn(cadiz, 'drafts')).toEqual(['c.txt']);
    // A folder does not go into itself, and a refusal puts back what was shown.
    await cadiz.folders.create('2026');
    await page.reload();
    await rowOf(page, '2026').dragTo(rowOf(page, 'archive'));
    await page.getByText(/already|exists/).waitFor();
    await rowOf(page, '2026').waitFor();

    // Back to the top by its name above the list.
    await rowOf(page, 'drafts').getByRole('link', { name: 'drafts', exact: true }).click();
    await rowOf(page, 'c.txt').dragTo(page.getByRole('link', { name: 'Moves' }));
    await expect.poll(() => namesIn(cadiz, null)).toEqual(['2026', 'archive', 'drafts', 'c.txt']);
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await expect.poll(() => namesIn(cadiz, 'drafts')).toEqual(['c.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('moves nothing that was dragged before when something else is dropped', async () => {
    const { projectId, cadiz } = await createFilled('Dragged before');
    await cadiz.folders.create('folder');
    await fill(cadiz, ['a.txt', 'b.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click();
    await rowOf(page, 'b.txt').click({ modifiers: ['ControlOrMeta'] });
    await rowOf(page, 'a.txt').hover();
    await page.mouse.down();
    await rowOf(page, 'folder').hover();
    await rowOf(page, 'folder').hover({ position: { x: 300, y: 10 } });
    await rowOf(page, 'folder').and(page.locator('[data-drop]')).waitFor();
    // A row that is gone cannot say that it is no longer dragged.
    await cadiz.files.delete((await cadiz.files.page({ search: 'a.txt' })).files[0]?.id ?? '');
    await rowOf(page, 'a.txt').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Dragged before' }).hover({ force: true });
    await page.mouse.up();
    const isTaken = await rowOf(page, 'folder').evaluate((row) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.setData('text/plain', 'from elsewhere');
      return !row.dispatchEvent(new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer }));
    });
    expect(isTaken).toBe(false);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has all folders above what shows more of them, when entries are moved', async () => {
    const { projectId, cadiz } = await createFilled('Many folders');
    const names = Array.from({ length: 201 }, (_, index) => `folder ${String(index).padStart(3, '0')}`);
    for (let from = 0; from < names.length; from += 100) await cadiz.folders.ensure(names.slice(from, from + 100));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'folder 000').click({ position: { x: 700, y: 10 } });
    await page.keyboard.press('m');
    const more = dialogOf(page).getByRole('button', { name: 'Show more' });
    const bottomOf = async (name: string) => {
      const box = await dialogOf(page).getByRole('button', { name }).boundingBox();
      return (box?.y ?? 0) + (box?.height ?? 0);
    };
    await more.waitFor();
    expect(await bottomOf('folder 199')).toBeLessThanOrEqual((await more.boundingBox())?.y ?? 0);
    await more.click();
    await dialogOf(page).getByRole('button', { name: 'folder 200' }).waitFor();
    expect(await more.count()).toBe(0);
    await page.context().close();
  });

  test('asks before a folder goes, and says what is in it', async () => {
    const { projectId, cadiz } = await createFilled('Deletes');
    await cadiz.folders.ensure(['raw/day one', 'empty']);
    await fill(cadiz, numbered(3), 'raw/day one');
    await fill(cadiz, numbered(2), 'raw');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    // An empty one goes at once.
    await rowOf(page, 'empty').click();
    await page.keyboard.press('Delete');
    await rowOf(page, 'empty').waitFor({ state: 'detached' });
    // The keys go on at the next row.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain('raw');

    // By right click, as by the button of the row.
    await rowOf(page, 'raw').click({ button: 'right' });
    await page.getByRole('menuitem', { name: /Delete/ }).click();
    await dialogOf(page).getByRole('button', { name: 'Delete 5 files' }).waitFor();
    await dialogOf(page).getByText('Folders').waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel');
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await namesIn(cadiz, null)).toEqual(['raw']);
    await rowOf(page, 'raw').click();
    await page.keyboard.press('Delete');
    await dialogOf(page).getByRole('button', { name: 'Delete 5 files' }).click();
    await expect.poll(() => namesIn(cadiz, null)).toEqual([]);
    await page.getByRole('link', { name: 'Trash' }).click();
    await page.getByRole('row', { name: /raw.*by you/ }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('moves what is chosen to a folder whose name is longer than the dialog', async () => {
    const { projectId, cadiz } = await createFilled('Long moves');
    const outer = 'outer '.repeat(30).trim();
    await cadiz.folders.ensure([`${outer}/inner`]);
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('m');
    await dialogOf(page).getByRole('button', { name: outer }).click();
    const main = dialogOf(page).getByRole('button', { name: `Move to ${outer}` });
    await main.waitFor();
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 844 });
      const edges = async (one: Locator) => {
        const box = await one.boundingBox();
        return [box?.x ?? 0, (box?.x ?? 0) + (box?.width ?? 0)] as const;
      };
      const [left, right] = await edges(dialogOf(page));
      const [start, end] = await edges(dialogOf(page).getByRole('button', { name: 'Cancel' }));
      expect(start).toBeGreaterThan(left);
      const [from, to] = await edges(main);
      expect(from).toBeGreaterThan(end);
      expect(to).toBeLessThan(right);
    }
    await main.click();
    await expect.poll(() => namesIn(cadiz, outer)).toEqual(['inner', 'a.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('moves what is chosen to a folder that is found by its name', async () => {
    const { projectId, cadiz } = await createFilled('Found folders');
    await cadiz.folders.ensure(['archive/2026/Press kit', 'drafts/press cuttings', 'winter']);
    await fill(cadiz, ['a.txt', 'press.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('m');
    const dialog = dialogOf(page);
    await expect.poll(() => labelOfFocus(page)).toBe('Find a folder');
    // Wherever they are, and no files.
    await page.keyboard.type('press');
    await dialog.getByRole('button', { name: 'Press kit archive / 2026' }).waitFor();
    await dialog.getByText('2 found').waitFor();
    expect(await dialog.getByRole('listitem').count()).toBe(2);
    expect(await findFlaws(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    expect(await textOfFocus(page)).toContain('press cuttings');
    await page.keyboard.press('ArrowDown');
    expect(await textOfFocus(page)).toContain('Press kit');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await labelOfFocus(page)).toBe('Find a folder');
    // Escape takes back what was typed, and only then the dialog.
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'winter' }).waitFor();
    await page.keyboard.type('nowhere');
    await dialog.getByText('No folder is called “nowhere”').waitFor();
    await page.getByLabel('Find a folder').fill('press k');
    await dialog.getByText('1 found').waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => textOfFocus(page)).toBe('Move to Press kit');
    await page.keyboard.press('Enter');
    await expect.poll(() => namesIn(cadiz, 'archive/2026/Press kit')).toEqual(['a.txt']);

    // A folder does not go into itself, however deep that was found.
    await rowOf(page, 'archive').click({ position: { x: 700, y: 10 } });
    await page.keyboard.press('m');
    await page.getByLabel('Find a folder').fill('press');
    await dialog.getByText('2 found').waitFor();
    expect(await dialog.getByRole('button', { name: 'Press kit' }).isDisabled()).toBe(true);
    expect(await dialog.getByRole('button', { name: 'press cuttings' }).isEnabled()).toBe(true);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('moves what is chosen to a folder that is created for it', async () => {
    const { projectId, cadiz } = await createFilled('Created for it');
    await cadiz.folders.ensure(['drafts']);
    await fill(cadiz, ['a.txt'], 'drafts');
    const page = await tested.openAsOwner(
      `/projects/${projectId}/files/${(await cadiz.folders.getByPath('drafts')).id}`,
    );
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('m');
    const dialog = dialogOf(page);
    // It is said why the button is off, and which of the folders it is.
    await dialog.getByRole('navigation').getByText('It is here').waitFor();
    expect(await dialog.getByRole('button', { name: 'Move to drafts' }).isDisabled()).toBe(true);
    // The way up is there on a phone as well.
    await page.setViewportSize({ width: 360, height: 780 });
    await dialog.getByRole('button', { name: 'Created for it' }).click();
    await page.setViewportSize({ width: 1440, height: 900 });
    await dialog.getByRole('button', { name: 'drafts It is here' }).waitFor();
    await dialog.getByRole('button', { name: 'New folder' }).click();
    await expect.poll(() => labelOfFocus(page)).toBe('Name of the folder');
    await page.keyboard.press('Escape');
    expect(await textOfFocus(page)).toBe('New folder');
    await page.keyboard.press('Enter');
    await page.getByLabel('Name of the folder').fill('Drafts');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByLabel('Name of the folder').fill('winter');
    await page.keyboard.press('Enter');
    await expect.poll(() => textOfFocus(page)).toBe('Move to winter');
    await page.keyboard.press('Enter');
    await expect.poll(() => namesIn(cadiz, 'winter')).toEqual(['a.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('chooses everything in a folder, also what it has not shown', async () => {
    const { projectId, cadiz } = await createFilled('Everything');
    await fill(cadiz, [...numbered(300), 'z keep.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByText('301 items').waitFor();
    await rowOf(page, 'file 0.txt').click();
    await page.keyboard.press('Control+a');
    await page.getByText('200 selected').waitFor();
    // On a phone, the offer is above the list in a few words, and the actions are below it.
    const rest = page.getByRole('button', { name: 'Select all 301 in this folder' });
    await page.setViewportSize({ width: 390, height: 844 });
    const action = page.getByRole('toolbar').getByRole('button', { name: 'Move' });
    const isBetween = async () =>
      ((await rest.boundingBox())?.y ?? 844) < 200 && ((await action.boundingBox())?.y ?? 0) > 700;
    await expect.poll(isBetween).toBe(true);
    expect(await rest.innerText()).toBe('All 301');
    await page.setViewportSize({ width: 1440, height: 900 });
    await rest.click();
    await page.getByText('301 selected').waitFor();
    // What is not shown would be missing from an archive of it.
    await page.keyboard.press('Shift+D');
    await page.getByText('Up to 250 can be downloaded together.').waitFor();
    // From then on it is the folder less what is taken away.
    await rowOf(page, 'file 1.txt').getByRole('checkbox').click();
    await page.getByText('300 selected').waitFor();
    await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
    await dialogOf(page).getByRole('button', { name: 'Delete 300 files' }).click();
    await expect.poll(() => namesIn(cadiz, null)).toEqual(['file 1.txt']);
    await page.getByText('1 item', { exact: true }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('chooses nothing any more once everything is taken away again', async () => {
    const { projectId, cadiz } = await createFilled('Everything but everything');
    await fill(cadiz, numbered(202));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByText('202 items').waitFor();
    await rowOf(page, 'file 0.txt').click();
    await page.keyboard.press('Control+a');
    await page.getByRole('button', { name: 'Select all 202 in this folder' }).click();
    await page.getByText('202 selected').waitFor();
    await rowOf(page, 'file 0.txt').focus();
    for (let left = 202; left > 0; left--) {
      await page.keyboard.press('x');
      if (left % 50 === 0) await page.getByText(`${left - 1} selected`).waitFor();
      await page.keyboard.press('ArrowDown');
    }
    await page.getByText('202 items').waitFor();
    await fill(cadiz, ['later.txt']);
    await page.getByText('203 items').waitFor();
    expect(await page.getByText('1 selected').count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has the keys of the list as soon as a folder is open', async () => {
    const { projectId, cadiz } = await createFilled('Keys at once');
    await cadiz.folders.ensure(['a']);
    await fill(cadiz, ['one.txt', 'two.txt'], 'a');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await rowOf(page, 'two.txt').waitFor();
    await page.keyboard.press('Control+a');
    await page.getByText('2 selected').waitFor();
    await page.reload();
    await rowOf(page, 'two.txt').waitFor();
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => rowOf(page, 'one.txt').evaluate((row) => row.contains(document.activeElement))).toBe(true);
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    // In the other view as well.
    await page.keyboard.press('v');
    await expect.poll(() => tileOf(page, 'one.txt').evaluate((one) => one.contains(document.activeElement))).toBe(true);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('v');
    await expect.poll(() => rowOf(page, 'two.txt').evaluate((row) => row.contains(document.activeElement))).toBe(true);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('goes on at what comes after a range that is deleted, and deletes only once while the key is held', async () => {
    const { projectId, cadiz } = await createFilled('What comes next');
    await fill(cadiz, numbered(9));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const hasFocus = (name: string) => rowOf(page, name).evaluate((row) => row.contains(document.activeElement));
    const shown = () => page.locator('.list .open').allTextContents();
    await rowOf(page, 'file 0.txt').click();
    for (const key of ['Escape', 'ArrowDown', 'Shift+ArrowDown', 'Shift+ArrowDown']) await page.keyboard.press(key);
    await page.getByText('3 selected').waitFor();
    await page.keyboard.press('Delete');
    await rowOf(page, 'file 3.txt').waitFor({ state: 'detached' });
    await expect.poll(() => hasFocus('file 4.txt')).toBe(true);
    // Pressing a key that is down already is what a keyboard does while it is held.
    for (let times = 0; times < 4; times++) await page.keyboard.down('Delete');
    await page.keyboard.up('Delete');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => hasFocus('file 6.txt')).toBe(true);
    await expect.poll(shown).toEqual(['file 0.txt', 'file 5.txt', 'file 6.txt', 'file 7.txt', 'file 8.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('chooses a range from where the keys are, and takes it back', async () => {
    const { projectId, cadiz } = await createFilled('Ranges');
    await cadiz.folders.ensure(['a', 'b', 'c', 'd', 'e', 'f']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const chosen = () => page.locator('[aria-selected=true] .open').allInnerTexts();
    const chooses = async (keys: readonly string[], expected: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
      await expect.poll(chosen).toEqual(expected);
    };
    const said = await page.getByRole('status').filter({ hasText: '6 items' }).elementHandle();
    await rowOf(page, 'a').click();
    await chooses(['Escape', 'ArrowDown', 'ArrowDown', 'Shift+ArrowDown', 'Shift+ArrowDown'], ['c', 'd', 'e']);
    // Said to those who do not see it, where the number of all was: what a screen reader knows already.
    expect(await said?.textContent()).toBe('3 selected');
    expect(await said?.evaluate((element) => element.isConnected)).toBe(true);
    await chooses(['Shift+ArrowUp'], ['c', 'd']);
    await chooses(['Shift+ArrowUp', 'Shift+ArrowUp'], ['b', 'c']);
    await rowOf(page, 'a').click();
    await rowOf(page, 'd').click({ modifiers: ['Control'] });
    // What was chosen before the range stays.
    await rowOf(page, 'f').click({ modifiers: ['Shift'] });
    await expect.poll(chosen).toEqual(['a', 'd', 'e', 'f']);
    // Nobody knows how large folders are.
    expect(await page.getByRole('toolbar').innerText()).not.toContain('0 B');
    await chooses(['Shift+ArrowUp'], ['a', 'd', 'e']);
    await chooses(['Control+a', 'Escape', 'Home', 'Shift+End'], ['a', 'b', 'c', 'd', 'e', 'f']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('shares what is chosen, says how many links there are, and stops when it is asked to', async () => {
    const { projectId, cadiz } = await createFilled('Many links');
    await fill(cadiz, numbered(30));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await rowOf(page, 'file 0.txt').click();
    await page.keyboard.press('Control+a');
    await page.getByText('30 selected').waitFor();
    const hold = createHold();
    let asked = 0;
    await page.route('**/api/storage/links', async (route) => {
      if (route.request().method() === 'POST' && ++asked === 13) await hold.over;
      await route.continue();
    });
    await page.keyboard.press('l');
    const dialog = page.getByRole('dialog', { name: 'Share 30 files' });
    await dialog.getByRole('button', { name: 'Create 30 links and copy them' }).click();
    await dialog.getByText('12 of 30 links created').waitFor();
    const bar = dialog.getByRole('progressbar', { name: 'Links created' });
    expect(await bar.getAttribute('aria-valuenow')).toBe('40');
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Stop' }).press('Enter');
    hold.release();
    await dialog.getByText('13 of 30 files have a new link.').waitFor();
    expect(await page.evaluate(() => document.activeElement?.closest('[role=dialog]') !== null)).toBe(true);
    const urls = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
    expect((await cadiz.links.page({ limit: 100 })).items.map(({ url }) => url).sort()).toEqual(urls.sort());
    expect(urls).toHaveLength(13);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.context().close();
  });

  test('shares what is chosen by links, one a line, and names what has none', async () => {
    const { projectId, cadiz } = await createFilled('Together');
    await cadiz.folders.ensure(['a folder']);
    await fill(cadiz, ['one.txt', 'three.txt', 'two.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const bar = page.getByRole('toolbar', { name: 'Selection' });
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    const contentsOf = (lines: string) =>
      Promise.all(lines.split('\n').map(async (url) => (await page.request.get(url)).text()));
    // For one alone, its links are shown.
    await rowOf(page, 'one.txt').click();
    await bar.getByRole('button', { name: 'Copy link…' }).waitFor();
    await rowOf(page, 'two.txt').click({ modifiers: ['Control'] });
    await rowOf(page, 'a folder').click({ modifiers: ['Control'] });
    expect(await bar.getByRole('button').allInnerTexts()).toEqual(['', 'Download', 'Move', 'Copy links', 'Delete']);
    await bar.getByRole('button', { name: 'Copy links' }).click();
    const dialog = page.getByRole('dialog', { name: 'Share 2 files' });
    await dialog.getByText('1 folder is left out: only files have links.').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: '1 hour' }).click();
    await dialog.getByRole('button', { name: 'Create 2 links and copy them' }).click();
    await page.getByText('2 links copied').waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(await contentsOf(await copied())).toEqual(['This is one.txt.', 'This is two.txt.']);
    // What is chosen stays so, and the focus is where it was.
    await expect.poll(() => textOfFocus(page)).toBe('Copy links');
    expect(await page.locator('[aria-selected=true] .open').allTextContents()).toEqual([
      'a folder',
      'one.txt',
      'two.txt',
    ]);

    // By the key, and by the menu of one of them; one of them has gone meanwhile.
    await rowOf(page, 'one.txt').click();
    await rowOf(page, 'two.txt').click({ modifiers: ['Shift'] });
    await page.keyboard.press('l');
    await page.getByRole('dialog', { name: 'Share 3 files' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await rowOf(page, 'three.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Copy links' }).click();
    await page.getByRole('dialog', { name: 'Share 3 files' }).waitFor();
    const { files } = await cadiz.files.page({ search: 'three' });
    await cadiz.files.delete(files[0]?.id ?? '');
    await dialogOf(page).getByRole('button', { name: 'Create 3 links and copy them' }).click();
    await dialogOf(page).getByText('2 of 3 files have a new link.').waitFor();
    await dialogOf(page).getByRole('listitem').filter({ hasText: 'three.txt' }).waitFor();
    expect(await contentsOf(await copied())).toEqual(['This is one.txt.', 'This is two.txt.']);
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    const viewer = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files`);
    await rowOf(viewer, 'one.txt').click();
    await rowOf(viewer, 'two.txt').click({ modifiers: ['Control'] });
    await viewer.getByRole('toolbar').getByText('2 selected').waitFor();
    expect(await viewer.getByRole('toolbar').getByRole('button').allInnerTexts()).toEqual(['', 'Download']);
    await viewer.keyboard.press('l');
    expect(await viewer.getByRole('dialog').count()).toBe(0);
    await viewer.context().close();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('reads a folder while it is being clicked, and not again then', async () => {
    const { projectId, cadiz } = await createFilled('Ahead');
    const [folder] = await cadiz.folders.ensure(['m']);
    await fill(cadiz, numbered(3), folder?.id);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/api/storage/list' && searchParams.get('folderId') === folder?.id) asked.push(request.url());
    });
    await page.getByRole('link', { name: 'm', exact: true }).hover();
    expect(asked).toEqual([]);
    await page.mouse.down();
    await expect.poll(() => asked.length).toBe(1);
    await page.mouse.up();
    await rowOf(page, 'file 2.txt').waitFor();
    expect(asked).toHaveLength(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('opens the menu of an entry as often as somebody asks, and gives the focus back', async () => {
    const { projectId, cadiz } = await createFilled('Menus');
    await fill(cadiz, numbered(3));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const row = rowOf(page, 'file 1.txt');
    // It is loaded before the button is reached.
    await page.getByRole('columnheader', { name: 'Name' }).hover();
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').some(({ name }) => /assets\/context-menu-/.test(name)),
    );
    for (let time = 0; time < 3; time++) {
      await row.hover();
      await row.getByRole('button', { name: 'Actions of file 1.txt' }).click();
      await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
      expect(await findBarriers(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    }
    await page.keyboard.press('v');
    const tile = tileOf(page, 'file 1.txt');
    for (let time = 0; time < 2; time++) {
      await tile.hover();
      await tile.getByRole('button', { name: 'Actions of file 1.txt' }).click();
      await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('keeps what is typed as a name while others change the folder', async () => {
    const { projectId, cadiz } = await createFilled('Typing');
    await fill(cadiz, numbered(3));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'file 1.txt').click({ position: { x: 500, y: 10 } });
    await page.keyboard.press('F2');
    await page.keyboard.type('half');
    await fill(cadiz, ['another.txt']);
    await rowOf(page, 'another.txt').waitFor({ timeout: 10_000 });
    await page.keyboard.type(' done');
    await page.keyboard.press('Enter');
    await rowOf(page, 'half done.txt').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has its columns under their heads where there is less room, also in a search', async () => {
    const { projectId, cadiz } = await createFilled('Columns');
    await fill(cadiz, numbered(3));
    for (const width of [1440, 900]) {
      const page = await tested.openAsOwner(`/projects/${projectId}/files?q=file&scope=project`);
      await page.setViewportSize({ width, height: 800 });
      await rowOf(page, 'file 1.txt').waitFor();
      const lefts = (role: string) =>
        page
          .getByRole('row')
          .filter({ has: page.getByRole(role as 'gridcell') })
          .first()
          .evaluate((row) => [...row.children].map((cell) => Math.round(cell.getBoundingClientRect().left)));
      const shown = async (role: string) => (await lefts(role)).filter((left) => left > 0);
      expect(await shown('gridcell')).toEqual(await shown('columnheader'));
      await page.getByRole('columnheader', { name: 'Size' }).waitFor();
      await page.context().close();
    }
    expect(tested.complaints).toEqual([]);
  });

  test('opens folders and files in new tabs, as links do', async () => {
    const { projectId, cadiz } = await createFilled('Tabs');
    const [inside] = await cadiz.folders.ensure(['inside']);
    await fill(cadiz, ['a.txt']);
    await fill(cadiz, ['b.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files?sort=createdAt&order=desc`);
    const opened = async (click: Promise<void>) => {
      const [tab] = await Promise.all([page.context().waitForEvent('page'), click]);
      await tab.waitForURL(/files/);
      return tab;
    };
    const name = (text: string) => page.getByRole('link', { name: text, exact: true });
    const folder = await opened(name('inside').click({ button: 'middle' }));
    expect(folder.url()).toContain(`/files/${inside?.id}?sort=createdAt&order=desc`);
    const preview = await opened(name('a.txt').click({ modifiers: ['Control'] }));
    await preview.getByText('This is a.txt.').waitFor();
    expect(await preview.title()).toBe('a.txt · Cadiz');
    expect(await page.locator('[aria-selected=true]').count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(0);
    // With Shift, names belong to their rows.
    await rowOf(page, 'inside').click();
    await name('a.txt').click({ modifiers: ['Shift'] });
    await page.getByText('3 selected').waitFor();
    expect(page.context().pages()).toHaveLength(3);
    // Without any of these, they open here.
    await name('b.txt').click();
    await page.getByText('This is b.txt.').waitFor();
    expect(await page.title()).toBe('b.txt · Cadiz');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.title()).toBe('Tabs · Cadiz');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('goes on by keys from what has the focus, however far away it is scrolled', async () => {
    const { projectId, cadiz } = await createFilled('Far');
    await cadiz.folders.ensure(Array.from({ length: 90 }, (_, index) => `n${String(index).padStart(2, '0')}`));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'n03').click();
    await page.getByRole('grid').evaluate((list) => {
      list.scrollTop = list.scrollHeight;
    });
    await rowOf(page, 'n89').waitFor();
    await page.keyboard.press('ArrowDown');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.id))
      .toBe(await rowOf(page, 'n04').getAttribute('id'));
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has folders as cards above the tiles, which all keys and a drag go through', async () => {
    const { projectId, cadiz } = await createFilled('Cards');
    const folders = ['a', 'b', 'c', 'd', 'e', 'f'];
    await cadiz.folders.ensure([...folders, 'a/inner']);
    await fill(cadiz, numbered(20));
    const page = await tested.openAsOwner(`/projects/${projectId}/files?view=grid`);
    await tileOf(page, 'file 0.txt').waitFor();
    const boxOf = async (name: string) =>
      (await tileOf(page, name).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const focused = () =>
      page.evaluate(() => document.activeElement?.querySelector('.open')?.getAttribute('aria-label'));
    const press = async (key: string, expected: string) => {
      await page.keyboard.press(key);
      await expect.poll(focused).toBe(expected);
    };
    await tileOf(page, 'a').getByText('1 item').waitFor();
    // Four in a line and 44 pixels high; files begin a line of their own, six in each.
    const [first, fourth, fifth, file] = await Promise.all(['a', 'd', 'e', 'file 0.txt'].map(boxOf));
    expect([first?.height, fourth?.y]).toEqual([44, first?.y]);
    expect([fifth?.x, file?.x]).toEqual([first?.x, first?.x]);
    expect(fifth?.y).toBe((first?.y ?? 0) + 56);
    expect(file?.y).toBeGreaterThan((fifth?.y ?? 0) + 44);
    expect((await boxOf('file 13.txt')).y).toBe(file?.y);
    expect((await boxOf('file 14.txt')).y).toBeGreaterThan((file?.y ?? 0) + (file?.height ?? 0) - 1);
    // The keys go from line to line, whatever is in them.
    await page.keyboard.press('ArrowDown');
    await expect.poll(focused).toBe('a');
    await press('ArrowRight', 'b');
    await press('ArrowDown', 'f');
    await press('ArrowDown', 'file 1.txt');
    await press('ArrowUp', 'f');
    await press('End', 'file 9.txt');
    await press('Home', 'a');
    await press('PageDown', 'file 14.txt');
    await press('Home', 'a');
    await page.keyboard.press('x');
    await page.getByRole('status').getByText('1 selected').waitFor();
    await page.keyboard.press('Escape');
    await tileOf(page, 'b').getByRole('checkbox').check();
    await page.getByRole('status').getByText('1 selected').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('F2');
    await page.getByLabel('New name').fill('bb');
    await page.keyboard.press('Enter');
    await tileOf(page, 'bb').waitFor();
    await tileOf(page, 'file 3.txt').dragTo(tileOf(page, 'c'));
    await expect.poll(async () => namesIn(cadiz, (await cadiz.folders.getByPath('c')).id)).toEqual(['file 3.txt']);
    await tileOf(page, 'a').getByRole('link').click();
    await tileOf(page, 'inner').waitFor();
    await page.goBack();
    await tileOf(page, 'file 0.txt').waitFor();

    // Two in a line on a phone, without what is in them.
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(async () => (await boxOf('bb')).y === (await boxOf('a')).y).toBe(true);
    expect((await boxOf('c')).x).toBe((await boxOf('a')).x);
    expect(await tileOf(page, 'a').getByText('1 item').isVisible()).toBe(false);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await findBarriers(page)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test.each(['light', 'dark'] as const)('shows tiles, and where something was found: %s', async (colorScheme) => {
    const { projectId, cadiz } = await createFilled(`Looks ${colorScheme}`);
    await cadiz.folders.ensure(['deep/deeper']);
    await fill(cadiz, ['notes.txt'], 'deep/deeper');
    await fill(cadiz, ['one.txt', 'two.txt', 'three.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, { colorScheme });
    await rowOf(page, 'deep').waitFor();
    await page.getByRole('button', { name: 'Grid', exact: true }).click();
    await tileOf(page, 'one.txt').click({ position: { x: 60, y: 60 } });
    expect(page.url()).toContain('view=grid');
    // In reading order: deep, one, three, two.
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('F2');
    await page.getByLabel('New name').fill('third.txt');
    await page.keyboard.press('Enter');
    await expect.poll(() => namesIn(cadiz, null)).toEqual(['deep', 'one.txt', 'third.txt', 'two.txt']);
    expect(await findBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Clear the selection' }).click();
    await page.getByRole('button', { name: 'List', exact: true }).click();
    await rowOf(page, 'deep').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Upload or new folder' }).click();
    await page.getByRole('menuitem', { name: 'New folder' }).click();
    await dialogOf(page).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');

    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${tested.url}/projects/${projectId}/files?q=notes&scope=project`);
    const marks = rowOf(page, 'notes.txt').locator('mark');
    await expect.poll(() => marks.allInnerTexts()).toEqual(['notes']);
    // In any case, and over the extension as well, which is never cut.
    await page.getByLabel('Search this folder').fill('ES.TX');
    await expect.poll(() => marks.allInnerTexts()).toEqual(['es', '.tx']);
    expect(await findBarriers(page)).toEqual([]);
    await rowOf(page, 'notes.txt').getByRole('link', { name: 'deeper' }).click();
    await page.waitForURL(/\/files\/[^?]+$/);
    await rowOf(page, 'notes.txt').waitFor();
    // Letters are keys, but not while somebody types.
    await page.keyboard.press('v');
    await tileOf(page, 'notes.txt').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('vn');
    expect(await page.getByLabel('Search this folder').inputValue()).toBe('vn');
    expect(await dialogOf(page).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is sorted by a menu above the list, and links are a click away from what is pointed at', async () => {
    const { projectId, cadiz } = await createFilled('Above the list');
    await cadiz.folders.ensure(['folder']);
    await fill(cadiz, ['a.txt', 'b with a longer name.txt']);
    await cadiz.upload(new File(['moving'], 'clip.mp4', { type: 'video/mp4' }));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const sizeHead = page.getByRole('columnheader', { name: 'Size' });
    for (const order of ['descending', 'ascending']) {
      await page.getByRole('button', { name: /^Sorted by: / }).click();
      await page.getByRole('menuitemradio', { name: 'Size' }).waitFor();
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole('menuitemradio', { name: 'Size' }).click();
      await page.getByRole('button', { name: 'Sorted by: Size' }).waitFor();
      await expect.poll(() => sizeHead.getAttribute('aria-sort')).toBe(order);
    }
    await expect.poll(() => page.getByRole('row').nth(2).textContent()).toContain('clip');

    for (const entryOf of [rowOf, tileOf]) {
      await entryOf(page, 'a.txt').hover();
      await page.getByRole('button', { name: 'Copy a link of a.txt' }).click();
      await page.getByRole('dialog', { name: 'a.txt' }).waitFor();
      await page.keyboard.press('Escape');
      await dialogOf(page).waitFor({ state: 'detached' });
      await expect.poll(() => labelOfFocus(page)).toBe('Copy a link of a.txt');
      await entryOf(page, 'folder').hover();
      expect(await page.getByRole('button', { name: /^Copy a link/ }).count()).toBe(1);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole('button', { name: 'Grid', exact: true }).click();
      await tileOf(page, 'a.txt').waitFor();
    }
    await tileOf(page, 'clip.mp4').getByText('MP4', { exact: true }).waitFor();
    expect(await tileOf(page, 'a.txt').getByText('TXT', { exact: true }).count()).toBe(0);

    const viewer = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files`);
    await rowOf(viewer, 'a.txt').hover();
    await viewer.getByRole('button', { name: 'Actions of a.txt' }).waitFor();
    expect(await viewer.getByRole('button', { name: /^Copy a link/ }).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await viewer.context().close();
    await page.context().close();
  });

  test('says that a folder or a file is gone, or never was, and where to go from there', async () => {
    const { projectId, cadiz } = await createFilled('Gone');
    const [kept, gone] = await cadiz.folders.ensure(['kept', 'gone']);
    await fill(cadiz, ['a.txt']);
    const { files } = await cadiz.files.page({});
    await cadiz.files.delete(files[0]?.id ?? '');
    await cadiz.folders.delete(gone?.id ?? '');
    const root = `/projects/${projectId}/files`;
    const page = await tested.openAsOwner(root);
    for (const id of [gone?.id, 'nonsense']) {
      await page.goto(`${tested.url}${root}/${id}?view=grid`);
      await page.getByRole('heading', { name: 'This folder is not here' }).first().waitFor();
      expect(await findBarriers(page)).toEqual([]);
    }
    await page.getByRole('link', { name: 'All files of this project' }).click();
    await page.waitForURL(`${tested.url}${root}?view=grid`);
    await tileOf(page, 'kept').waitFor();
    const elsewhere = await tested.connect(await tested.createProject('Elsewhere'));
    const { id: other } = await elsewhere.upload(new File(['x'], 'elsewhere.txt', { type: 'text/plain' }));
    for (const id of [files[0]?.id, 'nonsense', other]) {
      await page.goto(`${tested.url}${root}/${kept?.id}?file=${id}`);
      await dialogOf(page).getByRole('heading', { name: 'This file is not here' }).waitFor();
      expect(await findBarriers(page)).toEqual([]);
    }
    await dialogOf(page).getByRole('link', { name: 'Look in the trash' }).click();
    await page.getByRole('heading', { name: 'Trash', exact: true }).waitFor();
    await page.getByText('a.txt').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('keeps the frame of a project at an address that leads nowhere, and leads on from there', async () => {
    const { projectId, cadiz } = await createFilled('Astray');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/file/older/one`);
    await page.getByRole('heading', { name: 'There is nothing here', level: 1 }).waitFor();
    await page.getByRole('navigation', { name: 'Content' }).getByRole('link', { name: 'Usage' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'All files of this project' }).click();
    await rowOf(page, 'a.txt').waitFor();
    // Without a page, a project shows its files.
    await page.goto(`${tested.url}/projects/${projectId}`);
    await page.waitForURL(`${tested.url}/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says by itself that the service does not answer, and that it is back', async () => {
    const { projectId, cadiz } = await createFilled('Stopped');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    // Nothing more is loaded that would find out.
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').some(({ name }) => /assets\/commands-/.test(name)),
    );
    const away = page.getByText('Cadiz does not answer.');
    await tested.whileStopped(() => away.waitFor({ timeout: 30_000 }));
    await away.waitFor({ state: 'detached' });
    await page.context().close();
  });

  test('says until when the service asks to wait, also in the dialog that waits', async () => {
    const projectId = await tested.createProject('Waits');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.route('**/api/storage/folders', async (route) => {
      const body = { title: 'Too many requests.', status: 429, code: 'rate_limited' };
      await route.fulfill({
        status: 429,
        contentType: 'application/problem+json',
        headers: { 'Retry-After': '20' },
        json: body,
      });
    });
    await page.getByRole('button', { name: 'New folder' }).click();
    const dialog = page.getByRole('dialog', { name: 'New folder' });
    await dialog.getByRole('textbox').fill('Waits');
    await page.keyboard.press('Enter');
    await dialog.getByText(/^Cadiz asks to wait until \d\d:\d\d:\d\d, and goes on then\.$/).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.keyboard.press('Escape');
    // Whether anything goes on is not said where nothing may be waiting.
    await page
      .locator('.strip')
      .getByText(/^Cadiz asks to wait until \d\d:\d\d:\d\d\.$/)
      .waitFor();
    // It goes on although the dialog is closed.
    await page.getByRole('link', { name: 'Waits', exact: true }).first().waitFor();
    await page.locator('.strip').waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says that the service has not answered yet, and goes on once it has', async () => {
    const { projectId, cadiz } = await createFilled('Slow');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner('/account');
    await page.getByRole('heading', { name: 'Account' }).waitFor();
    const { over, release } = createHold();
    await page.route(/\/api\//, async (route) => {
      await over;
      await route.continue();
    });
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await page.getByRole('status').getByText('Cadiz has not answered yet.').waitFor();
    release();
    await page.getByRole('link', { name: 'a.txt' }).waitFor();
    expect(await page.getByText('Cadiz has not answered yet.').count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has bars where the rows will be, if they do not come at once', async () => {
    const { projectId, cadiz } = await createFilled('Bars');
    await fill(cadiz, ['a.txt'], (await cadiz.folders.create('m')).id);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'm').waitFor();
    const bar = page.locator('.list .skel').first();
    const placeOf = async (one: Locator) => {
      const box = await one.boundingBox();
      return [box?.x, box?.y];
    };
    const leftOf = async (one: Locator) => (await placeOf(one))[0];
    const name = page.getByRole('link', { name: 'm', exact: true });
    const places = [await leftOf(name), await placeOf(page.locator('.thead')), await placeOf(rowOf(page, 'm'))];
    for (const [width, view] of [
      [1440, ''],
      [390, ''],
      [390, '?view=grid'],
      [1440, '?view=grid'],
    ] as const) {
      const held = createHold();
      await page.setViewportSize({ width, height: 900 });
      await page.route(/\/api\/storage\/list\?/, async (route) => {
        await held.over;
        await route.continue();
      });
      await page.goto(`${tested.url}/projects/${projectId}/files${view}`);
      await bar.waitFor();
      if (width === 1440 && view === '') {
        const row = page.locator('.list .row').first();
        expect([await leftOf(bar), await placeOf(page.locator('.thead')), await placeOf(row)]).toEqual(places);
      }
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await findBarriers(page)).toEqual([]);
      held.release();
      await name.waitFor();
      expect(await bar.count()).toBe(0);
      await page.unrouteAll({ behavior: 'wait' });
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says how long ago something was, also later', async () => {
    const { projectId, cadiz } = await createFilled('Later');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner('/projects');
    await page.clock.install();
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').getByText('now').waitFor();
    // Any answer says what time it is.
    await page.context().setOffline(true);
    await page.clock.fastForward('20:00');
    await rowOf(page, 'a.txt').getByText('20 minutes ago').waitFor();
    await page.context().setOffline(false);
    await page.route('**/api/storage/list?*', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const file of json.files) file.createdAt = new Date(Date.now() - 3_580_000).toISOString();
      await route.fulfill({ response, json });
    });
    await page.reload();
    await rowOf(page, 'a.txt').getByText('1 hour ago').waitFor();
    await page.context().close();
  });

  test('says so to somebody who has lost access', async () => {
    const { projectId, cadiz } = await createFilled('Lost');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click();
    const path = `/api/projects/${projectId}/members`;
    const { members } = await tested.ask<{ members: { userId: string; role: string }[] }>('GET', path);
    const vera = members.find(({ role }) => role === 'editor');
    await tested.ask('DELETE', `${path}/${vera?.userId}`);
    await page.keyboard.press('Delete');
    await page.getByRole('heading', { name: 'There is no such project' }).first().waitFor();
    expect(await namesIn(cadiz, null)).toEqual(['a.txt']);
    expect(await findBarriers(page)).toEqual([]);
    await page.context().close();
  });

  test('says in its own words that something else has answered, and counts nothing that was not read', async () => {
    const { projectId, cadiz } = await createFilled('Proxy');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner('/projects', { locale: 'de-DE' });
    await page.route('**/api/storage/list**', (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }),
    );
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    const alert = page.getByRole('alert').filter({ hasText: 'hat an seiner Stelle geantwortet (502)' });
    await alert.waitFor();
    const shown = await page.locator('main').innerText();
    for (const word of ['baseUrl', 'Bad gateway', '10.000']) expect(shown).not.toContain(word);
    await page.unrouteAll();
    await alert.getByRole('button', { name: 'Noch einmal' }).click();
    await rowOf(page, 'a.txt').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a refusal puts back what was shown and says why; a listing that failed is tried again', async () => {
    const { projectId, cadiz } = await createFilled('Refusals');
    await fill(cadiz, ['a.txt']);
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, { permissions });
    await rowOf(page, 'a.txt').waitFor();
    const fail = (status: number, code: string) => ({
      status,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        type: 'x',
        title: 'No',
        status,
        detail: `The reason is ${code}.`,
        code,
        requestId: 'r-1',
      }),
    });
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/storage/bulk', async (route) => {
      await answered;
      await route.fulfill(fail(403, 'role_missing'));
    });
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('Delete');
    // It goes before the service has answered.
    await rowOf(page, 'a.txt').waitFor({ state: 'detached' });
    // Also where the listing cannot be read again.
    await page.route('**/api/storage/list?**', (route) => route.fulfill(fail(403, 'role_missing')));
    answer();
    await page.getByText('The reason is role_missing.').first().waitFor();
    await rowOf(page, 'a.txt').waitFor();
    expect(await namesIn(cadiz, null)).toEqual(['a.txt']);
    await page.locator('.toast').getByRole('button', { name: 'Copy the details' }).click();
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await expect.poll(copied).toBe('role_missing r-1: The reason is role_missing.');
    expect(await findBarriers(page)).toEqual([]);

    await page.reload();
    const failure = page.getByRole('alert').filter({ hasText: 'The reason is role_missing.' });
    await failure.getByRole('heading', { name: 'This folder could not be listed' }).waitFor();
    await failure.getByText('r-1').waitFor();
    await failure.getByRole('link', { name: 'Go to your projects' }).waitFor();
    // The owner of the service can look there for what is wrong.
    await failure.getByRole('link', { name: 'System health' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    // It stays while it is tried again, and so does the focus.
    await page.unroute('**/api/storage/list?**');
    const { over, release } = createHold();
    await page.route('**/api/storage/list?**', async (route) => {
      await over;
      await route.continue();
    });
    const retry = page.getByRole('button', { name: 'Retry' });
    await retry.press('Enter');
    await page.locator('[aria-busy=true]').waitFor();
    await page.getByText('Cadiz has not answered yet.').waitFor();
    expect(await retry.evaluate((one) => one === document.activeElement)).toBe(true);
    release();
    await rowOf(page, 'a.txt').waitFor();
    await failure.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says in German why a name is refused', async () => {
    const projectId = await tested.createProject('Deutsch');
    const cadiz = await tested.connect(projectId);
    await cadiz.folders.create('Urlaub');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, { locale: 'de-DE' });
    await page.getByRole('row', { name: 'Urlaub' }).click();
    await page.keyboard.press('F2');
    await page.getByLabel('Neuer Name').fill('Urlaub/2027');
    await page.keyboard.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/^So kann das nicht heißen/)
      .waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog', { name: 'Neuer Ordner' });
    await dialog.getByRole('textbox').fill('URLAUB');
    await page.keyboard.press('Enter');
    await dialog.getByText('Hier gibt es schon einen Ordner mit diesem Namen.').waitFor();
    await dialog.getByRole('textbox').fill('a/b');
    await page.keyboard.press('Enter');
    await dialog
      .getByText(/^So kann das nicht heißen/)
      .first()
      .waitFor();
    expect(await dialog.textContent()).not.toMatch(/must|already/);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says in German why types, limits and origins are refused', async () => {
    const projectId = await tested.createProject('Grenzen');
    const page = await tested.openAsOwner(`/projects/${projectId}/settings`, { locale: 'de-DE' });
    const save = page.getByRole('button', { name: 'Speichern' });
    const says = (words: RegExp) => page.getByRole('alert').getByText(words).first().waitFor();
    await page.getByLabel('Erlaubte Typen').fill('image/*\nBilder');
    await save.click();
    await says(/^Ein Dateityp sieht aus wie application\/pdf/);
    await page.getByLabel('Erlaubte Typen').fill('');
    await page.getByLabel('Größte Datei', { exact: true }).fill('-1');
    await save.click();
    await says(/^Das muss eine ganze Zahl von Bytes sein, ab 0/);
    await page.getByRole('button', { name: 'Verwerfen' }).click();

    await page.goto(`${tested.url}/projects/${projectId}/tickets`);
    await page.getByRole('button', { name: 'Ticket anlegen' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Seiten, die es verwenden dürfen').fill('https://www.example.com/pfad');
    await dialog.getByRole('button', { name: 'Ticket anlegen' }).click();
    await says(/^Ein Ursprung sieht aus wie https:/);
    expect(await dialog.innerText()).not.toMatch(/must|such as/);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a search goes on until it has found something, or everything has been looked through', async () => {
    const { projectId, cadiz } = await createFilled('Late finds');
    await fill(cadiz, ['needle.txt', 'other.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'other.txt').waitFor();
    // As the service answers when a large project takes long to look through.
    let empty = 0;
    await page.route('**/api/storage/list?**search=**', async (route) => {
      const url = new URL(route.request().url());
      const cursor = url.searchParams.get('cursor');
      if (cursor !== 'more-2') {
        empty += 1;
        const json = { files: [], folders: [], breadcrumbs: [], nextCursor: cursor ? 'more-2' : 'more-1', total: null };
        return route.fulfill({ json });
      }
      url.searchParams.delete('cursor');
      return route.continue({ url: url.href });
    });
    await page.keyboard.press('/');
    await page.keyboard.type('needle');
    await rowOf(page, 'needle.txt').waitFor();
    await rowOf(page, 'other.txt').waitFor({ state: 'detached' });
    expect(empty).toBeGreaterThanOrEqual(2);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('nowhere');
    await page.getByText('Nothing is called “nowhere” here').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('lets viewers look, and no more', async () => {
    const { projectId, cadiz } = await createFilled('Looked at');
    await cadiz.folders.ensure(['folder']);
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: /Download/ }).waitFor();
    const labels = await page.getByRole('menuitem').allInnerTexts();
    expect(labels.map((label) => label.split('\n')[0])).toEqual(['Open', 'Download', 'Copy file ID', 'Details']);
    await page.keyboard.press('Escape');
    await rowOf(page, 'a.txt').click();
    for (const key of ['F2', 'm', 'n', 'Delete']) await page.keyboard.press(key);
    await page.getByText('1 selected').waitFor();
    expect(await dialogOf(page).count()).toBe(0);
    expect(await page.getByLabel('New name').count()).toBe(0);
    expect(await page.getByRole('button', { name: /^(?:Delete|Move|New folder)$/ }).count()).toBe(0);
    await rowOf(page, 'a.txt').dragTo(rowOf(page, 'folder'));
    expect(await namesIn(cadiz, null)).toEqual(['folder', 'a.txt']);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'folder', exact: true }).click();
    await page.getByText('This folder is empty').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('takes back what was done, one change after the other, also when the message is gone', async () => {
    const { projectId, cadiz } = await createFilled('Undone');
    await cadiz.folders.ensure(['a', 'b', 'c']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a').click();
    await page.keyboard.press('F2');
    await page.keyboard.type('z');
    await page.keyboard.press('Enter');
    await rowOf(page, 'z').waitFor();
    await rowOf(page, 'c').dragTo(rowOf(page, 'b'));
    await page.getByText('1 item moved to b').waitFor();
    await rowOf(page, 'b').click();
    // As on keyboards without a key for that.
    await page.keyboard.press('Control+Backspace');
    await dialogOf(page)
      .getByRole('button', { name: 'Delete 1 folder' })
      .or(dialogOf(page).getByRole('button', { name: /^Delete/ }))
      .first()
      .click();
    await rowOf(page, 'b').waitFor({ state: 'detached' });
    await page.getByText('1 item moved to the trash').waitFor();
    for (const expected of [
      ['b', 'z'],
      ['b', 'c', 'z'],
      ['a', 'b', 'c'],
    ]) {
      await page.keyboard.press('Control+z');
      await expect.poll(() => namesIn(cadiz, null)).toEqual(expected);
      await expect.poll(() => page.locator('[role=row] .open').allInnerTexts()).toEqual(expected);
    }
    // There is nothing more; and a field has its own.
    await page.keyboard.press('Control+z');
    await page.keyboard.press('/');
    await page.keyboard.press('Control+z');
    expect(await namesIn(cadiz, null)).toEqual(['a', 'b', 'c']);
    await page.getByText('Taken back').waitFor();

    // It is said while the service takes its time, however it was asked for.
    await fill(cadiz, ['slow.txt']);
    await rowOf(page, 'slow.txt').click();
    await page.keyboard.press('Delete');
    const undo = page.getByRole('button', { name: 'Undo', exact: true });
    await undo.waitFor();
    const hold = createHold();
    await page.route(/\/api\/storage\/.*restore/, async (route) => {
      await hold.over;
      await route.continue();
    });
    await undo.click();
    await page.getByText('Taking it back…').waitFor();
    // What was said before goes away first.
    await expect.poll(() => page.getByText('Taken back').count()).toBe(0);
    hold.release();
    await page.getByText('Taken back').waitFor();
    await rowOf(page, 'slow.txt').waitFor();
    // The keys go on in the list: the button that was clicked is gone, and so is what closes a message.
    const hasRowFocus = () => page.evaluate(() => document.activeElement?.role === 'row');
    expect(await hasRowFocus()).toBe(true);
    await page.locator('.toast').locator('.icon').click();
    await page.getByText('Taken back').waitFor({ state: 'detached' });
    expect(await hasRowFocus()).toBe(true);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('takes back a change that the service has not answered yet, and none before it', async () => {
    const { projectId, cadiz } = await createFilled('Soon undone');
    await fill(cadiz, ['a.txt', 'b.txt', 'c.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('Delete');
    await page.getByText('1 item moved to the trash').waitFor();

    const hold = createHold();
    await page.route('**/api/storage/bulk', async (route) => {
      await hold.over;
      await route.continue();
    });
    await rowOf(page, 'b.txt').click();
    await page.keyboard.press('Delete');
    await rowOf(page, 'b.txt').waitFor({ state: 'detached' });
    // The message is still about the one before, which nobody means now.
    await expect.poll(() => page.locator('.toast').allInnerTexts()).toEqual(['1 item moved to the trash']);
    await page.keyboard.press('Control+z');
    hold.release();
    await page.getByText('Taken back').waitFor();
    await rowOf(page, 'b.txt').waitFor();
    expect(await namesIn(cadiz, null)).toEqual(['b.txt', 'c.txt']);

    // What is refused has come back by itself, and the change before it stays.
    await page.unroute('**/api/storage/bulk');
    const refused = createHold();
    await page.route('**/api/storage/bulk', async (route) => {
      await refused.over;
      await route.fulfill({ status: 403, json: { code: 'role_missing', detail: 'Not you.' } });
    });
    await rowOf(page, 'c.txt').click();
    await page.keyboard.press('Delete');
    await rowOf(page, 'c.txt').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+z');
    refused.release();
    await rowOf(page, 'c.txt').waitFor();
    await page.unroute('**/api/storage/bulk');
    expect(await namesIn(cadiz, null)).toEqual(['b.txt', 'c.txt']);
    await page.keyboard.press('Control+z');
    await rowOf(page, 'a.txt').waitFor();
    await page.context().close();
  });

  test('says that something is deleted or moved if only the answer was lost, and that it is not if nothing arrived', async () => {
    const { projectId, cadiz } = await createFilled('Lost answers');
    const { id } = await cadiz.folders.create('Kept');
    await fill(cadiz, ['a.txt', 'b.txt', 'c.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a.txt').click();
    await page.route('**/api/storage/bulk', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.keyboard.press('Delete');
    await page.getByText('1 item moved to the trash').waitFor();
    await rowOf(page, 'b.txt').dragTo(rowOf(page, 'Kept'));
    await page.getByText('1 item moved to Kept').waitFor();
    expect(await namesIn(cadiz, null)).toEqual(['Kept', 'c.txt']);
    await page.unroute('**/api/storage/bulk');
    await page.keyboard.press('Control+z');
    await expect.poll(() => namesIn(cadiz, id)).toEqual([]);
    await page.keyboard.press('Control+z');
    await rowOf(page, 'a.txt').waitFor();

    await page.route('**/api/storage/bulk', (route) => route.abort());
    await rowOf(page, 'c.txt').click();
    await page.keyboard.press('Delete');
    await page.getByText(/reach/).waitFor();
    await rowOf(page, 'c.txt').waitFor();
    await page.context().close();
  });

  test('says that something found is moved if only the answer was lost, since it is found at its new place', async () => {
    const { projectId, cadiz } = await createFilled('Lost answers of a search');
    await cadiz.folders.create('Kept');
    await fill(cadiz, ['a.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files?q=a.txt&scope=project`);
    await page.route('**/api/storage/bulk', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('m');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Kept', exact: true }).click();
    await dialog.getByRole('button', { name: 'Move to Kept' }).click();
    await page.getByText('1 item moved to Kept').waitFor();
    await rowOf(page, 'a.txt').getByRole('link', { name: 'Kept' }).waitFor();
    await page.context().close();
  });

  test('leaves what is selected to the place where it was selected, whatever is searched for', async () => {
    const { projectId, cadiz } = await createFilled('Searched');
    await fill(cadiz, ['undefined.txt', 'other.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'undefined.txt').click();
    await page.getByText('1 selected').waitFor();
    await page.getByLabel('Search this folder').fill('undefined');
    await page.getByText('1 found').waitFor();
    expect(await page.getByText('1 selected').count()).toBe(0);
    await page.context().close();
  });

  test('has room for the name of a folder on a phone, and leads to the one above', async () => {
    const { projectId, cadiz } = await createFilled('A project with a long name');
    const [inner] = await cadiz.folders.ensure(['Campaigns of last year/Autumn harbour']);
    const at = `/projects/${projectId}/files/${inner?.id}`;
    const page = await tested.openAsOwner(at, { viewport: { width: 360, height: 640 }, hasTouch: true });
    const name = page.getByText('Autumn harbour').and(page.locator('[aria-current=page] *'));
    const isWhole = () => name.evaluate(({ parentElement: one }) => one !== null && one.scrollWidth <= one.clientWidth);
    await name.waitFor();
    await expect.poll(isWhole).toBe(true);
    // The search is a button until it is used.
    const search = page.getByLabel('Search this folder');
    const width = async () => (await search.locator('..').boundingBox())?.width ?? 0;
    expect(await width()).toBeLessThan(50);
    await search.locator('..').click();
    await page.keyboard.type('x');
    expect(await width()).toBeGreaterThan(150);
    await page.waitForURL(/q=x/);
    expect(await findBarriers(page)).toEqual([]);
    await search.fill('');
    await page.getByText('This folder is empty').click();
    await page.getByRole('link', { name: 'The folder above' }).click();
    await rowOf(page, 'Autumn harbour').waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    await rowOf(page, 'Autumn harbour').click();
    await page.keyboard.press('Control+ArrowUp');
    await rowOf(page, 'Campaigns of last year').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('shows the folder that is open, however long the names above it are', async () => {
    const { projectId, cadiz } = await createFilled(
      `A project with ${'a very long name and '.repeat(8)}`.slice(0, 200),
    );
    const beside = `${'above '.repeat(30).trim()}/Rechnungen/${'below '.repeat(30).trim()}`;
    const [inner] = await cadiz.folders.ensure([
      `${'outer '.repeat(40)}/b/c/d/${'inner '.repeat(30)}/here`,
      'last year/its last days/The harbour in the first light, all of them',
      beside,
    ]);
    const long = (await cadiz.folders.getByPath('last year/its last days/The harbour in the first light, all of them'))
      .id;
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${inner?.id}`);
    const here = page.locator('.crumbs [aria-current=page]');
    await here.waitFor();
    for (const width of [1440, 1024, 768]) {
      await page.setViewportSize({ width, height: 900 });
      const search = await page.getByLabel('Search this folder').locator('..').boundingBox();
      for (const crumb of await page.locator('.crumbs > li').all()) {
        const box = await crumb.boundingBox();
        expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(search?.x ?? 0);
        expect(box?.width).toBeGreaterThan(20);
      }
      expect(await here.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    }
    // A short name between long ones is not cut at all.
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${tested.url}/projects/${projectId}/files/${(await cadiz.folders.getByPath(beside)).id}`);
    const short = page.locator('.crumbs').getByRole('link', { name: 'Rechnungen' });
    await short.waitFor();
    for (const width of [1440, 1024]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await short.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    }
    // The names above it are cut before its own is.
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${tested.url}/projects/${projectId}/files/${long}`);
    await here.getByText('all of them').waitFor();
    expect(await here.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('downloads a file as itself, and folders as one ZIP that the service makes', async () => {
    const { projectId, cadiz } = await createFilled('Downloads');
    await cadiz.folders.ensure(['photos/raw']);
    await fill(cadiz, ['one.txt', 'two.txt'], 'photos/raw');
    await fill(cadiz, ['letter.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const download = async (name: string) => {
      await rowOf(page, name).click();
      const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Shift+D')]);
      return saved;
    };
    const letter = await download('letter.txt');
    expect(letter.suggestedFilename()).toBe('letter.txt');
    expect(await readFile(await letter.path(), 'utf8')).toBe('This is letter.txt.');
    const archive = await download('photos');
    expect(archive.suggestedFilename()).toBe('photos.zip');
    // Streamed by the service, not put together in the page.
    expect(archive.url()).toMatch(/^http:/);
    if (hasZipTools)
      expect((await readZip(await archive.path())).map(({ name }) => name)).toEqual(
        expect.arrayContaining(['photos/raw/one.txt', 'photos/raw/two.txt']),
      );
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says so if the store refuses what is downloaded', async () => {
    const { projectId, cadiz } = await createFilled('Refused downloads');
    await fill(cadiz, ['letter.txt']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const said = page.getByText('The download failed');
    await rowOf(page, 'letter.txt').click();
    await Promise.all([page.waitForEvent('download'), page.keyboard.press('Shift+D')]);
    expect(await said.count()).toBe(0);
    const refusal = { status: 503, contentType: 'application/xml', body: '<Error><Code>SlowDown</Code></Error>' };
    await page.route(/X-Amz-Signature/, (route) => route.fulfill(refusal));
    await page.keyboard.press('Shift+D');
    await said.waitFor();
    await expect.poll(() => page.locator('iframe').count()).toBe(1);
    await page.context().close();
  });

  test('a new name waits for the end of a composition, and leaves the focus where it has gone', async () => {
    const { projectId, cadiz } = await createFilled('Composed');
    await cadiz.folders.ensure(['a', 'b']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a').click();
    await page.keyboard.press('F2');
    const field = page.getByLabel('New name');
    await field.waitFor();
    // Enter, Escape and Tab are for the window of the input method.
    const keyboard = await page.context().newCDPSession(page);
    await keyboard.send('Input.imeSetComposition', { text: 'にほ', selectionStart: 2, selectionEnd: 2 });
    for (const key of ['Enter', 'Tab', 'Escape'])
      await keyboard.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', key, code: key, windowsVirtualKeyCode: 229 });
    await keyboard.send('Input.insertText', { text: '日本' });
    await page.keyboard.press('Enter');
    await rowOf(page, '日本').waitFor();

    await rowOf(page, 'b').click();
    await page.keyboard.press('F2');
    await field.waitFor();
    await page.keyboard.type('c');
    const answer = createHold();
    await page.route('**/api/storage/folders/*', async (route) => {
      await answer.over;
      await route.continue();
    });
    const search = page.getByLabel('Search this folder');
    await search.click();
    await page.keyboard.type('c');
    answer.release();
    await rowOf(page, 'c').waitFor();
    await field.waitFor({ state: 'detached' });
    await page.keyboard.type('d');
    await expect.poll(() => search.inputValue()).toBe('cd');
    expect(await namesIn(cadiz, null)).toEqual(['c', '日本']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('keeps the name of a file that somebody else deletes open, and does nothing to the next', async () => {
    const { projectId, cadiz } = await createFilled('Deleted names');
    await fill(cadiz, ['a.txt', 'b.txt']);
    const [a, b] = (await cadiz.files.page({ sort: 'name' })).files;
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const field = page.getByLabel('New name');
    await rowOf(page, 'a.txt').click();
    await page.keyboard.press('F2');
    await page.keyboard.type('har');
    await cadiz.files.delete(a?.id ?? '');
    await page.getByText('It is no longer in this list').waitFor();
    await page.keyboard.type('bour');
    await page.keyboard.press('Delete');
    expect(await field.inputValue()).toBe('harbourtxt');
    await page.keyboard.press('Enter');
    // The service says more of it.
    await page.getByRole('alert').filter({ hasText: 'There is no such file' }).waitFor();
    expect(await namesIn(cadiz, null)).toEqual(['b.txt']);
    expect(await page.getByRole('dialog').count()).toBe(0);
    // Whoever leaves it goes on at the next.
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await expect.poll(() => textOfFocus(page)).toContain('b.txt');

    // It is so for the only one too, and for a click elsewhere.
    await page.keyboard.press('F2');
    await cadiz.files.delete(b?.id ?? '');
    await page.getByText('It is no longer in this list').waitFor();
    await page.keyboard.type('harbour');
    expect(await field.inputValue()).toBe('harbour.txt');
    await page.getByLabel('Search this folder').click();
    await field.waitFor({ state: 'detached' });
    await page.getByText('Drop files or folders here').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('renames one after the other with Tab, and keeps a name that is refused open', async () => {
    const { projectId, cadiz } = await createFilled('Names');
    await cadiz.folders.ensure(['a', 'b', 'c']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(page, 'a').click();
    await page.keyboard.press('F2');
    await page.getByLabel('New name').fill('B');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('New name').fill('aa');
    await page.keyboard.press('Tab');
    await expect.poll(() => page.getByLabel('New name').inputValue()).toBe('b');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('row');
    expect(await namesIn(cadiz, null)).toEqual(['aa', 'b', 'c']);

    // Of a file, the extension is not selected, and stays.
    await fill(cadiz, ['sea.tar.gz']);
    await rowOf(page, 'sea.tar.gz').click();
    await page.keyboard.press('F2');
    await page.keyboard.type('harbour');
    // Until the service has answered, nothing can be typed that would be lost.
    const answer = createHold();
    await page.route('**/api/storage/files/*', async (route) => {
      await answer.over;
      await route.continue();
    });
    await page.keyboard.press('Enter');
    await page.locator('.rename-in .spin').waitFor();
    await page.keyboard.type('lost');
    expect(await page.getByLabel('New name').inputValue()).toBe('harbour.gz');
    answer.release();
    await rowOf(page, 'harbour.gz').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
