// @ts-check
/// <reference lib="dom" />
// npm run screenshots [folder [screen …]]: starts the service with a project to look at, and writes every screen of the
// console, or those that are named, into a folder (screenshots/ by default): in light and dark, wide and on a phone.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openBrowser } from '../bench/harness/browser.mjs';
import { bench } from '../bench/harness/cleanup.mjs';
import { startService } from '../bench/harness/service.mjs';
import { temporaryFolder } from '../bench/harness/temporary-folder.mjs';
import { prepare, root } from './prepare.mjs';

/** @typedef {import('playwright-core').Page} Page */

const [folder = join(root, 'screenshots'), ...only] = process.argv.slice(2);
const sizes = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const account = { name: 'Ada Example', email: 'ada@example.com', password: 'correct horse battery' };
const story = {
  folders: ['Harbour at dawn', 'Interviews', 'Press', 'Covers/2026/Autumn'],
  pictures: ['at-dawn.jpg', 'crossing.jpg', 'evening-run.jpg', 'high-summer.jpg', 'last-light.jpg', 'in-the-fog.jpg'],
  texts: {
    'notes from the harbour.md': '# Notes\n\nThe boats leave at four, and are back by nine.\n',
    'catch-2026.csv': 'species,kg\nherring,1200\nmackerel,840\nplaice,310\n',
    'interview with the harbour master.txt': 'How long have you been here?\nLonger than the crane.\n',
    'settings.json': '{"season":"autumn","languages":["en","de"]}',
  },
};

await prepare();
await bench(async () => {
  const browser = await openBrowser();
  if (!browser) return console.log('Chromium is not installed: apt-get install chromium');
  await mkdir(folder, { recursive: true });
  const service = await startService({ name: 'embedded', dataDir: await temporaryFolder() });
  const site = service.url.replace('127.0.0.1', 'localhost');
  let written = 0;

  /**
   * Opens a screen in every form, and writes it down.
   * @param {string} name
   * @param {string} path
   * @param {(page: Page) => Promise<unknown>} ready resolves when the screen is as it should look
   * @param {string} [cookie]
   */
  async function shoot(name, path, ready, cookie = '') {
    if (only.length > 0 && !only.includes(name)) return;
    for (const [size, viewport] of Object.entries(sizes)) {
      for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
        const context = await /** @type {import('playwright-core').Browser} */ (browser).newContext({
          viewport,
          colorScheme,
          reducedMotion: 'reduce',
          locale: 'en-GB',
          hasTouch: size === 'phone',
        });
        const [key = '', ...value] = cookie.split('=');
        if (cookie) await context.addCookies([{ name: key, value: value.join('='), url: site }]);
        const page = await context.newPage();
        const file = `${name}.${size}.${colorScheme}.png`;
        try {
          await page.goto(site + path);
          await ready(page);
          // The console waits for events all the time, so its network is never idle.
          await page.waitForTimeout(700);
          await page.screenshot({ path: join(folder, file) });
          written += 1;
        } catch (error) {
          console.error(`${file}: ${/** @type {Error} */ (error).message.split('\n')[0]}`);
          process.exitCode = 1;
        }
        await context.close();
      }
    }
  }

  await shoot('setup', '/setup', (page) => page.getByRole('heading').first().waitFor());
  const cookie = await signUp(site);
  await shoot('setup-project', '/projects/new', (page) => page.getByRole('heading').first().waitFor(), cookie);
  const { projectId, cadiz } = await fill(browser, site, cookie);
  const { id: emptyId } = await post(site, cookie, '/api/projects', { name: 'Museum of the Sea' });
  const at = (/** @type {string} */ path) => `/projects/${projectId}/${path}`;
  const row = (/** @type {Page} */ page, /** @type {string} */ name) =>
    page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const firstRow = (/** @type {Page} */ page) => page.getByRole('row').nth(1).waitFor();
  const heading = (/** @type {Page} */ page) => page.getByRole('heading').first().waitFor();

  await shoot('sign-in', '/sign-in', (page) => page.getByLabel('E-mail').waitFor());
  await shoot('projects', '/projects', (page) => page.getByText('Museum of the Sea').waitFor(), cookie);
  await shoot('empty', `/projects/${emptyId}/files`, heading, cookie);
  await shoot('files-list', at('files'), firstRow, cookie);
  await shoot('files-grid', at('files?view=grid'), (page) => page.getByRole('gridcell').first().waitFor(), cookie);
  await shoot(
    'files-selection',
    at('files'),
    async (page) => {
      await row(page, 'in-the-fog.jpg').click();
      await page.keyboard.press('Control+a');
    },
    cookie,
  );
  await shoot('files-search', at('files?q=the&scope=project'), firstRow, cookie);
  const [picture] = (await cadiz.files.page({ folder: null, search: 'crossing' })).files;
  await shoot(
    'preview',
    at(`files?file=${picture?.id}`),
    (page) => page.getByRole('dialog').getByText('image/jpeg').waitFor(),
    cookie,
  );
  for (const screen of ['trash', 'usage', 'keys', 'tickets', 'webhooks', 'members', 'audit', 'settings'])
    await shoot(screen, at(screen), heading, cookie);
  for (const screen of ['account', 'users', 'system']) await shoot(screen, `/${screen}`, heading, cookie);
  await shoot('not-found', at('nothing-here'), heading, cookie);
  console.log(`${written} pictures are in ${folder}`);
  await service.stop();
});

/** @param {string} site @returns {Promise<string>} the cookie of the owner */
async function signUp(site) {
  const answer = await fetch(`${site}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(account),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (
    answer.headers
      .getSetCookie()
      .find((text) => text.includes('session'))
      ?.split(';')[0] ?? ''
  );
}

/**
 * @param {string} site @param {string} cookie @param {string} path @param {object} body
 * @returns {Promise<any>}
 */
async function post(site, cookie, path, body) {
  const answer = await fetch(site + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Cookie: cookie },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return answer.json();
}

/**
 * A project with pictures, texts, folders, keys and people.
 * @param {import('playwright-core').Browser} browser @param {string} site @param {string} cookie
 */
async function fill(browser, site, cookie) {
  const { id: projectId } = await post(site, cookie, '/api/projects', { name: 'Harbour Journal' });
  const { key } = await post(site, cookie, '/api/api-keys', { name: 'Website', projectId });
  await post(site, cookie, '/api/api-keys', { name: 'Archive, read only', projectId, scopes: ['files:read'] });
  for (const [email, role] of [
    ['grace@example.com', 'editor'],
    ['linus@example.com', 'viewer'],
  ])
    await post(site, cookie, `/api/projects/${projectId}/invitations`, { email, role });
  const { createClient } = await import('../packages/client/dist/index.js');
  const cadiz = createClient({ baseUrl: site, apiKey: key });
  await cadiz.folders.ensure(story.folders);
  const page = await browser.newPage();
  for (const [index, name] of story.pictures.entries()) {
    const bytes = Buffer.from(await page.evaluate(paint, index), 'base64');
    await cadiz.upload(new File([bytes], name, { type: 'image/jpeg' }));
  }
  await page.close();
  for (const [name, text] of Object.entries(story.texts)) {
    const type = name.endsWith('.json') ? 'application/json' : name.endsWith('.csv') ? 'text/csv' : 'text/plain';
    await cadiz.upload(new File([text], name, { type }));
  }
  const deleted = await cadiz.upload(new File(['An earlier draft.'], 'draft.txt', { type: 'text/plain' }));
  await cadiz.files.delete(deleted.id);
  await cadiz.tickets.create({ maxFiles: 20, maxBytes: 100_000_000, mimeTypes: ['image/*'] });
  return { projectId, cadiz };
}

/** A picture of the sea at some hour, in the page. @param {number} seed @returns {string} JPEG in Base64 */
function paint(seed) {
  const canvas = document.createElement('canvas');
  canvas.width = 1600;
  canvas.height = 1067;
  const drawing = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const skies = [
    ['#f7b267', '#f25c54', '#335c81'],
    ['#a9def9', '#e4c1f9', '#2a6f97'],
    ['#ffe5d9', '#9d8189', '#3d405b'],
    ['#caf0f8', '#48cae4', '#023e8a'],
    ['#fcd5ce', '#f8ad9d', '#4a4e69'],
    ['#dee2e6', '#adb5bd', '#6c757d'],
  ];
  const [top = '', low = '', sea = ''] = skies[seed % skies.length] ?? [];
  const sky = drawing.createLinearGradient(0, 0, 0, 640);
  sky.addColorStop(0, top);
  sky.addColorStop(1, low);
  drawing.fillStyle = sky;
  drawing.fillRect(0, 0, 1600, 1067);
  drawing.fillStyle = '#fff8e7cc';
  drawing.beginPath();
  drawing.arc(300 + seed * 190, 420, 90, 0, 7);
  drawing.fill();
  drawing.fillStyle = sea;
  drawing.fillRect(0, 640, 1600, 427);
  for (let n = 0; n < 60; n += 1) {
    drawing.fillStyle = `rgba(255,255,255,${0.04 + ((n * 7 + seed) % 5) / 60})`;
    drawing.fillRect((n * 397 + seed * 211) % 1500, 660 + n * 6.5, 60 + ((n * 53) % 180), 3);
  }
  drawing.fillStyle = '#1b1b1e';
  const x = 900 - seed * 90;
  drawing.beginPath();
  drawing.moveTo(x, 700);
  drawing.lineTo(x + 240, 700);
  drawing.lineTo(x + 200, 750);
  drawing.lineTo(x + 40, 750);
  drawing.fill();
  drawing.fillRect(x + 110, 480, 8, 220);
  drawing.beginPath();
  drawing.moveTo(x + 125, 490);
  drawing.lineTo(x + 220, 670);
  drawing.lineTo(x + 125, 670);
  drawing.fill();
  return canvas.toDataURL('image/jpeg', 0.85).split(',')[1] ?? '';
}
