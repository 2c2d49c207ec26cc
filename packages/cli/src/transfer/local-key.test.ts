import { lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findLocalKey } from './local-key.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-local-key-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** As on a file system that takes no notice of case. */
const lookAsExFat = (path: string) => lstat(join(dirname(path), basename(path).toLowerCase()));

test.skipIf(process.platform !== 'linux')('asks the file system whether case counts', async () => {
  const fold = async (path: string, look?: typeof lookAsExFat) => (await findLocalKey(folder, look))(path);
  expect(await fold('2026/Photo.JPG', lookAsExFat)).toBe('2026/Photo.JPG');
  await mkdir(join(folder, '2026'));
  await writeFile(join(folder, '2026', 'a.txt'), '');
  expect(await fold('2026/Photo.JPG', lookAsExFat)).toBe('2026/photo.jpg');
  expect(await fold('E\u0301.txt', lookAsExFat)).toBe('e\u0301.txt');
  expect(await fold('2026/Photo.JPG')).toBe('2026/Photo.JPG');
  await writeFile(join(folder, '2026', 'A.TXT'), '');
  expect(await fold('2026/Photo.JPG')).toBe('2026/Photo.JPG');
});
