import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findMigrated } from '../packages/server/test/migrated-database.ts';

const dist = new URL('../packages/server/dist/', import.meta.url);

/**
 * Options for Node with which a program that opens the embedded database starts soonest: V8 then never optimises
 * PGlite, which takes longer than what most tests do with it.
 */
export const quickStart = ['--liftoff-only'];

const running = new Set<ChildProcess>();

export type Settings = Record<string, string>;

export type Exit = { code: number | null; stdout: string; stderr: string };

/** `welcome` is what the service printed when it was ready. */
export type Service = {
  url: string;
  welcome: string;
  pid: number;
  signal: (signal: NodeJS.Signals) => void;
  exit: Promise<Exit>;
};

/** Settings for a separate service on the embedded database and store: a new data folder and two free ports. */
export async function embeddedSettings(): Promise<Settings> {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-e2e-'));
  const [port, storePort] = await freePorts(2);
  return {
    CADIZ_DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    STORE_PORT: String(storePort),
    // There is no proxy that has to notice.
    DRAIN_DELAY_SECONDS: '0',
  };
}

/** The same, with a data folder as after a first start, whose database has its tables: making them takes a second. */
export async function migratedSettings(): Promise<Settings> {
  const settings = await embeddedSettings();
  const database = join(settings.CADIZ_DATA_DIR ?? '', 'database');
  await mkdir(database, { recursive: true, mode: 0o700 });
  const migrated = await findMigrated(async (folder) => {
    // Not a static import: most tests find it made, and many of them load nothing else of the database.
    const { migrateInto } = await import('../packages/server/test/embedded-database.ts');
    await migrateInto(folder);
  });
  await cp(migrated, join(database, 'pgdata'), { recursive: true });
  return settings;
}

/**
 * The same, but on the PostgreSQL (in a new database) and the S3 server named by TEST_DATABASE_URL and TEST_S3_*, if
 * set.
 */
export async function testedSettings(): Promise<Settings> {
  const databaseUrl = process.env.TEST_DATABASE_URL;
  const settings = await (databaseUrl ? embeddedSettings() : migratedSettings());
  for (const name of ['ENDPOINT', 'REGION', 'BUCKET', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY']) {
    const value = process.env[`TEST_S3_${name}`];
    if (value) settings[`S3_${name}`] = value;
  }
  if (databaseUrl) settings.DATABASE_URL = await createDatabase(databaseUrl);
  return settings;
}

/** The same, always on the embedded store: the bucket of another allows no page to upload, until `npm run doctor -- --fix` adds a rule for it. */
export async function settingsForPages(): Promise<Settings> {
  return Object.fromEntries(Object.entries(await testedSettings()).filter(([name]) => !name.startsWith('S3_')));
}

/** Kills anything that a failed test left running, and removes what `embeddedSettings` or `testedSettings` created. */
export async function cleanUp(settings: Settings): Promise<void> {
  for (const child of running) child.kill('SIGKILL');
  await removeData(settings);
}

/** Removes what `embeddedSettings` or `testedSettings` created, of a service that does not run. */
export async function removeData(settings: Settings): Promise<void> {
  const { CADIZ_DATA_DIR, DATABASE_URL } = settings;
  if (CADIZ_DATA_DIR) await rm(join(CADIZ_DATA_DIR, '..'), { recursive: true, force: true });
  const maintenance = process.env.TEST_DATABASE_URL;
  if (DATABASE_URL && maintenance) {
    await query(maintenance, `DROP DATABASE IF EXISTS ${new URL(DATABASE_URL).pathname.slice(1)} WITH (FORCE)`);
  }
}

export interface How {
  /** The working directory, which may contain a `.env`. */
  cwd?: string;
  /** A program in `dist`; the service by default. */
  program?: string;
  /** Options for Node; `quickStart` by default. */
  node?: string[];
  /** A program, with its arguments, that executes Node, such as `strace -D`. */
  under?: string[];
}

/** Runs the built service, or another program of its package, until it ends on its own. */
export async function runService(settings: Settings, how: How = {}): Promise<Exit> {
  return collect(spawnService(settings, how));
}

/** Starts the built service without waiting for it. */
export function launchService(settings: Settings, how: How = {}): Pick<Service, 'pid' | 'signal' | 'exit'> {
  const child = spawnService(settings, how);
  return { pid: child.pid ?? 0, signal: child.kill.bind(child), exit: collect(child) };
}

/** Starts the built service and waits until it is ready; throws an error with its output if it ends before that. */
export async function startService(settings: Settings, how: How = {}): Promise<Service> {
  const child = spawnService(settings, how);
  const exit = collect(child);
  const failed = exit.then(({ code, stdout, stderr }) => {
    throw new Error(`The service ended with ${code} before it was ready.\n${stdout}${stderr}`);
  });
  // A caller may wait for the end later; until then, the rejection must not count as unhandled.
  failed.catch(() => undefined);
  const url = `http://127.0.0.1:${settings.PORT}`;
  const welcome = firstOutput(child);
  await Promise.race([failed, untilReady(url, 60_000)]);
  return {
    url,
    welcome: await Promise.race([failed, welcome]),
    pid: child.pid ?? 0,
    signal: child.kill.bind(child),
    exit,
  };
}

/** Stops a service as a supervisor would, and waits for its end. */
export async function stopService(service: Service): Promise<Exit> {
  service.signal('SIGTERM');
  return service.exit;
}

/**
 * Ports that nobody listens on, and that no connection is given meanwhile: below those that Linux chooses from. Until this process
 * ends, no other call returns them, in any process.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = 11_000 + Math.floor(Math.random() * 21_000);
    if ((await claim(port)) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

/** Services use TCP, so the UDP port of the same number is there to be held; the system lets go of it with the process. */
async function claim(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  try {
    await once(socket.bind(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    socket.close();
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const found = await listen(port).catch(() => undefined);
  await found?.close();
  return found !== undefined;
}

/** Occupies a port (0: a free one) until it is closed. */
export function listen(port: number): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('not a TCP address');
      resolve({ port: address.port, close: () => new Promise((done) => server.close(() => done())) });
    });
  });
}

function spawnService(
  settings: Settings,
  { cwd = tmpdir(), program = 'main.js', node = quickStart, under = [] }: How = {},
): ChildProcess {
  // The tester's own settings, or a .env in the working directory, must not leak in.
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, TMPDIR: tmpdir(), ...settings };
  const [command = '', ...args] = [...under, process.execPath, ...node, fileURLToPath(new URL(program, dist))];
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

function collect(child: ChildProcess): Promise<Exit> {
  const exit: Exit = { code: null, stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    exit.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    exit.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...exit, code }));
  });
}

/** The welcome is written at once, so it arrives in one piece. */
function firstOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.stdout?.once('data', (text) => resolve(String(text))));
}

async function untilReady(url: string, milliseconds: number): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (Date.now() < deadline) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    if (response?.status === 200) return;
    await delay(50);
  }
  throw new Error(`The service was not ready within ${milliseconds} ms.`);
}

async function createDatabase(maintenanceUrl: string): Promise<string> {
  const url = new URL(maintenanceUrl);
  url.pathname = `/cadiz_e2e_${randomBytes(6).toString('hex')}`;
  await query(maintenanceUrl, `CREATE DATABASE ${url.pathname.slice(1)}`);
  return url.href;
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
