import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanUp, migratedSettings, type Service, type Settings, startService, stopService } from './service.ts';

const idleClient = fileURLToPath(new URL('./clients/idle-connections.mjs', import.meta.url));
const idleCount = 10_000;
const slowCount = 150;
const longestSeconds = 20;

/** Node takes as many as the system allows. */
const openFiles = Number(
  execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).replace('unlimited', 'Infinity'),
);
const enoughFiles = openFiles > idleCount + 500;
if (!enoughFiles)
  console.warn(`LEFT OUT: ${idleCount} idle connections, because a process may open ${openFiles} files.`);

let settings: Settings;
let service: Service;
let storePort: number;
let cookie: string;
let authorization: string;
let projectId: string;
const clients: ChildProcess[] = [];
const idle: net.Socket[] = [];

beforeAll(async () => {
  settings = { ...(await migratedSettings()), CADIZ_SIGN_UP: 'open' };
  service = await startService(settings);
  storePort = Number(settings.STORE_PORT);
  cookie = await signUp('Ada');
  projectId = await createProject(cookie);
  const made = await post('/api/api-keys', { name: 'K', projectId }, { cookie });
  authorization = `Bearer ${((await made.json()) as { key: string }).key}`;
});
afterAll(async () => {
  for (const socket of idle) socket.destroy();
  for (const client of clients) client.kill();
  await stopService(service);
  await cleanUp(settings);
});

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const all = { 'Content-Type': 'application/json', ...headers };
  return fetch(service.url + path, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

async function signUp(name: string): Promise<string> {
  const account = { name, email: `${name}@example.com`, password: 'correct horse battery' };
  const { headers } = await post('/api/auth/sign-up/email', account);
  return headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

async function createProject(cookie: string): Promise<string> {
  return ((await (await post('/api/projects', { name: 'P' }, { cookie })).json()) as { id: string }).id;
}

async function presign(fileSize: number): Promise<URL> {
  const file = { projectId, fileName: 'a.bin', mimeType: 'application/octet-stream', fileSize, folderId: null };
  const answer = await post('/api/storage/presign', file, { authorization });
  if (answer.status !== 200) throw new Error(`presign answered ${answer.status}: ${await answer.text()}`);
  return new URL(((await answer.json()) as { presignedUrl: string }).presignedUrl);
}

/** Creates an archive of a project with one file, larger than connections buffer, and returns its path. */
async function makeArchive(cookie: string, projectId: string): Promise<string> {
  const bytes = Buffer.alloc(32 * 1024 ** 2);
  const file = {
    projectId,
    fileName: 'a.bin',
    mimeType: 'application/octet-stream',
    fileSize: bytes.length,
    folderId: null,
  };
  const presigned = await post('/api/storage/presign', file, { cookie });
  const { presignedUrl, storeKey } = (await presigned.json()) as Record<string, string>;
  expect((await fetch(String(presignedUrl), { method: 'PUT', body: bytes })).status).toBe(200);
  expect((await post('/api/storage/record', { ...file, storeKey }, { cookie })).status).toBe(200);
  const { url } = (await (await post('/api/storage/archives', { projectId }, { cookie })).json()) as { url: string };
  return new URL(url).pathname;
}

/** Sends a request and reads only the beginning of the answer; resolves with its status. */
function askAndIdle(path: string): Promise<number> {
  const socket = net.connect(Number(settings.PORT), '127.0.0.1');
  idle.push(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1]));
    });
  });
}

/** Starts a request and then sends a byte every two seconds; resolves with the seconds until it is cut off. */
function dripInto(port: number, start: string): Promise<number> {
  const socket = net.connect(port, '127.0.0.1');
  const began = performance.now();
  socket.on('error', () => undefined).resume();
  socket.write(start);
  const drip = setInterval(() => socket.write('x'), 2_000);
  return new Promise((resolve) => {
    socket.once('close', () => {
      clearInterval(drip);
      resolve((performance.now() - began) / 1000);
    });
  });
}

function memoryBytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

async function nextLine(lines: Interface): Promise<string> {
  return (await once(lines, 'line'))[0];
}

// At the same time: each of them mostly waits, and together they are what a bad day looks like.
describe.concurrent('clients that hold connections open (checklist 48, T23)', () => {
  test(`${slowCount} that send headers and bodies slowly are cut off within ${longestSeconds} s, while others are served`, async () => {
    const head = (line: string, headers: string) => `${line} HTTP/1.1\r\nHost: localhost\r\n${headers}`;
    const put = await presign(1_000_000);
    const starts: [number, string][] = [
      [Number(settings.PORT), head('GET /livez', 'X-Slow: ')],
      [
        Number(settings.PORT),
        head('POST /api/storage/presign', 'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{'),
      ],
      [
        Number(settings.PORT),
        head(
          'POST /api/storage/presign',
          `Authorization: ${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n{`,
        ),
      ],
      [storePort, head('GET /cadiz', 'X-Slow: ')],
      [
        storePort,
        head(`PUT ${put.pathname}${put.search}`, '').replace('localhost', put.host) +
          'Content-Length: 1000000\r\n\r\nx',
      ],
    ];
    let done = false;
    const slow = Promise.all(
      Array.from({ length: slowCount }, (_, at) => dripInto(...(starts[at % starts.length] as [number, string]))),
    ).finally(() => {
      done = true;
    });
    let served = 0;
    while (!done) {
      const bytes = Buffer.from('hello');
      const url = await presign(bytes.length);
      expect((await fetch(url, { method: 'PUT', body: bytes })).status).toBe(200);
      served += 1;
      await delay(250);
    }
    const seconds = await slow;
    expect(Math.max(...seconds)).toBeLessThan(longestSeconds);
    // Otherwise everybody would have been turned away at once.
    expect(Math.min(...seconds)).toBeGreaterThan(4);
    expect(served).toBeGreaterThan(10);
  });

  test('idle archive readers of one account do not keep others from their archives', async () => {
    const own = [await makeArchive(cookie, projectId), await makeArchive(cookie, await createProject(cookie))];
    const statuses = [...own, ...own].map(askAndIdle);
    expect((await Promise.all(statuses)).sort()).toEqual([200, 200, 503, 503]);
    const bob = await signUp('Bob');
    const archive = await fetch(service.url + (await makeArchive(bob, await createProject(bob))));
    expect(archive.status).toBe(200);
    expect((await archive.arrayBuffer()).byteLength).toBeGreaterThan(32 * 1024 ** 2);
  });

  test.runIf(enoughFiles)(
    `${idleCount} idle connections stay, and the service answers`,
    async () => {
      const before = memoryBytes(service.pid);
      const perClient = 2_500;
      const all = Array.from({ length: idleCount / perClient }, () => {
        const client = spawn(process.execPath, [idleClient, String(settings.PORT), String(perClient)], {
          stdio: ['pipe', 'pipe', 'inherit'],
        });
        clients.push(client);
        return { client, lines: createInterface({ input: client.stdout }) };
      });
      const opened = await Promise.all(all.map(({ lines }) => nextLine(lines)));
      expect(opened).toEqual(all.map(() => `open ${perClient}`));
      await delay(5_000);
      const grown = memoryBytes(service.pid) - before;
      expect((await presign(1)).pathname).toContain(projectId);
      const states = await Promise.all(
        all.map(({ client, lines }) => {
          const line = nextLine(lines);
          client.stdin.write('\n');
          return line;
        }),
      );
      expect(states).toEqual(all.map(() => `open ${perClient} served 100`));
      console.info(`${idleCount} idle connections: ${Math.round(grown / 1024 ** 2)} MB more memory`);
      expect(grown).toBeLessThan(512 * 1024 ** 2);
      for (const { client } of all) client.kill();
    },
    120_000,
  );
});
