import { cpSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { flipInPack } from '../../test/damage.ts';
import { bucket, folderOfTest } from '../../test/running-store.ts';
import { openSmallPacks, type SmallPacks } from '../../test/small-packs.ts';
import { type Loss, rebuildIndex } from './rebuild-index.ts';
import type { Problem } from './verification.ts';
import { verifyStore } from './verify-store.ts';

const textOf = (key: string, round = 0) => `${key} in round ${round}. `.repeat(40);
const packsOf = (folder: string) => readdirSync(join(folder, 'packs'));
const bytesOf = (folder: string) =>
  packsOf(folder).reduce((sum, pack) => sum + statSync(join(folder, 'packs', pack)).size, 0);

async function problemsOf(folder: string): Promise<Problem[]> {
  const problems: Problem[] = [];
  await verifyStore(folder, { onProblem: (problem) => problems.push(problem) });
  return problems;
}

async function putAll(small: SmallPacks, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += 10) {
    await Promise.all(keys.slice(from, from + 10).map((key) => small.put(key, textOf(key))));
  }
}

const keysUpTo = (count: number) => Array.from({ length: count }, (_, at) => `key ${at}`);

test('while objects are written, replaced and removed, readers get what is there, and packs give back their space', async () => {
  const folder = folderOfTest();
  const small = await openSmallPacks(folder);
  const keys = keysUpTo(60);
  await putAll(small, keys);
  const wanted = new Map(keys.map((key) => [key, new Set<string | undefined>([textOf(key)])]));
  let writing = true;

  async function write(writer: number): Promise<void> {
    for (let round = 1; round < 60; round += 1) {
      const key = `key ${writer * 10 + (round % 7)}`;
      const next = round % 5 === 0 ? undefined : textOf(key, round);
      wanted.get(key)?.add(next);
      if (next === undefined) await small.remove(key);
      else await small.put(key, next);
      wanted.set(key, new Set([next]));
    }
  }

  async function read(reader: number): Promise<number> {
    let reads = 0;
    for (; writing; reads += 1) {
      const key = `key ${(reads * 7 + reader) % 60}`;
      const before = [...(wanted.get(key) ?? [])];
      const got = await small.read(key);
      expect([...before, ...(wanted.get(key) ?? [])]).toContain(got);
    }
    return reads;
  }

  const readers = [0, 1, 2, 3].map(read);
  await Promise.all([0, 1, 2, 3, 4, 5].map(write));
  writing = false;
  for (const reads of await Promise.all(readers)) expect(reads).toBeGreaterThan(0);
  await small.compactor.settled();
  const live = [...small.index.objectsFrom(bucket, Buffer.alloc(0))].reduce((sum, { record }) => sum + record.size, 0);
  expect(bytesOf(folder)).toBeLessThan(2.2 * live + 2 * 20_000);
  for (const [key, [state]] of wanted) expect(await small.read(key)).toBe(state);
  await small.close();
  expect(await problemsOf(folder)).toEqual([]);
  // The journal knows where everything was moved.
  rmSync(join(folder, 'index'), { recursive: true });
  const losses: Loss[] = [];
  await rebuildIndex(folder, (loss) => losses.push(loss));
  expect(losses).toEqual([]);
  expect(await problemsOf(folder)).toEqual([]);
  const again = await openSmallPacks(folder);
  for (const [key, [state]] of wanted) expect(await again.read(key)).toBe(state);
  await again.close();
});

test('when everything is removed, only the pack that is being written is left', async () => {
  const folder = folderOfTest();
  const small = await openSmallPacks(folder);
  const keys = keysUpTo(100);
  await putAll(small, keys);
  expect(packsOf(folder).length).toBeGreaterThan(2);
  await Promise.all(keys.map(small.remove));
  await small.put('last', 'last');
  await small.compactor.settled();
  expect(packsOf(folder).length).toBeLessThanOrEqual(1);
  expect([...small.index.packs.all().keys()]).toEqual(packsOf(folder));
  expect(await small.read('last')).toBe('last');
  await small.close();
  expect(await problemsOf(folder)).toEqual([]);
});

test('a damaged entry keeps its pack, and everything else in it is moved', async () => {
  const folder = folderOfTest();
  const small = await openSmallPacks(folder);
  const keys = keysUpTo(60);
  await putAll(small, keys);
  flipInPack(folder, 'key 3 in round');
  const rest = keys.filter((_, at) => at % 4 === 3);
  await Promise.all(keys.filter((key) => !rest.includes(key)).map(small.remove));
  await small.compactor.settled();
  await expect(small.read('key 3')).rejects.toThrow(/damaged/);
  for (const key of rest.slice(1)) expect(await small.read(key)).toBe(textOf(key));
  await small.close();
  expect(await problemsOf(folder)).toMatchObject([{ kind: 'rotten', subject: `${bucket}/key 3` }]);
  const again = await openSmallPacks(folder);
  const before = packsOf(folder).length;
  await again.remove('key 3');
  await again.compactor.settled();
  expect(packsOf(folder)).toHaveLength(before - 1);
  await again.close();
  expect(await problemsOf(folder)).toEqual([]);
});

test('no pack is removed while the journal may still refer to it', async () => {
  const folder = folderOfTest();
  let isDurable = false;
  const small = await openSmallPacks(folder, { flushJournal: async () => isDurable });
  const keys = keysUpTo(100);
  await putAll(small, keys);
  const before = packsOf(folder).length;
  await Promise.all(keys.map(small.remove));
  await small.compactor.settled();
  expect(packsOf(folder)).toHaveLength(before);
  isDurable = true;
  await putAll(small, keys);
  await Promise.all(keys.map(small.remove));
  await small.compactor.settled();
  expect(packsOf(folder).length).toBeLessThanOrEqual(1);
  await small.close();
});

test.each([0, 1, 2, 3, 4, 5])(
  'a pack that becomes due %i turns after another was removed is removed too',
  async (turns) => {
    const folder = folderOfTest();
    const small = await openSmallPacks(folder);
    const keys = keysUpTo(100);
    await putAll(small, keys);
    const packOf = (key: string) => small.index.findObject(bucket, key)?.packed?.pack ?? '';
    const [first, second] = [...new Set(keys.map(packOf))] as [string, string];
    const forget = small.index.packs.forget;
    vi.spyOn(small.index.packs, 'forget').mockImplementationOnce(async (pack) => {
      await forget(pack);
      void (async () => {
        for (let turn = 0; turn < turns; turn += 1) await undefined;
        small.compactor.consider(second);
      })();
    });
    // Without telling the compactor, which is told of the second one later.
    await small.index.deleteObjects(
      bucket,
      keys.filter((key) => packOf(key) === second).map((key) => ({ key })),
    );
    await Promise.all(keys.filter((key) => packOf(key) === first).map(small.remove));
    await expect.poll(() => packsOf(folder)).not.toContain(first);
    await small.compactor.settled();
    await expect.poll(() => packsOf(folder)).not.toContain(second);
    await small.close();
  },
);

test('the pack that is being written stays although nothing in it is in use', async () => {
  const folder = folderOfTest();
  const small = await openSmallPacks(folder);
  await small.put('first', 'first');
  await small.remove('first');
  await small.compactor.settled();
  await small.put('second', 'second');
  await small.close();
  const again = await openSmallPacks(folder);
  expect(await again.read('second')).toBe('second');
  await again.close();
});

test('a pack is not rewritten while the disk has no room for what is left in it', async () => {
  const folder = folderOfTest();
  let hasRoom = false;
  const small = await openSmallPacks(folder, { hasSpare: async () => hasRoom });
  const keys = keysUpTo(60);
  await putAll(small, keys);
  const before = bytesOf(folder);
  const rest = keys.filter((_, at) => at % 4 === 3);
  const removed = keys.filter((key) => !rest.includes(key));
  await Promise.all(removed.slice(1).map(small.remove));
  await small.compactor.settled();
  expect(bytesOf(folder)).toBe(before);
  hasRoom = true;
  await Promise.all(removed.slice(0, 1).map(small.remove));
  await small.compactor.settled();
  expect(bytesOf(folder)).toBeLessThan(before / 2 + 20_000);
  for (const key of rest) expect(await small.read(key)).toBe(textOf(key));
  await small.close();
});

test('with an older index, no pack is rewritten: a newer one finds everything where it was', async () => {
  const folder = folderOfTest();
  const metadata = ['index', 'journal'];
  const [early, late] = [keysUpTo(60), keysUpTo(120).slice(60)];
  const first = await openSmallPacks(folder);
  await putAll(first, early);
  await first.close();
  for (const name of metadata) cpSync(join(folder, name), join(folder, `${name}.older`), { recursive: true });
  const second = await openSmallPacks(folder);
  await putAll(second, late);
  await second.close();
  for (const name of metadata) {
    renameSync(join(folder, name), join(folder, `${name}.newer`));
    renameSync(join(folder, `${name}.older`), join(folder, name));
  }
  const older = await openSmallPacks(folder);
  await Promise.all(early.slice(1).map(older.remove));
  await older.compactor.settled();
  expect(await older.read('key 0')).toBe(textOf('key 0'));
  await older.close();
  for (const name of metadata) {
    rmSync(join(folder, name), { recursive: true });
    renameSync(join(folder, `${name}.newer`), join(folder, name));
  }
  const newer = await openSmallPacks(folder);
  for (const key of [...early, ...late]) expect(await newer.read(key)).toBe(textOf(key));
  await newer.close();
});
