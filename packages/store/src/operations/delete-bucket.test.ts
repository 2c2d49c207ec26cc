import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore, until } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

const create = (name: string) => store.client.send(new CreateBucketCommand({ Bucket: name }));
const remove = (name: string) => store.client.send(new DeleteBucketCommand({ Bucket: name }));
const status = async (name: string) => (await send('HEAD', store.presign('HEAD', '', { bucket: name }))).status;

test('removes an empty bucket, once', async () => {
  await create('empty');
  await remove('empty');
  expect(await status('empty')).toBe(404);
  await expect(remove('empty')).rejects.toMatchObject({ name: 'NoSuchBucket' });
});

test('keeps a bucket with an object, whatever the object is called', async () => {
  for (const key of ['a', '\u007f', '😀', '\u0001']) {
    await create('full');
    const object = { bucket: 'full' };
    expect((await send('PUT', store.presign('PUT', key, object), { body: 'x' })).status).toBe(200);
    await expect(remove('full')).rejects.toMatchObject({ name: 'BucketNotEmpty' });
    await send('DELETE', store.presign('DELETE', key, object));
    await remove('full');
  }
});

test('objects in a bucket with a similar name do not count', async () => {
  await create('neighbour');
  await create('neighbour-1');
  await send('PUT', store.presign('PUT', 'a', { bucket: 'neighbour-1' }), { body: 'x' });
  await remove('neighbour');
  expect(await status('neighbour-1')).toBe(200);
});

test('removes the uploads under way with it', async () => {
  await create('uploading');
  const files = store.files().length;
  const named = { Bucket: 'uploading', Key: 'a' };
  const { UploadId } = await store.client.send(new CreateMultipartUploadCommand(named));
  await store.client.send(new UploadPartCommand({ ...named, UploadId, PartNumber: 1, Body: 'x' }));
  await remove('uploading');
  await until(() => store.files().length === files);
  await create('uploading');
  await expect(
    store.client.send(new UploadPartCommand({ ...named, UploadId, PartNumber: 2, Body: 'x' })),
  ).rejects.toMatchObject({ name: 'NoSuchUpload' });
});

test('an upload that ends after its bucket was deleted is refused, and does not come back with a new bucket', async () => {
  await create('going');
  const files = store.files().length;
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, (_, at) =>
      send('PUT', store.presign('PUT', `${at}`, { bucket: 'going' }), { body: 'x'.repeat(500_000) }),
    ),
    send('DELETE', store.presign('DELETE', '', { bucket: 'going' })),
  ]);
  const removed = answers.at(-1)?.status === 204;
  for (const answer of answers.slice(0, -1)) expect(answer.status).toBe(removed ? 404 : 200);
  await create('going');
  const listed = await send('GET', store.presign('GET', '', { bucket: 'going', query: { 'list-type': '2' } }));
  expect(listed.text).toContain(`<KeyCount>${removed ? 0 : 10}</KeyCount>`);
  if (removed) await until(() => store.files().length === files);
});

test('a bad signature removes nothing', async () => {
  await create('kept');
  expect((await send('DELETE', store.presign('HEAD', '', { bucket: 'kept' }))).code).toBe('SignatureDoesNotMatch');
  expect(await status('kept')).toBe(200);
  expect(await status(bucket)).toBe(200);
});
