import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listFiles, newFolder } from '../../test/running-store.ts';
import { type Blobs, openBlobs, shareRuns } from './blobs.ts';

let folder = '';
const referred = new Set<string>();
let settled: number[] = [];
let setAside = 0;
let blobs: Blobs;

beforeEach(() => {
  folder = newFolder();
  referred.clear();
  settled = [];
  setAside = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function reopen(openGeneration: number): Promise<Blobs> {
  blobs = await openBlobs({
    folder,
    openGeneration,
    isKnown: (blob) => referred.has(blob),
    onSetAside: (count) => {
      setAside += count;
    },
    onGenerationsSettled: (generation) => settled.push(generation),
    blobsPerGeneration: 3,
  });
  return blobs;
}

async function sealOne(text = 'hello'): Promise<string> {
  const writer = await blobs.receive();
  await writer.write(Buffer.from(text));
  return writer.seal();
}

const generationOf = (blob: string) => Number.parseInt(blob.slice(0, 8), 16);

test('blobs go into generations, which settle once their last blob does', async () => {
  await reopen(0);
  const sealed: string[] = [];
  for (let count = 0; count < 7; count += 1) sealed.push(await sealOne());
  expect(sealed.map(generationOf)).toEqual([0, 0, 0, 1, 1, 1, 2]);
  const [a = '', b = '', c = '', d = '', e = '', f = '', g = ''] = sealed;
  for (const blob of [d, e, f]) blobs.settle(blob);
  expect(settled).toEqual([0]);
  for (const blob of [a, b]) blobs.settle(blob);
  expect(settled).toEqual([0]);
  blobs.settle(c);
  expect(settled).toEqual([0, 2]);
  blobs.settle(g);
  expect(settled).toEqual([0, 2]);
  await blobs.close();
});

test('a start searches open generations only, and sets aside blobs that no index knows, until one does', async () => {
  await reopen(0);
  const sealed = [];
  for (let count = 0; count < 8; count += 1) sealed.push(await sealOne());
  await blobs.close();
  sealed.filter((_, at) => at % 2 === 0).forEach((blob) => void referred.add(blob));
  await reopen(1);
  const left = listFiles(folder).map((file) => file.slice('blobs/'.length));
  const expected = sealed.filter((blob) => generationOf(blob) === 0 || referred.has(blob));
  expect(left.sort()).toEqual(expected.sort());
  // Generation 2 still has one blob, and takes two more.
  const more = [await sealOne(), await sealOne(), await sealOne()];
  expect(more.map(generationOf)).toEqual([2, 2, 3]);
  await blobs.close();
  const unknown = sealed.filter((blob) => !expected.includes(blob));
  expect(setAside).toBe(unknown.length);
  expect(readdirSync(join(folder, 'set-aside')).sort()).toEqual(unknown.sort());
  for (const blob of [...sealed, ...more]) referred.add(blob);
  await reopen(1);
  for (const blob of sealed) await (await blobs.open(blob)).close();
  expect(readdirSync(join(folder, 'set-aside'))).toEqual([]);
  await blobs.close();
});

test('a discarded blob leaves nothing, a sealed one stays', async () => {
  await reopen(0);
  const writer = await blobs.receive();
  await writer.write(Buffer.from('half'));
  expect(listFiles(folder)).toHaveLength(1);
  await writer.discard();
  expect(listFiles(folder)).toHaveLength(0);
  const kept = await blobs.receive();
  const blob = await kept.seal();
  await kept.discard();
  expect(existsSync(join(folder, 'blobs', blob.slice(0, 8), blob))).toBe(true);
  await blobs.close();
});

test('many chunks, written while others arrive, stay in order', async () => {
  await reopen(0);
  const writer = await blobs.receive();
  const chunks = Array.from({ length: 500 }, (_, at) => Buffer.alloc(20_000 + at, at % 251));
  for (const chunk of chunks) await writer.write(chunk);
  const file = await blobs.open(await writer.seal());
  expect(Buffer.concat(chunks).equals(await file.readFile())).toBe(true);
  await file.close();
  await blobs.close();
});

test('shared runs: each caller gets one that began after its call', async () => {
  let begun = 0;
  const finish: (() => void)[] = [];
  const shared = shareRuns(() => {
    begun += 1;
    return new Promise<void>((resolve) => finish.push(resolve));
  });
  const first = shared();
  const later = [shared(), shared(), shared()];
  expect(begun).toBe(1);
  finish[0]?.();
  await first;
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(2);
  let done = false;
  void Promise.all(later).then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  finish[1]?.();
  await Promise.all(later);
  const next = shared();
  expect(begun).toBe(3);
  finish[2]?.();
  await next;
});
