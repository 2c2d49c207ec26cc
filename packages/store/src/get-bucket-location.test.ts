import { GetBucketLocationCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { bucket, startStore } from '../test/running-store.ts';

test('tells us-east-1 by nothing, as S3 does', async () => {
  const store = await startStore();
  const answer = await store.client.send(new GetBucketLocationCommand({ Bucket: bucket }));
  expect(answer.LocationConstraint || undefined).toBeUndefined();
  await expect(store.client.send(new GetBucketLocationCommand({ Bucket: 'absent' }))).rejects.toMatchObject({
    name: 'NoSuchBucket',
  });
  await store.close();
});
