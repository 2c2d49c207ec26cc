import { CreateMultipartUploadCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginUpload, complete, sendPart } from '../../test/multipart.ts';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

test("starts an upload; its headers and metadata become the object's", async () => {
  const given = {
    ContentType: 'video/mp4',
    CacheControl: 'max-age=1',
    ContentDisposition: 'attachment',
    ContentLanguage: 'de',
    Metadata: { colour: 'green' },
  };
  const created = await store.client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'ä <&>', ...given }));
  expect(created).toMatchObject({ Bucket: bucket, Key: 'ä <&>' });
  const uploadId = created.UploadId ?? '';
  await complete(store, 'ä <&>', uploadId, [await sendPart(store, 'ä <&>', uploadId, 1, 'hello')]);
  const head = await store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'ä <&>' }));
  expect(head).toMatchObject({ ...given, ContentLength: 5 });
});

test('uploads of one key have different ids, and are not visible as objects', async () => {
  const ids = new Set([await beginUpload(store, 'twice'), await beginUpload(store, 'twice')]);
  expect(ids.size).toBe(2);
  expect((await send('HEAD', store.presign('HEAD', 'twice'))).status).toBe(404);
});

test('through a presigned URL; a header that was not signed is refused', async () => {
  const url = store.presign('POST', 'presigned', { query: { uploads: '' } });
  expect((await send('POST', url)).text).toMatch(/<InitiateMultipartUploadResult .*<UploadId>[0-9a-f]+<\/UploadId>/);
  const unsigned = await send('POST', url, { headers: { 'x-amz-meta-a': 'b' } });
  expect([unsigned.status, unsigned.code]).toEqual([403, 'AccessDenied']);
});

test('refuses a missing bucket, a key that is too long, and what is not implemented', async () => {
  const create = (query: Record<string, string>, key: string, more = {}) =>
    send('POST', store.presign('POST', key, { query, ...more }));
  expect((await create({ uploads: '' }, 'a', { bucket: 'absent' })).code).toBe('NoSuchBucket');
  expect((await create({ uploads: '' }, 'k'.repeat(1025))).code).toBe('KeyTooLongError');
  expect((await create({ uploads: '', whatever: '' }, 'a')).code).toBe('NotImplemented');
  const headers = { 'x-amz-server-side-encryption': 'AES256' };
  const url = store.presign('POST', 'a', { query: { uploads: '' }, headers });
  expect((await send('POST', url, { headers })).code).toBe('NotImplemented');
});
