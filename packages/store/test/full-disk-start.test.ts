import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPresigner } from '@cadiz/sigv4';
import { expect, onTestFinished, test } from 'vitest';
import { StoreFolderUnwritable } from '../src/disk/store.ts';
import { openStore } from '../src/process/open-store.ts';
import { type LoopDisk, mountLoopDisk } from './loop-disk.ts';
import { bucket, filed, keys, listFiles, region, send } from './running-store.ts';
import { runCli, type StoreProcess, startProcess } from './store-process.ts';

/** A separate disk for a test; undefined if none can be mounted. */
function diskOfTest(...size: Parameters<typeof mountLoopDisk>): LoopDisk | undefined {
  const disk = mountLoopDisk(...size);
  if ('reason' in disk) {
    console.warn(`LEFT OUT: no disk could be mounted to fill it: ${disk.reason}`);
    return undefined;
  }
  onTestFinished(() => disk.remove());
  return disk;
}

function addressOf({ endpoint }: StoreProcess, method: 'PUT' | 'GET', key: string): string {
  const presign = createPresigner({ ...keys, region, endpoint });
  return presign({ method, bucket, key, expiresInSeconds: 60, now: Date.now() });
}

/** Something else creates files of this size until the disk accepts no more; returns how many. */
function fill(path: string, bytes: number): number {
  const folder = join(path, 'others');
  mkdirSync(folder, { recursive: true });
  for (let made = 0; ; made += 1) {
    try {
      writeFileSync(join(folder, `${bytes}-${made}`), Buffer.alloc(bytes));
    } catch {
      return made;
    }
  }
}

test('a start on a full disk says that it is full, and existing objects are served', async ({ skip }) => {
  const disk = diskOfTest(40);
  if (!disk) return skip('no disk could be mounted');
  const dataDir = join(disk.path, 'data');
  const running = await startProcess(dataDir);
  await send('PUT', addressOf(running, 'PUT', ''));
  expect((await send('PUT', addressOf(running, 'PUT', 'there'), { body: filed('hello') })).status).toBe(200);
  expect(await running.end('SIGTERM')).toBe(0);

  for (const bytes of [1_000_000, 100_000, 4096, 1, 0]) fill(disk.path, bytes);
  const sentence =
    /^The disk of the data folder .* is full \(ENOSPC\): free some space on it, or choose another folder\.\n$/;
  expect(await runCli(['--data', join(disk.path, 'new')])).toEqual({
    code: 1,
    output: expect.stringMatching(sentence),
  });
  // The folders exist, but the index does not.
  rmSync(join(disk.path, 'others', '1000000-0'));
  mkdirSync(join(disk.path, 'made/incoming'), { recursive: true });
  mkdirSync(join(disk.path, 'made/blobs'));
  mkdirSync(join(disk.path, 'made/index'));
  for (const bytes of [100_000, 4096, 1, 0]) fill(disk.path, bytes);
  expect(await runCli(['--data', join(disk.path, 'made')])).toEqual({
    code: 1,
    output: expect.stringMatching(sentence),
  });

  const again = await startProcess(dataDir);
  expect((await send('GET', addressOf(again, 'GET', 'there'))).text).toBe(filed('hello'));
});

test('a new store is refused where the rest of the disk may be gone before its index has its place', async ({
  skip,
}) => {
  const disk = diskOfTest(40);
  if (!disk) return skip('no disk could be mounted');
  const { bavail, bsize } = statfsSync(disk.path);
  writeFileSync(join(disk.path, 'others'), Buffer.alloc(bavail * bsize - 2_000_000));
  const dataDir = join(disk.path, 'new');
  const opening = openStore({ dataDir, host: '127.0.0.1', port: 0, ...keys });
  onTestFinished(() => opening.then((store) => store.close()).catch(() => undefined));
  await expect(opening).rejects.toThrow(new StoreFolderUnwritable(dataDir, 'ENOSPC'));
  expect(existsSync(join(dataDir, 'index'))).toBe(false);
});

test('a disk with room for bytes but for no more files is full too', async ({ skip }) => {
  const disk = diskOfTest(40, { files: 200 });
  if (!disk) return skip('no disk could be mounted');
  const dataDir = join(disk.path, 'data');
  const running = await startProcess(dataDir);
  await send('PUT', addressOf(running, 'PUT', ''));
  fill(disk.path, 0);
  const others = join(disk.path, 'others');
  const free = () => rmSync(join(others, readdirSync(others)[0] ?? ''));
  const put = async () => {
    const { status, code } = await send('PUT', addressOf(running, 'PUT', 'there'), { body: filed('hello') });
    return [status, code];
  };
  expect(await put()).toEqual([507, 'InsufficientStorage']);
  // Enough for the file itself, but not for the folder it goes to.
  free();
  expect(await put()).toEqual([507, 'InsufficientStorage']);
  expect(listFiles(dataDir)).toEqual([]);
  free();
  expect(await put()).toEqual([200, undefined]);
});
