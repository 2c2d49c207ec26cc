import { AbortMultipartUploadCommand, NoSuchUpload } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginUpload, complete, sendPart } from '../../test/multipart.ts';
import { bucket, send, startStore, type TestStore, until } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

const abort = (key: string, uploadId: string) =>
  store.client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));

test('ends the upload and removes its files; repeated, NoSuchUpload', async () => {
  const uploadId = await beginUpload(store, 'key');
  const part = await sendPart(store, 'key', uploadId, 1, 'hello');
  await sendPart(store, 'key', uploadId, 2, 'world');
  await abort('key', uploadId);
  await until(() => store.files().length === 0);
  await expect(abort('key', uploadId)).rejects.toThrow(NoSuchUpload);
  await expect(sendPart(store, 'key', uploadId, 1, 'hello')).rejects.toMatchObject({ name: 'NoSuchUpload' });
  await expect(complete(store, 'key', uploadId, [part])).rejects.toMatchObject({ name: 'NoSuchUpload' });
  expect((await send('HEAD', store.presign('HEAD', 'key'))).status).toBe(404);
});

test('leaves other uploads and the object of a completed one alone', async () => {
  const other = await beginUpload(store, 'shared');
  const uploadId = await beginUpload(store, 'shared');
  await complete(store, 'shared', uploadId, [await sendPart(store, 'shared', uploadId, 1, 'hello')]);
  await abort('shared', other);
  await expect(abort('shared', uploadId)).rejects.toThrow(NoSuchUpload);
  expect((await send('GET', store.presign('GET', 'shared'))).text).toBe('hello');
});

test('while parts arrive: each is refused or removed, and no file is left', async () => {
  const files = store.files().length;
  for (let round = 0; round < 5; round += 1) {
    const uploadId = await beginUpload(store, 'racing');
    const parts = Array.from({ length: 16 }, (_, at) => {
      const query = { partNumber: String(at + 1), uploadId };
      return send('PUT', store.presign('PUT', 'racing', { query }), { body: Buffer.alloc(50_000) });
    });
    const aborted = new Promise((resolve) => setTimeout(resolve, round * 4)).then(() => abort('racing', uploadId));
    const answers = await Promise.all(parts);
    await aborted;
    expect(answers.filter(({ status, code }) => status !== 200 && code !== 'NoSuchUpload')).toEqual([]);
    await until(() => store.files().length === files);
  }
});

test.each(['0'.repeat(44), 'x', ''])('an upload id that is not known ("%s")', async (uploadId) => {
  const answer = await send('DELETE', store.presign('DELETE', 'key', { query: { uploadId } }));
  expect([answer.status, answer.code]).toEqual([404, 'NoSuchUpload']);
});
