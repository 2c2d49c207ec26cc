import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, filed, send, startStore, type TestStore, until } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

test('removes the object and its file, and can be repeated', async () => {
  await send('PUT', store.presign('PUT', 'gone'), { body: filed('hello') });
  expect(store.files()).toHaveLength(1);
  await store.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'gone' }));
  expect((await send('GET', store.presign('GET', 'gone'))).code).toBe('NoSuchKey');
  await until(() => store.files().length === 0);
  expect((await send('DELETE', store.presign('DELETE', 'gone'))).status).toBe(204);
});

test('refuses an address for another method, a missing bucket, and versions', async () => {
  await send('PUT', store.presign('PUT', 'kept'), { body: 'hello' });
  expect((await send('DELETE', store.presign('PUT', 'kept'))).code).toBe('SignatureDoesNotMatch');
  expect((await send('DELETE', store.presign('GET', 'kept'))).code).toBe('SignatureDoesNotMatch');
  expect((await send('DELETE', store.presign('DELETE', 'kept', { bucket: 'absent' }))).code).toBe('NoSuchBucket');
  expect((await send('DELETE', store.presign('DELETE', 'kept', { query: { versionId: 'x'.repeat(32) } }))).status).toBe(
    404,
  );
  expect((await send('DELETE', store.presign('DELETE', 'kept', { query: { retention: '' } }))).status).toBe(501);
  expect((await send('GET', store.presign('GET', 'kept'))).text).toBe('hello');
});

test('If-Match removes the object it names, and no other', async () => {
  const etag = String((await send('PUT', store.presign('PUT', 'matched'), { body: 'x' })).headers.etag);
  const remove = (match: string) =>
    send('DELETE', store.presign('DELETE', 'matched'), { headers: { 'if-match': match } });
  const other = await remove('"other"');
  expect([other.status, other.code]).toEqual([412, 'PreconditionFailed']);
  expect((await send('HEAD', store.presign('HEAD', 'matched'))).status).toBe(200);
  expect((await remove(etag)).status).toBe(204);
  const gone = await remove(etag);
  expect([gone.status, gone.code]).toEqual([404, 'NoSuchKey']);
});
