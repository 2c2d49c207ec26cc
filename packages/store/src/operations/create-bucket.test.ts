import { join } from 'node:path';
import { CreateBucketCommand, HeadBucketCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, folderOfTest, send, startStore, type TestStore } from '../../test/running-store.ts';
import { openIndexDb } from '../disk/index-db.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

test('creates a bucket once', async () => {
  await store.client.send(new CreateBucketCommand({ Bucket: 'second.bucket-1' }));
  await store.client.send(new CreateBucketCommand({ Bucket: 'second.bucket-1' }));
  const head = await store.client.send(new HeadBucketCommand({ Bucket: 'second.bucket-1' }));
  expect(head.BucketRegion).toBe('us-east-1');
});

test("accepts the store's own region, and no other", async () => {
  const at = (region: 'us-east-1' | 'eu-west-1') =>
    store.client.send(
      new CreateBucketCommand({
        Bucket: 'placed',
        CreateBucketConfiguration: { LocationConstraint: region as 'eu-west-1' },
      }),
    );
  await expect(at('eu-west-1')).rejects.toMatchObject({ name: 'InvalidLocationConstraint' });
  await at('us-east-1');
});

test.each([
  ...['ab', 'Upper', 'a..b', '-ab', 'ab-', '.ab', 'ab.', 'a_b', 'a'.repeat(64)],
  ...['192.168.5.4', '1.2.3.4', 'xn--photos', 'sthree-photos', 'sthree-configurator', 'amzn-s3-demo-photos'],
  ...['photos-s3alias', 'photos--ol-s3', 'photos.mrap', 'photos--usw2-az1--x-s3', 'photos--table-s3', 'photos-an'],
])('refuses the name %s', async (name) => {
  const url = store.presignRaw({ method: 'PUT', bucket: name, key: '', expiresInSeconds: 60, now: Date.now() });
  const answer = await send('PUT', url);
  expect([answer.status, answer.code]).toEqual([400, 'InvalidBucketName']);
});

test.each(['abc', '1.2.3.4.5', '1234', 'a.b-c.d', 'my-xn--photos', 'milan', 'photos-s3alias-1', 'a'.repeat(63)])(
  'takes the name %s',
  async (Bucket) => {
    await store.client.send(new CreateBucketCommand({ Bucket }));
    await store.client.send(new HeadBucketCommand({ Bucket }));
  },
);

test('a bucket that already has a reserved name stays usable', async () => {
  const named = { bucket: 'xn--made-before' };
  const dataDir = folderOfTest();
  const index = await openIndexDb(join(dataDir, 'index'));
  await index.createBucket(named.bucket, { createdAt: 0 });
  await index.close();
  const again = await startStore({ dataDir });
  expect((await send('PUT', again.presign('PUT', 'key', named), { body: 'hello' })).status).toBe(200);
  expect((await send('GET', again.presign('GET', 'key', named))).text).toBe('hello');
  expect((await send('PUT', again.presign('PUT', '', named))).status).toBe(200);
  await again.close();
});

test.each(['tagging', 'website', 'policy', 'versioning', 'lifecycle', 'unknown'])(
  '?%s is not a new bucket',
  async (name) => {
    const url = store.presign('PUT', '', { bucket: 'sub-resource', query: { [name]: '' } });
    const answer = await send('PUT', url, { body: '<Anything/>' });
    expect([answer.status, answer.code]).toEqual([501, 'NotImplemented']);
    const head = store.presign('HEAD', '', { bucket: 'sub-resource' });
    expect((await send('HEAD', head)).status).toBe(404);
  },
);

test('a body that is not a configuration, or is too long', async () => {
  const url = store.presign('PUT', '', { bucket: 'bodied' });
  expect((await send('PUT', url, { body: '<!DOCTYPE a [<!ENTITY b "c">]><CreateBucketConfiguration/>' })).status).toBe(
    400,
  );
  expect((await send('PUT', url, { body: ' '.repeat(5000) })).code).toBe('EntityTooLarge');
});

test('a bad signature creates nothing', async () => {
  const url = store.presign('HEAD', '', { bucket: 'unsigned' });
  expect((await send('PUT', url)).code).toBe('SignatureDoesNotMatch');
  expect((await send('HEAD', url)).status).toBe(404);
  expect((await send('HEAD', store.presign('HEAD', '', { bucket }))).status).toBe(200);
});
