import { existsSync } from 'node:fs';
import { createClient, createTicketHandler } from '@cadiz/client/node';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listFiles, type Owner, signUpOwner } from './client-account.ts';
import { type ClientPage, startClientPage } from './client-page.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { cleanUp, migratedSettings, type Service, type Settings, startService, stopService } from './service.ts';

const executablePath = '/usr/bin/chromium';
const installed = existsSync(executablePath);
if (!installed) console.warn(`LEFT OUT: uploads from a browser, because ${executablePath} is not installed.`);

/** What `e2e/client-page.ts` makes global in the page. */
declare const cadiz: typeof import('@cadiz/client');
declare const hooks: typeof import('@cadiz/client/react');
declare const react: typeof import('react');
declare const createRoot: typeof import('react-dom/client').createRoot;

let settings: Settings;
let service: Service;
let api: FaultProxy;
let store: FaultProxy;
let app: ClientPage;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let owner: Owner;
let apiKey: string;
let complaints: string[];

const listed = () => listFiles(service.url, apiKey);

describe.runIf(installed)('the client in Chromium', () => {
  beforeAll(async () => {
    settings = await migratedSettings();
    store = await startFaultProxy(Number(settings.STORE_PORT));
    service = await startService({ ...settings, S3_PUBLIC_ENDPOINT: store.url });
    api = await startFaultProxy(Number(settings.PORT));
    owner = await signUpOwner(service.url);
    app = await startClientPage((request) => giveTicket(request));
    browser = await chromium.launch({
      executablePath,
      headless: true,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
    });
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([app?.close(), api?.close(), store?.close()]);
    if (service) await stopService(service);
    await cleanUp(settings);
  });
  beforeEach(async () => {
    ({ apiKey } = await owner.createProject('Pages'));
    complaints = [];
    context = await browser.newContext();
    page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(app.url);
    await page.waitForFunction('globalThis.cadiz');
    api.requests.length = 0;
    store.requests.length = 0;
  });
  afterEach(async () => {
    await context?.close();
    expect(complaints).toEqual([]);
  });

  function giveTicket(request: Request): Promise<Response> {
    const authorize = () => ({ maxFiles: 1000, maxBytes: 1_000_000_000, metadata: { visitor: 'v1' } });
    return createTicketHandler({ baseUrl: service.url, apiKey, authorize })(request);
  }

  test('a page that holds nothing but a ticket uploads 500 files in nested folders with few requests', async () => {
    const sent: string[] = [];
    page.on('request', (request) =>
      sent.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData()}`),
    );
    const states = await page.evaluate(async (baseUrl) => {
      const ticket = async () => (await fetch('/ticket', { method: 'POST' })).json() as Promise<{ ticket: string }>;
      const client = cadiz.createClient({ baseUrl, ticket });
      const files = Array.from({ length: 500 }, (_, index) => ({
        file: new File([`file ${index}`], `${index}.txt`, { type: 'text/plain' }),
        path: `a/${index % 7}/${index % 11}/${index}.txt`,
      }));
      const queue = client.uploads.create(files);
      const { uploads, loaded, total } = await queue.done();
      return { states: [...new Set(uploads.map(({ state, error }) => `${state} ${error ?? ''}`))], loaded, total };
    }, api.url);
    expect(states).toEqual({ states: ['done '], loaded: 3890, total: 3890 });
    expect(api.requests.filter((request) => !request.startsWith('OPTIONS')).length).toBeLessThanOrEqual(12);
    const files = await listed();
    expect(files).toHaveLength(500);
    expect(new Set(files.map(({ folderId }) => folderId)).size).toBe(77);
    expect(files[0]).toMatchObject({ metadata: { visitor: 'v1' }, ticketId: expect.any(String) });
    expect(sent.filter((request) => request.includes('cz_live_'))).toEqual([]);
  });

  test.each(['', 'the origin'])('a page of the service itself, with its cookie, baseUrl: %s', async (given) => {
    // Any page of the service would do; its own pages allow no other scripts.
    await context.close();
    context = await browser.newContext({ bypassCSP: true });
    const own = await context.newPage();
    await own.goto(`${service.url}/docs`);
    await own.addScriptTag({ content: await (await fetch(`${app.url}app.js`)).text(), type: 'module' });
    await own.waitForFunction('globalThis.cadiz');
    const outcome = await own.evaluate(async (given) => {
      const baseUrl = given && location.origin;
      const anybody = cadiz.createClient({ baseUrl, session: true });
      const refused = await anybody.request({ path: '/api/projects' }).catch((error: { code: string }) => error.code);
      const body = { email: 'ada@example.com', password: 'a password that nobody has' };
      await anybody.request({ method: 'POST', path: '/api/auth/sign-in/email', body });
      const made = { method: 'POST', path: '/api/projects', body: { name: 'Console' } } as const;
      const { id: projectId } = await anybody.request<{ id: string }>(made);
      const client = cadiz.createClient({ baseUrl, session: true, projectId });
      await client.upload('hello', { name: 'hello.txt', folder: 'from/console' });
      const names: string[] = [];
      for await (const { fileName } of client.files.list({ folder: 'from/console' })) names.push(fileName);
      return { refused, names };
    }, given);
    expect(outcome).toEqual({ refused: 'session_required', names: ['hello.txt'] });
  });

  test('goes on by itself after the network was away', async () => {
    await context.setOffline(true);
    const uploading = page.evaluate(
      async ({ baseUrl, apiKey }) => {
        const client = cadiz.createClient({ baseUrl, apiKey, retries: 0 });
        return (await client.upload(new Blob(['x'.repeat(100_000)]), { name: 'offline.txt' })).fileName;
      },
      { baseUrl: api.url, apiKey },
    );
    await expect.poll(() => page.evaluate(() => navigator.onLine)).toBe(false);
    await context.setOffline(false);
    expect(await uploading).toBe('offline.txt');
    expect(await listed()).toHaveLength(1);
  });

  test('repeats nothing that may have been done when the network went away', async () => {
    const outcome = await page.evaluate(
      async ({ baseUrl, apiKey }) => {
        const lost: typeof fetch = async (...request) => {
          await fetch(...request);
          Object.defineProperty(navigator, 'onLine', { value: false });
          throw new TypeError('Failed to fetch');
        };
        const { projectId } = await cadiz.createClient({ baseUrl, apiKey }).keys.current();
        const client = cadiz.createClient({ baseUrl, apiKey, projectId: projectId ?? '', fetch: lost });
        const body = { projectId, name: 'once', parentId: null };
        return client
          .request({ method: 'POST', path: '/api/storage/folders', body })
          .catch((error: { code: string }) => error.code);
      },
      { baseUrl: api.url, apiKey },
    );
    expect(outcome).toBe('network_failed');
    expect(api.requests.filter((request) => request.startsWith('POST /api/storage/folders'))).toHaveLength(1);
  });

  test('needs no network to reach a service on the same machine', async () => {
    await page.evaluate(() => Object.defineProperty(navigator, 'onLine', { value: false }));
    const name = await page.evaluate(
      async ({ baseUrl, apiKey }) =>
        (await cadiz.createClient({ baseUrl, apiKey }).upload(new Blob(['x']), { name: 'local.txt' })).fileName,
      { baseUrl: api.url, apiKey },
    );
    expect(name).toBe('local.txt');
  });

  test('goes on with a large file after the page was reloaded', async () => {
    const start = async ({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) => {
      const client = cadiz.createClient({ baseUrl, apiKey });
      const file = new File([new Uint8Array(80 * 1024 ** 2)], 'large.bin', { lastModified: 1_700_000_000_000 });
      const shown: number[] = [];
      const done = client.upload(file, { concurrency: 1, onProgress: ({ loaded }) => shown.push(loaded) });
      Object.assign(globalThis, { shown });
      return done.then(({ fileName }) => ({ fileName, first: shown[0] }));
    };
    const first = page.evaluate(start, { baseUrl: api.url, apiKey });
    first.catch(() => undefined);
    await expect.poll(() => page.evaluate('globalThis.shown?.at(-1) ?? 0')).toBeGreaterThan(40 * 1024 ** 2);
    await page.reload();
    await page.waitForFunction('globalThis.cadiz');
    const second = await page.evaluate(start, { baseUrl: api.url, apiKey });
    expect(second.fileName).toBe('large.bin');
    expect(second.first).toBeGreaterThanOrEqual(32 * 1024 ** 2);
    expect(await listed()).toHaveLength(1);
  });

  test('React: useUploads and useFiles show what happens', async () => {
    await page.evaluate(
      ({ baseUrl, apiKey }) => {
        const client = cadiz.createClient({ baseUrl, apiKey });
        const { createElement: h } = react;
        function App() {
          const { uploads, add, isIdle } = hooks.useUploads(client);
          const { files, isLoading, reload } = hooks.useFiles(client, { folder: null, sort: 'name' });
          react.useEffect(() => {
            if (isIdle) reload();
          }, [isIdle]);
          return h(
            'div',
            null,
            h('input', { type: 'file', multiple: true, onChange: (event) => add(event.target.files ?? []) }),
            h('p', { id: 'states' }, uploads.map(({ name, state }) => `${name} ${state}`).join(', ')),
            h('p', { id: 'files' }, isLoading ? 'loading' : files.map(({ fileName }) => fileName).join(', ')),
          );
        }
        const root = document.body.appendChild(document.createElement('div'));
        createRoot(root).render(h(App));
      },
      { baseUrl: api.url, apiKey },
    );
    await expect.poll(() => page.textContent('#files')).toBe('');
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) });
    await page.setInputFiles('input', [file('b.txt'), file('a.txt')]);
    await expect.poll(() => page.textContent('#states')).toBe('b.txt done, a.txt done');
    await expect.poll(() => page.textContent('#files')).toBe('a.txt, b.txt');
  });

  test('React: uploads stay when the code of a component is replaced while it runs', async () => {
    const developed = await startClientPage(giveTicket, 'development');
    // What tools for hot reloading use.
    await page.addInitScript(`globalThis.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
      supportsFiber: true,
      inject(internals) { globalThis.internals = internals; },
      onCommitFiberRoot(id, root) { globalThis.fiberRoot = root; },
      onCommitFiberUnmount() {},
      onScheduleFiberRoot() {},
    };`);
    await page.goto(developed.url);
    await page.waitForFunction('globalThis.cadiz');
    await page.evaluate(
      ({ baseUrl, apiKey }) => {
        const client = cadiz.createClient({ baseUrl, apiKey });
        const toApp = (version: number) => () => {
          const { uploads, add } = hooks.useUploads(client);
          Object.assign(globalThis, { add });
          const states = uploads.map(({ name, state }) => `${name} ${state}`);
          return react.createElement('p', { id: 'states' }, `${version}: ${states.join()}`);
        };
        const app = toApp(1);
        const family = { current: app };
        createRoot(document.body.appendChild(document.createElement('div'))).render(react.createElement(app));
        Object.assign(globalThis, { family, next: toApp(2) });
      },
      { baseUrl: api.url, apiKey },
    );
    const states = () => expect.poll(() => page.textContent('#states'));
    await states().toBe('1: ');
    await page.evaluate(`add([new File(['x'], 'a.txt')])`);
    await states().toBe('1: a.txt done');
    await page.evaluate(`
      family.current = next;
      internals.setRefreshHandler(() => family);
      internals.scheduleRefresh(fiberRoot, { updatedFamilies: new Set([family]), staleFamilies: new Set() });`);
    await states().toBe('2: a.txt done');
    await developed.close();
  });

  test('React: what is kept of an earlier render of useFiles is about the folder that is shown', async () => {
    const client = createClient({ baseUrl: service.url, apiKey });
    for (const folder of ['a', 'b'])
      for (const name of ['1', '2']) await client.upload('x', { name: `${folder}${name}`, folder });
    await page.evaluate(
      ({ baseUrl, apiKey }) => {
        const client = cadiz.createClient({ baseUrl, apiKey });
        const { createElement: h } = react;
        const shown: string[] = [];
        const kept: ReturnType<typeof hooks.useFiles>[] = [];
        let reloads = 0;
        function Folder({ folder }: { folder: string }) {
          const found = hooks.useFiles(client, { folder, sort: 'name', limit: 1 });
          const { files, isLoading, reload } = found;
          kept.push(found);
          react.useEffect(() => {
            reloads++;
            reload();
          }, [reload]);
          const names = isLoading ? 'loading' : files.map(({ fileName }) => fileName).join(', ');
          shown.push(`${folder}: ${names}`);
          return h('p', { id: 'files' }, names);
        }
        const root = createRoot(document.body.appendChild(document.createElement('div')));
        const show = (folder: string) => root.render(h(Folder, { folder }));
        show('a');
        Object.assign(globalThis, { show, shown, kept, reloads: () => reloads, end: () => root.unmount() });
      },
      { baseUrl: api.url, apiKey },
    );
    const files = () => expect.poll(() => page.textContent('#files'));
    await files().toBe('a1');
    const first = await page.evaluate('kept.findIndex(({ hasMore }) => hasMore)');
    await page.evaluate(`show('b')`);
    await files().toBe('b1');
    await page.evaluate(`kept[${first}].loadMore()`);
    await files().toBe('b1, b2');
    await page.evaluate(`kept[${first}].reload()`);
    await files().toBe('b1');
    const shown = await page.evaluate<string[]>('shown');
    expect([...new Set(shown)].sort()).toEqual(['a: a1', 'a: loading', 'b: b1', 'b: b1, b2', 'b: loading']);
    expect(await page.evaluate('reloads()')).toBe(1);

    api.requests.length = 0;
    await page.evaluate('end()');
    await page.evaluate(`kept[${first}].reload()`);
    expect(api.requests).toEqual([]);
  });
});
