import { HeadBucketCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

test('exists, or does not', async () => {
  const head = await store.client.send(new HeadBucketCommand({ Bucket: bucket }));
  expect(head.$metadata.httpStatusCode).toBe(200);
  await expect(store.client.send(new HeadBucketCommand({ Bucket: 'absent' }))).rejects.toMatchObject({
    name: 'NotFound',
  });
});

test('unsigned or expired: 403 without a body', async () => {
  expect((await send('HEAD', `${store.endpoint}/${bucket}`)).status).toBe(403);
  const expired = store.presign('HEAD', '', { now: Date.now() - 120_000 });
  expect(await send('HEAD', expired)).toMatchObject({ status: 403, text: '' });
});
