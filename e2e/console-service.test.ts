import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { CDPSession, Locator, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ConsoleUnderTest,
  createHold,
  email,
  findFlaws,
  password,
  startConsole,
  triesJourneys,
} from './console-page.ts';

let cadiz: ConsoleUnderTest;
let ownPassword = password;

beforeAll(async () => {
  if (triesJourneys) cadiz = await startConsole({ CADIZ_SIGN_UP: 'open', TRUSTED_PROXIES: '127.0.0.1' });
});
afterAll(async () => {
  if (triesJourneys) await cadiz.stop();
});

/** Signs somebody in by hand, in a browser of their own, and opens an address. */
async function signIn(path: string, name = email, word = ownPassword): Promise<Page> {
  const page = await cadiz.openPage();
  await page.goto(`${cadiz.url}/sign-in?to=${encodeURIComponent(path)}`);
  await page.getByLabel('E-mail').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(word);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  return page;
}

/** Stores a file of this many bytes in a project. */
async function storeFile(projectId: string, fileSize: number): Promise<void> {
  const file = {
    projectId,
    fileName: `${fileSize}.bin`,
    mimeType: 'application/octet-stream',
    fileSize,
    folderId: null,
  };
  const { presignedUrl, storeKey } = await cadiz.ask<{ presignedUrl: string; storeKey: string }>(
    'POST',
    '/api/storage/presign',
    file,
  );
  const headers = { 'Content-Type': file.mimeType };
  expect((await fetch(presignedUrl, { method: 'PUT', headers, body: Buffer.alloc(fileSize) })).status).toBe(200);
  await cadiz.ask('POST', '/api/storage/record', { ...file, storeKey });
}

/** How many points of the first plot are painted. */
const inkOf = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const canvas = document.querySelector('canvas');
    const pixels = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    return pixels.filter((alpha, index) => index % 4 === 3 && alpha > 0).length;
  });

/** Somebody with an account of their own, and the page that they have opened. */
async function signUp(name: string, path: string): Promise<Page> {
  const address = `${name.toLowerCase()}@example.com`;
  const answer = await fetch(`${cadiz.url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, email: address, password }),
  });
  expect(answer.status).toBe(200);
  return signIn(path, address, password);
}

/** The code that an app shows for a secret. @param later in how many half minutes */
function totp(secret: string, later = 0): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const digest = createHmac('sha1', key).update(counter).digest();
  const at = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** The object store of the service, to do what nobody should. */
async function openStore(): Promise<S3Client> {
  const { CADIZ_DATA_DIR = '', STORE_PORT } = cadiz.settings;
  const secrets = JSON.parse(await readFile(join(CADIZ_DATA_DIR, 'secrets.json'), 'utf8'));
  const credentials = { accessKeyId: secrets.storeAccessKeyId, secretAccessKey: secrets.storeSecretAccessKey };
  return new S3Client({
    endpoint: `http://127.0.0.1:${STORE_PORT}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials,
  });
}

describe.runIf(triesJourneys)('a comparison with the object store', () => {
  test('names the files whose objects are gone or have changed, leads to them, and says what to do', async () => {
    const projectId = await cadiz.createProject('Damaged');
    const client = await cadiz.connect(projectId);
    const [lost, altered, turned] = await Promise.all(
      ['lost.txt', 'altered.txt', '\u202egpj.exe', 'whole.txt'].map((name) =>
        client.upload(new Blob([name]), { name, folder: 'deep' }),
      ),
    );
    const store = await openStore();
    for (const gone of [lost, turned])
      await store.send(new DeleteObjectCommand({ Bucket: 'cadiz', Key: gone?.storeKey ?? '' }));
    await store.send(new PutObjectCommand({ Bucket: 'cadiz', Key: altered?.storeKey ?? '', Body: 'ALTERED.txt' }));
    store.destroy();

    const page = await cadiz.openAsOwner(`/projects/${projectId}/settings`);
    await page.getByRole('button', { name: 'Compare without changing anything' }).click();
    await page.getByText('Which objects have changed').click();
    await page.getByRole('link', { name: 'altered.txt' }).waitFor();
    await page.getByText('cadiz admin accept').waitFor();
    expect(await page.getByText('whole.txt').count()).toBe(0);
    await page.getByText('Which files have no object').click();
    // As a whole, it would be shown as `exe.jpg`.
    expect(await page.getByRole('link', { name: 'gpj.exe' }).locator('.ext').innerText()).toBe('.exe');
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('link', { name: 'lost.txt' }).click();
    await page.getByRole('dialog').getByText('lost.txt').first().waitFor();
    await page
      .getByRole('alert')
      .filter({ hasText: /^Its object is gone from the object store\.$/ })
      .waitFor();
    expect(cadiz.complaints).toEqual([]);
  });
});

describe.runIf(triesJourneys)('usage', () => {
  test.each(['en-US@posix', 'C', 'de@euro'])('is plotted where the browser calls its language %s', async (language) => {
    const projectId = await cadiz.createProject('Photos of a machine');
    await storeFile(projectId, 1000);
    const page = await cadiz.openAsOwner('/account');
    await page.addInitScript((name) => {
      Object.defineProperty(navigator, 'language', { value: name, configurable: true });
      Object.defineProperty(navigator, 'languages', { value: [name] });
    }, language);
    await page.goto(`${cadiz.url}/projects/${projectId}/usage`);
    await expect.poll(() => page.locator('.chart canvas').count()).toBe(4);
    await page.context().close();
  });

  test('is plotted by day, with the same figures in the table and in the CSV, and the share of the limit', async () => {
    const projectId = await cadiz.createProject('Measured photos');
    await cadiz.ask('PATCH', `/api/projects/${projectId}`, { quotaBytes: 4_000_000 });
    for (const fileSize of [1_500_000, 500_000]) await storeFile(projectId, fileSize);
    const page = await cadiz.openAsOwner(`/projects/${projectId}/usage`);
    await page.getByText('50% of the limit').waitFor();
    const table = page.getByRole('region', { name: 'The same in numbers' });
    const rows = table.locator('tbody tr');
    expect(await rows.count()).toBe(30);
    expect(await rows.first().locator('td').allInnerTexts()).toEqual([
      expect.any(String),
      '2',
      '2 MB',
      '0 B',
      '2',
      '2 MB',
    ]);
    // Before there was a project, nothing was in it.
    expect(await rows.last().locator('td').allInnerTexts()).toEqual([
      expect.any(String),
      '0',
      '0 B',
      '0 B',
      '0',
      '0 B',
    ]);

    const chart = page.getByRole('slider', { name: 'By day' });
    await expect.poll(() => chart.locator('canvas').count()).toBe(4);
    await expect.poll(() => inkOf(page)).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'CSV' }).focus();
    await page.keyboard.press('Tab');
    expect(await chart.getAttribute('aria-valuetext')).toMatch(
      /, Files 2, Stored 2 MB, In the trash 0 B, Uploads 2, Uploaded 2 MB$/,
    );
    await page.keyboard.press('ArrowLeft');
    expect(await chart.getAttribute('aria-valuetext')).toMatch(/, Files 0, /);
    expect(await rows.nth(1).getAttribute('class')).toBe('is-hover');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('.tip').count()).toBe(0);
    const plot = (await chart.locator('.u-over').first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(plot.x + plot.width - 2, plot.y + 40);
    await page.locator('.tip').getByText('2 MB').first().waitFor();

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines[0]).toBe('day,files,bytes,trashedBytes,uploads,addedBytes');
    expect(lines.length).toBe(31);
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\d,2,2000000,0,2,2000000$/);

    await page.getByRole('button', { name: '7 days' }).click();
    await expect.poll(() => rows.count()).toBe(7);
    await page.reload();
    await expect.poll(() => rows.count()).toBe(7);
    expect(await findFlaws(page)).toEqual([]);
  });

  test('has the trash in what is used of the limit, wherever that is shown', async () => {
    const projectId = await cadiz.createProject('Half deleted');
    await cadiz.ask('PATCH', `/api/projects/${projectId}`, { quotaBytes: 4_000_000 });
    for (const fileSize of [1_500_000, 500_000]) await storeFile(projectId, fileSize);
    const { files } = await cadiz.connect(projectId);
    const all = await files.page();
    await files.delete(all.files.find(({ fileSize }) => fileSize === 500_000)?.id ?? '');
    const page = await cadiz.openAsOwner(`/projects/${projectId}/usage`);
    await page.getByText('50% of the limit').waitFor();
    await page.locator('.quota').getByText('2 MB of 4 MB').waitFor();
    await page.goto(`${cadiz.url}/projects`);
    await page
      .getByRole('link', { name: /Half deleted/ })
      .getByText('1 file · 2 MB of 4 MB')
      .waitFor();
    await page.context().close();
  });

  test('is drawn anew in the colours of the other theme, and as wide as there is room', async () => {
    const projectId = await cadiz.createProject('Painted photos');
    await storeFile(projectId, 1000);
    const page = await cadiz.openAsOwner(`/projects/${projectId}/usage`, { colorScheme: 'light' });
    const canvas = page.getByRole('slider').locator('canvas').first();
    await expect.poll(() => inkOf(page)).toBeGreaterThan(0);
    const light = await canvas.evaluate((element) => (element as HTMLCanvasElement).toDataURL());
    const wide = await canvas.evaluate((element) => element.clientWidth);
    // Less motion is no reason for other colours.
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.reload();
    await expect.poll(() => canvas.evaluate((element) => (element as HTMLCanvasElement).toDataURL())).toBe(light);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(() => canvas.evaluate((element) => (element as HTMLCanvasElement).toDataURL())).not.toBe(light);
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(() => canvas.evaluate((element) => element.clientWidth)).toBeLessThan(wide);
    await expect
      .poll(() =>
        page
          .getByRole('slider')
          .locator('canvas')
          .last()
          .evaluate((element) => element.clientWidth),
      )
      .toBeLessThan(391);
  });

  test('leaves days empty that the service did not count', async () => {
    const projectId = await cadiz.createProject('Older photos');
    const page = await cadiz.openAsOwner('/account');
    // As if the project were older than the counting of days.
    await page.route('**/api/projects', async (route) => {
      const answer = await (await route.fetch()).text();
      await route.fulfill({ body: answer.replaceAll(/"createdAt":"\d{4}/g, '"createdAt":"2020') });
    });
    await page.goto(`${cadiz.url}/projects/${projectId}/usage`);
    await expect.poll(() => page.getByText('not counted yet', { exact: true }).count()).toBe(29);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d,,,,,$/);
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\d,0,0,0,0,0$/);
  });

  test('says what went wrong, with the request id', async () => {
    const projectId = await cadiz.createProject('Unlucky photos');
    const page = await cadiz.openAsOwner('/projects');
    // A project that is not there, which the service refuses.
    const elsewhere = projectId.replace(/.{4}$/, '0000');
    await page.route('**/usage/daily**', (route) =>
      route.continue({ url: route.request().url().replace(projectId, elsewhere) }),
    );
    await page.goto(`${cadiz.url}/projects/${projectId}/usage`);
    const note = page.getByRole('alert');
    await note.getByText('project_not_found').waitFor();
    await note.getByText('Request id').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.unroute('**/usage/daily**');
    await note.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('slider').waitFor();
  });
});

describe.runIf(triesJourneys)('the members of a project', () => {
  test('a role is changed at once, and taken back when the service refuses', async () => {
    const projectId = await cadiz.createProject('Shared photos');
    await cadiz.openAsMember(projectId, 'editor', '/');
    const page = await cadiz.openAsOwner(`/projects/${projectId}/members`);
    let release = () => {};
    await page.route('**/members/*', async (route) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      await route.continue();
    });
    const asked = () => page.waitForRequest((request) => request.method() === 'PATCH');
    const answered = () => page.waitForResponse((response) => response.request().method() === 'PATCH');
    const role = page.getByLabel('Role of Vera the editor');
    const path = `/api/projects/${projectId}/members`;
    const membersThere = async () =>
      (await cadiz.ask<{ members: { userId: string; role: string }[] }>('GET', path)).members;
    const rolesThere = async () => (await membersThere()).map((member) => member.role).sort();
    const vera = `${path}/${(await membersThere()).find((member) => member.role === 'editor')?.userId}`;

    const first = asked();
    await role.selectOption('viewer');
    await first;
    expect(await role.inputValue()).toBe('viewer');
    expect(await rolesThere()).toEqual(['editor', 'owner']);
    release();
    await expect.poll(rolesThere).toEqual(['owner', 'viewer']);
    expect(await role.inputValue()).toBe('viewer');

    // The only owner is offered no role that would be refused, and is told why.
    const own = page.getByLabel('Role of Ada Example');
    expect(await own.locator('option:enabled').allInnerTexts()).toEqual(['Owner']);
    const reason = page.locator(`[id="${await own.getAttribute('aria-describedby')}"]`);
    expect(await reason.innerText()).toBe('To leave or take another role, make somebody else an owner first.');
    await role.selectOption('owner');
    await expect
      .poll(() => {
        release();
        return reason.count();
      })
      .toBe(0);

    // The last owner stays, also one who was not the only one a moment ago.
    await own.focus();
    await own.selectOption('editor');
    const question = page.getByRole('dialog', { name: 'Change your own role to Editor?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await own.inputValue()).toBe('owner');
    await own.selectOption('editor');
    await question.waitFor();
    await cadiz.ask('PATCH', vera, { role: 'editor' });
    const second = asked();
    await question.getByRole('button', { name: 'Change my role' }).click();
    await second;
    expect(await own.inputValue()).toBe('editor');
    const refusal = answered();
    release();
    expect((await refusal).status()).toBe(409);
    await expect.poll(() => own.inputValue()).toBe('owner');
    await page.locator('.toast').getByText(/owner/).waitFor();
    expect(await own.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await findFlaws(page)).toEqual([]);
  });
});

describe.runIf(triesJourneys)('the question before a member goes', () => {
  test('does not show what was refused for another', async () => {
    const projectId = await cadiz.createProject('Two members');
    const { request } = (await cadiz.openAsMember(projectId, 'editor', '/')).context();
    const created = await request.post(`${cadiz.url}/api/api-keys`, { data: { name: 'Of Vera', projectId } });
    expect(created.status()).toBe(200);
    const path = `/api/projects/${projectId}/members`;
    const { members } = await cadiz.ask<{ members: { userId: string; role: string }[] }>('GET', path);
    const vera = `${path}/${members.find(({ role }) => role === 'editor')?.userId}`;
    await cadiz.ask('PATCH', vera, { role: 'owner' });
    const page = await cadiz.openAsOwner(`/projects/${projectId}/members`);
    await page.getByRole('button', { name: 'Leave' }).click();
    const dialog = page.getByRole('dialog');
    // Meanwhile, the other owner has become an editor again.
    await dialog.waitFor();
    await cadiz.ask('PATCH', vera, { role: 'editor' });
    await dialog.getByRole('button', { name: 'Leave' }).click();
    await dialog.getByText('last_owner').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    // For the page, no time goes by: nothing is read again because it is old.
    await page.clock.setFixedTime(Date.now());
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByText('Of Vera').waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('button', { name: 'Remove Vera the editor?' }).click();
    await dialog.getByText('Remove Vera the editor?').waitFor();
    expect(await dialog.getByRole('alert').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Vera the editor', { exact: true }).waitFor({ state: 'detached' });
    // Her keys went with her.
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByText('1 key ended').waitFor();
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('the settings of a project', () => {
  test('are saved by a bar that names the change, and leaving with a change asks', async () => {
    const projectId = await cadiz.createProject('Holiday photos');
    const page = await cadiz.openAsOwner(`/projects/${projectId}/settings`);
    await page.getByLabel('Name', { exact: true }).fill('Harbour Journal');
    await page.getByLabel('All files together', { exact: true }).fill('120');
    await page.getByLabel('Largest file', { exact: true }).fill('1.5');
    await page.getByLabel('Allowed types').fill('image/*\napplication/pdf');
    await page.getByLabel('If the content is not of the stated type').selectOption('refuse');
    await page.getByText('Name: Harbour Journal · All files together: 120 GB · Largest file: 1.5 GB').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('link', { name: 'Trash' }).click();
    await page.getByRole('dialog').getByText('Leave without saving?').waitFor();
    await page.getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Settings saved.').waitFor();
    expect(await cadiz.ask('GET', `/api/projects/${projectId}`)).toMatchObject({
      name: 'Harbour Journal',
      quotaBytes: 120e9,
      maxFileSizeBytes: 1.5e9,
      allowedMimeTypes: ['image/*', 'application/pdf'],
      contentMismatch: 'refuse',
    });
    await page.getByLabel('All files together', { exact: true }).fill('');
    await page.getByLabel('Allowed types').fill('nonsense');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page
      .getByText(/media type without parameters/)
      .first()
      .waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByLabel('Allowed types').fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect
      .poll(() => cadiz.ask('GET', `/api/projects/${projectId}`))
      .toMatchObject({ quotaBytes: null, allowedMimeTypes: null });
  });

  test('keep a limit as it is while something else than a number is typed', async () => {
    const projectId = await cadiz.createProject('Mistyped');
    await cadiz.ask('PATCH', `/api/projects/${projectId}`, { quotaBytes: 5e9 });
    const page = await cadiz.openAsOwner(`/projects/${projectId}/settings`);
    const limit = page.getByLabel('All files together', { exact: true });
    const save = page.getByRole('button', { name: 'Save', exact: true });
    for (const amount of ['10O', '9'.repeat(400)]) {
      await limit.fill(amount);
      await page.getByRole('alert').getByText('not a number').waitFor();
      expect(await save.isDisabled()).toBe(true);
      await limit.press('Enter');
    }
    await limit.fill('7');
    await save.click();
    await page.getByText('Settings saved.').waitFor();
    expect(await cadiz.ask('GET', `/api/projects/${projectId}`)).toMatchObject({ quotaBytes: 7e9 });
    const events = await cadiz.ask<{ events: { type: string }[] }>('GET', `/api/projects/${projectId}/audit`);
    // By the test itself, and once here.
    expect(events.events.filter(({ type }) => type === 'project.updated')).toHaveLength(2);
    expect(cadiz.complaints).toEqual([]);
    await page.context().close();
  });

  test('say which pictures are made of pictures, and whether links tell where they were taken', async () => {
    const projectId = await cadiz.createProject('Presets');
    const address = `/api/projects/${projectId}`;
    await cadiz.ask('PATCH', address, { imagePresets: { card: { w: 640, h: 360, pos: 'attention' } } });
    const page = await cadiz.openAsOwner(`/projects/${projectId}/settings`);
    const row = (index: number) => page.locator('.preset-row').nth(index);
    await page.getByRole('button', { name: 'Add a preset' }).click();
    // Of two with one name, only one would be kept.
    await page.keyboard.type('card');
    await row(1).getByLabel('Width').fill('256');
    await row(1).getByText('There is one of this name.').waitFor();
    expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
    await row(1).getByLabel('Preset', { exact: true }).fill('thumb');
    await row(1).getByLabel('Width').fill('256');
    await row(1).getByLabel('Fit').selectOption('inside');
    await row(1).getByLabel('Format').selectOption('avif');
    await row(0).getByLabel('Height').fill('480');
    await page.getByLabel('Where pictures were taken').selectOption('links');
    await page.getByText('Images: card, thumb · Where pictures were taken: Strip location from links').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Settings saved.').waitFor();
    // What has no field stays.
    expect(await cadiz.ask('GET', address)).toMatchObject({
      imagePresets: { card: { w: 640, h: 480, pos: 'attention' }, thumb: { w: 256, fit: 'inside', f: 'avif' } },
      stripLocation: 'links',
    });
    await page.getByRole('button', { name: 'Remove the preset card' }).click();
    // Refused in the words of the console, not of the browser, and nothing else is lost.
    const width = row(0).getByLabel('Width');
    for (const wrong of ['5000', '0', '1.5', 'x']) {
      await width.fill(wrong);
      await row(0).getByRole('alert').filter({ hasText: 'A whole number from 1 to 4,096' }).waitFor();
      expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
      await width.press('Enter');
    }
    expect(await width.evaluate((field) => (field as HTMLInputElement).validity.valid)).toBe(true);
    await width.fill('500');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect
      .poll(() => cadiz.ask<{ imagePresets: object }>('GET', address).then(({ imagePresets }) => imagePresets))
      .toEqual({ thumb: { w: 500, fit: 'inside', f: 'avif' } });
    await page.context().close();
  });

  test('compare the objects, and delete the project once its name is typed', async () => {
    // What has no width cannot be typed, and would turn the question around.
    const projectId = await cadiz.createProject('Old\u200b \u202ephotos');
    const page = await cadiz.openAsOwner(`/projects/${projectId}/settings`);
    await page.getByRole('button', { name: 'Compare without changing anything' }).click();
    await page.getByText('Orphans (no file)').waitFor();
    await page.getByRole('button', { name: 'Delete project…' }).click();
    const last = page.getByRole('button', { name: 'Delete for good' });
    expect(await last.isDisabled()).toBe(true);
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('dialog', { name: 'Delete “Old photos”?', exact: true }).waitFor();
    await page.getByLabel('Type “Old photos” to confirm').fill('Old photos');
    await last.click();
    await page.getByText('Old photos is deleted.').waitFor();
    const { projects } = await cadiz.ask<{ projects: { id: string }[] }>('GET', '/api/projects');
    expect(projects.map(({ id }) => id)).not.toContain(projectId);
  });
});

describe.runIf(triesJourneys)('the account', () => {
  test('changes the password, which signs the other browser out', async () => {
    const here = await cadiz.openAsOwner('/account');
    const there = await signIn('/account');
    await there.getByText('this one').waitFor();
    await here.getByRole('button', { name: 'Change password' }).click();
    const dialog = here.getByRole('dialog');
    // What a password manager keeps the new one for.
    expect(await dialog.locator('[autocomplete=username]').inputValue()).toBe(email);
    const focused = () => here.evaluate(() => document.activeElement?.getAttribute('autocomplete'));
    await expect.poll(focused).toBe('current-password');
    await dialog.getByLabel('Current password').fill('not the password at all');
    await dialog.getByLabel('New password').fill('a quite different battery');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await dialog.getByText('wrong_password').waitFor();
    expect(await findFlaws(here)).toEqual([]);
    await dialog.getByLabel('Current password').fill(ownPassword);
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await here.getByText('Password changed. 1 other session ended.').waitFor();
    ownPassword = 'a quite different battery';
    await there.reload();
    await there.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await findFlaws(here)).toEqual([]);
  });

  test('is not asked to sign in for what crosses a change of its own password', async () => {
    const page = await signUp('Cora', '/account');
    /** Sends a request with the cookies that it has now. @returns its answer, for the page */
    async function send(route: Route) {
      const request = route.request();
      const cookies = await page.context().cookies();
      const answer = await fetch(request.url(), {
        method: request.method(),
        body: request.postData(),
        headers: {
          'Content-Type': 'application/json',
          Origin: cadiz.url,
          Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
        },
      });
      const headers = { ...Object.fromEntries(answer.headers), 'set-cookie': answer.headers.getSetCookie().join('\n') };
      return { status: answer.status, headers, body: await answer.text() };
    }
    const change = createHold();
    const refusal = createHold();
    let isFirst = true;
    await page.route('**/api/account/sessions', async (route) => {
      if (route.request().method() !== 'DELETE' || !isFirst) return route.continue();
      isFirst = false;
      const cookies = await page.context().cookies();
      await change.over;
      expect(await page.context().cookies()).toEqual(cookies);
      const answer = await send(route);
      expect(answer.status).toBe(401);
      await route.fulfill(answer);
      refusal.release();
    });
    await page.route('**/api/account/password', async (route) => {
      const answer = await send(route);
      change.release();
      await refusal.over;
      await route.fulfill(answer);
    });
    const ended = page.waitForResponse(
      (answer) =>
        answer.url().endsWith('/api/account/sessions') && answer.ok() && answer.request().method() === 'DELETE',
    );
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('button', { name: 'Change password' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change password' });
    await dialog.getByLabel('Current password').fill(password);
    await dialog.getByLabel('New password').fill('a quite different battery');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await ended;
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    expect(cadiz.complaints).toEqual([]);
    await page.context().close();
  });

  test('goes on in all windows in sight once somebody has signed in again in one', async () => {
    const elsewhere = await signUp('Hedy', '/account');
    const page = await signIn('/account', 'hedy@example.com', password);
    const other = await page.context().newPage();
    await other.goto(`${cadiz.url}/account`);
    const windows = [page, other];
    for (const one of windows) await one.getByText('this one').waitFor();
    await page.context().clearCookies();
    const dialogIn = (one: Page) => one.getByRole('dialog', { name: 'Sign in again to go on' });
    for (const one of windows) {
      await one.getByRole('button', { name: 'End all others' }).click();
      await dialogIn(one).getByText('hedy@example.com').waitFor();
    }
    await dialogIn(other).getByLabel('Password', { exact: true }).fill(password);
    await dialogIn(other).getByRole('button', { name: 'Sign in and go on' }).click();
    for (const one of windows) await dialogIn(one).waitFor({ state: 'detached' });
    expect(cadiz.complaints).toEqual([]);
    await elsewhere.context().close();
    await page.context().close();
  });

  test('begins anew for somebody else who signs in once a session has ended', async () => {
    const other = await signUp('Gustav', '/account');
    await other.getByText('this one').waitFor();
    const page = await signUp('Frida', '/account');
    await page.getByText('this one').waitFor();
    // What watches the session knows of this one, such as the keys that work everywhere.
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Search or jump to' });
    await palette.waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'End all others' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in again to go on' });
    // Whose session it was is known, so that the password is enough.
    await dialog.getByText('Frida', { exact: true }).waitFor();
    await dialog.getByText('frida@example.com').waitFor();
    await dialog.getByRole('button', { name: 'Sign in and go on' }).waitFor();
    expect(await dialog.getByRole('textbox', { name: 'E-mail' }).count()).toBe(0);
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Someone else?' }).click();
    expect(await dialog.getByLabel('E-mail').evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await dialog.getByText('Frida', { exact: true }).count()).toBe(0);
    await dialog.getByLabel('E-mail').fill('gustav@example.com');
    await dialog.getByLabel('Password', { exact: true }).fill(password);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    // Both the dialog and the page may lead there, and one of them is then given up.
    await expect.poll(() => page.url(), { timeout: 60_000 }).toContain('/projects');
    await page.goto(`${cadiz.url}/account`);
    await page.getByRole('main').getByText('gustav@example.com').waitFor();
    // What the first one asked for is not done to the other, whose sessions go on.
    await other.reload();
    await other.getByText('this one').waitFor();
    expect(cadiz.complaints).toEqual([]);
    await other.context().close();
    await page.context().close();
  });

  test('ends one session, and all others', async () => {
    const page = await signUp('Berta', '/account');
    await page.getByText('this one').waitFor();
    const second = await signIn('/account', 'berta@example.com', password);
    await second.getByText('this one').waitFor();
    const end = second.getByRole('button', { name: /^End the session in .+: \d+ \w+, \d\d:\d\d$/ });
    // Signing up has begun a session as well.
    await expect.poll(() => end.count()).toBe(2);
    await end.first().click();
    await expect.poll(() => end.count()).toBe(1);
    await second.getByRole('button', { name: 'End all others' }).click();
    await expect.poll(() => end.count()).toBe(0);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('asks for a code at sign-in once it is set up, and no more when it is switched off', async () => {
    const page = await signUp('Carla', '/account');
    await page.getByRole('button', { name: 'Set up codes from an app' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Current password').fill(password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    const link = dialog.getByRole('link', { name: 'Open the app on this device' });
    const secret = new URL((await link.getAttribute('href')) ?? '').searchParams.get('secret') ?? '';
    expect((await dialog.locator('code').innerText()).replaceAll(' ', '')).toBe(secret);
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByLabel('Code from the app').fill(totp(secret));
    await dialog.getByRole('button', { name: 'Switch on' }).click();
    await dialog.getByText('Keep your backup codes').waitFor();
    const codes = await dialog.locator('li').allInnerTexts();
    expect(codes.length).toBeGreaterThan(0);
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Download' }).click();
    expect(await readFile(await (await download).path(), 'utf8')).toBe(`${codes.join('\n')}\n`);
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();

    const again = await signIn('/account', 'carla@example.com', password);
    const code = again.getByLabel('Code', { exact: true });
    const heading = (name: string) => again.getByRole('heading', { name, exact: true }).waitFor();
    await heading('Enter your code');
    expect(await code.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await findFlaws(again)).toEqual([]);
    // What the first step offers, such as a new password, is of no use here.
    expect(await again.getByRole('link').count()).toBe(0);
    await again.getByRole('button', { name: 'Start over' }).click();
    await heading('Sign in');
    await again.getByLabel('E-mail').fill('carla@example.com');
    await again.getByLabel('Password', { exact: true }).fill(password);
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect(await code.getAttribute('autocomplete')).toBe('one-time-code');
    await again.getByRole('button', { name: 'Use a backup code' }).click();
    await heading('Enter a backup code');
    // A code of the app or of a message would be wrong there.
    expect(await again.getByLabel('Backup code').getAttribute('autocomplete')).toBe('off');
    await again.getByRole('button', { name: 'Use the app' }).click();
    await heading('Enter your code');
    // Another code takes the place of one that was refused, with or without the gap that apps show.
    const digits = () => again.locator('.code-field > span').allInnerTexts();
    await again.keyboard.type('000 000');
    expect((await digits()).join('')).toBe('000000');
    await again.keyboard.press('Enter');
    await again.getByRole('alert').waitFor();
    await again.keyboard.type(totp(secret, 1));
    expect((await digits()).join('')).toBe(totp(secret, 1));
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    await again.getByRole('button', { name: 'Manage the codes' }).click();
    await again.getByRole('menuitem', { name: 'Renew the backup codes' }).click();
    await dialogFields(again, codes[0] ?? '', 'Renew the backup codes');
    await again.getByText('Keep your backup codes').waitFor();
    const renewed = await again.getByRole('dialog').locator('li').allInnerTexts();
    expect(renewed).not.toEqual(codes);
    await again.getByRole('button', { name: 'Done' }).click();
    await again.getByRole('button', { name: 'Manage the codes' }).click();
    await again.getByRole('menuitem', { name: 'Switch off codes' }).click();
    await dialogFields(again, renewed[0] ?? '', 'Switch off codes');
    await again.getByRole('button', { name: 'Set up codes from an app' }).waitFor();
  });

  test('shows backup codes also when the dialog was closed before they came, and is not left by accident', async () => {
    const page = await signUp('Clara', '/projects');
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('Account');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Set up codes from an app' }).click();
    await dialog.getByLabel('Current password').fill(password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    const link = dialog.getByRole('link', { name: 'Open the app on this device' });
    const secret = new URL((await link.getAttribute('href')) ?? '').searchParams.get('secret') ?? '';
    const { over, release } = createHold();
    await page.route('**/api/auth/two-factor/verify-totp', async (route) => {
      await over;
      await route.continue();
    });
    await dialog.getByLabel('Code from the app').fill(totp(secret));
    await page.keyboard.press('Enter');
    await dialog.locator('[aria-busy=true]').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    release();
    await dialog.getByText('Keep your backup codes').waitFor();
    await page.evaluate(() => history.back());
    await dialog.getByText('Nobody can show you these codes again.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/account');
    const asked = page.waitForEvent('dialog');
    const reloading = page.reload({ timeout: 5000 }).catch(() => undefined);
    await (await asked).dismiss();
    await reloading;
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Manage the codes' }).waitFor();
    await page.context().close();
  });

  test('adds, renames and deletes a passkey that signs in', async () => {
    const page = await signUp('Dora', '/account');
    await addAuthenticator(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Laptop');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'More actions for Laptop' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await dialog.getByLabel('Name').fill('Work laptop');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('button', { name: 'More actions for Work laptop' }).waitFor();
    expect(await findFlaws(page)).toEqual([]);

    await page.context().clearCookies();
    await page.goto(`${cadiz.url}/sign-in?to=/account`);
    const passkey = page.getByRole('button', { name: 'Sign in with a passkey' });
    // The shortest way comes first.
    const top = async (one: Locator) => (await one.boundingBox())?.y ?? 0;
    expect(await top(passkey)).toBeLessThan(await top(page.getByLabel('E-mail')));
    await passkey.click();
    await page.getByRole('button', { name: 'More actions for Work laptop' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete passkey' }).click();
    await page.getByText('Passkey deleted.').waitFor();
    expect(await page.getByRole('button', { name: /^More actions for/ }).count()).toBe(0);
  });

  test('says in its own words why a browser makes or uses no passkey', async () => {
    const page = await signUp('Paula', '/account');
    const { devTools, authenticatorId } = await addAuthenticator(page);
    const dialog = page.locator('.dialog');
    const add = async () => {
      await page.getByRole('button', { name: 'Add a passkey' }).click();
      await dialog.getByRole('button', { name: 'Continue' }).click();
    };
    await add();
    await page.getByText('Passkey added.').waitFor();
    await add();
    await dialog.getByText('This device already has a passkey for your account.').waitFor();

    await devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await page.context().clearCookies();
    await page.goto(`${cadiz.url}/sign-in`);
    const signIn = page.getByRole('button', { name: 'Sign in with a passkey' });
    await signIn.click();
    await page.getByText('No passkey was used. Try again, or use your password.').waitFor();
    await page.goto(`${cadiz.url.replace('localhost', '127.0.0.1')}/sign-in`);
    await signIn.click();
    await page.getByText('Open Cadiz at the URL it was set up for.').waitFor();
    await page.addInitScript('delete globalThis.PublicKeyCredential');
    await page.reload();
    await signIn.click();
    await page.getByText('Passkeys need https and a recent browser.').waitFor();
  });

  test('speaks German and turns dark by choice', async () => {
    const page = await signUp('Emil', '/account');
    const appearance = page.getByRole('group', { name: 'Appearance' });
    await appearance.getByRole('button', { name: 'Dark' }).click();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    // What is chosen in the menu is chosen here as well.
    await page.getByRole('button', { name: 'Emil' }).click();
    await page.getByRole('menuitemradio', { name: 'Appearance: light' }).click();
    await appearance.getByRole('button', { name: 'Light', pressed: true }).waitFor();
    await page.getByLabel('Language').selectOption('de');
    await page.getByText('Wo du angemeldet bist').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Abmelden' }).click();
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor();
  });
});

/** Gives a browser a device that makes passkeys without asking. */
async function addAuthenticator(page: Page): Promise<{ devTools: CDPSession; authenticatorId: string }> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('WebAuthn.enable');
  const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devTools, authenticatorId };
}

/** Fills the password and a code into the open dialog, and sends it. */
async function dialogFields(page: Page, code: string, submit: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Current password').fill(password);
  await dialog.getByLabel('Code from the app, or a backup code').fill(code);
  await dialog.getByRole('button', { name: submit }).click();
}

test.runIf(triesJourneys)('no page has complained', () => {
  expect(cadiz.complaints).toEqual([]);
});
