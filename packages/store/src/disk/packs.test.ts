import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { folderOfTest } from '../../test/running-store.ts';
import type { PackRecord } from './index-record.ts';
import { encodeEntry, entriesOf } from './pack-entry.ts';
import { openPacks, type PackEntry, type Packs, type PacksOptions } from './packs.ts';

const name = (key: string) => Buffer.from(`photos\0${key}`);

/** Packs with an index in memory. */
async function openTest(folder: string, known: Map<string, PackRecord>, options: Partial<PacksOptions> = {}) {
  const closed: string[] = [];
  const packs = await openPacks({
    folder,
    known,
    begin: async (pack) => void known.set(pack, { liveBytes: 0, knownBytes: 0 }),
    onClosed: (pack) => void closed.push(pack),
    log: () => undefined,
    ...options,
  });
  const settle = (entry: PackEntry) => {
    const before = known.get(entry.pack) ?? { liveBytes: 0, knownBytes: 0 };
    known.set(entry.pack, { liveBytes: before.liveBytes + entry.length, knownBytes: entry.decide() });
    packs.settle(entry);
  };
  return { packs, closed, settle };
}

const namesIn = (folder: string, sub: string) => readdirSync(join(folder, sub)).sort();

/** Lets one call of a method of every open file fail. */
async function failOnce(method: 'datasync' | 'writev'): Promise<void> {
  const file = await open('/dev/null');
  const prototype = Object.getPrototypeOf(file);
  await file.close();
  const failing = vi.spyOn(prototype, method).mockRejectedValueOnce(Object.assign(new Error('EIO'), { code: 'EIO' }));
  onTestFinished(() => failing.mockRestore());
}

async function readAll(packs: Packs, entries: ReadonlyMap<string, PackEntry>): Promise<string[]> {
  const texts: string[] = [];
  for (const [text, entry] of entries) texts.push(String(await packs.read(name(text), entry, text.length)));
  return texts;
}

test('what waits together is in one pack, in order, and is read back by a later start, which continues the pack', async () => {
  const folder = folderOfTest();
  const known = new Map<string, PackRecord>();
  const first = await openTest(folder, known);
  const texts = Array.from({ length: 50 }, (_, at) => 'x'.repeat(at) + at);
  const made = await Promise.all(texts.map((text) => first.packs.append(name(text), Buffer.from(text))));
  const entries = new Map(texts.map((text, at) => [text, made[at] as PackEntry]));
  for (const entry of made) first.settle(entry);
  expect(await readAll(first.packs, entries)).toEqual(texts);
  await first.packs.close();
  const second = await openTest(folder, known);
  entries.set('more', await second.packs.append(name('more'), Buffer.from('more')));
  expect(await readAll(second.packs, entries)).toEqual([...texts, 'more']);
  expect(namesIn(folder, 'packs')).toHaveLength(1);
  await second.packs.close();
});

test('up to where everything is decided never passes an entry that is not', async () => {
  const folder = folderOfTest();
  const { packs } = await openTest(folder, new Map());
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((key) => packs.append(name(key), Buffer.from(key))));
  if (!a || !b || !c) throw new Error('Nothing was appended.');
  expect(c.decide()).toBe(a.at);
  packs.settle(c);
  expect(a.decide()).toBe(b.at);
  packs.settle(a);
  expect(b.decide()).toBe(c.at + c.length);
  packs.settle(b);
  await packs.close();
});

test('a pack with an end that the index has not decided about is not continued, and is set aside instead of removed', async () => {
  const folder = folderOfTest();
  const known = new Map<string, PackRecord>();
  const first = await openTest(folder, known);
  const entry = await first.packs.append(name('a'), Buffer.from('a'));
  first.settle(entry);
  await first.packs.close();
  const torn = encodeEntry(name('torn'), Buffer.from('never indexed')).subarray(0, -3);
  appendFileSync(join(folder, 'packs', entry.pack), torn);
  const second = await openTest(folder, known);
  const later = await second.packs.append(name('b'), Buffer.from('b'));
  expect(later.pack).not.toBe(entry.pack);
  expect(String(await second.packs.read(name('a'), entry, 1))).toBe('a');
  second.settle(later);
  await second.packs.retire(entry.pack, known.get(entry.pack)?.knownBytes ?? 0);
  expect(namesIn(folder, 'set-aside')).toEqual([entry.pack]);
  await second.packs.close();
  const third = await openTest(folder, known);
  await third.packs.retire(later.pack, known.get(later.pack)?.knownBytes ?? 0);
  expect(existsSync(join(folder, 'packs', later.pack))).toBe(false);
  expect(namesIn(folder, 'set-aside')).toEqual([]);
  await third.packs.close();
});

test('a pack that the index does not know is set aside, and comes back with an index that knows it', async () => {
  const folder = folderOfTest();
  const known = new Map<string, PackRecord>();
  const first = await openTest(folder, known);
  const entry = await first.packs.append(name('a'), Buffer.from('a'));
  first.settle(entry);
  await first.packs.close();
  const older = await openTest(folder, new Map());
  expect(older.packs.setAside).toBe(1);
  expect([namesIn(folder, 'packs'), namesIn(folder, 'set-aside')]).toEqual([[], [entry.pack]]);
  await older.packs.close();
  const newer = await openTest(folder, known);
  expect(String(await newer.packs.read(name('a'), entry, 1))).toBe('a');
  await newer.packs.close();
});

test.each(['datasync', 'writev'] as const)(
  'after a failed %s the requests of that group fail, and the next ones go to a new pack',
  async (method) => {
    const folder = folderOfTest();
    const known = new Map<string, PackRecord>();
    const { packs, settle } = await openTest(folder, known);
    const before = await packs.append(name('before'), Buffer.from('before'));
    settle(before);
    await failOnce(method);
    const failed = await Promise.allSettled(['b', 'c'].map((key) => packs.append(name(key), Buffer.from(key))));
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const after = await packs.append(name('after'), Buffer.from('after'));
    settle(after);
    expect(after.pack).not.toBe(before.pack);
    expect(String(await packs.read(name('before'), before, 6))).toBe('before');
    expect(statSync(join(folder, 'packs', before.pack)).size).toBe(before.length);
    expect(packs.isClosed(before.pack)).toBe(true);
    await packs.close();
  },
);

test('readers of a pack that is removed keep it, and later ones are told that it is gone', async () => {
  const folder = folderOfTest();
  const known = new Map<string, PackRecord>();
  const { packs, settle, closed } = await openTest(folder, known, { bytesPerPack: 1 });
  const text = 'x'.repeat(10_000);
  const entry = await packs.append(name('a'), Buffer.from(text));
  expect(closed).toEqual([]);
  settle(entry);
  expect(closed).toEqual([entry.pack]);
  const reading = Array.from({ length: 20 }, () => packs.read(name('a'), entry, text.length));
  await Promise.all([...reading, packs.retire(entry.pack, entry.length)]);
  expect((await Promise.all(reading)).map(String)).toEqual(reading.map(() => text));
  await expect(packs.read(name('a'), entry, text.length)).rejects.toMatchObject({ code: 'ENOENT' });
  await packs.close();
});

test.skipIf(!existsSync('/proc/self/fd'))('however many packs are read, few of them are open', async () => {
  const folder = folderOfTest();
  const { packs } = await openTest(folder, new Map(), { bytesPerPack: 1 });
  const entries = new Map<string, PackEntry>();
  for (let at = 0; at < 50; at += 1) {
    const text = `entry ${at}`;
    const entry = await packs.append(name(text), Buffer.from(text));
    packs.settle(entry);
    entries.set(text, entry);
  }
  for (let round = 0; round < 2; round += 1) expect(await readAll(packs, entries)).toEqual([...entries.keys()]);
  const openNow = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      const link = join('/proc/self/fd', fd);
      return existsSync(link) && readlinkSync(link).startsWith(folder);
    });
  await expect.poll(() => openNow().length).toBeLessThanOrEqual(32);
  await packs.close();
});

test('an entry is refused if its name, its length or any bit of it is another', async () => {
  const folder = folderOfTest();
  const { packs } = await openTest(folder, new Map());
  const entry = await packs.append(name('a'), Buffer.from('hello'));
  for (const [key, size] of [
    ['b', 5],
    ['a', 4],
    ['a', 6],
  ] as const) {
    await expect(packs.read(name(key), entry, size)).rejects.toThrow(/damaged/);
  }
  await packs.close();
});

test('the sound entries of a damaged pack are found', () => {
  const entries = ['a', 'b', 'c', 'd'].map((key) => encodeEntry(name(key), Buffer.from(`Cdz1 is in ${key}`)));
  const pack = Buffer.concat([...entries, encodeEntry(name('torn'), Buffer.from('torn')).subarray(0, 20)]);
  const lengthOfB = (entries[0]?.length ?? 0) + 12;
  pack.writeUInt32LE(0xffffffff, lengthOfB);
  expect([...entriesOf(pack)].map(({ name }) => String(name))).toEqual(['a', 'c', 'd'].map((key) => String(name(key))));
});

test('a pack whose file was taken away is reported as gone, and comes back when it does', async () => {
  const folder = folderOfTest();
  const known = new Map<string, PackRecord>();
  const first = await openTest(folder, known);
  const entry = await first.packs.append(name('a'), Buffer.from('a'));
  first.settle(entry);
  await first.packs.close();
  const path = join(folder, 'packs', entry.pack);
  renameSync(path, `${path}.elsewhere`);
  const second = await openTest(folder, known);
  await expect(second.packs.read(name('a'), entry, 1)).rejects.toMatchObject({ code: 'ENOENT' });
  renameSync(`${path}.elsewhere`, path);
  expect(String(await second.packs.read(name('a'), entry, 1))).toBe('a');
  await second.packs.close();
  expect(readFileSync(path)).toHaveLength(entry.length);
  rmSync(path);
});
