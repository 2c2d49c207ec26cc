import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { createPresigner } from '@cadiz/sigv4';
import { afterAll, describe, expect, test } from 'vitest';
import {
  bucket,
  folderOfTest,
  keys,
  newClient,
  newFolder,
  region,
  sendBytes,
  until,
} from '../../test/running-store.ts';
import { StoreFolderInUse } from '../disk/lock.ts';
import { StoreFolderUnwritable } from '../disk/store.ts';
import { maxPackedBytes } from '../disk/take-in.ts';
import { openStore } from './open-store.ts';
import { type StoredObject, startStoreThread } from './store-thread.ts';

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const options = { dataDir: folder, host: '127.0.0.1', port: 0, ...keys };

test('serves from a thread of its own, with the same errors', async () => {
  const store = await startStoreThread(options);
  const client = newClient(`http://127.0.0.1:${store.port}`);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'a', Body: 'hello' }));

  await expect(startStoreThread(options)).rejects.toThrow(StoreFolderInUse);
  await expect(
    startStoreThread({ ...options, dataDir: join(folder, 'other'), port: store.port }),
  ).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(startStoreThread({ ...options, dataDir: join(file, 'under') })).rejects.toThrow(StoreFolderUnwritable);

  await store.close();
  await store.close();
  const again = await startStoreThread(options);
  const second = newClient(`http://127.0.0.1:${again.port}`);
  const got = await second.send(new GetObjectCommand({ Bucket: bucket, Key: 'a' }));
  expect(await got.Body?.transformToString()).toBe('hello');
  client.destroy();
  second.destroy();
  await again.close();
});

test('an upload in flight is finished before the thread ends', async () => {
  const store = await startStoreThread(options);
  const client = newClient(`http://127.0.0.1:${store.port}`);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const presign = createPresigner({ ...keys, region, endpoint: `http://127.0.0.1:${store.port}` });
  const url = presign({ method: 'PUT', bucket, key: 'large', expiresInSeconds: 60, now: Date.now() });
  const half = Buffer.alloc(1_000_000, 'x');
  const putting = http.request(url, { method: 'PUT', headers: { 'content-length': 2 * half.length } });
  putting.write(half);
  // A connection that has not been accepted yet would be refused.
  await until(async () => (await readdir(join(folder, 'incoming'))).length > 0);
  const closing = store.close();
  putting.end(half);
  const [answer] = (await once(putting, 'response')) as [http.IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([200, '']);
  await closing;
  await expect(client.send(new PutObjectCommand({ Bucket: bucket, Key: 'late', Body: 'x' }))).rejects.toThrow();
  client.destroy();
});

test('ends after refusals whose bodies never came, as of curl, which waits for 100 Continue', async () => {
  const store = await startStoreThread({ ...options, dataDir: folderOfTest() });
  const head = `PUT /${bucket}/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\nExpect: 100-continue\r\n\r\n`;
  expect(await sendBytes(store.port, head)).toMatch(/^HTTP\/1.1 403 /);
  await store.close();
});

test('tells which objects have been put, some at a time', async () => {
  const told: StoredObject[][] = [];
  const store = await startStoreThread({ ...options, onObjects: (objects) => told.push([...objects]) });
  const client = newClient(`http://127.0.0.1:${store.port}`);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const names = Array.from({ length: 30 }, (_, n) => `${n} é+%`);
  const put = (key: string) => client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: key }));
  await Promise.all(names.map(put));
  await expect.poll(() => told.flat().length).toBe(30);
  expect(new Set(told.flat().map(({ key }) => key))).toEqual(new Set(names));
  expect(new Set(told.flat().map((object) => object.bucket))).toEqual(new Set([bucket]));
  client.destroy();
  await store.close();
});

describe('the first bytes of an object, without a request', () => {
  test.each([
    ['in the thread that asks', openStore],
    ['in a thread of its own', startStoreThread],
  ])('%s', async (_, open) => {
    const dataDir = folderOfTest();
    const store = await open({ ...options, dataDir });
    const client = newClient(`http://127.0.0.1:${store.port}`);
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    const sizes = [0, 1, 10, 11, 5000, maxPackedBytes, maxPackedBytes + 1, 3_000_000];
    const bodies = sizes.map((size) => randomBytes(size));
    await Promise.all(
      bodies.map((Body, n) => client.send(new PutObjectCommand({ Bucket: bucket, Key: `é ${n}`, Body }))),
    );
    const peek = (key: string, length: number, of = bucket) => store.peek({ bucket: of, key }, length);

    for (const length of [1, 10, 4100]) {
      const peeked = await Promise.all(bodies.map((_, n) => peek(`é ${n}`, length)));
      for (const [n, body] of bodies.entries()) {
        const etag = createHash('md5').update(body).digest('hex');
        const firstBytes = new Uint8Array(body.subarray(0, length));
        expect(peeked[n]).toEqual({ sizeBytes: sizes[n], etag, firstBytes });
      }
    }
    expect(await peek('absent', 10)).toBeUndefined();
    await expect(peek('a', 10, 'absent-bucket')).rejects.toThrow('bucket');

    const [file = ''] = await readdir(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }).then(
      (entries) => entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)),
    );
    await rm(file);
    const damaged = await Promise.allSettled([peek('é 6', 10), peek('é 7', 10)]);
    expect(damaged.filter(({ status }) => status === 'rejected')).toHaveLength(1);

    client.destroy();
    await store.close();
    await expect(peek('é 1', 10)).rejects.toThrow();
  });

  test('is refused when the thread ends before it has answered', async () => {
    const store = await startStoreThread(options);
    const closing = store.close({ drainMilliseconds: 0 });
    const asked = Array.from({ length: 10 }, () => store.peek({ bucket, key: 'a' }, 10));
    const outcomes = await Promise.allSettled(asked);
    await closing;
    const late = outcomes.concat(await Promise.allSettled([store.peek({ bucket, key: 'a' }, 10)]));
    expect(late.map(({ status }) => status)).toContain('rejected');
  });
});

test('reports a thread that ended without being asked to', async () => {
  const lines: string[] = [];
  const store = await startStoreThread({ ...options, log: (line) => lines.push(line.message) });
  let failed = false;
  void store.failed.then(() => {
    failed = true;
  });
  await store.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(failed).toBe(false);
});
