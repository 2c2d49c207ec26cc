import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { isLong } from '../../../../../scripts/series.mjs';
import { measureBuffers } from '../../../test/memory.ts';
import { hasZipTools, readZip, testZip } from '../../../test/zip-tools.ts';
import { writeZip, type ZipEntry } from './write-zip.ts';

const path = join(tmpdir(), `cadiz-zip-${process.pid}.zip`);
afterEach(() => rm(path, { force: true }));

const readBack = test.skipIf(!hasZipTools);
const modifiedAt = new Date('2026-11-21T13:14:15.000Z');

function toFile(name: string, ...pieces: (string | Buffer)[]): ZipEntry {
  const buffers = pieces.map((piece) => Buffer.from(piece as string));
  const sizeBytes = buffers.reduce((sum, { length }) => sum + length, 0);
  return { path: name, modifiedAt, content: { sizeBytes, pieces: toAsync(buffers) } };
}

async function* toAsync<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  yield* items;
}

/** Writes the archive to disk; zeros become holes. */
async function save(entries: Iterable<ZipEntry>): Promise<void> {
  const file = await open(path, 'w');
  let at = 0;
  const pending: Uint8Array[] = [];
  async function writePending(): Promise<void> {
    const bytes = Buffer.concat(pending.splice(0));
    await file.write(bytes, 0, bytes.length, at);
    at += bytes.length;
  }
  for await (const piece of writeZip(toAsync(entries))) {
    if (piece === zeros) {
      await writePending();
      at += piece.length;
    } else if (pending.push(piece) === 1000) await writePending();
  }
  await writePending();
  await file.close();
}

const zeros = Buffer.alloc(1024 * 1024);

const bytesOf = async (entries: Iterable<ZipEntry>) => {
  const pieces: Buffer[] = [];
  for await (const piece of writeZip(toAsync(entries))) pieces.push(piece);
  return Buffer.concat(pieces);
};

readBack('two readers read back names in every script, empty files and folders', async () => {
  const names = [
    'Grüße.txt',
    '写真/',
    '写真/猫.png',
    '👍🏽.gif',
    'עברית/ملف.txt',
    'हिन्दी',
    'a b%41+#&.txt',
    'e\u0301.txt',
    'x'.repeat(255),
  ];
  const contents = names.map((name) => (name.endsWith('/') ? '' : `bytes of ${name}`));
  await save([
    ...names.map((name, i) => (name.endsWith('/') ? { path: name, modifiedAt } : toFile(name, contents[i] ?? ''))),
    toFile('empty'),
  ]);
  const read = await readZip(path);
  expect(read.map(({ name }) => name)).toEqual([...names, 'empty']);
  expect(read.map(({ content }) => Buffer.from(content, 'hex').toString())).toEqual([...contents, '']);
  expect(read[0]).toMatchObject({ date: [2026, 11, 21, 13, 14, 14], mode: 0o100644 });
  expect(read[1]?.mode).toBe(0o40755);
  await testZip(path);
});

readBack('an empty archive is valid', async () => {
  await save([]);
  expect(await readZip(path)).toEqual([]);
});

readBack('bytes in pieces have the checksum of the whole', async () => {
  const bytes = randomBytes(200_000);
  await save([toFile('a', bytes.subarray(0, 1), bytes.subarray(1, 1000), bytes.subarray(1000))]);
  expect((await readZip(path)).map(({ sizeBytes }) => sizeBytes)).toEqual([200_000]);
});

readBack('more than 65,535 entries', async () => {
  await save(Array.from({ length: 70_000 }, (_, i) => toFile(`folder ${i % 100}/${i}.txt`, String(i))));
  const read = await readZip(path);
  expect(read).toHaveLength(70_000);
  expect(read.at(-1)?.name).toBe('folder 99/69999.txt');
  await testZip(path);
});

readBack('a file over 4 GiB, and one after it', { timeout: 300_000 }, async () => {
  const count = 4097;
  const sizeBytes = count * zeros.length;
  const large = {
    path: 'large',
    modifiedAt,
    content: { sizeBytes, pieces: toAsync(Array(count).fill(zeros) as Buffer[]) },
  };
  await save([toFile('before', 'a'), large, toFile('after', 'b')]);
  const read = await readZip(path, 'index');
  expect(read.map(({ name }) => name)).toEqual(['before', 'large', 'after']);
  expect(read.map((entry) => entry.sizeBytes)).toEqual([1, sizeBytes, 1]);
  // This one reads all the zeros.
  if (isLong) await testZip(path);
});

test.each([
  ['fewer', 3],
  ['more', 5],
])('a file with %s bytes than declared breaks off the archive', async (_what, sizeBytes) => {
  const wrong = { path: 'a', modifiedAt, content: { sizeBytes, pieces: toAsync([Buffer.from('four')]) } };
  await expect(bytesOf([wrong])).rejects.toThrow('a does not have the');
});

test('an error in an entry fails the archive', async () => {
  async function* broken(): AsyncGenerator<ZipEntry, void> {
    yield toFile('a', 'a');
    throw new Error('gone');
  }
  const read = async () => {
    for await (const _ of writeZip(broken()));
  };
  await expect(read()).rejects.toThrow('gone');
});

test('memory does not grow with the number of entries', async () => {
  async function* many(): AsyncGenerator<ZipEntry, void> {
    for (let i = 0; i < 200_000; i += 1) yield { path: `${'a long name '.repeat(10)}${i}/`, modifiedAt };
  }
  const before = await measureBuffers();
  let most = 0;
  let bytes = 0;
  let pieces = 0;
  for await (const piece of writeZip(many())) {
    bytes += piece.length;
    pieces += 1;
    if (pieces % 10_000 !== 0) continue;
    most = Math.max(most, await measureBuffers());
  }
  expect(bytes).toBeGreaterThan(60_000_000);
  expect(most - before).toBeLessThan(15_000_000);
});
