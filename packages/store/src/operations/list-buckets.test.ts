import { CreateBucketCommand, ListBucketsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
  for (const name of ['zoo', 'alpha', 'alpha-2']) {
    await store.client.send(new CreateBucketCommand({ Bucket: name }));
  }
});
afterAll(() => store.close());

const names = (answer: { Buckets?: { Name?: string | undefined }[] | undefined }) =>
  answer.Buckets?.map(({ Name }) => Name) ?? [];

test('all buckets by name, with their age and owner', async () => {
  const answer = await store.client.send(new ListBucketsCommand({}));
  expect(names(answer)).toEqual(['alpha', 'alpha-2', bucket, 'zoo']);
  expect(answer.Buckets?.[0]?.CreationDate?.getTime()).toBeGreaterThan(Date.now() - 600_000);
  expect(answer.Owner?.ID).toMatch(/^[0-9a-f]{64}$/);
});

test('with a prefix, and in pages', async () => {
  expect(names(await store.client.send(new ListBucketsCommand({ Prefix: 'alpha' })))).toEqual(['alpha', 'alpha-2']);
  const seen: (string | undefined)[] = [];
  let token: string | undefined;
  do {
    const page = await store.client.send(
      new ListBucketsCommand({ MaxBuckets: 3, ...(token ? { ContinuationToken: token } : {}) }),
    );
    seen.push(...names(page));
    token = page.ContinuationToken;
  } while (token);
  expect(seen).toEqual(['alpha', 'alpha-2', bucket, 'zoo']);
});

test('of a region: all of them in that of the store, and none elsewhere', async () => {
  const inRegion = async (BucketRegion: string) =>
    names(await store.client.send(new ListBucketsCommand({ BucketRegion, Prefix: 'alpha' })));
  expect(await inRegion('us-east-1')).toEqual(['alpha', 'alpha-2']);
  expect(await inRegion('eu-central-1')).toEqual([]);
});

test('needs a signature and a valid number', async () => {
  const refused = await send('GET', `${store.endpoint}/`);
  expect([refused.status, refused.code]).toEqual([403, 'AccessDenied']);
  for (const MaxBuckets of [0, 10_001]) {
    await expect(store.client.send(new ListBucketsCommand({ MaxBuckets }))).rejects.toMatchObject({
      name: 'InvalidArgument',
    });
  }
});
