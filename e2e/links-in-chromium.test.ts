import { existsSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isMarked, open } from './opened-page.ts';
import { cleanUp, type Service, type Settings, startService, stopService, testedSettings } from './service.ts';

const executablePath = '/usr/bin/chromium';
const installed = existsSync(executablePath);
if (!installed) console.warn(`LEFT OUT: links in a browser, because ${executablePath} is not installed.`);

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAFElEQVR4nGP4z8DAAMRAxPAfTAEAGgQD/W0yFzoAAAAASUVORK5CYII=',
  'base64',
);

/** A script that marks its window and calls home. */
const script = `globalThis.ran = 1; fetch('//BEACON/ran', { mode: 'no-cors' })`;
const hostile = [
  { fileName: 'a.html', mimeType: 'text/html', content: `<!doctype html><script>${script}</script>` },
  {
    fileName: 'a.svg',
    mimeType: 'image/svg+xml',
    content: `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script><![CDATA[${script}]]></script></svg>`,
  },
];

let browser: Browser;
/** Pages of another origin, which embed the given URLs, and the calls home. */
let site: { host: string; calls: string[]; served: Map<string, { type: string; content: string }>; close(): void };

async function startSite(): Promise<typeof site> {
  const calls: string[] = [];
  const served: (typeof site)['served'] = new Map();
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname === '/ran') calls.push(pathname);
    if (pathname === '/isolated') response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const { type, content } = served.get(pathname) ?? { type: 'text/html', content: '' };
    response.setHeader('Content-Type', type).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    served,
    close: () => server.close(),
  };
}

/** A page as somebody sees it who has never been there: with an empty cache. */
async function newPage(): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  return context.newPage();
}

/** Has a page of the other origin embed something; `/isolated` embeds only what says that any page may. */
async function embed(page: Page, content: string, path: '/page' | '/isolated' = '/page'): Promise<void> {
  site.served.set(path, { type: 'text/html', content: `<!doctype html>${content}` });
  await page.goto(`http://${site.host}${path}`, { waitUntil: 'load' });
}

/** Whether a script has run in a page or in a frame of it, or has called home. */
async function hasRun(page: Page): Promise<boolean> {
  return (await isMarked(page)) || site.calls.length > 0;
}

const toFrames = (url: string) =>
  `<iframe src="${url}"></iframe><object data="${url}"></object><embed src="${url}"><img src="${url}">`;

/** Minutes of silence: 16-bit stereo at 44.1 kHz. Its header says how long it is, so that any second can be looked up. */
function toWav(seconds: number): Buffer {
  const bytesPerSecond = 44_100 * 4;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + seconds * bytesPerSecond, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(2, 22);
  header.writeUInt32LE(44_100, 24);
  header.writeUInt32LE(bytesPerSecond, 28);
  header.writeUInt16LE(4, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(seconds * bytesPerSecond, 40);
  return Buffer.concat([header, Buffer.alloc(seconds * bytesPerSecond)]);
}

beforeAll(async () => {
  if (!installed) return;
  site = await startSite();
  const args = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking';
  browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [...args.split(' '), '--disable-component-update', '--disable-sync'],
  });
});
afterAll(async () => {
  await browser?.close();
  site?.close();
});

const suite = installed ? describe : describe.skip;
const leftOut = installed ? '' : ' (LEFT OUT: Chromium is not installed)';

suite.each(['off', 'on'])(`links in Chromium, LINKS_STREAM=%s${leftOut}`, (stream) => {
  let settings: Settings;
  let service: Service;
  let cookie = '';
  let projectId: string;

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { 'Content-Type': 'application/json', Cookie: cookie };
    const response = await fetch(service.url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    cookie ||= response.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    return (await response.json()) as T;
  }

  /** Uploads a file, and creates a link to it. */
  async function link(fileName: string, mimeType: string, bytes: Buffer): Promise<{ id: string; url: string }> {
    const facts = { projectId, fileName, mimeType, fileSize: bytes.length, folderId: null };
    const { presignedUrl, storeKey } = await call<Record<'presignedUrl' | 'storeKey', string>>(
      'POST',
      '/api/storage/presign',
      facts,
    );
    const put = await fetch(presignedUrl, { method: 'PUT', body: bytes });
    if (put.status !== 200) throw new Error(`The PUT answered ${put.status}: ${await put.text()}`);
    const { id } = await call<{ id: string }>('POST', '/api/storage/record', { ...facts, storeKey });
    return call('POST', '/api/storage/links', { fileId: id });
  }

  beforeAll(async () => {
    settings = await testedSettings();
    settings = { CADIZ_PUBLIC_URL: `http://localhost:${settings.PORT}`, LINKS_STREAM: stream, ...settings };
    service = await startService(settings);
    await call('POST', '/api/auth/sign-up/email', {
      name: 'Ada',
      email: 'ada@example.com',
      password: 'correct horse battery',
    });
    projectId = (await call<{ id: string }>('POST', '/api/projects', { name: 'Links' })).id;
  });
  afterAll(async () => {
    if (service) await stopService(service);
    await cleanUp(settings);
  });

  test('a picture is shown, opened and embedded by another site, and a deleted link is dead at once', async () => {
    const { id, url } = await link('写真.png', 'image/png', png);
    const image = `<img src="${url}">`;
    const shows = [
      (page: Page) => open(page, url),
      (page: Page) => embed(page, image),
      // A page that is isolated takes from other stores only what the service sends itself: they do not say that it may.
      ...(process.env.TEST_S3_ENDPOINT && stream === 'off' ? [] : [(page: Page) => embed(page, image, '/isolated')]),
    ];
    for (const show of shows) {
      const page = await newPage();
      await show(page);
      await expect.poll(() => page.evaluate('document.images[0]?.naturalHeight')).toBe(3);
    }
    await call('DELETE', `/api/storage/links/${id}`);
    const later = await newPage();
    expect((await later.goto(url))?.status()).toBe(404);
    await embed(later, image);
    expect(await later.evaluate('document.images[0].complete && document.images[0].naturalHeight')).toBe(0);
  });

  test('a long recording is played from near its end, which the browser asks for by itself', async () => {
    const seconds = 200;
    const wav = toWav(seconds);
    const { url } = await link('a.wav', 'audio/wav', wav);
    const page = await newPage();
    const ranges: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 206) ranges.push(response.headers()['content-range'] ?? '');
    });
    await embed(page, `<audio src="${url}" preload="metadata"></audio>`);
    const at = await page.evaluate<number>(`(async () => {
      const audio = document.querySelector('audio');
      const until = (name) => new Promise((resolve, reject) => {
        audio.addEventListener(name, resolve);
        audio.addEventListener('error', () => reject(new Error(audio.error.message)));
      });
      if (audio.readyState === 0) await until('loadedmetadata');
      const sought = until('seeked');
      audio.currentTime = audio.duration - 5;
      await sought;
      return audio.currentTime;
    })()`);
    expect(at).toBe(seconds - 5);
    const starts = () => ranges.map((range) => Number(/^bytes (\d+)-/.exec(range)?.[1]));
    await expect.poll(() => Math.max(...starts())).toBeGreaterThan(wav.length * 0.9);
  });

  test.each(hostile)('$fileName is saved, and never run', async ({ fileName, mimeType, content }) => {
    const withBeacon = content.replaceAll('BEACON', site.host);
    site.served.set('/raw', { type: mimeType, content: withBeacon });
    site.calls.length = 0;
    const raw = await newPage();
    await open(raw, `http://${site.host}/raw`);
    // So that the test can fail: served as it is declared, it runs.
    expect(await hasRun(raw)).toBe(true);
    await expect.poll(() => site.calls.length).toBeGreaterThan(0);
    await raw.close();

    const { url } = await link(fileName, mimeType, Buffer.from(withBeacon));
    site.calls.length = 0;
    const page = await newPage();
    expect(await open(page, url)).toBe('saved');
    expect(await hasRun(page)).toBe(false);
    await embed(page, toFrames(url));
    await delay(150);
    expect(await hasRun(page)).toBe(false);
  });
});
