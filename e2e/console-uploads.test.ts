import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@cadiz/client';
import type { Locator, Page, Request, Route } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ConsoleUnderTest,
  createHold,
  email,
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

const toFile = (name: string, text = `This is ${name}.`, mimeType = 'text/plain') => ({
  name,
  mimeType,
  buffer: Buffer.from(text),
});

const filesOf = (page: Page) => page.locator('input[type=file][data-folder=false]').first();
const entryOf = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

async function openProject(name: string) {
  const projectId = await tested.createProject(name);
  const cadiz = await tested.connect(projectId);
  const page = await tested.openAsOwner(`/projects/${projectId}/files`);
  await page.getByText('Drop files or folders here').waitFor();
  return { projectId, cadiz, page };
}

/** What is in a folder, as its names and texts. */
async function read(cadiz: Client, folder: string | null): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const { id, fileName } of cadiz.files.list({ folder })) {
    const { url } = await cadiz.files.url(id);
    contents[fileName] = await (await fetch(url)).text();
  }
  return contents;
}

/** A folder with its children by their names, or a file with its text. */
type Tree = { [name: string]: Tree | string };

/** A file with this text, and a folder with this in it, cannot be read. */
const unreadable = 'unreadable';

/** Drops files and folders as a browser gives them. */
async function drop(page: Page, tree: Tree): Promise<void> {
  const args = [tree, unreadable] as const;
  await page.evaluate(([tree, unreadable]) => {
    type Refuse = (error: DOMException) => void;
    const refusal = new DOMException('It cannot be read.', 'NotReadableError');
    const toEntry = (path: string, content: Tree | string): object => ({
      isFile: typeof content === 'string',
      isDirectory: typeof content !== 'string',
      fullPath: path,
      name: path.split('/').at(-1) ?? '',
      file(resolve: (file: File) => void, refuse: Refuse) {
        if (content === unreadable) refuse(refusal);
        else resolve(new File([String(content)], path.split('/').at(-1) ?? ''));
      },
      createReader: () => {
        let rest = Object.entries(content).map(([name, child]) => toEntry(`${path}/${name}`, child));
        return {
          readEntries(resolve: (some: object[]) => void, refuse: Refuse) {
            if (typeof content === 'object' && unreadable in content) return refuse(refusal);
            resolve(rest.slice(0, 100));
            rest = rest.slice(100);
          },
        };
      },
    });
    const items = Object.entries(tree).map(([name, content]) => ({
      webkitGetAsEntry: () => toEntry(`/${name}`, content),
    }));
    for (const type of ['dragover', 'drop']) {
      const event = new DragEvent(type, { bubbles: true, cancelable: true });
      Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items } });
      document.body.dispatchEvent(event);
    }
  }, args);
}

/** This many names, in order. */
const names = (count: number) =>
  Array.from({ length: count }, (_, index) => `file ${String(index).padStart(3, '0')}.txt`);

/** Drags a file over something. */
const dragOver = (target: Locator) =>
  target.evaluate((element) => {
    const event = new DragEvent('dragover', { bubbles: true, cancelable: true });
    Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items: [{}] } });
    element.dispatchEvent(event);
  });

interface Hindrance {
  release(): Promise<void>;
}

const isBytes = (request: Request, part = '') => request.method() === 'PUT' && request.url().includes(part);

/** Keeps bytes from the object store until they are released. @param part only of requests with this in their address */
async function holdBytes(page: Page, part = ''): Promise<Hindrance> {
  const hold = createHold();
  const handler = async (route: Route) => {
    if (isBytes(route.request(), part)) await hold.over;
    // What the page has given up meanwhile cannot go on.
    await route.continue().catch(() => undefined);
  };
  await page.route('**/*', handler);
  return {
    async release() {
      hold.release();
      await page.unroute('**/*', handler);
    },
  };
}

/** The object store refuses files with this text. */
async function refuseBytes(page: Page, text: string): Promise<Hindrance> {
  const handler = async (route: Route) => {
    if (!isBytes(route.request()) || route.request().postData() !== text) return route.continue();
    const headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' };
    return route.fulfill({ status: 400, headers, body: 'No.' });
  };
  await page.route('**/*', handler);
  return { release: () => page.unroute('**/*', handler) };
}

async function breakNetwork(page: Page): Promise<Hindrance> {
  const handler = (route: Route) => route.abort('connectionrefused');
  await page.route('**/*', handler);
  return { release: () => page.unroute('**/*', handler) };
}

/** Notes what a screen reader is told about uploads. */
const listen = (page: Page) =>
  page.evaluate(() => {
    const said: string[] = [];
    Object.assign(globalThis, { said });
    const region = document.querySelector('p[role=status]');
    if (!region) throw new Error('Nothing is said.');
    new MutationObserver(() => said.push(region.textContent ?? '')).observe(region, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });

const heard = (page: Page) => page.evaluate(() => (globalThis as unknown as { said: string[] }).said);

/** Whether the browser asks before the page is left. Then it stays. */
async function asksBeforeLeaving(page: Page): Promise<boolean> {
  const asked = page.waitForEvent('dialog', { timeout: 2000 }).then(
    async (dialog) => {
      await dialog.dismiss();
      return true;
    },
    () => false,
  );
  await page.evaluate(() => setTimeout(() => location.reload()));
  return asked;
}

describe.runIf(triesJourneys)('uploads', () => {
  test('ask what becomes of names that are taken: once, or for all', async () => {
    const { cadiz, page } = await openProject('Same names');
    const names = ['a.txt', 'b.txt', 'c.txt'];
    await filesOf(page).setInputFiles(names.map((name) => toFile(name, 'old')));
    await page.getByRole('heading', { name: '3 files uploaded' }).waitFor();
    const ids = new Map<string, string>();
    for await (const { id, fileName } of cadiz.files.list({ folder: null })) ids.set(fileName, id);

    // Another case is the same name, as it is for folders.
    await filesOf(page).setInputFiles([
      toFile('A.txt', 'new'),
      ...['b.txt', 'c.txt', 'd.txt'].map((name) => toFile(name, 'new')),
    ]);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('“A.txt” is here already').waitFor();
    await dialog.getByText('2 more of your 4 files').waitFor();
    // The arrow keys choose at once.
    await page.waitForFunction(() => document.activeElement?.matches('[type=radio]:checked'));
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByText('Yours becomes “A (2).txt”.').waitFor();
    await dialog.getByRole('button', { name: 'Keep both' }).click();
    await dialog.getByText('“b.txt” is here already').waitFor();
    await dialog.getByText('so is the name of 1 more of your 4 files').waitFor();
    await dialog.getByLabel('Replace').check();
    await dialog.getByLabel('Do the same for the other one').check();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('heading', { name: '4 files uploaded' }).waitFor();
    const now = { 'a.txt': 'old', 'A (2).txt': 'new', 'b.txt': 'new', 'c.txt': 'new', 'd.txt': 'new' };
    expect(await read(cadiz, null)).toEqual(now);
    await entryOf(page, 'd.txt').waitFor();
    await page.getByText('5 items').waitFor();

    // The old ones went to the trash.
    const trashed: string[] = [];
    for await (const { id } of cadiz.trash.list()) trashed.push(id);
    expect(trashed.sort()).toEqual([ids.get('b.txt'), ids.get('c.txt')].sort());

    await filesOf(page).setInputFiles([toFile('a.txt', 'newer'), toFile('e.txt', 'new')]);
    await dialog.getByLabel('Skip').check();
    await dialog.getByRole('button', { name: 'Skip' }).click();
    await entryOf(page, 'e.txt').waitFor();
    expect(await read(cadiz, null)).toEqual({ ...now, 'e.txt': 'new' });

    // Nothing is uploaded if the question is left.
    await filesOf(page).setInputFiles([toFile('e.txt', 'newer'), toFile('f.txt', 'new')]);
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await read(cadiz, null)).toEqual({ ...now, 'e.txt': 'new' });

    // Twice in one drop, and in a folder that is there: the later one of two takes the place of the earlier one.
    await drop(page, { tree: { 'x.txt': 'first', empty: {} } });
    await page.getByRole('row', { name: /tree/ }).waitFor();
    await expect.poll(() => read(cadiz, 'tree')).toEqual({ 'x.txt': 'first' });
    await drop(page, { tree: { 'x.txt': 'second', 'X.TXT': 'third', 'y.txt': 'first' } });
    await dialog.getByText('There is a file').or(dialog.getByText('The name is taken in tree')).waitFor();
    await dialog.getByLabel('Replace').check();
    await dialog.getByLabel('Do the same for the other one').check();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await expect.poll(() => read(cadiz, 'tree')).toEqual({ 'x.txt': 'third', 'y.txt': 'first' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('ask about one folder that is written in two ways', async () => {
    const { cadiz, page } = await openProject('Two ways');
    await cadiz.upload(new File(['old'], 'a.txt'), { folder: 'Photos' });
    const dialog = page.getByRole('dialog');
    await drop(page, { Photos: { 'a.txt': 'first' }, photos: { 'a.txt': 'second', 'b.txt': 'third' } });
    await dialog.getByText('1 more of your 3 files').waitFor();
    await dialog.getByLabel('Do the same for the other one').check();
    await dialog.getByRole('button', { name: 'Keep both' }).click();
    await page.getByRole('heading', { name: '3 files uploaded' }).waitFor();
    const photos = { 'a.txt': 'old', 'a (2).txt': 'first', 'a (3).txt': 'second', 'b.txt': 'third' };
    expect(await read(cadiz, 'Photos')).toEqual(photos);

    // Accents may be letters of their own, and neither of the two may be there yet.
    await drop(page, { Café: { 'a.txt': 'first' }, 'Cafe\u0301': { 'a.txt': 'second' } });
    await dialog.getByText('There is a file with this name in Café.').waitFor();
    await dialog.getByLabel('Replace').check();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    expect(await read(cadiz, 'Café')).toEqual({ 'a.txt': 'second' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('ask about names that others take while a question is open, and replace nothing that is gone', async () => {
    const { cadiz, page } = await openProject('Meanwhile');
    const { id } = await cadiz.upload(new File(['old'], 'a.txt'));
    const dialog = page.getByRole('dialog');
    await filesOf(page).setInputFiles([toFile('a.txt', 'mine'), toFile('b.txt', 'mine')]);
    await dialog.getByText('“a.txt” is here already').waitFor();
    await cadiz.files.delete(id);
    await cadiz.upload(new File(['theirs'], 'b.txt'));
    await dialog.getByLabel('Replace').check();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await dialog.getByText('“b.txt” is here already').waitFor();
    await dialog.getByRole('button', { name: 'Keep both' }).click();
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    expect(await read(cadiz, null)).toEqual({ 'a.txt': 'mine', 'b.txt': 'theirs', 'b (2).txt': 'mine' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('show the pictures of both when a name is taken', async () => {
    const { page, cadiz } = await openProject('Both pictures');
    const paint = async (background: string) =>
      new Uint8Array(
        await sharp({ create: { width: 40, height: 30, channels: 3, background } })
          .png()
          .toBuffer(),
      );
    await cadiz.upload(new File([await paint('red')], 'sea.png', { type: 'image/png' }));
    await filesOf(page).setInputFiles([
      { name: 'sea.png', mimeType: 'image/png', buffer: Buffer.from(await paint('blue')) },
    ]);
    const pictures = page.getByRole('dialog').locator('.cmp-pic img');
    const isLoaded = (one: Locator) => one.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0);
    await expect.poll(() => pictures.count()).toBe(2);
    for (const one of await pictures.all()) await expect.poll(() => isLoaded(one)).toBe(true);
    expect(await pictures.last().getAttribute('src')).toMatch(/^blob:/);
    expect(await findBarriers(page)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are seen in small while they come, if the browser can show them', async () => {
    const { page } = await openProject('Seen in small');
    const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    // The browser holds what has an address until that is revoked.
    await page.evaluate(() => {
      const revoked: string[] = [];
      Object.assign(globalThis, { revoked });
      const revoke = URL.revokeObjectURL;
      URL.revokeObjectURL = (url) => {
        revoked.push(url);
        revoke(url);
      };
    });
    const held = await holdBytes(page);
    await filesOf(page).setInputFiles([
      { name: 'sea.png', mimeType: 'image/png', buffer: picture },
      // The browser would have to read all of it.
      { name: 'huge.png', mimeType: 'image/png', buffer: Buffer.concat([picture, Buffer.alloc(20_000_000)]) },
      toFile('broken.png', 'No picture.', 'image/png'),
      toFile('one.txt'),
    ]);
    const itemOf = (name: string) => page.locator('.tray-list li').filter({ hasText: name });
    const seen = itemOf('sea.png').locator('img');
    await expect.poll(() => seen.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(40);
    for (const name of ['huge.png', 'broken.png', 'one.txt']) {
      await itemOf(name).locator('.thumb svg').waitFor();
      expect(await itemOf(name).locator('img').count()).toBe(0);
    }
    const address = (await seen.getAttribute('src')) ?? '';
    expect(address).toMatch(/^blob:/);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel sea.png' }).click();
    await seen.waitFor({ state: 'detached' });
    expect(await page.evaluate(() => (globalThis as unknown as { revoked: string[] }).revoked)).toContain(address);
    await held.release();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are paused one by one: the others go on, and it goes on when it is resumed', async () => {
    const { page } = await openProject('One paused');
    const tray = page.getByRole('region', { name: 'Uploads' });
    const held = await holdBytes(page);
    await filesOf(page).setInputFiles(['one.txt', 'two.txt'].map((name) => toFile(name)));
    await tray.getByRole('button', { name: 'Pause one.txt' }).click();
    const resume = tray.getByRole('button', { name: 'Resume one.txt' });
    await resume.waitFor();
    await held.release();
    await tray.getByRole('heading', { name: 'Uploading 1 of 2' }).waitFor();
    await tray.getByText('Paused', { exact: true }).waitFor();
    await entryOf(page, 'two.txt').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await resume.click();
    await tray.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    await entryOf(page, 'one.txt').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are said to be recorded once all their bytes have arrived', async () => {
    const { page } = await openProject('Recorded');
    const hold = createHold();
    await page.route(/\/api\/storage\/record/, async (route) => {
      await hold.over;
      await route.continue();
    });
    await filesOf(page).setInputFiles([toFile('one.txt'), toFile('two.txt')]);
    const tray = page.getByRole('region', { name: 'Uploads' });
    await tray.getByText('0 done · 2 being recorded', { exact: true }).waitFor();
    hold.release();
    await tray.getByText('2 done', { exact: true }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('of which none is recorded have not arrived', async () => {
    const { page } = await openProject('Unrecorded');
    await page.route(/\/api\/storage\/record/, (route) =>
      route.fulfill({
        status: 403,
        contentType: 'application/problem+json',
        body: JSON.stringify({ type: 'about:blank', title: 'Forbidden', status: 403, code: 'forbidden' }),
      }),
    );
    await filesOf(page).setInputFiles([toFile('one.txt')]);
    const tray = page.getByRole('region', { name: 'Uploads' });
    await tray.getByRole('heading', { name: '0 files uploaded, 1 failed' }).waitFor();
    await tray.getByText('0 B of 16 B').waitFor();
    await page.context().close();
  });

  test('that the object store does not take from this page say so', async () => {
    const { page } = await openProject('Store without CORS rules');
    await page.route(/X-Amz-Signature/, (route) => route.abort());
    await filesOf(page).setInputFiles([toFile('one.txt')]);
    const tray = page.getByRole('region', { name: 'Uploads' });
    await tray.getByText('The object store could not be reached, or refuses this page').waitFor();
    expect(await tray.getByText('Cadiz could not be reached').count()).toBe(0);
    await page.context().close();
  });

  test('are counted, paused, canceled and repeated, and say how they go', async () => {
    const { page } = await openProject('Tray');
    await listen(page);
    const tray = page.getByRole('region', { name: 'Uploads' });
    const heading = (name: string) => tray.getByRole('heading', { name, exact: true });
    const held = await holdBytes(page);

    await filesOf(page).setInputFiles(['one.txt', 'two.txt', 'three.txt'].map((name) => toFile(name)));
    await heading('Uploading 0 of 3').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await tray.getByRole('button', { name: 'Cancel two.txt' }).click();
    await heading('Uploading 0 of 2').waitFor();
    await tray.getByRole('button', { name: 'Pause all' }).click();
    await tray.getByText('Paused').waitFor();
    await held.release();
    await tray.getByRole('button', { name: 'Resume all' }).click();
    await heading('2 files uploaded').waitFor();
    // The quarters in between depend on how fast the bytes go.
    const heardOf = (await heard(page)).filter((words) => !words.includes('%'));
    expect(heardOf).toEqual(['3 uploads started', '2 files uploaded']);

    // What failed stays when what is done has left, and earlier uploads are not counted.
    const refused = await refuseBytes(page, 'bad');
    await filesOf(page).setInputFiles([
      toFile('good.txt'),
      toFile('bad 1.txt', 'bad'),
      toFile('bad 2.txt', 'bad'),
      toFile('empty', '', ''),
    ]);
    await heading('2 files uploaded, 2 failed').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.mouse.move(5, 5);
    await expect.poll(() => tray.getByRole('listitem').count(), { timeout: 20_000 }).toBe(2);
    await filesOf(page).setInputFiles([toFile('later.txt')]);
    await heading('1 file uploaded').waitFor();
    await refused.release();
    await tray.getByRole('button', { name: 'Retry bad 1.txt' }).click();
    await heading('1 file uploaded').waitFor();
    await entryOf(page, 'bad 1.txt').waitFor();
    await tray.getByRole('button', { name: 'Retry failed' }).click();
    await entryOf(page, 'bad 2.txt').waitFor();
    expect(await heard(page)).toContain('2 files uploaded, 2 failed');

    // All that is canceled can be taken back; and only while something runs does leaving ask.
    const again = await holdBytes(page);
    await filesOf(page).setInputFiles(['x.txt', 'y.txt'].map((name) => toFile(name)));
    await heading('Uploading 0 of 2').waitFor();
    expect(await asksBeforeLeaving(page)).toBe(true);
    await tray.getByRole('button', { name: 'Cancel all' }).click();
    await page.getByText('2 uploads canceled').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await heading('Uploading 0 of 2').waitFor();
    await again.release();
    await heading('2 files uploaded').waitFor();
    await page.mouse.move(5, 5);
    await tray.waitFor({ state: 'detached' });
    expect(await asksBeforeLeaving(page)).toBe(false);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('go four at a time, say how fast they are and how long it takes, and sign anew a URL that has expired', async () => {
    const { page, cadiz } = await openProject('Pace');
    const tray = page.getByRole('region', { name: 'Uploads' });
    let begun = 0;
    page.on('request', (request) => {
      if (isBytes(request)) begun++;
    });
    const held = await holdBytes(page);
    await filesOf(page).setInputFiles(names(9).map((name) => toFile(name)));
    await tray.getByRole('heading', { name: 'Uploading 0 of 9' }).waitFor();
    await expect.poll(() => begun).toBe(4);
    await page.waitForTimeout(500);
    expect(begun).toBe(4);
    await held.release();
    await tray.getByRole('heading', { name: '9 files uploaded' }).waitFor();

    // The store refuses the first URL of each, as it does with one that has expired.
    const refused = new Set<string>();
    await page.route('**/*', async (route) => {
      const { pathname } = new URL(route.request().url());
      if (!isBytes(route.request()) || refused.size === 2) return route.continue();
      refused.add(pathname);
      const body = '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
      const headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' };
      return route.fulfill({ status: 403, headers, body });
    });
    await filesOf(page).setInputFiles([toFile('late 1.txt'), toFile('late 2.txt')]);
    await tray.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    expect(refused.size).toBe(2);
    expect(Object.keys(await read(cadiz, null)).filter((name) => name.startsWith('late'))).toHaveLength(2);
    await page.unrouteAll({ behavior: 'wait' });

    const network = await page.context().newCDPSession(page);
    await network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 400_000,
    });
    await filesOf(page).setInputFiles([
      { name: 'slow.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(6_000_000) },
    ]);
    await tray.getByText(/^\d[\d.]* (?:KB|MB)\/s$/).waitFor();
    await tray.getByText(/^\d+ secs? left$/).waitFor();
    await tray.getByText(/^[\d.]+ (?:KB|MB) of 6 MB · \d+ %$/).waitFor();
    // Made small, as on a phone.
    await page.setViewportSize({ width: 390, height: 844 });
    await tray.getByText(/^\d[\d.]* (?:KB|MB)\/s · \d+ secs? left$/).waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    await network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
    await tray.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('wait for the network, and for somebody whose session has ended', async () => {
    const { page, cadiz } = await openProject('Interrupted');
    const held = await holdBytes(page);
    await filesOf(page).setInputFiles([toFile('one.txt'), toFile('two.txt')]);
    await page.getByRole('heading', { name: 'Uploading 0 of 2' }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('heading', { name: '2 uploads wait for a connection' }).waitFor();
    await page.getByText('No network.').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await held.release();
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    await page.getByText('No network.').waitFor({ state: 'detached' });

    // A network that the browser believes in, but nothing answers.
    const broken = await breakNetwork(page);
    await filesOf(page).setInputFiles([toFile('three.txt')]);
    await page.getByText('Cadiz does not answer.').waitFor();
    // The network goes as well, and comes back alone.
    await page.context().setOffline(true);
    await page.getByText('No network.').waitFor();
    await page.context().setOffline(false);
    await page.getByText('Cadiz does not answer.').waitFor();
    await broken.release();
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor({ timeout: 60_000 });
    await page.getByText('Cadiz does not answer.').waitFor({ state: 'detached' });

    const again = await holdBytes(page);
    await filesOf(page).setInputFiles([toFile('four.txt')]);
    await page.getByRole('heading', { name: 'Uploading 0 of 1' }).waitFor();
    await page.context().clearCookies();
    await again.release();
    const lead = 'Your session has ended. What you were doing is kept: 1 upload waits.';
    await page.getByText(lead, { exact: true }).waitFor();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in and go on' }).click();
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    expect(Object.keys(await read(cadiz, null)).sort()).toEqual(['four.txt', 'one.txt', 'three.txt', 'two.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('go on once there is a network again, whatever was opened meanwhile', async () => {
    const { page } = await openProject('Away');
    const away = page.getByText('No network.');
    // Firefox never loads a module that it could not load once.
    const failed: string[] = [];
    page.on('requestfailed', (request) => void (/\.js$/.test(request.url()) && failed.push(request.url())));
    await page.context().setOffline(true);
    await away.waitFor();
    await filesOf(page).setInputFiles([toFile('kept.txt')]);
    // Neither the dialog nor the screen has been loaded.
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.context().setOffline(false);
    await away.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    await entryOf(page, 'kept.txt').waitFor();
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByRole('dialog', { name: 'New folder' }).waitFor();
    expect(failed).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('wait for a service that is started anew, and are shown once it is there', async () => {
    const { page, cadiz } = await openProject('Started anew');
    // Nothing but the service itself tells that it goes away.
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').every(({ startTime, duration }) => {
        return performance.now() - startTime - duration > 1500;
      }),
    );
    await tested.whileStopped(async () => {
      await filesOf(page).setInputFiles([toFile('one.txt'), toFile('two.txt')]);
      await page.getByText('Cadiz does not answer.').waitFor();
    });
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    await page.getByText('Cadiz does not answer.').waitFor({ state: 'detached' });
    expect(await page.getByText('Cadiz has been updated').count()).toBe(0);
    expect(Object.keys(await read(cadiz, null)).sort()).toEqual(['one.txt', 'two.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are shown as finished, also if they were before it was noticed that the service is back', async () => {
    const { page } = await openProject('Back unnoticed');
    await page.route('**/livez', (route) => route.abort('connectionrefused'));
    const broken = await breakNetwork(page);
    await filesOf(page).setInputFiles([toFile('one.txt'), toFile('two.txt')]);
    await page.getByText('Cadiz does not answer.').waitFor();
    await broken.release();
    await page.getByRole('status').getByText('2 files uploaded').waitFor({ timeout: 60_000 });
    await page.unroute('**/livez');
    await page.getByText('Cadiz does not answer.').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor({ timeout: 20_000 });
    await page.context().close();
  });

  test('are listed once there is a list, however long that takes to load', async () => {
    const { page, cadiz } = await openProject('Slow to load');
    const hold = createHold();
    await page.route(/assets\/tray-/, async (route) => {
      await hold.over;
      await route.continue();
    });
    await filesOf(page).setInputFiles(toFile('one.txt'));
    await expect.poll(async () => Object.keys(await read(cadiz, null)), { timeout: 30_000 }).toEqual(['one.txt']);
    // As long as what is done stays in the list.
    await page.waitForTimeout(9000);
    hold.release();
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('need no network where the service is on the same machine', async () => {
    const { page, projectId, cadiz } = await openProject('Aeroplane');
    // What Chromium says on a machine without any network, which reaches itself all the same.
    await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'onLine', { value: false }));
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await page.evaluate(() => dispatchEvent(new Event('offline')));
    await filesOf(page).setInputFiles([toFile('kept.txt')]);
    await entryOf(page, 'kept.txt').waitFor();
    await page.getByRole('link', { name: 'Trash' }).click();
    await page.getByText('The trash is empty').waitFor();
    expect(await page.getByText('No network.').count()).toBe(0);
    expect(Object.keys(await read(cadiz, null))).toEqual(['kept.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('are canceled by whoever signs out, after a question', async () => {
    const { projectId, cadiz } = await openProject('Leaving');
    const page = await tested.openPage();
    const signedIn = await page
      .context()
      .request.post(`${tested.url}/api/auth/sign-in/email`, { data: { email, password } });
    expect(signedIn.status()).toBe(200);
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    const held = await holdBytes(page);
    await filesOf(page).setInputFiles(['one.txt', 'two.txt', 'three.txt'].map((name) => toFile(name)));
    await page.getByRole('heading', { name: 'Uploading 0 of 3' }).waitFor();
    const signOut = async () => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('Sign out');
      await page.keyboard.press('Enter');
    };
    await signOut();
    const dialog = page.getByRole('dialog', { name: 'Sign out?' });
    await dialog.getByText('3 uploads').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Uploading 0 of 3' }).waitFor();
    await signOut();
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await held.release();
    // Nothing goes on for whoever signs in next.
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(/projects/);
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    expect(await page.getByRole('region', { name: 'Uploads' }).count()).toBe(0);
    expect(await read(cadiz, null)).toEqual({});
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('go on while somebody downloads, who is not asked whether to leave', async () => {
    const { page, cadiz } = await openProject('Downloading');
    await cadiz.uploads.create([new File(['Dear all,'], 'letter.txt', { type: 'text/plain' })]).done();
    await entryOf(page, 'letter.txt').waitFor();
    const questions: string[] = [];
    page.on('dialog', (dialog) => {
      questions.push(dialog.type());
      void dialog.accept();
    });
    const held = await holdBytes(page);
    await filesOf(page).setInputFiles([toFile('one.txt')]);
    await page.getByRole('heading', { name: 'Uploading 0 of 1' }).waitFor();
    await entryOf(page, 'letter.txt').click({ button: 'right' });
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: /Download/ }).click(),
    ]);
    expect(await readFile(await saved.path(), 'utf8')).toBe('Dear all,');
    await held.release();
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    expect(questions).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('of large files go on after a reload, once the file is chosen again', async () => {
    const { page, projectId, cadiz } = await openProject('Large');
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-large-'));
    const path = join(folder, 'film.mov');
    await writeFile(path, Buffer.alloc(24_000_000, 'sea'));
    const held = await holdBytes(page, 'partNumber=2');
    const first = page.waitForResponse((answer) => answer.url().includes('partNumber=1'));
    await filesOf(page).setInputFiles(path);
    await first;
    await page.getByText('16.8 MB of 24 MB · 69 %').waitFor();
    page.once('dialog', (dialog) => dialog.accept());
    await page.reload();
    await held.release();
    await page.getByRole('heading', { name: 'An upload was interrupted' }).waitFor();
    await page.getByText('69 % has arrived').waitFor();
    expect(await findBarriers(page)).toEqual([]);

    const parts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PUT') parts.push(new URL(request.url()).searchParams.get('partNumber') ?? '');
    });
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose the file' }).click();
    await (await choosing).setFiles(path);
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    expect(parts).toEqual(['2']);
    await page.reload();
    await entryOf(page, 'film.mov').waitFor();
    expect(await page.getByText('An upload was interrupted').count()).toBe(0);

    // What nobody goes on with can be discarded.
    const other = await holdBytes(page, 'partNumber=2');
    await writeFile(path, Buffer.alloc(24_000_001, 'sea'));
    await filesOf(page).setInputFiles(path);
    await page.getByRole('dialog').getByRole('button', { name: 'Keep both' }).click();
    await page.getByText('16.8 MB of 24 MB · 69 %').waitFor();
    page.once('dialog', (dialog) => dialog.accept());
    await page.reload();
    await other.release();
    await page.getByLabel('Discard what has arrived of film (2).mov').click();
    await page.getByText('An upload was interrupted').waitFor({ state: 'detached' });
    expect((await cadiz.uploads.page()).items).toEqual([]);
    expect(projectId).not.toBe('');
    await rm(folder, { recursive: true });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('of large files go on as what they were begun as, and ask about names that are taken', async () => {
    const { page, cadiz } = await openProject('Large twice');
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-large-'));
    const path = join(folder, 'film.mov');
    await writeFile(path, Buffer.alloc(24_000_000, 'sea'));
    await cadiz.upload('An earlier one', { name: 'film.mov', type: 'video/quicktime' });
    async function answer(way: string): Promise<void> {
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('radio', { name: way }).check();
      await dialog.getByRole('button', { name: way }).click();
    }
    const held = await holdBytes(page, 'partNumber=2');
    await filesOf(page).setInputFiles(path);
    await answer('Keep both');
    await page.getByText('16.8 MB of 24 MB · 69 %').waitFor();
    await filesOf(page).setInputFiles(path);
    await answer('Replace');
    await expect.poll(() => page.getByText('16.8 MB of 24 MB · 69 %').count()).toBe(2);
    page.once('dialog', (dialog) => dialog.accept());
    await page.reload();
    await held.release();
    await page.getByRole('heading', { name: '2 uploads were interrupted' }).waitFor();

    const parts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PUT') parts.push(new URL(request.url()).searchParams.get('partNumber') ?? '');
    });
    // What goes on without its button is offered no more.
    await filesOf(page).setInputFiles(path);
    await answer('Replace');
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    await page.getByRole('heading', { name: 'An upload was interrupted' }).waitFor();
    const choose = async () => {
      const choosing = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Choose the file' }).click();
      await (await choosing).setFiles(path);
    };
    // Somebody has taken its name meanwhile.
    await cadiz.upload('Another one', { name: 'film (2).mov', type: 'video/quicktime' });
    await choose();
    await answer('Replace');
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    expect(parts).toEqual(['2', '2']);
    const { files } = await cadiz.files.page({ folder: null, sort: 'name' });
    expect(files.map(({ fileName, fileSize }) => [fileName, fileSize])).toEqual([
      ['film (2).mov', 24_000_000],
      ['film.mov', 24_000_000],
    ]);
    await rm(folder, { recursive: true });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('come from the clipboard into the open folder, unless somebody pastes into a field, or may only look', async () => {
    const projectId = await tested.createProject('Pasted');
    const cadiz = await tested.connect(projectId);
    const { id } = await cadiz.folders.create('shots');
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${id}`, { permissions });
    await page.getByText('Drop files or folders here').waitFor();
    await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(8, 8);
      canvas.getContext('2d')?.fillRect(0, 0, 8, 8);
      const picture = await canvas.convertToBlob({ type: 'image/png' });
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': picture })]);
    });
    const search = page.getByRole('searchbox');
    await search.press('Control+v');
    await page.keyboard.press('?');
    expect(await search.inputValue()).toBe('?');
    await search.fill('');
    await page.locator('h1').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Control+v');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+v');
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor();
    const pasted = page.getByRole('row', { name: /Pasted image \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png/ });
    expect(await pasted.count()).toBe(1);

    // What has been copied in a folder of the machine keeps its name, also one that pictures without a name have.
    await page.evaluate(() => {
      const clipboardData = new DataTransfer();
      for (const name of ['image.png', 'b.txt'])
        clipboardData.items.add(new File([name], name, { lastModified: Date.UTC(2026, 0, 1) }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.getByRole('heading', { name: '2 files uploaded' }).waitFor();
    const names = Object.keys(await read(cadiz, id)).map((name) => name.replace(/\d/g, '0'));
    expect(names.sort()).toEqual(['Pasted image 0000-00-00 00.00.00.png', 'b.txt', 'image.png']);

    const viewer = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files/${id}`);
    await viewer.getByRole('row', { name: /b\.txt/ }).waitFor();
    await viewer.bringToFront();
    await viewer.keyboard.press('Control+v');
    await viewer.getByText('You may not upload to this project').waitFor();
    expect(Object.keys(await read(cadiz, id))).toHaveLength(3);
    expect(tested.complaints).toEqual([]);
    await viewer.context().close();
    await page.context().close();
  });

  test('of whole folders keep their structure, and go on while somebody looks elsewhere', async () => {
    const { page, cadiz, projectId } = await openProject('Trees');
    await cadiz.folders.create('Winter');
    await page.reload();
    await page.getByRole('row', { name: /Winter/ }).waitFor();
    // Above the row of a folder, that folder is meant.
    await dragOver(page.getByRole('row', { name: /Winter/ }));
    await page.getByText('Drop to upload to Winter').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dragOver(page.locator('body'));
    await page.getByText('Drop to upload to Trees').waitFor();

    const tree: Tree = { 'top.txt': 'top', bare: { nothing: {} } };
    for (let folder = 0; folder < 10; folder++)
      tree[`deep ${folder}`] = { inner: Object.fromEntries(names(40).map((name) => [name, `${folder} ${name}`])) };
    await drop(page, { tree });
    await page.getByText(/Uploading \d+ of 401/).waitFor();
    expect(await page.getByRole('region', { name: 'Uploads' }).getByRole('listitem').count()).toBeLessThanOrEqual(51);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('heading', { name: '401 files uploaded' }).waitFor({ timeout: 60_000 });
    expect(Object.keys(await read(cadiz, 'tree/deep 7/inner')).sort()).toEqual(names(40).sort());
    expect((await cadiz.folders.getByPath('tree/bare/nothing')).projectId).toBe(projectId);
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    await page.getByRole('row', { name: /tree/ }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('of a folder are all that can be read, and it is said that others are left out', async () => {
    const { page, cadiz } = await openProject('Stick');
    await drop(page, {
      stick: {
        '1.txt': '1',
        '.Trashes': { [unreadable]: '' },
        '2.txt': unreadable,
        photos: { '3.txt': unreadable, '4.txt': '4' },
        '5.txt': '5',
      },
    });
    await page.getByText('3 items cannot be read and are left out, such as “.Trashes”.').waitFor();
    await page.getByRole('heading', { name: '3 files uploaded' }).waitFor();
    expect(Object.keys(await read(cadiz, 'stick')).sort()).toEqual(['1.txt', '5.txt']);
    expect(Object.keys(await read(cadiz, 'stick/photos'))).toEqual(['4.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('come into the list in their places, which is neither read again nor moved', async () => {
    const { page } = await openProject('Places');
    await drop(page, Object.fromEntries(names(300).map((name) => [name, name])));
    await page.getByRole('heading', { name: '300 files uploaded' }).waitFor({ timeout: 60_000 });
    await page.reload();
    await page.getByText('300 items').waitFor();
    const list = page.getByRole('grid');
    await list.evaluate((element) => element.scrollTo(0, 3600));
    const row = page.getByRole('row', { name: /file 110\.txt/ });
    const place = await row.boundingBox();
    let listings = 0;
    page.on('request', (request) => {
      if (request.url().includes('/api/storage/list') && request.url().includes('counts')) listings++;
    });
    await filesOf(page).setInputFiles([toFile('a first one.txt'), toFile('file 115 b.txt'), toFile('zebra.txt')]);
    const badge = page.getByRole('row', { name: /file 115 b\.txt/ }).getByText('Just added');
    await badge.waitFor();
    await badge.waitFor({ state: 'detached' });
    await page.getByText('303 items').waitFor();
    await entryOf(page, 'file 115 b.txt').waitFor();
    expect(await row.boundingBox()).toEqual(place);
    await page.keyboard.press('Escape');
    await list.evaluate((element) => element.scrollTo(0, 0));
    const first = page.getByRole('row', { name: /txt/ }).first();
    await expect.poll(() => first.textContent()).toContain('a first one');
    expect(listings).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
