import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findFlaws, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});
afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };

/** Uploads a picture as somebody does who has it on their disk. */
async function upload(page: Page, name: string): Promise<void> {
  const bytes = await page.evaluate(() => {
    const canvas = document.createElement('canvas');
    canvas.width = 800;
    canvas.height = 600;
    canvas.getContext('2d')?.fillRect(0, 0, 400, 300);
    return canvas.toDataURL('image/jpeg').split(',')[1] ?? '';
  });
  const button = page.getByRole('button', { name: 'Upload', exact: true }).first();
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button.click()]);
  await chooser.setFiles([{ name, mimeType: 'image/jpeg', buffer: Buffer.from(bytes, 'base64') }]);
  await page.getByRole('link', { name, exact: true }).waitFor();
}

/** Whether a picture in an element has been loaded. */
const isSeen = (page: Page, selector: string) =>
  page.locator(`${selector} img`).evaluateAll((all) => all.some((one) => (one as HTMLImageElement).naturalWidth > 0));

describe.runIf(triesJourneys)('somebody who is new', () => {
  test('sees pictures in the list and with the project, makes a folder by keys, and restores on a phone', async () => {
    const projectId = await tested.createProject('Harbour Journal');
    const files = `/projects/${projectId}/files`;
    const page = await tested.openAsOwner(files);
    // What there is to read is no wider than it can be read.
    const begin = page.locator('.dropzone');
    for (const [width, wanted, title] of [
      [1440, 720, 'Drop files or folders here'],
      // Nothing can be dropped on a phone.
      [390, 358, 'Add your first files'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await begin.getByRole('heading', { name: title }).waitFor();
      await expect.poll(async () => (await begin.boundingBox())?.width).toBe(wanted);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await upload(page, 'at dawn.jpg');
    // Made because somebody looks at it: nothing has asked for the picture in small before.
    await expect.poll(() => isSeen(page, '[role=row]')).toBe(true);

    // By the button, and by its key: what is typed goes into the field, not to the cross.
    for (const [name, open] of [
      ['Press', () => page.getByRole('button', { name: 'New folder' }).click()],
      ['Covers', () => page.keyboard.press('n')],
    ] as const) {
      await open();
      const field = page.getByRole('dialog', { name: 'New folder' }).getByLabel('Name of the folder');
      await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true);
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name, exact: true }).waitFor();
    }

    for (let count = 2; count <= 14; count += 1) await tested.createProject(`Project ${count}`);
    await page.goto(`${tested.url}/projects`);
    const card = page.getByRole('link', { name: /Harbour Journal/ });
    await card.getByText('Owner').waitFor();
    await expect.poll(() => isSeen(page, '.proj')).toBe(true);
    // The last one can be scrolled to, and has room for its words.
    const last = page.getByRole('link', { name: /Project 14/ });
    await last.scrollIntoViewIfNeeded();
    await expect.poll(() => last.evaluate((one) => one.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
    expect((await card.boundingBox())?.height).toBeGreaterThan(150);
    expect(await findFlaws(page)).toEqual([]);
    await page.context().close();

    const { files: listed } = await tested.ask<{ files: { id: string }[] }>(
      'GET',
      `/api/storage/list?projectId=${projectId}`,
    );
    await tested.ask('DELETE', `/api/storage/files/${listed[0]?.id}`);
    const small = await tested.openAsOwner(`/projects/${projectId}/trash`, phone);
    const restore = small.getByRole('button', { name: 'Restore' });
    await restore.waitFor();
    const box = await restore.boundingBox();
    expect(small.viewportSize()).toEqual(phone.viewport);
    expect((box?.x ?? 0) + (box?.width ?? Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(390);
    expect(await findFlaws(small)).toEqual([]);
    // It has looked at the page in other sizes.
    await small.setViewportSize(phone.viewport);
    await small.goto(`${tested.url}${files}?q=a&scope=project`);
    const grid = small.getByRole('button', { name: 'Grid' });
    await grid.waitFor();
    expect(((await grid.boundingBox())?.x ?? 390) + 20).toBeLessThan(390);
    expect(await findFlaws(small)).toEqual([]);
    await small.context().close();
    expect(tested.complaints).toEqual([]);
  });

  test('reads what is known of projects once they are seen', async () => {
    for (let nth = 0; nth < 40; nth++) await tested.createProject(`One of many ${nth}`);
    const page = await tested.openAsOwner('/account');
    const read = new Set<string>();
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/api/storage/usage') read.add(searchParams.get('projectId') ?? '');
    });
    await page.goto(`${tested.url}/projects`);
    const last = page.getByRole('link', { name: 'One of many 39' });
    await page.getByRole('link').getByText('0 files').first().waitFor();
    expect(read.size).toBeLessThan(30);
    await last.scrollIntoViewIfNeeded();
    await last.getByText('0 files').waitFor();
    await last.getByText('Owner').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
