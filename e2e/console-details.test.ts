import { spawnSync } from 'node:child_process';
import type { Client } from '@cadiz/client';
import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ConsoleUnderTest,
  createHold,
  findBarriers,
  findFlaws,
  startConsole,
  triesJourneys,
  untilFollowing,
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

/** Uploads files of text. @param files their contents by their names */
async function fill(cadiz: Client, files: Record<string, string>, type = 'text/plain'): Promise<void> {
  const queue = cadiz.uploads.create(
    Object.entries(files).map(([name, content]) => new File([content], name, { type })),
  );
  await queue.done();
}

/** @returns the id of the file */
async function uploadPicture(cadiz: Client, fileName: string, format: 'png' | 'tiff'): Promise<string> {
  const picture = await sharp({ create: { width: 300, height: 200, channels: 3, background: 'navy' } })
    .toFormat(format)
    .toBuffer();
  const { id } = await cadiz.upload(new File([new Uint8Array(picture)], fileName, { type: `image/${format}` }));
  return id;
}

async function idOf(cadiz: Client, name: string, folder: string | null = null): Promise<string> {
  const { files, folders } = await cadiz.files.page({ folder, search: name });
  const found = [...files, ...folders].find((one) => ('name' in one ? one.name : one.fileName) === name);
  if (!found) throw new Error(`There is no ${name}.`);
  return found.id;
}

const entryOf = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ has: entryOf(page, name) });
const tileOf = (page: Page, name: string) => page.getByRole('gridcell').filter({ has: entryOf(page, name) });
const dialogOf = (page: Page, name: string) => page.getByRole('dialog', { name });

/** A PDF with one empty page, as ISO 32000-1 has it. */
const emptyDocument = toDocument([
  '<</Type/Catalog/Pages 2 0 R>>',
  '<</Type/Pages/Kids[3 0 R]/Count 1>>',
  '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>',
]);

/** @param objects the first is the root */
function toDocument(objects: readonly string[]): string {
  let written = '%PDF-1.4\n';
  let table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const [index, object] of objects.entries()) {
    table += `${String(written.length).padStart(10, '0')} 00000 n \n`;
    written += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  return `${written}${table}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${written.length}\n%%EOF`;
}

/** A WAV file: eight bits a sample, 8,000 a second. @see http://soundfile.sapp.org/doc/WaveFormat/ */
function toSilence(seconds: number): Uint8Array<ArrayBuffer> {
  const samples = 8000 * seconds;
  const file = Buffer.alloc(44 + samples, 128);
  file.write('RIFF....WAVEfmt ', 0);
  file.writeUInt32LE(36 + samples, 4);
  for (const [at, value, bytes] of [
    [16, 16, 4],
    [20, 1, 2],
    [22, 1, 2],
    [24, 8000, 4],
    [28, 8000, 4],
    [32, 1, 2],
    [34, 8, 2],
  ] as const)
    file.writeUIntLE(value, at, bytes);
  file.write('data', 36);
  file.writeUInt32LE(samples, 40);
  return new Uint8Array(file);
}

/** Two seconds, where ffmpeg is installed. */
function makeFilm(): Uint8Array<ArrayBuffer> | undefined {
  const source = ['-f', 'lavfi', '-i', 'testsrc=d=2:s=320x240:r=10'];
  const { status, stdout } = spawnSync('ffmpeg', ['-loglevel', 'error', ...source, '-f', 'webm', '-']);
  return status === 0 ? new Uint8Array(stdout) : undefined;
}

/** The name at the top of a preview. */
const titleOf = (page: Page) => page.locator('.view > header .name');

describe.runIf(triesJourneys)('one file', () => {
  test('is shown beside the next, also beyond what the list has loaded', async () => {
    const { projectId, cadiz } = await createFilled('Beyond');
    const names = Array.from({ length: 203 }, (_, index) => `n${String(index).padStart(3, '0')}.txt`);
    await fill(cadiz, Object.fromEntries(names.map((name) => [name, name])));
    const last = await idOf(cadiz, 'n199.txt');
    const page = await tested.openAsOwner(`/projects/${projectId}/files?file=${last}`);
    await expect.poll(() => titleOf(page).textContent()).toBe('n199.txt');
    for (const name of ['n200.txt', 'n201.txt', 'n202.txt']) {
      await page.getByLabel('Next file').click();
      await expect.poll(() => titleOf(page).textContent()).toBe(name);
    }
    expect(await page.getByLabel('Next file').getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => titleOf(page).textContent()).toBe('n201.txt');
    // An address of one that the list has not loaded.
    await page.goto(`${tested.url}/projects/${projectId}/files?file=${await idOf(cadiz, 'n202.txt')}`);
    await page.getByLabel('Previous file').click();
    await expect.poll(() => titleOf(page).textContent()).toBe('n201.txt');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is shown as a table, as indented JSON, and no further than a limit', async () => {
    const { projectId, cadiz } = await createFilled('Texts');
    const rows = Array.from(
      { length: 250 },
      (_, index) => `${index};"a ""quoted""; word\n<script>document.title = 1</script>"`,
    );
    await fill(cadiz, {
      'a.csv': `id;what\r\n${rows.join('\r\n')}`,
      'b.tsv': 'x\ty\n1,5\t2',
      'c.json': '{"big":12345678901234567890,"list":[1,{"a":[]}],"text":"{,}"}',
      'd.txt': 'é'.repeat(200_000),
    });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await entryOf(page, 'a.csv').click();
    await page.getByRole('columnheader', { name: 'what' }).waitFor();
    expect(await page.locator('.text-stage tbody tr').count()).toBe(200);
    const cell = page.getByRole('cell', { name: /quoted/ }).first();
    expect(await cell.innerText()).toBe('a "quoted"; word\n<script>document.title = 1</script>');
    await page.getByText('The first 200 rows are shown.').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('ArrowRight');
    await page.getByRole('cell', { name: '1,5', exact: true }).waitFor();
    await page.keyboard.press('ArrowRight');
    const indented =
      '{\n  "big": 12345678901234567890,\n  "list": [\n    1,\n    {\n      "a": []\n    }\n  ],\n  "text": "{,}"\n}';
    await expect.poll(() => page.locator('.text-stage pre').textContent()).toBe(indented);
    const asked = page.waitForRequest((request) => request.headers().range !== undefined);
    await page.keyboard.press('ArrowRight');
    expect((await asked).headers().range).toBe('bytes=0-255999');
    await page.getByText('The first 256 KB are shown.').waitFor();
    expect(await page.locator('.text-stage pre').textContent()).toBe('é'.repeat(128_000));
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is shown as text by its type or else its name, and not for a type that only looks like one', async () => {
    const { projectId, cadiz } = await createFilled('Kinds');
    const office = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    await fill(cadiz, { 'a.docx': 'PK not text' }, office);
    await fill(cadiz, { 'b.md': '# Title <script>document.title = 1</script>' }, 'application/octet-stream');
    await fill(cadiz, { 'c.yaml': 'key: value' }, 'application/yaml');
    await fill(cadiz, { 'd.bin': 'bytes' }, 'application/octet-stream');
    await fill(cadiz, { 'e.geo': '{"type":1}' }, 'application/geo+json');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await entryOf(page, 'a.docx').click();
    const shown = page.locator('.canvas');
    const none = page.getByText('This kind of file has no preview');
    await none.waitFor();
    const shows = [
      /^# Title <script>document\.title = 1<\/script>$/,
      /^key: value$/,
      /no preview/,
      /^\{\s+"type": 1\s+\}$/,
    ];
    for (const expected of shows) {
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => shown.innerText()).toMatch(expected);
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is a document in the viewer of the browser, which gets it as nothing else', async () => {
    const { projectId, cadiz } = await createFilled('Documents');
    await fill(cadiz, { 'a.pdf': emptyDocument, 'b.pdf': emptyDocument }, 'application/pdf');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const downloads: string[] = [];
    page.on('download', (download) => void downloads.push(download.suggestedFilename()));
    const stage = page.locator('.stage .canvas');
    const expectShown = async (name: string) => {
      const type = () =>
        stage.getByTitle(name).evaluate((frame: HTMLIFrameElement) => frame.contentDocument?.contentType);
      await expect.poll(type).toBe('application/pdf');
      // The viewer of Chromium is an extension in a frame of its own.
      await expect.poll(() => page.frames().filter((frame) => /^chrome-extension:/.test(frame.url())).length).toBe(1);
    };
    const pressUntil = (key: string, isDone: () => Promise<boolean>) =>
      expect
        .poll(async () => {
          await page.keyboard.press(key);
          return isDone();
        })
        .toBe(true);
    await entryOf(page, 'a.pdf').click();
    await expectShown('a.pdf');
    // The viewer takes the focus as it starts, and a key pressed at this moment is its own.
    await pressUntil('ArrowRight', async () => (await stage.getByTitle('b.pdf').count()) === 1);
    await expectShown('b.pdf');
    await pressUntil('Escape', async () => (await stage.count()) === 0);
    expect(downloads).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is heard, or played from any moment, without all of it being loaded first', async () => {
    const { projectId, cadiz } = await createFilled('Media');
    const sound = toSilence(600);
    await cadiz.upload(new File([sound], 'a.wav', { type: 'audio/wav' }));
    const film = makeFilm();
    if (film) await cadiz.upload(new File([film], 'b.webm', { type: 'video/webm' }));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const ranges: string[] = [];
    page.on('request', (request) => void ranges.push(request.headers().range ?? ''));
    await entryOf(page, 'a.wav').click();
    const play = (seconds: number) =>
      page.locator('.stage :is(audio, video)').evaluate(async (media: HTMLMediaElement, to) => {
        media.muted = true;
        media.currentTime = to;
        await media.play();
        return Math.round(media.duration);
      }, seconds);
    expect(await play(550)).toBe(600);
    expect(ranges.some((range) => Number(/^bytes=(\d+)-/.exec(range)?.[1]) > sound.length / 2)).toBe(true);
    if (film) {
      await page.getByRole('button', { name: 'Next file' }).click();
      await page.locator('.stage video').waitFor();
      expect(await play(1)).toBe(2);
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is played on from where it was when its URL has expired, and not begun anew by another window', async () => {
    const { projectId, cadiz } = await createFilled('Long');
    await cadiz.upload(new File([toSilence(1800)], 'a.wav', { type: 'audio/wav' }));
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    // Each URL is another one; the first has expired.
    const urls: string[] = [];
    await page.route('**/url', async (route) => {
      const postData = JSON.stringify({ disposition: 'inline', expiresIn: 3600 * (urls.length + 1) });
      const answer = (await (await route.fetch({ postData })).json()) as { url: string; expiresAt: string };
      urls.push(answer.url);
      await route.fulfill({ json: { ...answer, ...(urls.length === 1 && { expiresAt: '2026-01-01T00:00:00Z' }) } });
    });
    await page.clock.install();
    await page.reload();
    await entryOf(page, 'a.wav').click();
    const sound = page.locator('.stage audio');
    async function read() {
      const { src, ...place } = await sound.evaluate(({ src, currentTime, duration }: HTMLAudioElement) => ({
        src,
        currentTime,
        duration,
      }));
      return { nth: urls.indexOf(src), ...place };
    }
    await expect.poll(read).toEqual({ nth: 0, currentTime: 0, duration: 1800 });
    await page.route(urls[0] ?? '', (route) => route.fulfill({ status: 403 }));
    await sound.evaluate((media: HTMLAudioElement) => {
      media.currentTime = 1500;
    });
    await expect.poll(read).toEqual({ nth: 1, currentTime: 1500, duration: 1800 });
    // Somebody comes back to the window.
    await page.clock.fastForward('11:00');
    const listed = page.waitForResponse('**/api/storage/list?*');
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
    await listed;
    expect(await read()).toEqual({ nth: 1, currentTime: 1500, duration: 1800 });
    expect(urls.length).toBe(2);
    await page.context().close();
  });

  test('is a picture: in small in the list, as large as the screen, and itself with a click', async () => {
    const { projectId, cadiz } = await createFilled('Pictures');
    // More than a megabyte of noise, so that the preview is another picture.
    const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
    const picture = await sharp({ create: { width: 1500, height: 1000, channels: 3, background: 'white', noise } })
      .withExif({
        IFD2: { DateTimeOriginal: '2026:08:01 12:00:00' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '36/1 31/1 0/1', GPSLongitudeRef: 'W', GPSLongitude: '6/1 17/1 0/1' },
      })
      .jpeg({ quality: 100 })
      .toBuffer();
    const { id } = await cadiz.upload(new File([new Uint8Array(picture)], 'sea.jpg', { type: 'image/jpeg' }));
    await expect.poll(async () => (await cadiz.files.get(id)).image?.state, { timeout: 30_000 }).toBe('ready');
    const page = await tested.openAsOwner(`/projects/${projectId}/files?view=grid`);
    // Tiles ask for the picture in small; from then on rows have it.
    const isLoaded = (place: Locator) =>
      expect.poll(() => place.locator('img').evaluate(({ naturalWidth }: HTMLImageElement) => naturalWidth)).toBe(256);
    await isLoaded(tileOf(page, 'sea.jpg'));
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await isLoaded(rowOf(page, 'sea.jpg'));
    await entryOf(page, 'sea.jpg').click();
    const shown = page.locator('.canvas img');
    const typeOf = async () => {
      const answer = await page.request.get((await shown.getAttribute('src')) ?? '');
      return answer.headers()['content-type'];
    };
    await expect.poll(typeOf).toBe('image/webp');
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText('1,500 × 1,000 pixels').waitFor();
    await details.getByText(/^1 Aug, 12:00/).waitFor();
    await details.getByText('Says where it was taken').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: /^Show the original/ }).click();
    await expect.poll(typeOf).toBe('image/jpeg');
    expect(await page.getByRole('button', { name: /^Show the original/ }).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is a picture that cannot be shown: its place keeps its size, and has an icon', async () => {
    const { projectId, cadiz } = await createFilled('Broken');
    await fill(cadiz, { 'broken.png': 'no picture at all' }, 'image/png');
    await fill(cadiz, { 'broken.wav': 'no sound at all' }, 'audio/wav');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const height = async () => (await rowOf(page, 'broken.png').boundingBox())?.height;
    const before = await height();
    // Once the service has looked at it, and refused to make a smaller one.
    await expect.poll(() => rowOf(page, 'broken.png').locator('img').count()).toBe(0);
    await rowOf(page, 'broken.png').locator('svg').first().waitFor();
    expect(await height()).toBe(before);
    await page.goto(`${tested.url}/projects/${projectId}/files?view=grid`);
    await tileOf(page, 'broken.png').locator('svg').first().waitFor();
    await expect.poll(() => tileOf(page, 'broken.png').locator('img').count()).toBe(0);
    await entryOf(page, 'broken.png').click();
    await page.getByText('The browser cannot show this file').waitFor();
    await page.getByRole('button', { name: 'Next file' }).click();
    await expect.poll(() => titleOf(page).textContent()).toBe('broken.wav');
    await page.getByText('The browser cannot show this file').waitFor();
    await page.locator('.stage audio').waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is a picture that could not be read once, and is shown when it can be read elsewhere', async () => {
    const { projectId, cadiz } = await createFilled('Once');
    const id = await uploadPicture(cadiz, 'sea.png', 'png');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const places = new RegExp(`/files/${id}/(?:image|content)`);
    await page.route(places, (route) => route.abort());
    await rowOf(page, 'sea.png').waitFor();
    await page.keyboard.press('v');
    await tileOf(page, 'sea.png').locator('.pic svg').waitFor();
    await cadiz.files.image(id, { w: 256, h: 256, fit: 'inside' }).then(({ url }) => fetch(url));
    await untilFollowing(page);
    await cadiz.files.update(id, { metadata: { seen: true } });
    await tileOf(page, 'sea.png').locator('img').waitFor();
    await page.context().close();
  });

  test('is shown once a picture is made of what browsers do not show', async () => {
    const { projectId, cadiz } = await createFilled('Made');
    const id = await uploadPicture(cadiz, 'sea.tiff', 'tiff');
    await expect.poll(async () => (await cadiz.files.get(id)).image?.state).toBe('ready');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    // As long as nobody has looked at it.
    let isLookedAt = false;
    await page.route(/\/api\/storage\/(?:list|files\/)/, async (route) => {
      const response = await route.fetch();
      const words = await response.text();
      await route.fulfill({
        response,
        body: isLookedAt ? words : words.replaceAll('"state":"ready"', '"state":"pending"'),
      });
    });
    await page.goto(`${tested.url}/projects/${projectId}/files?file=${id}`);
    await page.getByText('The browser cannot show this file').waitFor();
    await untilFollowing(page);
    isLookedAt = true;
    await cadiz.files.update(id, { metadata: { seen: true } });
    await page.getByRole('dialog').getByRole('img', { name: 'sea.tiff' }).waitFor();
    await page.context().close();
  });

  test('says all that is known of it, and keeps what an application wants to know', async () => {
    const { projectId, cadiz } = await createFilled('Facts');
    await cadiz.folders.ensure(['outer/inner']);
    const file = new File(['x'], 'a.txt', { type: 'text/plain' });
    const queue = cadiz.uploads.create([file], { folder: 'outer/inner' });
    await queue.done();
    const { files } = await cadiz.files.page({ search: 'a.txt' });
    const id = files[0]?.id ?? '';
    await cadiz.files.update(id, { metadata: { order: 4711, reviewed: false, gone: 'x' }, externalId: 'e-1' });
    const address = `/projects/${projectId}/files?file=${id}`;
    const page = await tested.openAsOwner(address);
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByRole('link', { name: 'inner' }).waitFor();
    await details.getByText('e-1', { exact: true }).waitFor();
    // The links first, then each fact beside its name, and what programs need.
    expect(await details.getByRole('heading').allInnerTexts()).toEqual([
      'Share a link',
      'Details',
      'For your code',
      'Metadata',
    ]);
    const factOf = (name: string) => details.locator('dt', { hasText: name }).locator('+ dd');
    await expect.poll(() => factOf('By').innerText()).toMatch(/^Key \S/);
    for (const one of await details.locator('dt').all()) {
      const [name, fact] = await Promise.all([one.boundingBox(), one.locator('+ dd').boundingBox()]);
      expect(fact?.y).toBe(name?.y);
    }
    // What is long is cut, and its button stays beside it.
    const storeKey = await factOf('Store key').boundingBox();
    expect(storeKey?.height).toBe((await factOf('Added').boundingBox())?.height);
    expect(await factOf('Store key').locator('bdi').getAttribute('title')).toBe(files[0]?.storeKey);
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    const dialog = dialogOf(page, 'Metadata');
    await dialog.getByLabel('External id').fill('e-2');
    await dialog.getByRole('button', { name: 'Remove the key gone' }).click();
    await dialog.getByLabel('Value').first().fill('12');
    await dialog.getByRole('button', { name: 'Add a key' }).click();
    await dialog.getByLabel('Key', { exact: true }).last().fill('order');
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Key', { exact: true }).last().fill('note');
    await dialog.getByLabel('Value').last().fill('12 %');
    expect(await findBarriers(page)).toEqual([]);
    // Escape closes the dialog alone, and Enter saves.
    await dialog.getByLabel('Value').last().press('Enter');
    await dialog.waitFor({ state: 'detached' });
    const { metadata, externalId } = await cadiz.files.get(id);
    expect({ metadata, externalId }).toEqual({
      metadata: { order: 12, reviewed: false, note: '12 %' },
      externalId: 'e-2',
    });
    await details.getByText('12 %').waitFor();
    await page.context().close();

    const viewer = await tested.openAsMember(projectId, 'viewer', address);
    await viewer.getByText('12 %').waitFor();
    await viewer.getByText('e-2', { exact: true }).waitFor();
    expect(await viewer.getByRole('button', { name: /Edit|Create a link|Revoke/ }).count()).toBe(0);
    expect(await findBarriers(viewer)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await viewer.context().close();
  });

  test('is shared for as long as one says, to be shown or saved, until that is revoked', async () => {
    const { projectId, cadiz } = await createFilled('Shares');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await entryOf(page, 'letter.txt').click();
    await page.getByLabel('When it is opened').selectOption({ label: 'Downloads the file' });
    const lifetimes = page.getByRole('group', { name: 'Works for' }).getByRole('button');
    expect(await lifetimes.allInnerTexts()).toEqual(['1 hour', '1 day', '7 days', 'Other']);
    await lifetimes.last().click();
    await page.getByLabel('Other').selectOption({ label: 'until it is revoked' });
    await page.getByText('Anyone who has it can open this file until you revoke it.').waitFor();
    await page.getByLabel('Other').selectOption({ label: 'until a date of your choice' });
    await page.getByLabel('Works until').fill('2030-05-06T07:08');
    await page.getByText('until 6 May 2030, 07:08, or until you revoke it.').waitFor();
    await page.getByRole('button', { name: 'Create a link and copy it' }).click();
    await page.getByText('The link is copied').waitFor();
    const item = page.getByRole('listitem').filter({ has: page.getByLabel('Revoke the link') });
    await item.getByText(/^until 6 May 2030, 07:08/).waitFor();
    await item.getByText('Downloads the file').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    // In a private window.
    const guest = await tested.openPage();
    const answer = await guest.request.get(link);
    expect(await answer.text()).toBe('Dear all,');
    expect(answer.headers()['content-disposition']).toMatch(/^attachment/);

    await page.getByLabel(/^Revoke the link: \d+ \w+, \d\d:\d\d$/).click();
    await dialogOf(page, 'Revoke this link?').getByRole('button', { name: 'Cancel' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialogOf(page, 'Revoke this link?').waitFor({ state: 'detached' });
    expect((await guest.request.get(link)).status()).toBe(200);
    await page.getByLabel('Revoke the link').click();
    await dialogOf(page, 'Revoke this link?').getByRole('button', { name: 'Revoke the link' }).click();
    await page.getByText('Nobody outside can open this file.').waitFor();
    expect((await guest.request.get(link)).status()).toBe(404);
    expect(tested.complaints).toEqual([]);
    await guest.context().close();
    await page.context().close();
  });

  test('shows more links than are read at once', async () => {
    const { projectId, cadiz } = await createFilled('Many links');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const id = await idOf(cadiz, 'letter.txt');
    for (let made = 0; made < 101; made++) await cadiz.links.create(id);
    const page = await tested.openAsOwner(`/projects/${projectId}/files?file=${id}`);
    await expect.poll(() => page.getByLabel('Revoke the link').count()).toBe(100);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => page.getByLabel('Revoke the link').count()).toBe(101);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.context().close();
  });

  test('is shared by its menu or a key, and shows its details by the menu', async () => {
    const { projectId, cadiz } = await createFilled('Menu of links');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    await cadiz.folders.ensure(['letters']);
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await entryOf(page, 'letter.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Copy link…' }).click();
    const dialog = dialogOf(page, 'letter.txt');
    await expect.poll(focused).toBe('Create a link and copy it');
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('The link is copied').waitFor();
    // What was pressed keeps the focus while it is busy.
    expect(await focused()).toBe('Create a link and copy it');
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(await (await page.request.get(link)).text()).toBe('Dear all,');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // The focus is at the file again.
    await page.keyboard.press('l');
    await dialog.getByLabel('Revoke the link').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await entryOf(page, 'letter.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Details' }).click();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Details');
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    const { files, folders } = await cadiz.files.page({ folder: null });
    for (const { id, name } of [...folders, ...files.map(({ id, fileName }) => ({ id, name: fileName }))]) {
      await entryOf(page, name).click({ button: 'right' });
      await page.getByRole('menuitem', { name: /^Copy (?:file|folder) ID$/ }).click();
      await page.getByText(/^The (?:file|folder) ID is copied$/).waitFor();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(id);
    }

    const viewer = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files`);
    await entryOf(viewer, 'letter.txt').click({ button: 'right' });
    await viewer.getByRole('menuitem', { name: 'Details' }).waitFor();
    expect(await viewer.getByRole('menuitem', { name: 'Copy link…' }).count()).toBe(0);
    await viewer.keyboard.press('Escape');
    expect(tested.complaints).toEqual([]);
    await viewer.context().close();
    await page.context().close();
  });

  test('has a link that ends when it was asked to, also where the clock of the machine is wrong', async () => {
    const { projectId, cadiz } = await createFilled('Yesterday');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const page = await tested.openAsOwner('/projects');
    await page.addInitScript(() => {
      const right = Date.now;
      Date.now = () => right() - 2 * 86_400_000;
    });
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await rowOf(page, 'letter.txt').getByText('now').waitFor();
    await entryOf(page, 'letter.txt').click();
    await page.getByRole('button', { name: '1 day' }).click();
    expect(await page.getByRole('button', { name: '1 day' }).getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: 'Create a link and copy it' }).click();
    await page.getByLabel('Revoke the link').waitFor();
    const { items } = await cadiz.links.page({ fileId: await idOf(cadiz, 'letter.txt') });
    const hours = items.map(({ expiresAt }) => Math.round((Date.parse(expiresAt ?? '') - Date.now()) / 3_600_000));
    expect(hours).toEqual([24]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has a link that is copied in the click, as Safari asks for', async () => {
    const { projectId, cadiz } = await createFilled('Clicked');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const page = await tested.openAsOwner('/projects', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.addInitScript(() => {
      let isClicked = false;
      const click = () => {
        isClicked = true;
        setTimeout(() => {
          isClicked = false;
        });
      };
      addEventListener('click', click, { capture: true });
      const { clipboard } = navigator;
      const [write, writeText] = [clipboard.write.bind(clipboard), clipboard.writeText.bind(clipboard)];
      const refuse = () => Promise.reject(new DOMException('Not in a click.', 'NotAllowedError'));
      Object.assign(clipboard, {
        write: (items: ClipboardItems) => (isClicked ? write(items) : refuse()),
        writeText: (text: string) => (isClicked ? writeText(text) : refuse()),
      });
    });
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await entryOf(page, 'letter.txt').click();
    await page.getByRole('button', { name: 'Create a link and copy it' }).click();
    await page.getByText('The link is copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/\/letter\.txt$/);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has a link also where the browser does not let it be copied', async () => {
    const { projectId, cadiz } = await createFilled('Uncopied');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const page = await tested.openAsOwner('/projects');
    await page.addInitScript(() => {
      const refuse = () => Promise.reject(new DOMException('Write permission denied.'));
      Object.assign(navigator.clipboard, { write: refuse, writeText: refuse });
    });
    await page.goto(`${tested.url}/projects/${projectId}/files`);
    await entryOf(page, 'letter.txt').click();
    const refusal = page.getByText('The browser did not allow copying. Select the text, and copy it by hand.');
    await page.getByRole('button', { name: 'Create a link and copy it' }).click();
    await page.getByRole('button', { name: 'Copy the link' }).waitFor();
    await refusal.waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await refusal.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Copy the link' }).click();
    await refusal.waitFor();
    expect(await page.getByRole('button', { name: 'Copied' }).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is renamed, moved and deleted in its preview, which goes on to the next', async () => {
    const { projectId, cadiz } = await createFilled('Changed');
    await cadiz.folders.ensure(['a target']);
    await fill(cadiz, { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const view = page.locator('.view');
    const button = (name: string) => view.getByRole('button', { name, exact: true });
    const isShown = async (name: string, position: string) => {
      await expect.poll(() => titleOf(page).textContent()).toBe(name);
      await view.getByText(position, { exact: true }).waitFor();
    };
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await entryOf(page, 'b.txt').click();
    await isShown('b.txt', '2 of 4 files');

    // Escape and the arrows are for the name as long as it is typed.
    await button('Rename').click();
    const field = view.getByLabel('New name');
    await page.keyboard.press('ArrowRight');
    await field.press('Escape');
    await isShown('b.txt', '2 of 4 files');
    await expect.poll(focused).toBe('Rename');
    await page.keyboard.press('Enter');
    await field.fill('a/b.txt');
    await page.keyboard.press('Enter');
    await view.getByRole('alert').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await field.fill('b2.txt');
    await page.keyboard.press('Enter');
    await isShown('b2.txt', '2 of 4 files');
    await expect.poll(focused).toBe('Rename');
    expect(await page.title()).toBe('b2.txt · Cadiz');
    await page.keyboard.press('Control+z');
    await isShown('b.txt', '2 of 4 files');
    // A click beside the field saves, as in the list.
    await button('Rename').click();
    await field.fill('b3.txt');
    await view.locator('.canvas').click({ position: { x: 5, y: 5 } });
    await isShown('b3.txt', '2 of 4 files');

    await button('Move').click();
    const dialog = dialogOf(page, 'Move 1 item');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('Move');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'a target', exact: true }).click();
    await dialog.getByRole('button', { name: 'Move to a target' }).click();
    await page.getByText('1 item moved to a target').waitFor();
    await isShown('c.txt', '2 of 3 files');
    expect((await cadiz.files.page({ folder: 'a target' })).files.map(({ fileName }) => fileName)).toEqual(['b3.txt']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await isShown('c.txt', '3 of 4 files');

    await button('Delete').click();
    await page.getByText('1 item moved to the trash').waitFor();
    await isShown('d.txt', '3 of 3 files');
    await expect.poll(focused).toBe('Delete');
    await page.keyboard.press('Control+z');
    await isShown('d.txt', '4 of 4 files');
    await button('Delete').click();
    await isShown('c.txt', '3 of 3 files');
    expect(tested.complaints).toEqual([]);
    await page.context().close();

    const id = await idOf(cadiz, 'c.txt');
    const viewer = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/files?file=${id}`);
    await viewer.getByText('3 of 3 files').waitFor();
    const namesOf = (all: Element[]) => all.map((one) => one.getAttribute('aria-label') ?? one.textContent);
    const buttons = viewer.locator('.view > header button:visible');
    expect(await buttons.evaluateAll(namesOf)).toEqual(['Close', 'Download', 'Details']);
    await viewer.context().close();
  });

  test('is deleted as the last, and leaves the focus in the list, or else on the title', async () => {
    const { projectId, cadiz } = await createFilled('Alone');
    await fill(cadiz, { 'a.txt': 'a', 'b.txt': 'b' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const view = page.locator('.view');
    const focused = () =>
      page.evaluate(() => document.activeElement?.id.split('-')[0] || document.activeElement?.tagName);
    await entryOf(page, 'a.txt').click();
    await view.getByRole('button', { name: 'Delete' }).click();
    await view.getByText('1 of 1 file', { exact: true }).waitFor();
    expect(await page.getByRole('toolbar', { name: 'Files beside this one' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await view.waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('entry');
    await page.keyboard.press('Enter');
    const answered = page.waitForResponse('**/api/storage/bulk');
    await view.getByRole('button', { name: 'Delete' }).click();
    await view.waitFor({ state: 'detached' });
    await entryOf(page, 'b.txt').waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('H1');
    // Until then, the message is that of the other file.
    await answered;
    await page.getByRole('button', { name: 'Undo' }).click();
    // By a key of the list as well.
    await rowOf(page, 'b.txt').click({ position: { x: 60, y: 8 } });
    await page.keyboard.press('Delete');
    await entryOf(page, 'b.txt').waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('H1');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is shown among those beside it, each of which is a click away', async () => {
    const { projectId, cadiz } = await createFilled('Film');
    await cadiz.folders.ensure(['a folder']);
    const names = Array.from({ length: 60 }, (_, index) => `n${String(index).padStart(2, '0')}.txt`);
    await fill(cadiz, Object.fromEntries(names.map((name) => [name, name])));
    const id = await uploadPicture(cadiz, 'n31.png', 'png');
    await expect.poll(async () => (await cadiz.files.get(id)).image?.state, { timeout: 30_000 }).toBe('ready');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await entryOf(page, 'n00.txt').click();
    const film = page.getByRole('toolbar', { name: 'Files beside this one' });
    const shown = film.locator('[aria-current=true]');
    const frames = film.getByRole('button');
    await frames.first().waitFor();
    expect(await frames.count()).toBe(21);
    // The one that is shown is in sight, and all of the first.
    const isInSight = () =>
      shown.evaluate((one) => {
        const [inner, outer] = [one, one.parentElement ?? one].map((part) => part.getBoundingClientRect());
        return inner && outer && inner.left >= outer.left && inner.right <= outer.right;
      });
    expect(await isInSight()).toBe(true);
    for (const name of ['n20.txt', 'n30.txt']) {
      await film.getByRole('button', { name }).click();
      await expect.poll(() => titleOf(page).textContent()).toBe(name);
      await expect.poll(() => shown.getAttribute('aria-label')).toBe(name);
      expect(await isInSight()).toBe(true);
    }
    await page.getByText('31 of 61 files', { exact: true }).waitFor();
    expect(await frames.count()).toBe(41);
    await film.getByRole('button', { name: 'n31.png' }).locator('img').waitFor();
    // The arrows go on from there, and the focus with them; for the Tab key it is one stop.
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    for (const name of ['n31.png', 'n31.txt']) {
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => titleOf(page).textContent()).toBe(name);
      await expect.poll(focused).toBe(name);
    }
    await page.keyboard.press('Shift+Tab');
    await expect.poll(focused).toBe('Next file');
    expect(await findFlaws(page)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is shown without its details by a button or a key, until somebody wants them again', async () => {
    const { projectId, cadiz } = await createFilled('Without details');
    await fill(cadiz, { 'a.txt': 'a', 'b.txt': 'b' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    const view = page.locator('.view');
    const details = view.getByRole('complementary', { name: 'Details' });
    const button = view.getByRole('button', { name: 'Details' });
    const hasFocus = () => page.evaluate(() => document.activeElement?.closest('.view') !== null);
    const widthOf = async (one: Locator) => (await one.boundingBox())?.width;
    await entryOf(page, 'a.txt').click();
    await details.waitFor();
    expect(await button.getAttribute('aria-pressed')).toBe('true');
    await button.click();
    await details.waitFor({ state: 'hidden' });
    expect(await button.getAttribute('aria-pressed')).toBe('false');
    expect(await button.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await widthOf(view.locator('.stage'))).toBe(1440);
    expect(await findBarriers(page)).toEqual([]);
    // The next file, another window and a phone, which has them below.
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => titleOf(page).textContent()).toBe('b.txt');
    expect(await details.isVisible()).toBe(false);
    await page.reload();
    await expect.poll(() => titleOf(page).textContent()).toBe('b.txt');
    expect(await details.isVisible()).toBe(false);
    await page.setViewportSize({ width: 390, height: 844 });
    await details.waitFor();
    expect(await button.isVisible()).toBe(false);
    await page.setViewportSize({ width: 1440, height: 900 });
    await details.waitFor({ state: 'hidden' });
    await expect.poll(hasFocus).toBe(true);
    await page.keyboard.press('Escape');
    await view.waitFor({ state: 'detached' });

    // Whoever asks for the details sees them, now and not from now on.
    await entryOf(page, 'a.txt').focus();
    await page.keyboard.press('i');
    await details.waitFor();
    await expect.poll(() => details.evaluate((one) => one === document.activeElement)).toBe(true);
    await page.keyboard.press('Escape');
    await view.waitFor({ state: 'detached' });
    await page.keyboard.press('Space');
    await expect.poll(() => titleOf(page).textContent()).toBe('a.txt');
    await expect.poll(hasFocus).toBe(true);
    expect(await details.isVisible()).toBe(false);
    await page.keyboard.press('i');
    await details.waitFor();
    await details.getByRole('button').first().focus();
    await page.keyboard.press('i');
    await details.waitFor({ state: 'hidden' });
    // The keys are still those of the preview.
    expect(await hasFocus()).toBe(true);
    await page.keyboard.press('i');
    await details.waitFor();
    await page.reload();
    await details.waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is renamed, moved and deleted by a menu on a phone', async () => {
    const { projectId, cadiz } = await createFilled('By thumb');
    await cadiz.folders.ensure(['a target']);
    await fill(cadiz, { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, {
      viewport: { width: 360, height: 640 },
      hasTouch: true,
    });
    const view = page.locator('.view');
    const choose = async (name: string) => {
      await view.getByRole('button', { name: 'More actions' }).tap();
      await page.getByRole('menuitem', { name, exact: true }).tap();
    };
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    await entryOf(page, 'a.txt').tap();
    await choose('Rename');
    await view.getByLabel('New name').fill('a2.txt');
    await page.keyboard.press('Enter');
    await expect.poll(() => titleOf(page).textContent()).toBe('a2.txt');
    await expect.poll(focused).toBe('More actions');
    await choose('Move');
    const dialog = dialogOf(page, 'Move 1 item');
    await dialog.getByRole('button', { name: 'a target', exact: true }).tap();
    await dialog.getByRole('button', { name: 'Move to a target' }).tap();
    await page.getByText('1 item moved to a target').waitFor();
    await expect.poll(() => titleOf(page).textContent()).toBe('b.txt');
    const low = () =>
      view.locator('header button:visible, .film button, .go').evaluateAll((all) =>
        all
          .map((one) => one.getBoundingClientRect())
          .filter(({ width, height }) => width < 44 || height < 44)
          .map(({ width, height }) => `${width} × ${height}`),
      );
    expect(await low()).toEqual([]);
    await view.getByRole('toolbar', { name: 'Files beside this one' }).getByRole('button', { name: 'c.txt' }).tap();
    await expect.poll(() => titleOf(page).textContent()).toBe('c.txt');
    await choose('Delete');
    await page.getByText('1 item moved to the trash').waitFor();
    await expect.poll(() => titleOf(page).textContent()).toBe('b.txt');
    expect((await cadiz.files.page({ folder: null })).files.map(({ fileName }) => fileName)).toEqual(['b.txt']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('says so if a key of its metadata cannot be used', async () => {
    const { projectId, cadiz } = await createFilled('Keys of metadata');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files?file=${await idOf(cadiz, 'letter.txt')}`);
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    const dialog = dialogOf(page, 'Metadata');
    await dialog.getByRole('button', { name: 'Add a key' }).click();
    await dialog.getByLabel('Key', { exact: true }).fill('__proto__');
    await dialog.getByLabel('Value').fill('x');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('cannot be used as a key').first().waitFor();
    await page.context().close();
  });

  test('keeps what is typed about it when somebody clicks beside the dialog', async () => {
    const { projectId, cadiz } = await createFilled('Beside');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await entryOf(page, 'letter.txt').click();
    const dialog = dialogOf(page, 'Metadata');
    const open = async () => {
      await page.getByRole('button', { name: 'Edit metadata' }).click();
      await dialog.waitFor();
    };
    await open();
    await page.mouse.click(5, 450);
    await dialog.waitFor({ state: 'detached' });
    await open();
    await dialog.getByLabel('External id').fill('letter 1');
    await page.mouse.click(5, 450);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await cadiz.files.get(await idOf(cadiz, 'letter.txt'))).externalId).toBe('letter 1');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('keeps of its metadata what others change while somebody types', async () => {
    const { projectId, cadiz } = await createFilled('By two');
    await fill(cadiz, { 'letter.txt': 'Dear all,' });
    const id = await idOf(cadiz, 'letter.txt');
    await cadiz.files.update(id, { metadata: { state: 'draft' } });
    const page = await tested.openAsOwner(`/projects/${projectId}/files?file=${id}`);
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    const dialog = dialogOf(page, 'Metadata');
    await dialog.getByLabel('External id').fill('letter 1');
    await untilFollowing(page);
    await cadiz.files.update(id, { metadata: { state: 'sent', pages: 2 } });
    await page.locator('.details').getByText('sent', { exact: true }).waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { metadata, externalId } = await cadiz.files.get(id);
    expect({ metadata, externalId }).toEqual({ metadata: { state: 'sent', pages: 2 }, externalId: 'letter 1' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test.each([
    { of: 'twice the size', viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 },
    { of: 'a small phone', viewport: { width: 360, height: 640 } },
    { of: 'a wall', viewport: { width: 3840, height: 2160 } },
    { of: 'forced colours', forcedColors: 'active' as const },
  ])('can be seen, with what is known of it: $of', async ({ of, ...options }) => {
    const { projectId, cadiz } = await createFilled(of);
    await fill(cadiz, { 'a.csv': `id,${'name '.repeat(99)}\n1,${'x'.repeat(999)}` }, 'text/csv');
    const page = await tested.openAsOwner(`/projects/${projectId}/files`, options);
    await rowOf(page, 'a.csv').click({ position: { x: 60, y: 8 } });
    const row = await rowOf(page, 'a.csv').evaluate((element) => getComputedStyle(element).color);
    if (options.forcedColors)
      expect(await entryOf(page, 'a.csv').evaluate((element) => getComputedStyle(element).color)).toBe(row);
    await entryOf(page, 'a.csv').click();
    const shown = await page.locator('.text-stage').boundingBox();
    expect(shown?.height).toBeGreaterThan(150);
    expect(shown?.width).toBeGreaterThan(300);
    const isWide = () => page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(await isWide()).toBe(false);
    const button = page.getByRole('button', { name: 'Create a link and copy it' });
    await button.scrollIntoViewIfNeeded();
    await button.click({ trial: true });
    await page.getByRole('button', { name: 'Edit metadata' }).click();
    await dialogOf(page, 'Metadata').getByRole('button', { name: 'Add a key' }).click();
    await dialogOf(page, 'Metadata').getByRole('button', { name: 'Save' }).click({ trial: true });
    expect(await isWide()).toBe(false);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('a folder', () => {
  test('is moved as a whole, and says how far that is', async () => {
    const { projectId, cadiz } = await createFilled('Whole');
    await cadiz.folders.ensure(['a target']);
    const names = Array.from({ length: 1100 }, (_, index) => `from/one of many ${index}`);
    for (let at = 0; at < names.length; at += 100) await cadiz.folders.ensure(names.slice(at, at + 100));
    const page = await tested.openAsOwner(`/projects/${projectId}/files/${await idOf(cadiz, 'from')}?q=many`);
    await page.getByText('1,100 found').waitFor();
    await rowOf(page, 'one of many 0').click();
    await page.keyboard.press('Control+a');
    await page.getByText('200 selected').waitFor();
    await page.getByRole('button', { name: 'Select all 1,100 in this folder' }).click();
    await page.getByText('1,100 selected').waitFor();
    await page.keyboard.press('m');
    const dialog = dialogOf(page, 'Move 1,100 items');
    await dialog.getByRole('button', { name: 'Whole' }).click();
    await dialog.getByRole('button', { name: 'a target' }).click();
    // That it has begun is said before the service has answered, and how far it is until that says more.
    const answer = createHold();
    await page.route('**/api/storage/bulk', async (route) => {
      await answer.over;
      await route.continue();
    });
    let goOn = (): void => {};
    const said = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route('**/api/storage/operations/*', async (route) => {
      await said;
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Move to a target' }).click();
    await page.getByText('In progress…').waitFor();
    answer.release();
    await page.getByText(/of 1,100 items done/).waitFor();
    goOn();
    await page.getByText('1,100 items moved to a target').waitFor();
    expect((await cadiz.files.page({ folder: 'from' })).folders).toEqual([]);
    expect((await cadiz.files.page({ folder: 'a target', counts: true })).total).toBe(1100);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is walked through by keyboard, and Escape takes back one thing at a time', async () => {
    const { projectId, cadiz } = await createFilled('Keys');
    await fill(cadiz, { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files?q=t`);
    let choosers = 0;
    page.on('filechooser', () => {
      choosers++;
    });
    for (const entryIn of [rowOf, tileOf]) {
      await entryIn(page, 'a.txt').click({ position: { x: 60, y: 10 } });
      await page.keyboard.press(entryIn === tileOf ? 'Shift+ArrowRight' : 'Shift+ArrowDown');
      await page.getByText('2 selected').waitFor();
      for (const key of ['Space', 'i']) {
        await page.keyboard.press(key);
        await expect.poll(() => titleOf(page).textContent()).toBe('b.txt');
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain('b.txt');
      }
      // The selection is still there, and the search as well, until it is their turn.
      await page.getByText('2 selected').waitFor();
      await page.keyboard.press('Escape');
      await page.getByText('3 found').waitFor();
      await entryIn(page, 'b.txt').click({ button: 'right' });
      await page.getByRole('menuitem', { name: /Rename/ }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('menu').waitFor({ state: 'detached' });
      expect(await findBarriers(page)).toEqual([]);
      if (entryIn === rowOf) await page.keyboard.press('v');
    }
    expect(page.url()).toContain('q=t');
    await page.keyboard.press('Escape');
    await page.getByText('3 items').waitFor();
    expect(await page.getByLabel('Search this folder').inputValue()).toBe('');
    await page.keyboard.press('u');
    await expect.poll(() => choosers).toBe(1);
    await page.keyboard.press('n');
    await dialogOf(page, 'New folder').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has its keys again when the palette or the list of shortcuts over it is closed', async () => {
    const { projectId, cadiz } = await createFilled('Over it');
    await fill(cadiz, { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await entryOf(page, 'a.txt').click();
    for (const [key, name, next] of [
      ['Control+k', 'Search or jump to', 'b.txt'],
      ['?', 'Keyboard shortcuts', 'c.txt'],
    ] as const) {
      await page.locator('.text-stage').waitFor();
      await page.keyboard.press(key);
      await dialogOf(page, name).waitFor();
      await page.keyboard.press('Escape');
      await dialogOf(page, name).waitFor({ state: 'detached' });
      await expect.poll(() => page.evaluate(() => document.activeElement?.role)).toBe('dialog');
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => titleOf(page).textContent()).toBe(next);
    }
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has an address that says all there is to say, whatever it is called', async () => {
    const { projectId, cadiz } = await createFilled('Addresses');
    const names = ['100 % # ? & +', `"quoted" 'too' <b>`, '🐟 شاطئ %2e%2e', 'x'];
    await cadiz.folders.ensure([names.join('/')]);
    await cadiz.uploads
      .create([new File(['x'], '%2F.txt', { type: 'text/plain' })], { folder: names.join('/') })
      .done();
    const page = await tested.openAsOwner(`/projects/${projectId}/files?view=grid&sort=createdAt&order=desc`);
    for (const name of names) await entryOf(page, name).click();
    await entryOf(page, '%2F.txt').waitFor();
    const inside = page.url();
    expect(inside).toMatch(/sort=createdAt&order=desc&view=grid$/);
    await page.getByLabel('Search this folder').fill('%2');
    await page.waitForURL(/q=/);
    const address = page.url();
    const isWhole = async (one: Page) => {
      await tileOf(one, '%2F.txt').waitFor();
      expect(await one.getByLabel('Search this folder').inputValue()).toBe('%2');
      await one.getByRole('button', { name: 'Added' }).waitFor();
      expect(one.url()).toBe(address);
    };
    await page.reload();
    await isWhole(page);
    const other = await page.context().newPage();
    await other.goto(address);
    await isWhole(other);
    await other.close();
    // Back leads out of the search, and forward into it again.
    await page.goBack();
    await page.waitForURL(inside);
    await expect.poll(() => page.getByLabel('Search this folder').inputValue()).toBe('');
    await page.goForward();
    await isWhole(page);
    // The second and third of five are in a menu.
    await page.getByLabel('2 more folders').click();
    await page.getByRole('menuitem', { name: names[0] ?? '' }).click();
    await tileOf(page, names[1] ?? '').waitFor();
    expect(page.url()).toMatch(/sort=createdAt&order=desc&view=grid$/);
    await page.getByRole('navigation').getByRole('link', { name: 'Addresses' }).click();
    await tileOf(page, names[0] ?? '').waitFor();
    expect(page.url()).toMatch(/files\?sort=createdAt&order=desc&view=grid$/);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is left by Back, however many files were looked at, and by the keys of the browser', async () => {
    const { projectId, cadiz } = await createFilled('Back');
    const { id } = await cadiz.folders.create('inside');
    await cadiz.uploads.create([new File(['a'], 'a.txt'), new File(['b'], 'b.txt')], { folder: id }).done();
    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await entryOf(page, 'inside').click();
    for (const name of ['a.txt', 'b.txt', 'a.txt']) {
      await entryOf(page, name).click();
      await expect.poll(() => titleOf(page).textContent()).toBe(name);
      await page.keyboard.press(name === 'a.txt' ? 'ArrowRight' : 'ArrowLeft');
      await expect.poll(() => titleOf(page).textContent()).not.toBe(name);
      // Twice, as somebody does who is in a hurry.
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(page.url()).toContain(id);
    }
    await page.goBack();
    await entryOf(page, 'inside').waitFor();
    // So is a menu, of a part of the frame that stays.
    await page.getByRole('link', { name: 'Trash' }).click();
    await page.getByRole('heading', { name: 'Trash', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Ada Example' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    await page.goBack();
    await entryOf(page, 'inside').waitFor();
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Ada Example' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });

    // A preview that an address has opened has no list before it.
    await page.goto(`${tested.url}/projects/${projectId}/files/${id}?file=${await idOf(cadiz, 'a.txt', id)}`);
    await expect.poll(() => titleOf(page).textContent()).toBe('a.txt');
    await page.keyboard.press('Alt+ArrowRight');
    expect(await titleOf(page).textContent()).toBe('a.txt');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await entryOf(page, 'a.txt').waitFor();
    // Browsers go back and forward with Alt, or with ⌘, and an arrow.
    await page.keyboard.press('v');
    await tileOf(page, 'b.txt').focus();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await page.keyboard.press('Alt+ArrowLeft');
    await page.keyboard.press('Shift');
    expect(await focused()).toContain('b.txt');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('shows what somebody else has changed, and keeps its place and its selection', async () => {
    const { projectId, cadiz } = await createFilled('Two');
    const names = Array.from({ length: 120 }, (_, index) => `n${String(index).padStart(3, '0')}`);
    await cadiz.folders.ensure(names.slice(0, 100));
    await cadiz.folders.ensure(names.slice(100));
    const here = await tested.openAsOwner(`/projects/${projectId}/files`);
    const there = await tested.openAsOwner(`/projects/${projectId}/files`);
    await rowOf(here, 'n000').click();
    await here.keyboard.press('End');
    await rowOf(here, 'n119').getByRole('checkbox').click();
    const scrolled = () => here.getByRole('grid').evaluate(({ scrollTop }) => scrollTop);
    const before = await scrolled();
    expect(before).toBeGreaterThan(0);

    await rowOf(there, 'n001').click();
    await there.keyboard.press('Delete');
    await there.getByText('119 items').waitFor();
    await there.keyboard.press('n');
    await there.getByLabel('Name of the folder').fill('a new one');
    await there.keyboard.press('Enter');
    await rowOf(there, 'a new one').waitFor();
    await there.getByRole('dialog').waitFor({ state: 'detached' });
    await there.keyboard.press('n');
    await there.getByLabel('Name of the folder').fill('n118b');
    await there.keyboard.press('Enter');
    await there.getByText('121 items').waitFor();

    // As when a window is looked at again.
    await here.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
    await rowOf(here, 'n118b').waitFor();
    await here.getByText('2 selected').waitFor();
    expect(await scrolled()).toBe(before);
    // The keys go on at what had the focus, wherever that is now.
    await here.keyboard.press('ArrowUp');
    await expect.poll(() => here.evaluate(() => document.activeElement?.textContent)).toContain('n118b');
    expect(tested.complaints).toEqual([]);
    await here.context().close();
    await there.context().close();
  });
});
