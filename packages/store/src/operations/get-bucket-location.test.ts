import { rmSync } from 'node:fs';
import { CreateBucketCommand, GetBucketLocationCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { bucket, keys, newFolder, startStore } from '../../test/running-store.ts';
import { openStore } from '../process/open-store.ts';

test('an empty answer stands for us-east-1, as on S3', async () => {
  const store = await startStore();
  const answer = await store.client.send(new GetBucketLocationCommand({ Bucket: bucket }));
  expect(answer.LocationConstraint || undefined).toBeUndefined();
  await expect(store.client.send(new GetBucketLocationCommand({ Bucket: 'absent' }))).rejects.toMatchObject({
    name: 'NoSuchBucket',
  });
  await store.close();
});

test('names any other region, in which a bucket cannot be created twice', async () => {
  const dataDir = newFolder();
  const region = 'eu-west-1';
  const store = await openStore({ dataDir, host: '127.0.0.1', port: 0, region, ...keys });
  const endpoint = `http://127.0.0.1:${store.port}`;
  const client = new S3Client({ endpoint, region, credentials: keys, forcePathStyle: true });
  const named = { Bucket: bucket };
  await client.send(new CreateBucketCommand(named)); // the SDK sends the region as LocationConstraint
  expect((await client.send(new GetBucketLocationCommand(named))).LocationConstraint).toBe(region);
  expect((await client.send(new HeadBucketCommand(named))).BucketRegion).toBe(region);
  await expect(client.send(new CreateBucketCommand(named))).rejects.toMatchObject({ name: 'BucketAlreadyOwnedByYou' });
  client.destroy();
  await store.close();
  rmSync(dataDir, { recursive: true });
});
