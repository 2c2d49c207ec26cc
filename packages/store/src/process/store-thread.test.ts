import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, expect, test } from 'vitest';
import { bucket, keys, newClient, newFolder } from '../../test/running-store.ts';
import { StoreFolderInUse } from '../disk/lock.ts';
import { StoreFolderUnwritable } from '../disk/store.ts';
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
  const body = Buffer.alloc(30_000_000, 'x');
  const putting = client.send(new PutObjectCommand({ Bucket: bucket, Key: 'large', Body: body }));
  const closing = new Promise((resolve) => setTimeout(resolve, 20)).then(() => store.close());
  expect((await putting).$metadata.httpStatusCode).toBe(200);
  await closing;
  await expect(client.send(new PutObjectCommand({ Bucket: bucket, Key: 'late', Body: 'x' }))).rejects.toThrow();
  client.destroy();
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
