import {
  DeleteBucketCorsCommand,
  DeleteBucketEncryptionCommand,
  DeleteBucketLifecycleCommand,
  DeleteBucketOwnershipControlsCommand,
  DeleteBucketPolicyCommand,
  DeleteBucketReplicationCommand,
  DeleteBucketTaggingCommand,
  DeleteBucketWebsiteCommand,
  DeleteObjectTaggingCommand,
  DeletePublicAccessBlockCommand,
  GetBucketPolicyCommand,
  GetBucketVersioningCommand,
  GetObjectTaggingCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';
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

test.each(emptyConfigurations)('?$subresource can be read, but not put', async ({ subresource }) => {
  const query = { [subresource]: '' };
  const answer = await send('GET', store.presign('GET', '', { query }));
  expect([200, 404]).toContain(answer.status);
  expect(answer.code).not.toBe('NoSuchBucket');
  expect((await send('GET', store.presign('GET', '', { bucket: 'absent', query }))).code).toBe('NoSuchBucket');
  const refused = await send('PUT', store.presign('PUT', '', { query }), { body: '<A/>' });
  expect([refused.status, refused.code]).toEqual([501, 'NotImplemented']);
  expect(refused.text).toContain(subresource);
});

describe('removing what does not exist', () => {
  const removals = [
    DeleteBucketPolicyCommand,
    DeleteBucketLifecycleCommand,
    DeleteBucketTaggingCommand,
    DeleteBucketWebsiteCommand,
    DeleteBucketReplicationCommand,
    DeleteBucketEncryptionCommand,
    DeleteBucketOwnershipControlsCommand,
    DeletePublicAccessBlockCommand,
    DeleteBucketCorsCommand,
  ];
  test.each(removals)('%o succeeds, and the bucket stays', async (Removal) => {
    const { $metadata } = await store.client.send(new Removal({ Bucket: bucket }));
    expect($metadata.httpStatusCode).toBe(204);
    await store.client.send(new HeadBucketCommand({ Bucket: bucket }));
    await expect(store.client.send(new Removal({ Bucket: 'absent' }))).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });

  test('succeeds for the tags of an object', async () => {
    const there = { Bucket: bucket, Key: 'tagged' };
    await store.client.send(new PutObjectCommand(there));
    const { $metadata } = await store.client.send(new DeleteObjectTaggingCommand(there));
    expect($metadata.httpStatusCode).toBe(204);
    await store.client.send(new HeadObjectCommand(there));
    await expect(store.client.send(new DeleteObjectTaggingCommand({ ...there, Key: 'absent' }))).rejects.toMatchObject({
      name: 'NoSuchKey',
    });
  });

  test.each(['versioning', 'logging', 'notification', 'accelerate', 'requestPayment', 'object-lock'])(
    'S3 knows no removal of ?%s',
    async (subresource) => {
      const answer = await send('DELETE', store.presign('DELETE', '', { query: { [subresource]: '' } }));
      expect([answer.status, answer.code]).toEqual([501, 'NotImplemented']);
      await store.client.send(new HeadBucketCommand({ Bucket: bucket }));
    },
  );
});
