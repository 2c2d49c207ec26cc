import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mountLoopDisk } from '../packages/store/test/loop-disk.ts';
import { collect, main } from './cli.ts';
import {
  cleanUp,
  embeddedSettings,
  quickStart,
  runService,
  type Settings,
  startService,
  stopService,
} from './service.ts';

/** A small disk, and the settings of a service whose data folder is on it; undefined if none can be mounted. */
async function openDisk(): Promise<{ path: string; settings: Settings } | undefined> {
  const disk = mountLoopDisk(160);
  if ('reason' in disk) {
    console.warn(`LEFT OUT: no disk could be mounted to fill it: ${disk.reason}`);
    return undefined;
  }
  const settings = await embeddedSettings();
  onTestFinished(async () => {
    await cleanUp(settings);
    disk.remove();
  });
  return { path: disk.path, settings: { ...settings, CADIZ_DATA_DIR: join(disk.path, 'data') } };
}

/** Fills the disk except for this many bytes. */
function fill(path: string, leaveBytes: number): void {
  const { bavail, bsize } = statfsSync(path);
  writeFileSync(join(path, 'ballast'), Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
}

const empty = (path: string) => rmSync(join(path, 'ballast'));

/** Starts, which must fail, and returns the one sentence of the error. */
async function refusal(settings: Settings): Promise<string> {
  const { code, stderr } = await runService(settings);
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":'));
  expect({ code, lines }, stderr).toEqual({ code: 1, lines: [expect.any(String)] });
  return lines[0] ?? '';
}

describe('a start', () => {
  test('on a full disk says so, however far it gets, and works once there is room', async ({ skip }) => {
    const disk = await openDisk();
    if (!disk) return skip('no disk could be mounted');
    const full = new RegExp(`^There is no space left on the disk of ${disk.path}/data\\S* \\(ENOSPC\\)`);
    for (const left of [0, 100_000, 10_000_000]) {
      fill(disk.path, left);
      expect(await refusal(disk.settings), `${left} bytes left, ${readdirSync(disk.path)}`).toMatch(full);
      empty(disk.path);
    }
    const service = await startService(disk.settings);
    expect((await stopService(service)).code).toBe(0);
  });

  test('on a disk that is mounted read-only says so', async ({ skip }) => {
    const disk = await openDisk();
    if (!disk) return skip('no disk could be mounted');
    expect(spawnSync('mount', ['-o', 'remount,ro', disk.path]).status).toBe(0);
    expect(await refusal(disk.settings)).toMatch(
      new RegExp(`^The disk of ${disk.path}/data is mounted read-only \\(EROFS\\): `),
    );
  });
});

test('a disk that fills up while the service runs: not ready, available to read, and healthy again once there is room', async ({
  skip,
}) => {
  const disk = await openDisk();
  if (!disk) return skip('no disk could be mounted');
  const service = await startService(disk.settings);
  const ask = async (path: string) => {
    const answer = await fetch(service.url + path);
    const { code, status, dependencies } = (await answer.json()) as Record<string, unknown>;
    return [answer.status, code ?? status, dependencies];
  };
  const healthy = { database: { status: 'healthy' }, objectStore: { status: 'healthy' } };
  const full = { status: 'available', detail: 'its disk is full' };
  expect(await ask('/readyz')).toEqual([200, 'ready', healthy]);

  fill(disk.path, 20_000_000);
  await expect.poll(() => ask('/readyz')).toEqual([503, 'not_ready', { database: full, objectStore: full }]);
  expect(await ask('/healthz')).toEqual([200, 'available', { database: full, objectStore: full }]);
  expect((await fetch(`${service.url}/livez`)).status).toBe(200);

  empty(disk.path);
  await expect.poll(() => ask('/readyz')).toEqual([200, 'ready', healthy]);
  expect(await ask('/healthz')).toEqual([200, 'healthy', healthy]);
  const { code, stderr } = await stopService(service);
  expect(code).toBe(0);
  const changes = stderr.split('\n').filter((line) => line.includes('"dependency":'));
  expect(changes.map((line) => JSON.parse(line)).map(({ dependency, level }) => `${dependency} ${level}`)).toEqual([
    'database 40',
    'objectStore 40',
    'database 30',
    'objectStore 30',
  ]);
  expect(readdirSync(join(disk.path, 'data/database')).sort()).toEqual(['lock', 'pgdata']);
});

test('a backup for whose copy of the database there is no room says so, and the service lives on', async ({ skip }) => {
  const disk = await openDisk();
  if (!disk) return skip('no disk could be mounted');
  const service = await startService(disk.settings);
  const archive = await mkdtemp(join(tmpdir(), 'cadiz-backup-'));
  onTestFinished(() => rmSync(archive, { recursive: true }));
  const env = { PATH: process.env.PATH ?? '', ...disk.settings };
  const backUp = () => collect([process.execPath, ...quickStart, main, 'admin', 'backup', archive], { env }, tmpdir());
  for (const left of [0, 10_000, 100_000, 10_000_000]) {
    fill(disk.path, left);
    const { code, stderr } = await backUp();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^There is no space left on the disk of .+ \(ENOSPC\): .+\n$/),
    ]);
    empty(disk.path);
  }
  expect((await backUp()).code).toBe(0);
  expect((await stopService(service)).code).toBe(0);
});
