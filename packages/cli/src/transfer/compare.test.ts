import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { File } from '@cadiz/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isSame } from './compare.ts';
import { planDownloads } from './plan-downloads.ts';
import { planUploads } from './plan-uploads.ts';
import { newReport } from './report.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-compare-'));
  await writeFile(join(folder, 'a.txt'), 'abc');
});
afterAll(() => rm(folder, { recursive: true }));

const recorded = Date.UTC(2026, 0, 1);
const hashOf = (text: string, algorithm = 'sha256') => createHash(algorithm).update(text).digest('hex');

/** A file of the project of which the time of its last change is not known. */
const fileOf = (facts: Partial<File>): File =>
  ({
    id: 'id',
    fileSize: 3,
    createdAt: new Date(recorded).toISOString(),
    metadata: {},
    etag: 'none',
    sha256: null,
    ...facts,
  }) as File;

const entryOf = (name: string, changed: number) => ({ path: name, from: join(folder, name), size: 3, changed });

test.each([
  ['other bytes with the same SHA-256 recorded later', { sha256: hashOf('abd') }, -1, false],
  ['the same bytes by their SHA-256', { sha256: hashOf('abc') }, -1, true],
  ['the same bytes, changed after the recording', { sha256: hashOf('abc') }, 1, true],
  ['other bytes by their MD5', { etag: hashOf('abd', 'md5') }, -1, false],
  ['the same bytes by their MD5', { etag: hashOf('abc', 'md5') }, -1, true],
  ['nothing to prove the bytes', {}, -1, false],
  ['the time that a download gives', {}, 0, true],
  ['another size', { fileSize: 4, sha256: hashOf('abc') }, 0, false],
])('up, without the time of the last change: %s', async (_, facts, later, expected) => {
  expect(await isSame(entryOf('a.txt', recorded + later), fileOf(facts), 'up', false)).toBe(expected);
});

test('where the time of the last change is known, no byte is read', async () => {
  const file = fileOf({ metadata: { mtime: new Date(recorded).toISOString() }, sha256: hashOf('abc') });
  expect(await isSame(entryOf('missing', recorded), file, 'up', false)).toBe(true);
  expect(await isSame(entryOf('missing', recorded + 1), file, 'up', false)).toBe(false);
});

test.each([
  ['exFAT', 5_437, 5_430, true],
  ['HFS+', 5_437, 5_000, true],
  ['FAT', 5_437, 4_000, true],
  ['FAT, rounded up', 5_437, 6_000, true],
  ['a time that is not rounded', 5_437, 5_436, false],
  ['whole seconds, another one', 5_437, 3_000, false],
  ['every second one, another one', 5_437, 8_000, false],
])('a time that a file system has rounded is the same: %s', async (_, time, here, expected) => {
  const file = fileOf({ metadata: { mtime: new Date(recorded + time).toISOString() } });
  for (const direction of ['down', 'up'] as const)
    expect(await isSame(entryOf('missing', recorded + here), file, direction, false)).toBe(expected);
});

test('near the time of its recording, a file that was not downloaded is compared by its bytes', async () => {
  const file = fileOf({ createdAt: new Date(recorded + 1_000).toISOString(), sha256: hashOf('abd') });
  expect(await isSame(entryOf('a.txt', recorded), file, 'up', false)).toBe(false);
});

test.each([
  ['its SHA-256', { 'mtime-of': hashOf('abc') }, { sha256: hashOf('abc') }, true],
  ['its MD5', { 'mtime-of': hashOf('abc', 'md5') }, { etag: hashOf('abc', 'md5') }, true],
  ['an MD5 that the store does not tell', { 'mtime-of': hashOf('abc', 'md5') }, { etag: 'x-1' }, true],
  ['other bytes by their SHA-256', { 'mtime-of': hashOf('abd') }, { sha256: hashOf('abc') }, false],
  ['other bytes by their MD5', { 'mtime-of': hashOf('abd', 'md5') }, { etag: hashOf('abc', 'md5') }, false],
  ['bytes of which less is known', { 'mtime-of': hashOf('abc') }, { etag: 'x-1' }, false],
] as const)(
  'the time of the last change counts only for the bytes that it is of: %s',
  async (_, of, facts, expected) => {
    const file = fileOf({ metadata: { mtime: new Date(recorded - 1).toISOString(), ...of }, ...facts });
    expect(await isSame(entryOf('missing', recorded - 1), file, 'down', false)).toBe(expected);
  },
);

test.each([true, false])(
  'a file that cannot be read fails, and the others go on (--checksum: %s)',
  async (checksum) => {
    const report = newReport();
    const file = fileOf({ sha256: hashOf('abc') });
    const uploads = await planUploads(
      ['missing', 'a.txt', 'other'].map((path) => ({ entry: entryOf(path, recorded - 1), path })),
      new Map([
        ['/missing', file],
        ['/a.txt', file],
      ]),
      { ifExists: 'replace', checksum, show: (path) => path },
      report,
    );
    expect(uploads.map(({ path }) => path)).toEqual(['other']);
    expect(report).toMatchObject({ unchanged: 1, failed: [{ path: 'missing', code: 'ENOENT' }] });
  },
);

// Even root cannot read its first byte; its size is 0.
const unreadable = '/proc/self/mem';

test.skipIf(process.platform !== 'linux')('nor does such a file end a download', async () => {
  const report = newReport();
  const wanted = [unreadable, 'a.txt', 'other'].map((path) => ({
    path: path.slice(path.lastIndexOf('/') + 1),
    file: fileOf({ sha256: hashOf('abc'), fileSize: path === unreadable ? 0 : 3 }),
  }));
  const to = (path: string) => (path === 'mem' ? unreadable : join(folder, path));
  const downloads = await planDownloads(
    wanted,
    { ifExists: 'replace', checksum: true, to, toKey: (path) => path },
    report,
  );
  expect(downloads.map(({ path }) => path)).toEqual(['other']);
  expect(report).toMatchObject({ unchanged: 1, failed: [{ path: 'mem', error: expect.stringContaining('EIO') }] });
});
