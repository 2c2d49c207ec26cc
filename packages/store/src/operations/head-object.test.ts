import { HeadObjectCommand, NotFound } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
  await send('PUT', store.presign('PUT', 'five'), { body: 'hello', headers: { 'content-type': 'text/plain' } });
});
afterAll(() => store.close());

test('answers like a GET, without the bytes', async () => {
  const head = await store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'five' }));
  expect(head).toMatchObject({ ContentLength: 5, ContentType: 'text/plain', AcceptRanges: 'bytes' });
  expect(head.ETag).toBe('"5d41402abc4b2a76b9719d911017c592"');
  expect(Math.abs((head.LastModified?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
});

test('takes the overrides of a GET', async () => {
  const overrides = { ResponseContentType: 'image/png', ResponseCacheControl: 'private' };
  const head = await store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'five', ...overrides }));
  expect(head).toMatchObject({ ContentType: 'image/png', CacheControl: 'private' });
});

test('a missing key', async () => {
  await expect(store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'absent' }))).rejects.toThrow(NotFound);
});

test('a bad signature, and an address for another method', async () => {
  const tampered = store.presign('HEAD', 'five').replace(/Signature=./, 'Signature=x');
  expect((await send('HEAD', tampered)).status).toBe(403);
  expect((await send('HEAD', store.presign('GET', 'five'))).status).toBe(403);
});
