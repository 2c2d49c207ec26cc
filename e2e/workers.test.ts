import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@cadiz/client';
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { listFiles, signUpOwner } from './client-account.ts';
import {
  launchService,
  listen,
  runService,
  type Service,
  type Settings,
  startService,
  stopService,
} from './service.ts';
import { startSharedStore } from './shared-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (undo.length > 0) await undo.pop()?.();
});

const shared = process.env.TEST_DATABASE_URL !== undefined;
if (!shared) console.warn('LEFT OUT: several workers, because TEST_DATABASE_URL names no PostgreSQL.');

describe.runIf(shared)('a service with three workers', () => {
  test('goes on when one is killed, replaces it, and ends with all of them', async () => {
    const settings = await openSettings();
    const service = await startService(settings);
    const before = workersOf(service);
    expect(before).toHaveLength(3);
    // The token that one of them has printed is good at every other.
    expect(service.welcome).toMatch(/setup#[\w-]{22}\n/);

    // docs/operations.md counts them.
    await expect.poll(() => countSessions(settings, 'cadiz listen')).toBe(3 * 3);

    const { apiKey } = await (await signUpOwner(service.url)).createProject('P');
    const cadiz = createClient({ baseUrl: service.url, apiKey });
    let isOver = false;
    let recorded = 0;
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        await cadiz.upload(
          new File(['Cadiz'], `${recorded}-${randomBytes(8).toString('hex')}.txt`, { type: 'text/plain' }),
        );
        recorded += 1;
      }
    });
    await expect.poll(() => recorded).toBeGreaterThan(10);
    expect(await countSessions(settings, 'cadiz')).toBeLessThanOrEqual(3 * (10 + 3));
    const [killed = 0] = before;
    process.kill(killed, 'SIGKILL');
    await expect.poll(() => workersOf(service).filter((pid) => !before.includes(pid))).toHaveLength(1);
    const seen = recorded;
    await expect.poll(() => recorded).toBeGreaterThan(seen + 20);
    isOver = true;
    await Promise.all(clients);
    expect(await listFiles(service.url, apiKey)).toHaveLength(recorded);

    // Each has its own port for metrics, the one that follows has that of the one before it.
    const ports = [0, 1, 2].map((place) => Number(settings.METRICS_PORT) + place);
    for (const port of ports) await expect.poll(() => readMetrics(port)).toContain('process_start_time_seconds');

    const all = workersOf(service);
    const { code, stderr } = await stopService(service);
    expect([code, all.filter(isRunning)]).toEqual([0, []]);
    const said = stderr.split('\n').filter((line) => line.includes(`"workerPid":${killed},`));
    expect(said).toEqual([expect.stringContaining('A worker has ended; another one follows')]);
  });

  test('closes a connection that a worker has not taken when it is killed', async () => {
    const settings = await openSettings();
    const service = await startService(settings);
    const [stuck = 0] = workersOf(service);
    process.kill(stuck, 'SIGSTOP');
    const ended: unknown[] = [];
    const asked = Array.from({ length: 6 }, () => ask(Number(settings.PORT)).then((outcome) => ended.push(outcome)));
    await expect.poll(() => ended).toEqual(Array(5).fill(200));
    process.kill(stuck, 'SIGKILL');
    await Promise.all(asked);
    expect(ended.at(-1)).toBe('ECONNRESET');
    expect((await stopService(service)).code).toBe(0);
  });

  test('answers every request while further workers start', async () => {
    const settings = await openSettings();
    let isOver = false;
    const starting = startService(settings).finally(() => {
      isOver = true;
    });
    let answered = 0;
    const failed: unknown[] = [];
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const outcome = await ask(Number(settings.PORT));
        if (outcome === 200) answered += 1;
        else if (answered > 0) failed.push(outcome);
        else await delay(20);
      }
    });
    const service = await starting;
    await Promise.all(clients);
    expect((await stopService(service)).code).toBe(0);
    expect([failed, answered > 0]).toEqual([[], true]);
  });

  test('may have any port that no worker has for metrics, such as the one after them', async () => {
    const first = await freeRange(4);
    const service = await startService({
      ...(await openSettings()),
      METRICS_PORT: String(first),
      PORT: String(first + 3),
    });
    expect(workersOf(service)).toHaveLength(3);
    expect((await stopService(service)).code).toBe(0);
  });

  test('ends with the reason when it cannot start', async () => {
    const settings = await openSettings();
    const taken = await listen(Number(settings.PORT));
    const { stderr: said } = await runService(settings);
    await taken.close();
    expect(said).toBe(`Port ${settings.PORT} is in use by another program: stop it, or set PORT to another port.\n`);
    const { code, stdout, stderr } = await runService({ ...settings, DATABASE_URL: 'postgres://127.0.0.1:1/none' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      'A worker ended before it served, and has said why.',
    ]);
  });

  test('ends with the signal that has ended its first worker, as the system does where memory is short', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    undo.push(async () => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const starting = launchService({ ...(await openSettings()), S3_ENDPOINT: `http://127.0.0.1:${port}` });
    await once(silent, 'connection');
    const [worker = 0] = workersOf(starting);
    process.kill(worker, 'SIGKILL');
    expect(await starting.exit).toEqual({
      code: 1,
      stdout: '',
      stderr: 'A worker ended before it served: SIGKILL.\n',
    });
  });

  test('leaves no worker behind when it is killed itself', async () => {
    const service = await startService(await openSettings());
    const all = workersOf(service);
    service.signal('SIGKILL');
    await service.exit;
    await expect.poll(() => all.filter(isRunning)).toEqual([]);
  });
});

/** A new database, a store that outlives the processes, and three workers. */
async function openSettings(): Promise<Settings> {
  const { settings, end } = await startSharedStore();
  undo.push(end);
  return { ...settings, WORKERS: '3', METRICS_PORT: String(await freeRange(3)) };
}

async function countSessions({ DATABASE_URL }: Settings, name: string): Promise<number> {
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  const { rowCount } = await client.query(
    'select from pg_stat_activity where datname = current_database() and application_name = $1',
    [name],
  );
  await client.end();
  return rowCount ?? 0;
}

/** The status of an answer on a connection of its own, or the code of the error. */
function ask(port: number): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/livez', agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode));
    }).once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });
}

/** The first of this many free ports in a row, below those that the system gives away. */
async function freeRange(count: number): Promise<number> {
  for (;;) {
    const first = randomInt(20_000, 30_000);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const opened = await Promise.allSettled(ports.map(listen));
    for (const each of opened) if (each.status === 'fulfilled') await each.value.close();
    if (opened.every(({ status }) => status === 'fulfilled')) return first;
  }
}

function workersOf({ pid }: Pick<Service, 'pid'>): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return children.filter(isRunning);
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function readMetrics(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  return (await answer?.text()) ?? '';
}
