import { fork } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folderOfTest, newFolder, startStore } from '../../test/running-store.ts';
import { runCli } from '../../test/store-process.ts';
import { checkIndexFile, IndexFileDamaged } from './check-index-file.ts';
import { openIndexDb } from './index-db.ts';

const pageBytes = 4096;
const folder = newFolder();
const sound = join(folder, 'index', 'data.mdb');
afterAll(() => rmSync(folder, { recursive: true }));

/** An index with trees of several levels, runs of pages, and free pages. */
beforeAll(async () => {
  const index = await openIndexDb(join(folder, 'index'));
  await index.createBucket('photos', { createdAt: 1 });
  const record = (size: number) => ({
    size,
    etag: 'e',
    lastModified: 0,
    headers: {},
    metadata: { text: 'x'.repeat(size) },
  });
  for (let round = 0; round < 4; round += 1) {
    const sizes = Array.from({ length: 400 }, (_, at) => (at * 37 + round) % (at % 3 === 0 ? 12_000 : 300));
    await Promise.all(sizes.map((size, at) => index.putObject('photos', `key ${at}`, record(size))));
    await index.deleteObjects(
      'photos',
      sizes.filter((_, at) => at % 4 === round).map((_, at) => ({ key: `key ${at * 4}` })),
    );
  }
  await index.close();
});

/** Whether a process survives opening this index, reading all of it and writing to it. */
async function livesOn(paths: readonly string[]): Promise<{ path: string; signal: string }[]> {
  const died: { path: string; signal: string }[] = [];
  for (let left = [...paths]; left.length > 0; ) {
    const reader = fork(fileURLToPath(new URL('../../test/read-index.mjs', import.meta.url)), left, { silent: true });
    let begun = 0;
    reader.on('message', () => (begun += 1));
    const signal = await new Promise<string | null>((ended) => reader.once('exit', (_, by) => ended(by)));
    if (signal === null) break;
    died.push({ path: left[begun - 1] ?? '', signal });
    left = left.slice(begun);
  }
  return died;
}

function judge(path: string): 'sound' | 'damaged' {
  try {
    checkIndexFile(path, { thorough: true });
    return 'sound';
  } catch (error) {
    expect(error).toBeInstanceOf(IndexFileDamaged);
    return 'damaged';
  }
}

test('a sound index passes', () => {
  expect(judge(sound)).toBe('sound');
  checkIndexFile(sound, { thorough: false });
});

test('an index cut off anywhere is refused, or LMDB can read and write it', async () => {
  const { length } = readFileSync(sound);
  const cuts = new Set([0, 1, 100, 4095, 4096, 4097, 8191, 8192, 8193, length - 1, length - pageBytes]);
  for (let page = 2; page < length / pageBytes; page += 7) cuts.add(page * pageBytes + ((page * 577) % pageBytes));
  const home = folderOfTest();
  const passed: string[] = [];
  let refused = 0;
  for (const bytes of cuts) {
    const path = join(home, String(bytes));
    mkdirSync(path);
    copyFileSync(sound, join(path, 'data.mdb'));
    truncateSync(join(path, 'data.mdb'), bytes);
    try {
      checkIndexFile(join(path, 'data.mdb'), { thorough: false });
      passed.push(path);
    } catch (error) {
      expect(error).toBeInstanceOf(IndexFileDamaged);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(50);
  expect(await livesOn(passed)).toEqual([]);
});

test('an index with flipped bits is refused, or LMDB can read all of it', async () => {
  const bytes = readFileSync(sound);
  const flip = fc.record({ at: fc.integer({ min: 0, max: bytes.length - 1 }), bit: fc.integer({ min: 0, max: 7 }) });
  // Nine out of ten in what LMDB treats as its own: heads of pages, pointers, heads of nodes.
  const inHead = flip.map(({ at, bit }) => ({ at: at - (at % pageBytes) + (at % 61), bit }));
  const samples = fc.sample(
    fc.array(fc.oneof({ weight: 9, arbitrary: inHead }, { weight: 1, arbitrary: flip }), {
      minLength: 1,
      maxLength: 3,
    }),
    { seed: 35, numRuns: 100 },
  );
  const home = folderOfTest();
  const passed: string[] = [];
  for (const [number, flips] of samples.entries()) {
    const path = join(home, String(number));
    mkdirSync(path);
    const copy = Buffer.from(bytes);
    for (const { at, bit } of flips) copy.writeUInt8(copy.readUInt8(at) ^ (1 << bit), at);
    writeFileSync(join(path, 'data.mdb'), copy);
    if (judge(join(path, 'data.mdb')) === 'sound') passed.push(path);
    else rmSync(path, { recursive: true });
  }
  expect(passed.length).toBeLessThan(samples.length);
  const died = await livesOn(passed);
  expect(died.map(({ path }) => samples[Number(path.split('/').at(-1))])).toEqual([]);
});

test('verify and start say what is wrong with the file, and what to do', async () => {
  const data = folderOfTest();
  await (await startStore({ dataDir: data })).close();
  const path = join(data, 'index', 'data.mdb');
  const bytes = readFileSync(path);
  for (const [damaged, sentence] of [
    [bytes.subarray(0, 4200), /is cut off after 4200 bytes.*--rebuild/],
    [bytes.subarray(0, 3 * pageBytes), /is cut off: page \d+ is missing.*--rebuild/],
    [Buffer.alloc(bytes.length, 'x'), /is not the head of an LMDB file.*--rebuild/],
  ] as const) {
    writeFileSync(path, damaged);
    for (const args of [['verify'], ['--port', '0']]) {
      const { code, output } = await runCli([...args, '--data', data]);
      expect(output).toMatch(sentence);
      expect(output.trim().split('\n')).toHaveLength(1);
      expect(code).toBe(1);
    }
  }
});

test('if reading the index ends the process, verify says so', async () => {
  const end = `if (process.env.CADIZ_STORE_VERIFIES) process.kill(process.pid, 'SIGBUS');`;
  const nodeOptions = `--import data:text/javascript,${encodeURIComponent(end)}`;
  const { code, output } = await runCli(['verify', '--data', folder], { NODE_OPTIONS: nodeOptions });
  expect(output).toMatch(/reading it ended the process \(SIGBUS\).*verify --rebuild --data/);
  expect(code).toBe(1);
});
