import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateBucketCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { createPresigner } from '@cadiz/sigv4';
import { open } from 'lmdb';
import { expect, test } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import {
  bucket,
  filed,
  folderOfTest,
  keptEitherWay,
  keys,
  listFiles,
  newClient,
  region,
  send,
  startStore,
  until,
} from '../../test/running-store.ts';
import { runCli, startProcess } from '../../test/store-process.ts';
import { OlderFormat, openIndexDb } from '../disk/index-db.ts';
import { maxPackedBytes } from '../disk/take-in.ts';

const digest = (body: Buffer | string) => createHash('sha256').update(body).digest('hex');
const absent = 'absent';

/** What a key may hold: the last acknowledged state, or any that was asked for since. */
type Allowed = Map<string, Set<string>>;

function urlMaker(endpoint: string) {
  const presign = createPresigner({ ...keys, region, endpoint });
  return (method: 'GET' | 'PUT' | 'DELETE', key: string) =>
    presign({ method, bucket, key, expiresInSeconds: 60, now: Date.now() });
}

/** Puts, replaces and deletes until the store is gone. */
async function writeUntilGone(
  endpoint: string,
  writer: number,
  allowed: Allowed,
  acknowledged: () => void,
): Promise<void> {
  const url = urlMaker(endpoint);
  for (let step = 0; ; step += 1) {
    const key = `${writer}/${step % 13}`;
    const states = allowed.get(key) ?? new Set([absent]);
    allowed.set(key, states);
    const deleting = step % 7 === 6;
    const body = randomBytes(step % 5 === 0 ? 400_000 : 3_000);
    const wanted = deleting ? absent : digest(body);
    states.add(wanted);
    try {
      const answer = deleting ? await send('DELETE', url('DELETE', key)) : await send('PUT', url('PUT', key), { body });
      if (answer.status >= 300) throw new Error(answer.text);
    } catch {
      return;
    }
    allowed.set(key, new Set([wanted]));
    acknowledged();
  }
}

test('kill -9 during writes: everything acknowledged is there and whole, and nothing else is left', async () => {
  const data = folderOfTest();
  const allowed: Allowed = new Map();
  for (let round = 0; round < series({ full: 5, short: 3 }); round += 1) {
    const running = await startProcess(data);
    await newClient(running.endpoint).send(new CreateBucketCommand({ Bucket: bucket }));
    let acknowledged = 0;
    const enough = 60 + round * 25;
    await new Promise<void>((resolve) => {
      const writers = [0, 1, 2, 3, 4, 5].map((writer) =>
        writeUntilGone(running.endpoint, writer, allowed, () => {
          acknowledged += 1;
          if (acknowledged === enough) running.process.kill('SIGKILL');
        }),
      );
      void Promise.all(writers).then(() => resolve());
    });
    expect(acknowledged).toBeGreaterThanOrEqual(enough);

    const after = await startProcess(data);
    const url = urlMaker(after.endpoint);
    for (const [key, states] of allowed) {
      const answer = await send('GET', url('GET', key));
      const found = answer.status === 404 ? absent : digest(answer.body);
      expect(states, `${key} in round ${round}`).toContain(found);
      allowed.set(key, new Set([found]));
    }
    const listed = await newClient(after.endpoint).send(new ListObjectsV2Command({ Bucket: bucket }));
    const filed = listed.Contents?.filter(({ Size = 0 }) => Size > maxPackedBytes) ?? [];
    expect(listFiles(data)).toHaveLength(filed.length);
    expect(await after.end('SIGTERM')).toBe(0);
  }
});

test('a start clears away what a crash left: half uploads, and blobs that no object refers to', async () => {
  const data = folderOfTest();
  const first = await startStore({ dataDir: data });
  await send('PUT', first.presign('PUT', 'kept'), { body: filed('kept') });
  await first.close();
  writeFileSync(join(data, 'incoming', 'half'), 'ha');
  const generation = '00000000';
  writeFileSync(join(data, 'blobs', generation, `${generation}-${'a'.repeat(32)}`), 'never indexed');
  mkdirSync(join(data, 'blobs', '00000001'));
  writeFileSync(join(data, 'blobs', '00000001', `00000001-${'b'.repeat(32)}`), 'never indexed');
  expect(listFiles(data)).toHaveLength(4);

  const second = await startStore({ dataDir: data });
  expect(second.files()).toHaveLength(1);
  expect((await send('GET', second.presign('GET', 'kept'))).text).toBe(filed('kept'));
  expect((await send('PUT', second.presign('PUT', 'more'), { body: 'more' })).status).toBe(200);
  await second.close();
});

test('a start removes the files of objects removed just before a crash', async () => {
  const data = folderOfTest();
  const first = await startStore({ dataDir: data });
  for (const key of ['deleted', 'replaced', 'kept']) {
    await send('PUT', first.presign('PUT', key), { body: filed(key) });
  }
  await first.close();
  const index = await openIndexDb(join(data, 'index'));
  await index.deleteObjects(bucket, [{ key: 'deleted' }]);
  const other = index.findObject(bucket, 'kept');
  if (other) await index.putObject(bucket, 'replaced', other);
  await index.blobs.writeOpenGeneration(9); // so that no sweep of an open generation finds them
  await index.close();
  expect(listFiles(data)).toHaveLength(3);

  const second = await startStore({ dataDir: data });
  expect(second.files()).toHaveLength(1);
  expect((await send('GET', second.presign('GET', 'replaced'))).text).toBe(filed('kept'));
  await second.close();
});

test('a full disk: 507 for what does not fit, reads go on, and the attempt leaves nothing behind', async () => {
  // A limit on the size of a file, in blocks of 512 bytes, makes a write fail as on a full disk.
  const data = folderOfTest();
  const running = await startProcess(data, { limit: 'ulimit -f 4096' });
  await newClient(running.endpoint).send(new CreateBucketCommand({ Bucket: bucket }));
  const url = urlMaker(running.endpoint);
  expect((await send('PUT', url('PUT', 'small'), { body: 'small' })).status).toBe(200);
  const large = await send('PUT', url('PUT', 'large'), { body: Buffer.alloc(8_000_000, 'x') });
  expect([large.status, large.code]).toEqual([507, 'InsufficientStorage']);
  expect((await send('GET', url('GET', 'large'))).code).toBe('NoSuchKey');
  expect((await send('GET', url('GET', 'small'))).text).toBe('small');
  expect((await send('PUT', url('PUT', 'small'), { body: 'again' })).status).toBe(200);
  expect(listFiles(data).filter((file) => file.startsWith('incoming/'))).toEqual([]);
  await running.end('SIGTERM');
});

test.each(keptEitherWay)(
  'an index that cannot grow, bytes kept $kept: 507 or 503, over and over, and the store lives on',
  async ({ form }) => {
    const data = folderOfTest();
    const running = await startProcess(data, { limit: 'ulimit -f 400' });
    await newClient(running.endpoint).send(new CreateBucketCommand({ Bucket: bucket }));
    const url = urlMaker(running.endpoint);
    const put = (key: string) => send('PUT', url('PUT', key.padEnd(1000, 'x')), { body: form(key) });
    expect((await put('first')).status).toBe(200);
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => put(`${round}-${at}-`)));
      statuses.push(...answers.map(({ status }) => status));
    }
    expect(statuses.filter((status) => status !== 200 && status !== 503 && status !== 507)).toEqual([]);
    // Not each of them is refused: a leaf of the tree with room to spare still takes a key.
    expect(statuses.slice(-40).filter((status) => status !== 200)).not.toEqual([]);
    expect((await send('GET', url('GET', 'first'.padEnd(1000, 'x')))).text).toBe(form('first'));
    expect(listFiles(data)).toHaveLength(form === filed ? 1 + statuses.filter((status) => status === 200).length : 0);
    expect(await running.end('SIGTERM')).toBe(0);
  },
);

test('a folder from an older version opens as it is, and its small objects move to packs; that version refuses it from then on', async () => {
  const data = folderOfTest();
  const nameOf = (key: string) => Buffer.from(`${bucket}\0${key}`);
  const headers = { 'content-type': 'text/plain' };
  const bodies = new Map(Array.from({ length: 50 }, (_, at) => [`old ${at}`, 'x'.repeat(at * 300) + at]));
  const openOld = () => open({ path: join(data, 'index'), maxDbs: 16, encoding: 'json' });
  const root = openOld();
  await root.openDB<number, string>({ name: 'meta', encoding: 'json' }).put('format', 2);
  await root.openDB({ name: 'buckets', encoding: 'json' }).put(bucket, { createdAt: 1 });
  const objects = root.openDB({ name: 'objects', encoding: 'json', keyEncoding: 'binary' });
  const inline = root.openDB({ name: 'inline', encoding: 'binary', keyEncoding: 'binary' });
  for (const [key, body] of [...bodies, ['rotten', 'rotten'] as const]) {
    const etag = createHash('md5').update(body).digest('hex');
    const record = { size: body.length, etag, inline: true, lastModified: 0, headers, metadata: {} };
    await objects.put(nameOf(key), record);
    await inline.put(nameOf(key), Buffer.from(key === 'rotten' ? 'rotted' : body));
  }
  await root.close();

  const readFormat = async () => {
    const index = openOld();
    const format = index.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' }).get('format')?.toString();
    await index.close();
    return format;
  };
  await expect(startStore({ dataDir: data, mayConvert: false })).rejects.toThrow(OlderFormat);
  expect(await readFormat()).toBe('2');
  const store = await startStore({ dataDir: data });
  expect((await send('GET', store.presign('GET', 'old 7'))).text).toBe(bodies.get('old 7'));
  expect((await send('PUT', store.presign('PUT', 'new'), { body: 'new' })).status).toBe(200);
  await store.close();
  // The rest moves with this start, if it has not yet.
  const second = await startStore({ dataDir: data });
  const readAll = async ({ presign }: typeof second) => {
    for (const [key, body] of bodies) expect((await send('GET', presign('GET', key))).text).toBe(body);
    expect((await send('GET', presign('GET', 'new'))).text).toBe('new');
  };
  await readAll(second);
  const packed = () =>
    readdirSync(join(data, 'packs')).map((name) => readFileSync(join(data, 'packs', name), 'latin1'));
  await until(() =>
    [...bodies.keys()].every((key) => packed().some((text) => text.includes(`${bucket}\0${key}x`) || key === 'old 0')),
  );
  await second.close();

  const index = await openIndexDb(join(data, 'index'));
  expect(index.countInline()).toBe(1); // what is damaged stays where it is
  await index.close();
  rmSync(join(data, 'index'), { recursive: true });
  const rebuilt = await runCli(['verify', '--rebuild', '--data', data]);
  expect(rebuilt.output).toContain('nothing in the journal is lost');
  expect(rebuilt.output.split('\n').filter((line) => /^[a-z]+: /.test(line))).toEqual([
    expect.stringMatching(/^rotten: "photos\/rotten": what the index holds of it has the MD5 /),
  ]);
  const third = await startStore({ dataDir: data });
  await readAll(third);
  await third.close();
  expect(await readFormat()).toMatch(/^4#/);
  await (await startStore({ dataDir: data, mayConvert: false })).close();
});
