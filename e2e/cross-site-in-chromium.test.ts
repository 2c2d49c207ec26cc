import { existsSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  cleanUp,
  freePorts,
  type Service,
  type Settings,
  settingsForPages,
  startService,
  stopService,
} from './service.ts';

// biome-ignore-start lint/suspicious/noExplicitAny: code that runs in pages has their globals, which no test has
declare const document: any;
declare const navigator: any;
declare const location: any;
// biome-ignore-end lint/suspicious/noExplicitAny: as above

const executablePath = '/usr/bin/chromium';
const installed = existsSync(executablePath);
if (!installed)
  console.warn(`LEFT OUT: requests from other sites in a browser, because ${executablePath} is not installed.`);

let settings: Settings;
let service: Service;
/** The site under the browser's name for it: its cookies are those of localhost. */
let site: string;
let elsewhere: { port: number; close(): void };
let browser: Browser;
let context: BrowserContext;
let cookie: string;
let projectId: string;
let key: string;
let fileId: string;

/** Serves empty pages on a separate port; the name in the request decides which site they belong to. */
async function startPages() {
  const server = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    const frame = new URL(request.url ?? '/', 'http://x').searchParams.get('frame');
    response.end(`<!doctype html><title>elsewhere</title>${frame ? `<iframe src="${frame}"></iframe>` : ''}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function ask(method: string, path: string, body?: unknown): Promise<Response> {
  const headers = { Cookie: cookie ?? '', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
  return fetch(service.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

// biome-ignore lint/suspicious/noExplicitAny: tests check an answer field by field
async function askJson(method: string, path: string, body?: unknown): Promise<any> {
  const response = await ask(method, path, body);
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** Everything that the attacks below try to change. */
async function readState(): Promise<unknown> {
  const paths = [
    '/api/projects',
    '/api/api-keys',
    `/api/storage/list?projectId=${projectId}`,
    `/api/storage/trash?projectId=${projectId}`,
    `/api/projects/${projectId}/members`,
    `/api/projects/${projectId}/invitations`,
    '/api/auth/get-session',
  ];
  return Promise.all(paths.map((path) => askJson('GET', path)));
}

async function upload(): Promise<string> {
  const facts = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: 5, folderId: null };
  const { presignedUrl, storeKey } = await askJson('POST', '/api/storage/presign', facts);
  await fetch(presignedUrl, { method: 'PUT', body: 'hello' });
  return (await askJson('POST', '/api/storage/record', { ...facts, storeKey })).id;
}

beforeAll(async () => {
  if (!installed) return;
  settings = await settingsForPages();
  settings.CADIZ_SIGN_UP = 'open';
  settings.METRICS_PORT = String((await freePorts(1))[0]);
  service = await startService(settings);
  site = `http://localhost:${settings.PORT}`;
  elsewhere = await startPages();
  const account = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' };
  const signedUp = await ask('POST', '/api/auth/sign-up/email', account);
  cookie = signedUp.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  projectId = (await askJson('POST', '/api/projects', { name: 'P' })).id;
  ({ key } = await askJson('POST', '/api/api-keys', { name: 'K', projectId }));
  fileId = await upload();
  const args = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking';
  browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [
      ...args.split(' '),
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP evil.test 127.0.0.1, MAP rebound.test 127.0.0.1',
    ],
  });
  context = await browser.newContext({ bypassCSP: true });
  const [name = '', ...value] = cookie.split('=');
  await context.addCookies([{ name, value: value.join('='), domain: 'localhost', path: '/', sameSite: 'Lax' }]);
});

afterAll(async () => {
  if (!installed) return;
  await browser?.close();
  elsewhere?.close();
  await stopService(service);
  await cleanUp(settings);
});

const origins = {
  'another site': () => `http://evil.test:${elsewhere.port}`,
  'the same host on another port': () => `http://localhost:${elsewhere.port}`,
  'the address of the same host': () => `http://127.0.0.1:${elsewhere.port}`,
  'a name below ours': () => `http://sub.localhost:${elsewhere.port}`,
};

interface Target {
  method: string;
  path: string;
  body?: Record<string, unknown>;
}

/** The requests that an attacker would have Ada's browser make. */
const targets = (): Target[] => [
  { method: 'POST', path: '/api/api-keys', body: { name: 'stolen', projectId: null } },
  { method: 'POST', path: '/api/projects', body: { name: 'made' } },
  { method: 'POST', path: `/api/projects/${projectId}/invitations`, body: { email: 'e@example.com', role: 'owner' } },
  { method: 'POST', path: '/api/storage/folders', body: { projectId, name: 'made', parentId: null } },
  {
    method: 'POST',
    path: '/api/storage/bulk',
    body: { projectId, action: 'delete', fileIds: [fileId], folderIds: [] },
  },
  { method: 'POST', path: '/api/auth/sign-out' },
  {
    method: 'POST',
    path: '/api/auth/sign-in/email',
    body: { email: 'eve@example.com', password: 'correct horse battery' },
  },
  { method: 'DELETE', path: `/api/storage/files/${fileId}` },
  { method: 'DELETE', path: `/api/projects/${projectId}?force=true` },
  { method: 'PATCH', path: `/api/projects/${projectId}`, body: { name: 'changed' } },
];

/** Sends a form as a page can, into a frame of it; forms only know GET and POST. */
async function sendForm(page: Page, { path, body = {} }: Target, enctype: string): Promise<void> {
  await page.evaluate(
    ({ action, enctype, json, target }) => {
      const form = document.createElement('form');
      Object.assign(form, { action, enctype, method: 'POST', target });
      const field = document.createElement('input');
      // As text/plain, a form sends name=value: split like this, the whole is JSON.
      const isPlain = enctype === 'text/plain';
      field.name = isPlain ? json.replace(/\}$/, `${json === '{}' ? '' : ','}"x":"`) : 'json';
      field.value = isPlain ? '"}' : json;
      form.append(field);
      const sink = document.createElement('iframe');
      sink.name = target;
      document.body.append(sink, form);
      form.submit();
    },
    { action: site + path, enctype, json: JSON.stringify(body), target: `sink-${path}-${enctype}` },
  );
}

/** Sends as scripts can: without a preflight, as a beacon, and with a preflight. */
async function sendByScript(page: Page, { method, path, body }: Target): Promise<void> {
  await page.evaluate(
    async ({ url, method, json }) => {
      const text = json ?? '';
      const options = { method, credentials: 'include', ...(method === 'POST' ? { body: text } : {}) } as const;
      const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/json'];
      await Promise.allSettled([
        fetch(url, { ...options, mode: 'no-cors' }),
        ...types.map((type) => fetch(url, { ...options, mode: 'cors', headers: { 'Content-Type': type } })),
      ]);
      for (const type of method === 'POST' ? types.slice(0, 2) : [])
        navigator.sendBeacon(url, new Blob([text], { type }));
    },
    { url: site + path, method, json: body && JSON.stringify(body) },
  );
}

/**
 * How often the service gave each answer to requests that may change something; browsers hide some of it from the test.
 */
async function countAnswers(): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${settings.METRICS_PORT}/metrics`)).text();
  const line = /^cadiz_http_requests_total\{operation="\w+",method="(POST|PATCH|DELETE)",status="(\d+)"\} (\d+)$/gm;
  const counts = new Map<string, number>();
  for (const [, method, status, count] of text.matchAll(line)) {
    const answer = `${method} ${status}`;
    counts.set(answer, (counts.get(answer) ?? 0) + Number(count));
  }
  return counts;
}

/** The answers since `before`, once there are at least `least` and no more arrive: beacons and frames are sent when the browser has time. */
async function answersSince(before: Map<string, number>, least: number): Promise<Map<string, number>> {
  let last = '';
  for (;;) {
    const counts = await countAnswers();
    const since = [...counts].map(([answer, count]) => [answer, count - (before.get(answer) ?? 0)] as const);
    const now = JSON.stringify(since);
    const count = since.reduce((sum, [, each]) => sum + each, 0);
    if (now === last && count >= least) return new Map(since.filter(([, count]) => count > 0));
    last = now;
    await delay(500);
  }
}

describe.runIf(installed)('requests that pages of other origins make with a cookie (T18, checklist 17)', () => {
  test('the test can fail: a page of the service itself is let through', async () => {
    const page = await context.newPage();
    await page.goto(`${site}/errors/not_found`);
    const status = await page.evaluate(async () => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch('/api/projects', { method: 'POST', headers, body: '{"name":"own"}' })).status;
    });
    expect(status).toBe(200);
    await page.close();
  });

  test('a program that sends neither Origin nor Sec-Fetch-Site is let through', async () => {
    expect((await ask('POST', '/api/projects', { name: 'by a program' })).status).toBe(200);
  });

  test.each(Object.entries(origins))('%s changes nothing, with forms, scripts and beacons', async (name, originOf) => {
    const before = await readState();
    const answersBefore = await countAnswers();
    const page = await context.newPage();
    await page.goto(originOf());
    for (const target of targets()) {
      if (target.method === 'POST') {
        for (const enctype of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
          await sendForm(page, target, enctype);
        }
      }
      await sendByScript(page, target);
    }
    // Three forms, three script requests without a preflight and two beacons, for each of seven targets.
    const sent = 7 * 8;
    const answers = await answersSince(answersBefore, sent);
    const refused = ['POST 401', 'POST 403', 'POST 415'];
    expect([...answers.keys()].filter((answer) => !refused.includes(answer))).toEqual([]);
    const count = refused.reduce((sum, answer) => sum + (answers.get(answer) ?? 0), 0);
    expect(count).toBeGreaterThanOrEqual(sent);
    // A port is not part of a site: here the cookie was sent along, and the check refused it.
    if (name === 'the same host on another port') expect(answers.get('POST 403')).toBe(count);
    expect(await readState()).toEqual(before);
    const kept = await context.cookies(site);
    expect(kept.map(({ name, value }) => `${name}=${value}`)).toEqual([cookie]);
    await page.close();
  });
});

describe.runIf(installed)('a name that points to this host (DNS rebinding; T18, checklist 17)', () => {
  // To the browser, such a page and the service are one origin, and without TLS only Origin shows the name.
  test('changes nothing, and signs nobody in', async () => {
    const before = await readState();
    const strange = await browser.newContext({ bypassCSP: true });
    const page = await strange.newPage();
    await page.goto(`http://rebound.test:${settings.PORT}/errors/not_found`);
    const ownOrigin = await page.evaluate(() => location.origin as string);
    expect(ownOrigin).toBe(`http://rebound.test:${settings.PORT}`);
    const codes = await page.evaluate(async () => {
      const account = { name: 'Eve', email: 'eve@example.com', password: 'correct horse battery' };
      const tell = async (path: string, body: object) => {
        const headers = { 'Content-Type': 'application/json' };
        const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
        return ((await response.json()) as { code?: string }).code;
      };
      return [
        await tell('/api/auth/sign-up/email', account),
        await tell('/api/auth/sign-in/email', { ...account, email: 'ada@example.com' }),
      ];
    });
    expect(codes).toEqual(['cross_site_request', 'cross_site_request']);
    expect(await strange.cookies()).toEqual([]);
    expect(await readState()).toEqual(before);
    await strange.close();
  });
});

describe.runIf(installed)('pages of other origins (T19)', () => {
  test('can read, with a key, the answers of key routes and their limits; with a cookie, nothing', async () => {
    for (const originOf of Object.values(origins)) {
      const page = await context.newPage();
      await page.goto(originOf());
      const read = await page.evaluate(
        async ({ site, key, projectId }) => {
          const list = `${site}/api/storage/list?projectId=${projectId}`;
          const tell = (asked: Promise<Response>) =>
            asked.then(
              (response) => `${response.status} ${response.headers.get('ratelimit')?.split(';')[0]}`,
              () => 'blocked',
            );
          const headers = { Authorization: `Bearer ${key}` };
          const body = JSON.stringify({ projectId, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null });
          const json = { ...headers, 'Content-Type': 'application/json' };
          return {
            key: await tell(fetch(list, { headers })),
            presign: await tell(fetch(`${site}/api/storage/presign`, { method: 'POST', headers: json, body })),
            cookie: await tell(fetch(list, { credentials: 'include' })),
            projects: await tell(fetch(`${site}/api/projects`, { credentials: 'include' })),
            session: await tell(fetch(`${site}/api/auth/get-session`)),
          };
        },
        { site, key, projectId },
      );
      expect(read).toEqual({
        key: '200 "reads"',
        presign: '200 "uploads"',
        cookie: 'blocked',
        projects: 'blocked',
        session: 'blocked',
      });
      await page.close();
    }
  });
});

describe.runIf(installed)('a page of the service (checklist 21)', () => {
  test('runs no injected script', async () => {
    const strict = await browser.newContext();
    const page = await strict.newPage();
    await page.goto(`${site}/errors/not_found`);
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.ran = 1';
      const image = document.createElement('img');
      image.setAttribute('onerror', 'globalThis.ran = 1');
      image.src = 'data:,x';
      document.body.append(script, image);
      return new Promise((resolve) => setTimeout(() => resolve((globalThis as { ran?: number }).ran ?? 0), 300));
    });
    expect(ran).toBe(0);
    await strict.close();
  });

  test('is displayed in no frame', async () => {
    const strict = await browser.newContext();
    for (const originOf of Object.values(origins)) {
      const page = await strict.newPage();
      const framed = `${site}/errors/not_found`;
      await page.goto(`${originOf()}/?frame=${encodeURIComponent(framed)}`);
      await delay(200);
      const shown = await page
        .frames()[1]
        ?.evaluate(() => document.body?.innerText ?? '')
        .catch(() => '');
      expect(shown).not.toContain('What happened');
      await page.close();
    }
    await strict.close();
  });
});

test.skipIf(!installed)(
  'a page of another site uploads with a ticket, and no API key crosses the network',
  async () => {
    const origin = `http://evil.test:${elsewhere.port}`;
    const wanted = { projectId, folderId: null, maxFiles: 20, maxBytes: 100, origins: [origin] };
    const { ticket } = await askJson('POST', '/api/storage/tickets', wanted);
    const page = await context.newPage();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(JSON.stringify([request.url(), request.headers(), request.postData()])));
    const uploadMany = (url: string) =>
      page.evaluate(
        async ({ url, projectId, ticket }) => {
          const ask = async (path: string, body: object) => {
            const headers = { Authorization: `Bearer ${ticket}`, 'Content-Type': 'application/json' };
            const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
            return { status: answer.status, body: (await answer.json()) as { results: { upload: Presigned }[] } };
          };
          type Presigned = { presignedUrl: string; storeKey: string };
          const facts = { mimeType: 'text/plain', fileSize: 5, folderId: null };
          const files = Array.from({ length: 20 }, (_, n) => ({ ...facts, fileName: `${n}.txt` }));
          const presigned = await ask('/api/storage/presign/batch', { projectId, files });
          if (presigned.status !== 200) return [presigned.status];
          const uploads = presigned.body.results.map(({ upload }) => upload);
          const puts = uploads.map(({ presignedUrl }) => fetch(presignedUrl, { method: 'PUT', body: 'hello' }));
          const statuses = (await Promise.all(puts)).map(({ status }) => status);
          const recordings = files.map((file, n) => ({ ...file, storeKey: uploads[n]?.storeKey }));
          const recorded = await ask('/api/storage/record/batch', { projectId, files: recordings });
          return [...statuses, recorded.body.results.filter((result) => 'file' in result).length];
        },
        { url, projectId, ticket },
      );
    await page.goto(`http://sub.localhost:${elsewhere.port}`);
    expect(await uploadMany(site)).toEqual([403]);
    await page.goto(origin);
    expect(await uploadMany(site)).toEqual([...Array(20).fill(200), 20]);
    expect(sent.length).toBeGreaterThan(20);
    expect(sent.join('\n')).toContain(ticket);
    expect(sent.join('\n')).not.toContain('cz_live_');
    await page.close();
  },
);
