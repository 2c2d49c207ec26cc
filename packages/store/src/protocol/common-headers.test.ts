import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
let owner = '';
const there = { Bucket: bucket, Key: 'there' };
beforeAll(async () => {
  store = await startStore();
  await store.client.send(new PutObjectCommand({ ...there, Body: 'hello' }));
  owner = (await store.client.send(new ListBucketsCommand({}))).Owner?.ID ?? '';
});
afterAll(() => store.close());

/** Requests that succeed if the bucket has the expected owner. */
const owned = (ExpectedBucketOwner: string) => [
  store.client.send(new HeadBucketCommand({ Bucket: bucket, ExpectedBucketOwner })),
  store.client.send(new ListObjectsV2Command({ Bucket: bucket, ExpectedBucketOwner })),
  store.client.send(new GetObjectCommand({ ...there, ExpectedBucketOwner })),
  store.client.send(new PutObjectCommand({ ...there, Body: 'hello', ExpectedBucketOwner })),
  store.client.send(
    new CopyObjectCommand({ ...there, Key: 'copied', CopySource: `${bucket}/there`, ExpectedBucketOwner }),
  ),
  store.client.send(
    new CopyObjectCommand({
      ...{ ...there, Key: 'copied', CopySource: `${bucket}/there` },
      ExpectedSourceBucketOwner: ExpectedBucketOwner,
    }),
  ),
  store.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'absent', ExpectedBucketOwner })),
];

test('the expected owner of a bucket is compared with the real one', async () => {
  await Promise.all(owned(owner));
  for (const other of ['111122223333', owner.toUpperCase(), `${owner}0`]) {
    const outcomes = await Promise.allSettled(owned(other));
    const statuses = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? outcome.reason.$metadata.httpStatusCode : outcome.status,
    );
    expect(statuses).toEqual(outcomes.map(() => 403));
  }
  const headers = { 'x-amz-expected-bucket-owner': '111122223333' };
  const refused = await send('PUT', store.presign('PUT', 'refused', { headers }), { headers, body: 'x' });
  expect([refused.status, refused.code]).toEqual([403, 'AccessDenied']);
  expect((await send('HEAD', store.presign('HEAD', 'refused'))).status).toBe(404);
});

test('the owner of a source is checked only if there is a source', async () => {
  const headers = { 'x-amz-source-expected-bucket-owner': owner };
  const refused = await send('PUT', store.presign('PUT', 'refused', { headers }), { headers, body: 'x' });
  expect([refused.status, refused.code]).toEqual([501, 'NotImplemented']);
});

test('the payer makes no difference, but must be named the way S3 does it', async () => {
  await store.client.send(new GetObjectCommand({ ...there, RequestPayer: 'requester' }));
  await store.client.send(new ListObjectsV2Command({ Bucket: bucket, RequestPayer: 'requester' }));
  const headers = { 'x-amz-request-payer': 'somebody' };
  const refused = await send('GET', store.presign('GET', 'there', { headers }), { headers });
  expect([refused.status, refused.code]).toEqual([400, 'InvalidArgument']);
});

test.each([
  ['GET', ''],
  ['HEAD', ''],
  ['GET', 'there'],
  ['PUT', 'there'],
  ['DELETE', 'absent'],
])('the version of the API makes no difference, as the AWS SDK for C++ names it: %s "%s"', async (method, key) => {
  const headers = { 'x-amz-api-version': '2006-03-01' };
  const body = method === 'PUT' ? { body: 'hello' } : {};
  const answer = await send(method, store.presign(method, key, { headers }), { headers, ...body });
  expect([200, 204]).toContain(answer.status);
});

test.each(['', 'there'])('the query may name this version of the API, as Apache Libcloud does: "%s"', async (key) => {
  const ask = (Version: string) => send('GET', store.presign('GET', key, { query: { Version } }));
  expect((await ask('2006-03-01')).status).toBe(200);
  expect((await ask('2030-01-01')).code).toBe('NotImplemented');
});

test.each([
  ['GET', ''],
  ['GET', 'there'],
  ['PUT', 'there'],
])(
  'what a client says in the address for the logs makes no difference, as Elasticsearch does: %s "%s"',
  async (method, key) => {
    const body = method === 'PUT' ? { body: 'hello' } : {};
    const ask = (query: Record<string, string>) => send(method, store.presign(method, key, { query }), body);
    expect((await ask({ 'x-purpose': 'SnapshotData', 'x-user': 'ada' })).status).toBe(200);
    expect((await ask({ 'x-id': 'DeleteObject' })).code).toBe('NotImplemented');
    expect((await ask({ 'x-amz-date': 'now' })).code).toBe('NotImplemented');
  },
);

test('there is no retention for a removal to bypass', async () => {
  const BypassGovernanceRetention = true;
  for (const Key of ['one', 'two']) await store.client.send(new PutObjectCommand({ Bucket: bucket, Key }));
  await store.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'one', BypassGovernanceRetention }));
  const Delete = { Objects: [{ Key: 'two' }] };
  await store.client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete, BypassGovernanceRetention }));
  const { Contents = [] } = await store.client.send(new ListObjectsV2Command({ Bucket: bucket }));
  expect(Contents.map(({ Key }) => Key)).not.toEqual(expect.arrayContaining(['one']));
  expect(Contents.map(({ Key }) => Key)).not.toEqual(expect.arrayContaining(['two']));
});
