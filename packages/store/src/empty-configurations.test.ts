import {
  GetBucketPolicyCommand,
  GetBucketVersioningCommand,
  GetObjectTaggingCommand,
  GetPublicAccessBlockCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../test/running-store.ts';
import { emptyConfigurations } from './empty-configurations.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

test('through the AWS SDK', async () => {
  const versioning = await store.client.send(new GetBucketVersioningCommand({ Bucket: bucket }));
  expect(versioning.Status).toBeUndefined();
  await expect(store.client.send(new GetBucketPolicyCommand({ Bucket: bucket }))).rejects.toMatchObject({
    name: 'NoSuchBucketPolicy',
  });
  await expect(store.client.send(new GetPublicAccessBlockCommand({ Bucket: bucket }))).rejects.toMatchObject({
    name: 'NoSuchPublicAccessBlockConfiguration',
  });
  await send('PUT', store.presign('PUT', 'there'), { body: 'x' });
  const tagging = await store.client.send(new GetObjectTaggingCommand({ Bucket: bucket, Key: 'there' }));
  expect(tagging.TagSet).toEqual([]);
});

test.each(emptyConfigurations)('?$subresource can be asked for, and not be put', async ({ subresource }) => {
  const query = { [subresource]: '' };
  const answer = await send('GET', store.presign('GET', '', { query }));
  expect([200, 404]).toContain(answer.status);
  expect(answer.code).not.toBe('NoSuchBucket');
  expect((await send('GET', store.presign('GET', '', { bucket: 'absent', query }))).code).toBe('NoSuchBucket');
  for (const method of ['PUT', 'DELETE']) {
    const refused = await send(method, store.presign(method, '', { query }), method === 'PUT' ? { body: '<A/>' } : {});
    expect([refused.status, refused.code]).toEqual([501, 'NotImplemented']);
    expect(refused.text).toContain(subresource);
  }
});
