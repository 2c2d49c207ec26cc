import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertFiles } from '../bench/harness/many-files.mjs';
import { type ConsoleUnderTest, findBarriers, startConsole, triesJourneys, untilFollowing } from './console-page.ts';

const many = 100_000;
const some = 1300;

let tested: ConsoleUnderTest;
let projectId: string;
/** The folders, by their names. */
let ids: Record<string, string>;

beforeAll(async () => {
  if (!triesJourneys) return;
  // There are only rows, without objects.
  tested = await startConsole({ CADIZ_WITHOUT_OBJECTS: 'on' });
  projectId = await tested.createProject('Large');
  const { folders } = await tested.ask<{ folders: { id: string; name: string }[] }>(
    'POST',
    '/api/storage/folders/ensure',
    { projectId, parentId: null, paths: ['many', 'some', 'some/one', 'some/two'] },
  );
  ids = Object.fromEntries(folders.map(({ id, name }) => [name, id]));
  await tested.whileStopped(({ CADIZ_DATA_DIR: dataDir = '', DATABASE_URL: url }) =>
    insertFiles({ name: 'tested', dataDir, ...(url !== undefined && { url }) }, [
      { projectId, folderId: ids.many ?? '', count: many },
      { projectId, folderId: ids.some ?? '', count: some, first: many + 1 },
    ]),
  );
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

/** The names of what `insertFiles` has made, as the service sorts them. */
const toNames = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => `Ferien am Meer ${first + index}.jpg`).sort((a, b) =>
    a.toUpperCase() < b.toUpperCase() ? -1 : 1,
  );

/** The names of the rows or tiles in sight, from top to bottom. */
const shownIn = (page: Page) =>
  page
    .locator('[role=grid] .open')
    .evaluateAll((all) =>
      all
        .filter((one) => one.getBoundingClientRect().bottom > 0 && one.getBoundingClientRect().top < innerHeight)
        .map(({ ariaLabel }) => ariaLabel ?? ''),
    );
const focused = (page: Page) => page.evaluate(() => document.activeElement?.querySelector('.open')?.ariaLabel ?? '');
const grid = (page: Page) => page.getByRole('grid');
const scrollTo = (page: Page, share: number) =>
  grid(page).evaluate((list, share) => {
    list.scrollTop = list.scrollHeight * share;
  }, share);

/** Whether names stand together in this order, with nothing left out between them. */
function areConsecutive(names: readonly string[], all: readonly string[]): boolean {
  const start = all.indexOf(names[0] ?? '');
  return start >= 0 && names.every((name, index) => all[start + index] === name);
}

const listings = '**/api/storage/list?*';

/** Counts the pages of listings that are asked for. Those that are read again after a while count once. */
function countRequests(page: Page): () => number {
  const asked = new Set<string>();
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/storage/list') asked.add(request.url());
  });
  return () => asked.size;
}

/** Keeps back what is asked of listings, until it is released. */
async function holdListings(page: Page): Promise<() => Promise<void>> {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(listings, async (route) => {
    await promise;
    await route.continue();
  });
  return async () => {
    release();
    await page.unrouteAll({ behavior: 'wait' });
  };
}

describe.runIf(triesJourneys)('a folder of 100,000 files', () => {
  test('is gone through from both ends, with few requests', async () => {
    const names = toNames(1, many);
    const page = await tested.openAsOwner('/');
    const requests = countRequests(page);
    await page.goto(`${tested.url}/projects/${projectId}/files/${ids.many}`);
    await page.getByText('More than 10,000 items').waitFor();
    await page
      .getByRole('row')
      .nth(1)
      .click({ position: { x: 500, y: 10 } });
    await expect.poll(() => focused(page)).toBe(names[0]);

    // By keys: to the last of all, and back.
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return focused(page);
      })
      .toBe(names.at(-1));
    await expect.poll(async () => areConsecutive(await shownIn(page), names)).toBe(true);
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Home');
    await expect.poll(() => focused(page)).toBe(names[0]);
    // By the scroll bar.
    await scrollTo(page, 1);
    await page.getByRole('link', { name: names.at(-1) ?? '', exact: true }).waitFor();
    expect(requests()).toBeLessThanOrEqual(3);

    // Upwards from the end, beyond what was read of it; nothing is left out.
    await page.keyboard.press('End');
    const pageUp = async () => {
      const before = await focused(page);
      await page.keyboard.press('PageUp');
      await expect.poll(() => focused(page)).not.toBe(before);
      await expect.poll(async () => areConsecutive(await shownIn(page), names)).toBe(true);
    };
    while (names.indexOf(await focused(page)) > many - 450) await pageUp();
    // What has not been read has a line of its own; near it, both sides are read on.
    await page.keyboard.press('Home');
    await expect.poll(() => focused(page)).toBe(names[0]);
    const release = await holdListings(page);
    const before = requests();
    await expect
      .poll(
        async () => {
          await grid(page).evaluate((list) => {
            list.scrollTop += 600;
          });
          return page.getByText('More in between').count();
        },
        { interval: 50 },
      )
      .toBe(1);
    expect(await findBarriers(page)).toEqual([]);
    await expect.poll(requests).toBe(before + 2);
    await release();

    await page.keyboard.press('Control+a');
    await page.getByRole('button', { name: 'Select everything in this folder' }).click();
    await page.getByText('Everything selected').waitFor();
    await page.keyboard.press('Escape');
    expect(requests()).toBeLessThanOrEqual(12);

    // As tiles.
    await page.keyboard.press('v');
    await page.locator('.tile').first().waitFor();
    await page
      .locator('.tile')
      .first()
      .click({ position: { x: 60, y: 60 } });
    await page.keyboard.press('End');
    await expect.poll(() => focused(page)).toBe(names.at(-1));
    await expect.poll(async () => areConsecutive(await shownIn(page), names)).toBe(true);
    expect(await findBarriers(page)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('draws what flies by in words only, and whole once it rests', async () => {
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${ids.many}`);
    const rows = grid(page)
      .getByRole('row')
      .filter({ has: page.locator('.open') });
    await rows.first().waitFor();
    const lightest = await grid(page).evaluate(async (list) => {
      const shares: number[] = [];
      for (let step = 0; step < 20; step++) {
        list.scrollTop += 300;
        await new Promise((resolve) => requestAnimationFrame(resolve));
        const all = [...list.querySelectorAll('.row')];
        shares.push(all.filter((row) => row.querySelector('input')).length / all.length);
      }
      return Math.min(...shares);
    });
    expect(lightest).toBeLessThan(0.5);
    // All of them: a box, a picture of the kind, and a menu that opens.
    await expect
      .poll(() =>
        grid(page).evaluate((list) => {
          const all = [...list.querySelectorAll('.row')];
          return all.filter((row) => ['input', '.thumb > *', 'button'].some((part) => !row.querySelector(part))).length;
        }),
      )
      .toBe(0);
    const some = rows.nth(await rows.count().then((count) => count >> 1));
    const name = await some.getByRole('link').getAttribute('aria-label');
    await some.hover();
    await some.getByRole('button', { name: `Actions of ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    expect(await page.getByLabel('New name').inputValue()).toBe(name);
    await page.keyboard.press('Escape');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('shows the last one, and those before it beyond what has been read', async () => {
    const names = toNames(1, many);
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${ids.many}`);
    await page
      .getByRole('row')
      .nth(1)
      .click({ position: { x: 500, y: 10 } });
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return focused(page);
      })
      .toBe(names.at(-1));
    await page.keyboard.press('Space');
    const title = page.locator('.view > header .name');
    await expect.poll(() => title.textContent()).toBe(names.at(-1));
    expect(await page.getByLabel('Next file').getAttribute('aria-disabled')).toBe('true');
    // Beyond 10,000, files are not counted.
    expect(await page.getByText(/^[\d,]+ of [\d,]+ files$/).count()).toBe(0);
    for (let back = 2; back <= 205; back++) {
      await page.keyboard.press('ArrowLeft');
      await expect.poll(() => title.textContent(), { interval: 10 }).toBe(names.at(-back));
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('a folder of more than a page', () => {
  test('has a place for each file among all of them, from both ends', async () => {
    const names = toNames(many + 1, some);
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${ids.some}`);
    const open = async (name: string, place: string) => {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByText(place, { exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await page.locator('.view').waitFor({ state: 'detached' });
    };
    await open(names[1] ?? '', '2 of 1,300 files');
    await scrollTo(page, 1);
    await open(names.at(-2) ?? '', '1,299 of 1,300 files');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has everything in its place when both ends have met', async () => {
    const all = ['one', 'two', ...toNames(many + 1, some)];
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${ids.some}`);
    await page.getByText('1,302 items').waitFor();
    const between = page.getByText(/more in between/);
    await expect
      .poll(
        async () => {
          await scrollTo(page, 0.5);
          return between.count();
        },
        { interval: 200 },
      )
      .toBe(0);
    const seen = new Set<string>();
    let last: string | undefined;
    await scrollTo(page, 0);
    await expect
      .poll(
        async () => {
          const shown = await shownIn(page);
          // The list may still show what it showed before it was scrolled.
          if (shown.at(-1) === last) return seen.size;
          last = shown.at(-1);
          expect(areConsecutive(shown, all)).toBe(true);
          for (const name of shown) seen.add(name);
          // Rows that were not there yet are seen the next time round.
          await grid(page).evaluate((list) => {
            const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 1;
            list.scrollTop = isAtEnd ? 0 : list.scrollTop + 300;
          });
          return seen.size;
        },
        { interval: 50 },
      )
      .toBe(all.length);
    await scrollTo(page, 1);
    await expect.poll(() => page.getByRole('row').last().getAttribute('aria-rowindex')).toBe(String(all.length + 1));
    // What comes and goes at the end is seen there.
    await page.keyboard.press('/');
    await page.keyboard.press('Tab');
    await page
      .getByRole('link', { name: all.at(-1) ?? '', exact: true })
      .locator('xpath=ancestor::*[@role="row"]')
      .click({ position: { x: 500, y: 10 } });
    await page.keyboard.press('Delete');
    await page.getByText('1,301 items').waitFor();
    await expect.poll(() => focused(page)).toBe(all.at(-2));
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('1,302 items').waitFor();
    await page.getByRole('link', { name: all.at(-1) ?? '', exact: true }).waitFor();
    // More than the service takes at once.
    await page.keyboard.press('Control+a');
    await page.getByText('1,302 selected').waitFor();
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Delete 1,300 files' }).click();
    await page.getByText('1,302 items moved to the trash').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('1,302 items', { exact: true }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has a file once that somebody else renames from its end to its start', async () => {
    const all = ['one', 'two', ...toNames(many + 1, some)];
    const [beforeLast = '', last = ''] = all.slice(-2);
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${ids.some}`);
    await page.getByText('1,302 items').waitFor();
    await scrollTo(page, 1);
    await page.getByRole('link', { name: last, exact: true }).waitFor();
    // Just after what has been read from the start: so it is read on from the end alone, until that has met the start.
    const row = (await page.getByRole('row').last().boundingBox())?.height ?? 0;
    await expect
      .poll(async () => {
        await grid(page).evaluate((list, top) => {
          list.scrollTop = top;
        }, row * 230);
        return shownIn(page);
      })
      .toContain(all[240]);
    await untilFollowing(page);
    const listed = `/api/storage/list?projectId=${projectId}&folderId=${ids.some}&order=desc&sort=name&limit=3`;
    const { files } = await tested.ask<{ files: { id: string; fileName: string }[] }>('GET', listed);
    const id = files.find(({ fileName }) => fileName === last)?.id ?? '';
    const rename = (fileName: string) => tested.ask('PATCH', `/api/storage/files/${id}`, { fileName });
    await rename('A new start.jpg');
    await scrollTo(page, 0);
    await page.getByRole('link', { name: 'A new start.jpg', exact: true }).waitFor();
    await scrollTo(page, 1);
    await page.getByRole('link', { name: beforeLast, exact: true }).waitFor();
    expect(await page.getByRole('link', { name: last, exact: true }).count()).toBe(0);
    await rename(last);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('a search of the whole project', () => {
  test('has all that it finds selected, and deletes it wherever it is, except what was taken away', async () => {
    const place = `/projects/${projectId}/files`;
    // 101, 1010 to 1019, 10100 to 10199, and 101000 to 101300, in two folders: more than a page.
    const page = await tested.openAsOwner(`${place}?q=Meer%20101&scope=project`);
    await page.getByText('412 found').waitFor();
    await page.getByRole('grid').click({ position: { x: 500, y: 60 } });
    await page.keyboard.press('Control+a');
    await page.getByRole('button', { name: 'Select all 412 found in the project' }).click();
    await page.getByText('412 selected').waitFor();
    await page
      .getByRole('checkbox', { name: /^Select Ferien/ })
      .first()
      .click();
    await page.getByText('411 selected').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Delete');
    const dialog = page.getByRole('dialog', { name: 'Delete 411 items?' });
    await dialog.getByRole('button', { name: 'Delete 411 files' }).click();
    await page.getByText('1 found').waitFor();
    // Too many to be counted by a listing: the question has the exact figures, and the deletion goes on by itself.
    await page.goto(`${tested.url}${place}?q=Ferien&scope=project`);
    await page.getByText('More than 10,000').first().waitFor();
    await page.getByRole('grid').click({ position: { x: 500, y: 60 } });
    await page.keyboard.press('Control+a');
    await page.getByRole('button', { name: 'Select everything found in the project' }).click();
    await page.getByText('Everything selected').waitFor();
    const first = page.getByRole('checkbox', { name: /^Select Ferien/ }).first();
    await first.click();
    await page.getByText('Everything but 1 selected').waitFor();
    await page.keyboard.press('Delete');
    await page.getByRole('dialog', { name: 'Delete everything but 1 found in the project?' }).waitFor();
    await page.keyboard.press('Escape');
    await first.click();
    await page.keyboard.press('m');
    await page.getByRole('dialog', { name: 'Move everything found in the project' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Delete');
    const question = page.getByRole('dialog', { name: 'Delete everything found in the project?' });
    await question.getByRole('button', { name: /^Delete 100,889 files/ }).click();
    await page
      .getByText(/of 100,889 items done/)
      .first()
      .waitFor();
    await page.getByText(/Nothing is called “Ferien” here/).waitFor({ timeout: 300_000 });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  }, 600_000);
});
