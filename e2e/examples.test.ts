import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@cadiz/client';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { listFiles, signUpOwner } from './client-account.ts';
import {
  cleanUp,
  freePorts,
  type Service,
  type Settings,
  settingsForPages,
  startService,
  stopService,
} from './service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const executablePath = '/usr/bin/chromium';
const inBrowser = existsSync(executablePath);
if (!inBrowser) console.warn(`LEFT OUT: the examples with a page, because ${executablePath} is not installed.`);
const hasShellTools = ['curl', 'jq', 'file'].every((tool) => spawnSync(tool, ['--version']).error === undefined);
if (!hasShellTools) console.warn('LEFT OUT: the example for curl, because curl, jq or file is not installed.');
const hasPython = spawnSync('python3', ['--version']).error === undefined;
if (!hasPython) console.warn('LEFT OUT: the example for Python, because python3 is not installed.');

let settings: Settings;
let service: Service;
let folder: string;
let env: Record<string, string>;
let apiKey: string;
/** Tied to a folder of the same project. */
let folderKey: string;
let folderId: string;
let port: number;
const servers: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-examples-'));
  settings = await settingsForPages();
  service = await startService(settings);
  const owner = await signUpOwner(service.url);
  const { projectId, ...tied } = await owner.createProject('Examples');
  apiKey = tied.apiKey;
  ({ id: folderId } = await createClient({ baseUrl: service.url, apiKey }).folders.create('scripts'));
  folderKey = await owner.createFolderKey(projectId, folderId);
  [port = 0] = await freePorts(1);
  const { PATH = '', HOME = '' } = process.env;
  env = { PATH, HOME, CADIZ_URL: service.url, CADIZ_API_KEY: apiKey, PORT: String(port) };
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    const ended = new Promise((resolve) => server.once('close', resolve));
    server.kill();
    await ended;
  }
  const client = createClient({ baseUrl: service.url, apiKey });
  await client.files.deleteMany({ fileIds: (await listed()).map(({ id }) => id) });
});
afterAll(async () => {
  if (service) await stopService(service);
  await cleanUp(settings);
  await rm(folder, { recursive: true, force: true });
});

const listed = () => listFiles(service.url, apiKey);

async function makeFile(name: string): Promise<string> {
  await writeFile(join(folder, name), `This is ${name}.`);
  return join(folder, name);
}

/** Starts an example that listens, and waits until it says so. */
async function serve(example: string): Promise<string> {
  const server = spawn(process.execPath, [join(root, 'examples', example)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  servers.push(server);
  const url = await new Promise<string>((resolve, reject) => {
    server.stdout?.setEncoding('utf8').once('data', (text: string) => resolve(text.trim()));
    server.once('close', () => reject(new Error(`examples/${example} ended`)));
  });
  return url;
}

test('node-script', async () => {
  const paths = [await makeFile('one.txt'), await makeFile('two.txt')];
  const script = join(root, 'examples/node-script/upload.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...paths, '--to', 'from/node'], {
    env,
    cwd: folder,
  });
  expect(stdout).toMatch(/^one\.txt: [0-9a-f-]{36}\ntwo\.txt: [0-9a-f-]{36}\n$/);
  expect((await listed()).map(({ fileName, sha256State }) => [fileName, sha256State]).sort()).toEqual([
    ['one.txt', expect.stringMatching(/^(verified|declared)$/)],
    ['two.txt', expect.stringMatching(/^(verified|declared)$/)],
  ]);
});

test.runIf(hasShellTools)('curl', async () => {
  await promisify(execFile)(join(root, 'examples/curl/upload.sh'), [await makeFile('{curl} [1].txt')], { env });
  expect(await listed()).toMatchObject([{ fileName: '{curl} [1].txt', mimeType: 'text/plain' }]);
});

test.runIf(hasPython)('python', async () => {
  await promisify(execFile)('python3', [join(root, 'examples/python/upload.py'), await makeFile('python.txt')], {
    env,
  });
  expect(await listed()).toMatchObject([{ fileName: 'python.txt', mimeType: 'text/plain' }]);
});

describe.each([
  ['curl', 'curl/upload.sh', hasShellTools],
  ['python', 'python/upload.py', hasPython],
])('%s', (_, example, isInstalled) => {
  const upload = async (key: string) =>
    promisify(execFile)(join(root, 'examples', example), [await makeFile('a.txt')], {
      env: { ...env, CADIZ_API_KEY: key },
    });

  test.runIf(isInstalled)('uploads with a key that is tied to a folder', async () => {
    const { stdout } = await upload(folderKey);
    expect(JSON.parse(stdout)).toMatchObject({ fileName: 'a.txt', folderId });
  });

  test.runIf(isInstalled)('shows what the service says of a failure', async () => {
    await expect(upload('cz_live_x')).rejects.toMatchObject({
      stderr: expect.stringContaining('invalid_api_key'),
    });
  });
});

async function uploadWithTicketOf(answer: Response): Promise<void> {
  const ticket = (await answer.json()) as { ticket: string };
  await createClient({ baseUrl: service.url, ticket }).upload('hello', { name: 'hello.txt', type: 'image/png' });
  expect(await listed()).toMatchObject([{ fileName: 'hello.txt', ticketId: expect.any(String) }]);
}

test.each(['express', 'hono'])('%s', async (name) => {
  const url = `${await serve(`${name}/server.mjs`)}/upload-ticket`;
  expect((await fetch(url, { method: 'POST' })).status).toBe(403);
  await uploadWithTicketOf(await fetch(url, { method: 'POST', headers: { 'X-User': 'ada' } }));
});

test('express: what the server itself receives', async () => {
  const url = await serve('express/server.mjs');
  const body = Buffer.from('a picture');
  const answer = await fetch(`${url}/avatar`, { method: 'POST', headers: { 'Content-Type': 'image/png' }, body });
  const avatar = (await answer.json()) as { url: string };
  expect(await (await fetch(avatar.url)).text()).toBe('a picture');
});

test('nextjs: the route handler', async () => {
  Object.assign(process.env, { CADIZ_URL: service.url, CADIZ_API_KEY: apiKey });
  try {
    const { POST } = await import('../examples/nextjs/app/api/upload-ticket/route.ts');
    const ask = (headers: Record<string, string>) =>
      POST(new Request('http://localhost/', { method: 'POST', headers }));
    expect((await ask({})).status).toBe(403);
    await uploadWithTicketOf(await ask({ Cookie: 'user=ada' }));
  } finally {
    delete process.env.CADIZ_URL;
    delete process.env.CADIZ_API_KEY;
  }
});

describe.runIf(inBrowser)('with a page', () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath,
      headless: true,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
    });
    page = await browser.newPage();
  });
  afterAll(() => browser?.close());

  test.each(['html', 'react-drop-zone'])('%s', async (name) => {
    await page.goto(await serve(`${name}/server.mjs`));
    const picture = (name: string) => ({ name, mimeType: 'image/png', buffer: Buffer.from(name) });
    await page.setInputFiles('input', [picture('one.png'), picture('two.png')]);
    await expect.poll(() => page.textContent('ul')).toMatch(/one\.png: done\s*two\.png: done/);
    expect((await listed()).map(({ fileName }) => fileName).sort()).toEqual(['one.png', 'two.png']);
  });
});
