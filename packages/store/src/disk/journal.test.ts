import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createPresigner } from '@cadiz/sigv4';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { breakRecord } from '../../test/damage.ts';
import { beginUpload, sendPart } from '../../test/multipart.ts';
import {
  bucket,
  countOpen,
  filed,
  folderOfTest,
  keys,
  region,
  send,
  startStore,
  type TestStore,
  until,
} from '../../test/running-store.ts';
import { runCli, type StoreProcess, startProcess } from '../../test/store-process.ts';
import { type IndexDb, openIndexDb } from './index-db.ts';
import type { Change } from './index-table.ts';
import type { IndexTables } from './index-tables.ts';
import { openJournal } from './journal.ts';
import { createJournal, readJournal, readJournalEnd } from './journal-file.ts';
import type { Log } from './log.ts';
import { type Loss, rebuildIndex } from './rebuild-index.ts';

const record = (size: number) => ({
  size,
  etag: `e${size}`,
  lastModified: 0,
  headers: {},
  metadata: { text: 'x'.repeat(size) },
});
const silent = () => undefined;

async function inStore(folder: string, work: (store: TestStore) => Promise<unknown>): Promise<void> {
  const store = await startStore({ dataDir: folder });
  await work(store);
  await store.close();
}

const put = (key: string, text: string) => async (store: TestStore) =>
  expect((await send('PUT', store.presign('PUT', key), { body: text })).status).toBe(200);

async function rebuild(folder: string): Promise<Loss[]> {
  const losses: Loss[] = [];
  await rebuildIndex(folder, (loss) => losses.push(loss));
  return losses;
}

function urlMaker({ endpoint }: StoreProcess): (key: string) => string {
  const presign = createPresigner({ ...keys, region, endpoint });
  return (key) => presign({ method: 'PUT', bucket, key, expiresInSeconds: 60, now: Date.now() });
}

const journalOf = (folder: string) => join(folder, 'journal');
const linesOf = (folder: string) => readFileSync(journalOf(folder), 'utf8').split('\n');

/** The state that a journal leaves when it has been replayed. */
async function replay(folder: string): Promise<Map<string, unknown>> {
  const state = new Map<string, unknown>();
  for await (const { line, entry } of readJournal(journalOf(folder))) {
    if (!entry) throw new Error(`Line ${line} is damaged.`);
    for (const [table, key, value] of entry.changes) {
      if (value === undefined) state.delete(`${table} ${key}`);
      else state.set(`${table} ${key}`, value);
    }
  }
  return state;
}

/** What the index contains, in the same form. */
async function contents({ tables }: IndexDb): Promise<Map<string, unknown>> {
  const state = new Map<string, unknown>();
  tables.follow(async ({ retold }) => {
    for (const [table, key, value] of retold as Change[]) state.set(`${table} ${key}`, value);
  });
  await tables.retell({ goesOn: () => true, broken: 'refuse' });
  return state;
}

test('a journal replaced again and again during writes matches the index', async () => {
  const write = fc.record({ key: fc.integer({ min: 0, max: 40 }), size: fc.integer({ min: -1, max: 3000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 50, maxLength: 300 }), async (writes) => {
      const folder = folderOfTest();
      const index = await openIndexDb(join(folder, 'index'));
      await index.createBucket(bucket, { createdAt: 1 });
      const journal = await openJournal({ folder, tables: index.tables, log: silent, renewBytes: -1_000_000_000 });
      await journal.settled();
      const firstFile = readFileSync(journalOf(folder));
      await Promise.all(
        writes.map(async ({ key, size }, at) => {
          if (at % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
          if (size < 0) return index.deleteObjects(bucket, [{ key: `key ${key}` }]);
          return index.putObject(bucket, `key ${key}`, record(size));
        }),
      );
      await index.putObject(bucket, 'large', record(9000));
      await journal.settled();
      await journal.close();
      expect(readFileSync(journalOf(folder)).subarray(0, firstFile.length).equals(firstFile)).toBe(false);
      expect(await readJournalEnd(journalOf(folder))).toMatchObject({ sequence: index.tables.position().sequence });
      expect(await replay(folder)).toEqual(await contents(index));
      await index.close();
      expect(readdirSync(folder).sort()).toEqual(['index', 'journal']);
    }),
    { numRuns: 8 },
  );
});

test('changes made while a large index is written to its journal are in the journal', async () => {
  const folder = folderOfTest();
  const index = await openIndexDb(join(folder, 'index'));
  await index.createBucket(bucket, { createdAt: 1 });
  const names = Array.from({ length: 3000 }, (_, at) => `key ${at}`);
  await Promise.all(names.map((key, at) => index.putObject(bucket, key, record(at % 50))));
  const opening = openJournal({ folder, tables: index.tables, log: silent });
  // In every round, a key that has been copied already and one that has not.
  for (let round = 0; !existsSync(journalOf(folder)); round += 1) {
    await index.putObject(bucket, `key ${round % 10}`, record(60));
    await index.deleteObjects(bucket, [{ key: `key ${10 + (round % 10)}` }, { key: `key ${2999 - round}` }]);
    await index.putObject(bucket, `new ${round % 10}`, record(70));
  }
  const journal = await opening;
  await journal.settled();
  await journal.close();
  expect(await replay(folder)).toEqual(await contents(index));
  await index.close();
});

test('a journal cut short, by a kill or within a line, is continued; one that lacks changes is replaced', async () => {
  const folder = folderOfTest();
  await inStore(folder, put('a', 'a'));
  const whole = linesOf(folder);
  appendFileSync(journalOf(folder), '0000');
  await inStore(folder, put('b', 'b'));
  expect(linesOf(folder).slice(0, whole.length - 1)).toEqual(whole.slice(0, -1));
  const lastLine = readFileSync(journalOf(folder)).lastIndexOf(0x0a, -2) + 1;
  truncateSync(journalOf(folder), lastLine + 20);
  await inStore(folder, put('c', 'c'));
  expect(linesOf(folder).slice(0, whole.length - 1)).not.toEqual(whole.slice(0, -1));
  rmSync(join(folder, 'index'), { recursive: true });
  expect(await rebuild(folder)).toEqual([]);
  await inStore(folder, async (store) => {
    for (const key of ['a', 'b', 'c']) expect((await send('GET', store.presign('GET', key))).text).toBe(key);
  });
});

test('a journal of another index, and an index older than its journal, are refused', async () => {
  const folder = folderOfTest();
  const other = folderOfTest();
  await inStore(folder, put('a', 'a'));
  for (let round = 0; round < 9; round += 1) await inStore(other, put('b', 'b'));
  rmSync(join(folder, 'index'), { recursive: true });
  renameSync(join(other, 'index'), join(folder, 'index'));
  await expect(startStore({ dataDir: folder })).rejects.toThrow(
    /is not the one that its journal belongs to.*--rebuild/,
  );
  expect(await runCli(['verify', '--data', folder])).toMatchObject({
    code: 1,
    output: expect.stringContaining('journal:'),
  });
});

test('what a damaged journal or one with gaps lacks is reported, and the rest is rebuilt', async () => {
  const folder = folderOfTest();
  await inStore(folder, async (store) => {
    for (const key of ['a', 'b', 'c', 'd', 'e']) await put(key, `body of ${key}`)(store);
  });
  const lines = linesOf(folder);
  const numberOf = (key: string) => lines.findIndex((line) => line.includes(`${bucket}\\u0000${key}"`));
  const damaged = [...lines];
  damaged[numberOf('b')] = `${damaged[numberOf('b')]} `;
  damaged.splice(numberOf('d'), 1);
  writeFileSync(journalOf(folder), damaged.join('\n'));
  const told = await runCli(['verify', '--data', folder]);
  expect(told).toMatchObject({ code: 1, output: expect.stringContaining(`line ${numberOf('b') + 1} is damaged`) });
  rmSync(join(folder, 'index'), { recursive: true });
  const losses = await rebuild(folder);
  expect(losses.map(({ sentence }) => sentence)).toEqual([
    `line ${numberOf('b') + 1} is damaged`,
    expect.stringMatching(/^changes \d+ to \d+ are missing/),
    expect.stringMatching(/^changes \d+ to \d+ are missing/),
  ]);
  await inStore(folder, async (store) => {
    for (const key of ['a', 'c', 'e']) expect((await send('GET', store.presign('GET', key))).status).toBe(200);
    for (const key of ['b', 'd']) expect((await send('GET', store.presign('GET', key))).status).toBe(404);
  });
});

test('an object or part whose file is gone is not rebuilt, and files unknown to a rebuild are set aside', async () => {
  const folder = folderOfTest();
  let uploadId = '';
  await inStore(folder, async (store) => {
    await put('kept', filed('kept'))(store);
    await put('gone', filed('gone'))(store);
    uploadId = await beginUpload(store, 'under way');
    await sendPart(store, 'under way', uploadId, 1, 'gone');
    await sendPart(store, 'under way', uploadId, 2, 'kept');
  });
  const generation = join(folder, 'blobs', '00000000');
  for (const name of readdirSync(generation)) {
    if (readFileSync(join(generation, name), 'utf8').startsWith('gone')) rmSync(join(generation, name));
  }
  writeFileSync(join(generation, `00000000-${'a'.repeat(32)}`), 'of nobody');
  rmSync(join(folder, 'index'), { recursive: true });
  const rebuilt = await runCli(['verify', '--rebuild', '--data', folder]);
  expect(rebuilt.code).toBe(1);
  expect(rebuilt.output).toContain(`lost: "${bucket}/gone": its bytes are gone`);
  expect(rebuilt.output).toContain('In set-aside/, unknown to it: 1 file.');
  expect(rebuilt.output).toContain('no problems (1 file in set-aside/)');
  await inStore(folder, async (store) => {
    expect((await send('GET', store.presign('GET', 'gone'))).code).toBe('NoSuchKey');
    expect((await send('GET', store.presign('GET', 'kept'))).text).toBe(filed('kept'));
    const listed = await send('GET', store.presign('GET', 'under way', { query: { uploadId } }));
    expect([...listed.text.matchAll(/<PartNumber>(\d+)/g)].map(([, number]) => number)).toEqual(['2']);
  });
});

test('an interrupted rebuild can be repeated, and until then no store starts', async () => {
  const folder = folderOfTest();
  await inStore(folder, put('a', 'a'));
  const journal = readFileSync(journalOf(folder));
  expect(await rebuild(folder)).toEqual([]);
  // As if the rebuild had ended after putting the new index in place, and before moving the journal.
  writeFileSync(journalOf(folder), journal);
  await expect(startStore({ dataDir: folder })).rejects.toThrow(/--rebuild/);
  expect(await rebuild(folder)).toEqual([]);
  rmSync(join(folder, 'index'), { recursive: true });
  await expect(startStore({ dataDir: folder })).rejects.toThrow(/is gone/);
  expect(await rebuild(folder)).toEqual([]);
  await inStore(folder, async (store) => expect((await send('GET', store.presign('GET', 'a'))).text).toBe('a'));
});

test('a broken record is whole again after a rebuild: the journal is not replaced by one without it', async () => {
  const folder = folderOfTest();
  await inStore(folder, async (store) => {
    await put('a', 'a')(store);
    await put('z', 'z')(store);
  });
  breakRecord(folder, `${bucket}\0a`);
  const logged: string[] = [];
  const index = await openIndexDb(join(folder, 'index'));
  const log: Log = ({ error }) => void logged.push(String(error));
  const journal = await openJournal({ folder, tables: index.tables, log, renewBytes: -1_000_000 });
  await index.createBucket('another', { createdAt: 1 });
  await until(() => logged.length > 0);
  expect(logged[0]).toContain('broken');
  await journal.close();
  await index.close();
  expect(await rebuild(folder)).toEqual([]);
  await inStore(folder, async (store) => {
    for (const key of ['a', 'z']) expect((await send('GET', store.presign('GET', key))).text).toBe(key);
  });
});

test('a journal that cannot be written fails no upload, and the next start replaces it', async () => {
  const folder = folderOfTest();
  // The index reuses its pages for the only object, and its few bytes are in a pack, so that only the journal reaches the limit.
  const running = await startProcess(folder, { limit: 'ulimit -f 600' });
  const url = urlMaker(running);
  await send('PUT', url(''));
  const key = 'a'.repeat(900);
  for (let at = 0; at < 280; at += 1) {
    expect((await send('PUT', url(key), { body: `${at}` })).status).toBe(200);
  }
  expect(await running.end('SIGTERM')).toBe(0);
  const behind = await readJournalEnd(journalOf(folder));
  await inStore(folder, put('b', 'b'));
  const whole = await readJournalEnd(journalOf(folder));
  expect(whole?.sequence).toBeGreaterThan((behind?.sequence ?? 0) + 2);
  rmSync(join(folder, 'index'), { recursive: true });
  expect(await rebuild(folder)).toEqual([]);
  await inStore(folder, async (store) => {
    expect((await send('GET', store.presign('GET', key))).text).toBe('279');
  });
});

test('a journal that could not be started is started later', async () => {
  const folder = folderOfTest();
  const index = await openIndexDb(join(folder, 'index'));
  const options = { folder, tables: index.tables, renewBytes: -1_000_000, retryMilliseconds: 5 };
  const logged: unknown[] = [];
  const journal = await openJournal({ ...options, log: (line) => void logged.push(line) });
  await journal.settled();
  mkdirSync(`${journalOf(folder)}.new`);
  await index.createBucket(bucket, { createdAt: 1 });
  await until(() => logged.length > 2);
  rmSync(`${journalOf(folder)}.new`, { recursive: true });
  const { ino } = statSync(journalOf(folder));
  await until(() => statSync(journalOf(folder)).ino !== ino);
  await journal.close();
  expect(await replay(folder)).toEqual(await contents(index));
  await index.close();
});

test('a journal that could not be written is closed all the same', async () => {
  const failures: unknown[] = [];
  const journal = await createJournal('/dev/full', (error) => failures.push(error));
  await journal.append({ sequence: 1, changes: [] });
  expect([failures.length, countOpen(/^\/dev\/full$/)]).toEqual([1, 1]);
  await journal.close();
  expect([failures.length, countOpen(/^\/dev\/full$/)]).toEqual([1, 0]);
});

test('a change that no line can hold is made, and costs the journal, which is replaced', async () => {
  const folder = folderOfTest();
  const index = await openIndexDb(join(folder, 'index'));
  const unwritable = index.tables.position().sequence + 2;
  const tables: IndexTables = {
    ...index.tables,
    // As when it is longer than a string can be.
    follow: (follower) =>
      index.tables.follow((committed) => {
        const changes: Change[] = committed.sequence === unwritable ? [['objects', 'a', 1n]] : [];
        return follower({ ...committed, changes: [...committed.changes, ...changes] });
      }),
  };
  const journal = await openJournal({ folder, tables, log: silent, retryMilliseconds: 5 });
  const { ino } = statSync(journalOf(folder));
  for (const name of ['one', 'unwritable', 'three']) await index.createBucket(name, { createdAt: 1 });
  await until(() => statSync(journalOf(folder)).ino !== ino);
  await journal.close();
  expect([...(await replay(folder)).keys()].sort()).toEqual(['buckets one', 'buckets three', 'buckets unwritable']);
  await index.close();
});

test('a journal that has missed a change is replaced', async () => {
  const folder = folderOfTest();
  const index = await openIndexDb(join(folder, 'index'));
  const missed = index.tables.position().sequence + 2;
  const tables: IndexTables = {
    ...index.tables,
    // As when a commit is reported as failed although it was made.
    follow: (follower) =>
      index.tables.follow(async (committed) => {
        if (committed.sequence !== missed) await follower(committed);
      }),
  };
  const journal = await openJournal({ folder, tables, log: silent, retryMilliseconds: 5 });
  const { ino } = statSync(journalOf(folder));
  for (const name of ['one', 'missed', 'three']) await index.createBucket(name, { createdAt: 1 });
  await until(() => statSync(journalOf(folder)).ino !== ino);
  await journal.close();
  expect([...(await replay(folder)).keys()].sort()).toEqual(['buckets missed', 'buckets one', 'buckets three']);
  await index.close();
});

test('what is appended while another sync begins is synced by the next', async () => {
  const folder = folderOfTest();
  const probe = await open('/dev/null');
  const syncing = vi.spyOn(Object.getPrototypeOf(probe), 'datasync');
  onTestFinished(() => syncing.mockRestore());
  await probe.close();
  const journal = await createJournal(join(folder, 'j'), (error) => expect.unreachable(String(error)));
  void journal.append({ sequence: 1, changes: [] });
  const first = journal.flush();
  void journal.append({ sequence: 2, changes: [] });
  await first;
  syncing.mockClear();
  await journal.flush();
  expect(syncing).toHaveBeenCalledOnce();
  await journal.close();
});

test('a journal that is closed while it is synced has not failed', async () => {
  const failures: unknown[] = [];
  const journal = await createJournal(join(folderOfTest(), 'j'), (error) => failures.push(error));
  void journal.append({ sequence: 1, changes: [] });
  const syncing = journal.flush();
  await journal.close();
  await syncing;
  expect(failures).toEqual([]);
});

test('a transaction can have more changes than a call takes arguments', async () => {
  const folder = folderOfTest();
  const journal = await createJournal(journalOf(folder), (error) => expect.unreachable(String(error)));
  await journal.append({ journal: 2, history: 'h', sequence: 0 });
  const changes = Array.from({ length: 150_000 }, (_, at): Change => ['uploads', `${at}`]);
  await journal.append({ sequence: 1, changes });
  await journal.close();
  expect(await rebuild(folder)).toEqual([]);
});

test('after kill -9 every acknowledged change is in the journal', async () => {
  const folder = folderOfTest();
  const running = await startProcess(folder);
  const url = urlMaker(running);
  await send('PUT', url(''));
  for (let at = 0; at < 20; at += 1) expect((await send('PUT', url(`${at}`), { body: `${at}` })).status).toBe(200);
  await running.end('SIGKILL');
  rmSync(join(folder, 'index'), { recursive: true });
  expect(await rebuild(folder)).toEqual([]);
  await inStore(folder, async (store) => {
    for (let at = 0; at < 20; at += 1) expect((await send('GET', store.presign('GET', `${at}`))).text).toBe(`${at}`);
  });
});
