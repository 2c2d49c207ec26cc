// @ts-check
/// <reference lib="dom" />
// The console in Chromium: from sign-in to the first rows, from folder to folder, a folder of 100,000 files that is scrolled,
// and a thousand files that are dropped. Targets on a warm cache: rows 1 s after sign-in, the next folder after 100 ms (p95),
// 50 frames per second, and frames of at most 50 ms. Each is printed beside the same without the console: the requests alone,
// an empty page that scrolls, and a page of as many plain rows without React, each with the texts of a row and nothing else.

import { framesDuring, openBrowser } from './harness/browser.mjs';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, quick } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { insertFiles } from './harness/many-files.mjs';
import { startService } from './harness/service.mjs';

/** @typedef {import('playwright-core').Page} Page */

const manyFiles = quick ? 5000 : 100_000;
const folders = 20;
const filesEach = 100;
const dropped = quick ? 200 : 1000;
const signIns = quick ? 3 : 10;
const account = { name: 'Bench', email: 'bench@example.com', password: 'correct horse battery staple' };
/** How long somebody who clicks holds the button, in milliseconds: less than most do. */
const pressed = 60;
/** The least that a list of that many files could be: rows of text that come and go with the place that is scrolled to. */
const plainRows = `<div id="s" style="height:800px;overflow:auto;font:13px sans-serif"><div style="height:3600000px;position:relative"></div></div>
<script>
  const list = document.getElementById('s');
  const rows = new Map();
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / 36) - 12);
    for (const [at, row] of rows) if (at < first || at >= first + 46) { row.remove(); rows.delete(at); }
    for (let at = first; at < first + 46; at++) {
      if (rows.has(at)) continue;
      const row = document.createElement('div');
      row.style.cssText = 'position:absolute;inset:0 0 auto 0;height:36px;display:grid;grid-template-columns:1fr 96px 192px 132px;top:' + at * 36 + 'px';
      for (const text of ['Ferien am Meer ' + at + '.jpg', '100 KB', 'application/pdf', '26 Nov, 02:41']) {
        const cell = document.createElement('span');
        cell.textContent = text;
        row.append(cell);
      }
      list.firstElementChild.append(row);
      rows.set(at, row);
    }
  };
  list.addEventListener('scroll', draw);
  draw();
</script>`;

await bench(async () => {
  describeMachine();
  const browser = await openBrowser();
  if (!browser) return console.log('\nLeft out: Chromium is not installed.');
  await onEachDatabase(async (database) => {
    console.log(`\n## the console, ${database.name}`);
    const { projectId, cookie } = await fill(database);
    const service = await startService(database);
    // Cookies and the policy of pages are those of an address that has a name.
    const site = service.url.replace('127.0.0.1', 'localhost');
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    await measureSignIn(page, site, projectId);
    await measureFolders(page, site, projectId, cookie);
    await measureScrolling(page, site, projectId);
    await measureDrop(page, site, projectId);
    await page.context().close();
    await service.stop();
  });
});

/** @param {import('./harness/databases.mjs').BenchDatabase} database */
async function fill(database) {
  const service = await startService(database);
  /** @type {Record<string, string>} */
  const headers = { 'Content-Type': 'application/json' };
  /** @param {string} path @param {object} body @returns {Promise<{ json: any, cookies: string[] }>} */
  const post = async (path, body) => {
    const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return { json: await answer.json(), cookies: answer.headers.getSetCookie() };
  };
  const { cookies } = await post('/api/auth/sign-up/email', account);
  headers.Cookie = cookies.map((text) => text.split(';')[0]).join('; ');
  const projectId = (await post('/api/projects', { name: 'Bench' })).json.id;
  const paths = Array.from({ length: folders }, (_, index) => `folder ${String(index).padStart(2, '0')}`);
  const made = (await post('/api/storage/folders/ensure', { projectId, parentId: null, paths: [...paths, 'many'] }))
    .json.folders;
  await service.stop();
  let first = 1;
  await insertFiles(
    database,
    made.map((/** @type {{ id: string, name: string }} */ { id, name }) => {
      // No images: there are no objects, and each picture in small would be a request that fails.
      const count = name === 'many' ? manyFiles : filesEach;
      const place = { projectId, folderId: id, first, count, mimeType: 'application/pdf' };
      first += place.count;
      return place;
    }),
  );
  return { projectId, cookie: headers.Cookie };
}

/** @param {Page} page @param {string} site @param {string} projectId */
async function measureSignIn(page, site, projectId) {
  /** @type {number[]} */
  const times = [];
  for (let n = 0; n <= signIns; n += 1) {
    await page.context().clearCookies();
    await page.goto(`${site}/sign-in?to=${encodeURIComponent(`/projects/${projectId}/files`)}`);
    await page.getByLabel('E-mail').fill(account.email);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    const started = performance.now();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('row').nth(1).waitFor();
    // The first one fills the cache.
    if (n > 0) times.push(performance.now() - started);
  }
  say('sign-in to first rows', times, 1000);
}

/** @param {Page} page @param {string} site @param {string} projectId @param {string} cookie */
async function measureFolders(page, site, projectId, cookie) {
  const root = `${site}/projects/${projectId}/files`;
  const list = `${site}/api/storage/list?projectId=${projectId}&limit=200&folderId=`;
  const answer = await fetch(`${list}root`, { headers: { cookie } });
  const listing = /** @type {{ folders: { id: string, name: string }[] }} */ (await answer.json());
  const targets = listing.folders.filter(({ name }) => name !== 'many');
  /** @type {Record<'mouse' | 'keyboard' | 'alone', number[]>} */
  const times = { mouse: [], keyboard: [], alone: [] };
  for (let round = 0; round < 3; round += 1) {
    for (const { id, name } of targets) {
      await page.goto(root);
      const link = page.getByRole('link', { name, exact: true });
      await link.hover();
      await watchOpening(page);
      await page.mouse.down();
      await page.waitForTimeout(pressed);
      await page.mouse.up();
      const mouse = await tookToOpen(page);

      await page.goto(root);
      await page.getByRole('row').filter({ has: link }).focus();
      await watchOpening(page);
      await page.keyboard.press('Enter');
      const keyboard = await tookToOpen(page);

      const started = performance.now();
      await (await fetch(list + id, { headers: { cookie } })).text();
      const alone = performance.now() - started;
      // The first round fills the caches.
      if (round === 0) continue;
      times.mouse.push(mouse);
      times.keyboard.push(keyboard);
      times.alone.push(alone);
    }
  }
  say(`from folder to folder, by a click of ${pressed} ms, from its end on`, times.mouse, 100);
  say('  by the keyboard', times.keyboard, 100);
  say('  its request alone', times.alone);
}

/** Measures in the page itself: from the click or key on to the frame in which the first file is there. @param {Page} page */
async function watchOpening(page) {
  await page.evaluate((file) => {
    const watch = () => {
      const started = performance.now();
      const took = new Promise((/** @type {(ms: number) => void} */ resolve) => {
        const look = () => {
          const rows = [...document.querySelectorAll('[role="row"]')];
          if (rows.some((row) => row.textContent?.includes(file))) resolve(performance.now() - started);
          else requestAnimationFrame(look);
        };
        look();
      });
      Object.assign(globalThis, { benchTook: took });
    };
    for (const event of ['click', 'keydown']) document.addEventListener(event, watch, { capture: true, once: true });
  }, 'Ferien am Meer');
}

/** @param {Page} page @returns {Promise<number>} in milliseconds */
function tookToOpen(page) {
  return page.evaluate(
    () => /** @type {{ benchTook: Promise<number> }} */ (/** @type {unknown} */ (globalThis)).benchTook,
  );
}

/** @param {Page} page @param {string} site @param {string} projectId */
async function measureScrolling(page, site, projectId) {
  await page.setContent('<div id="s" style="height:800px;overflow:auto"><div style="height:4000000px"></div></div>');
  const empty = await framesDuring(page, () => scroll(page, '#s'));
  await page.setContent(plainRows);
  const byHand = await framesDuring(page, () => scroll(page, '#s'));
  await page.goto(`${site}/projects/${projectId}/files`);
  await page.getByRole('link', { name: 'many', exact: true }).click();
  await page
    .getByRole('row', { name: /Ferien am Meer/ })
    .first()
    .waitFor();
  const frames = await framesDuring(page, () => scroll(page, '[role="grid"]'));
  const perSecond = (/** @type {number[]} */ of) => (1000 * of.length) / of.reduce((sum, one) => sum + one, 0);
  const [own, plain, rows] = [frames, empty, byHand].map(perSecond);
  console.log(
    `  scrolling ${manyFiles} files: ${own?.toFixed(0)} frames/s; an empty page ${plain?.toFixed(0)}, plain rows ${rows?.toFixed(0)}; longest ${Math.max(...frames).toFixed(0)} ms; target 50`,
  );
}

/** Five seconds, in steps of about a screen, as with a wheel. @param {Page} page @param {string} selector */
async function scroll(page, selector) {
  await page.evaluate(
    (query) =>
      new Promise((/** @type {(done?: undefined) => void} */ resolve) => {
        const element = /** @type {Element} */ (document.querySelector(query));
        const end = performance.now() + 5000;
        const step = () => {
          element.scrollTop += 300;
          if (performance.now() < end) requestAnimationFrame(step);
          else resolve();
        };
        step();
      }),
    selector,
  );
}

/** @param {Page} page @param {string} site @param {string} projectId */
async function measureDrop(page, site, projectId) {
  await page.goto(`${site}/projects/${projectId}/files`);
  await page.getByRole('row').nth(1).waitFor();
  // Made before, as a desktop has them already.
  const files = await page.evaluateHandle((count) => {
    const transfer = new DataTransfer();
    for (let n = 0; n < count; n += 1)
      transfer.items.add(new File([`file ${n}`], `dropped ${n}.txt`, { type: 'text/plain' }));
    return transfer;
  }, dropped);
  const frames = await framesDuring(page, async () => {
    await page.evaluate((dataTransfer) => {
      const target = document.querySelector('[role="grid"]') ?? document.body;
      for (const type of ['dragenter', 'dragover', 'drop'])
        target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }));
    }, files);
    await page.getByRole('heading', { name: /files uploaded/ }).waitFor({ timeout: 120_000 });
  });
  const sorted = [...frames].sort((a, b) => a - b);
  const over = frames.filter((one) => one > 50).length;
  console.log(
    `  ${dropped} files dropped: frames p95 ${at(sorted, 0.95).toFixed(0)} ms, longest ${at(sorted, 1).toFixed(0)} ms, ${over} of ${frames.length} over 50 ms; target 50 ms`,
  );
}

/** @param {number[]} sorted @param {number} share */
function at(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** @param {string} what @param {number[]} times @param {number} [target] */
function say(what, times, target) {
  const sorted = [...times].sort((a, b) => a - b);
  const [median, p95] = [at(sorted, 0.5), at(sorted, 0.95)];
  console.log(
    `  ${what}: median ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms${target ? `; target ${target}` : ''} (${times.length} times)`,
  );
}
