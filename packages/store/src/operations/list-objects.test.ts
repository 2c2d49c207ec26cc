import { ListObjectsCommand, type ListObjectsCommandInput } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, makeCheckedBucket, send, startStoreWith, type TestStore } from '../../test/running-store.ts';

const keys = ['a', 'a/1', 'a/2', 'a/b/3', 'ab', 'b', 'b/4', 'c&d<e>', 'é', '\uffee', '😀', '😀/', '😀/5'];

let store: TestStore;
beforeAll(async () => {
  store = await startStoreWith(keys);
});
afterAll(() => store.close());

async function list(input: Partial<ListObjectsCommandInput> = {}) {
  const answer = await store.client.send(new ListObjectsCommand({ Bucket: bucket, ...input }));
  return {
    ...answer,
    keys: answer.Contents?.map(({ Key }) => Key ?? '') ?? [],
    prefixes: answer.CommonPrefixes?.map(({ Prefix }) => Prefix ?? '') ?? [],
  };
}

test('all keys in the order of their UTF-8 bytes, with their owner', async () => {
  const answer = await list();
  expect(answer.keys).toEqual(keys);
  expect(answer).toMatchObject({ IsTruncated: false, MaxKeys: 1000, Name: bucket, Marker: '' });
  expect(answer.Contents?.[0]).toMatchObject({ Size: 1, StorageClass: 'STANDARD' });
  expect(answer.Contents?.[0]?.Owner?.ID).toMatch(/^[0-9a-f]{64}$/);
});

test('marker, prefix, delimiter', async () => {
  expect((await list({ Marker: 'b' })).keys).toEqual(keys.slice(keys.indexOf('b/4')));
  expect((await list({ Marker: 'a/1', Prefix: 'a/' })).keys).toEqual(['a/2', 'a/b/3']);
  expect((await list({ Marker: 'zzzz', Prefix: 'a/' })).keys).toEqual([]);
  expect(await list({ Delimiter: '/', Marker: 'a/' })).toMatchObject({ prefixes: ['b/', '😀/'] });
  expect(await list({ Delimiter: '/', Marker: 'a/1' })).toMatchObject({ prefixes: ['a/', 'b/', '😀/'] });
  expect(await list({ Delimiter: '/', Prefix: 'a/', Marker: 'a/' })).toMatchObject({
    keys: ['a/1', 'a/2'],
    prefixes: ['a/b/'],
  });
});

test.each([1, 2, 3, 5])('pages of %i return everything, with and without a delimiter', async (size) => {
  for (const delimiter of [{}, { Delimiter: '/' }]) {
    const whole = await list(delimiter);
    const seen: string[] = [];
    const prefixes: string[] = [];
    let marker = '';
    for (;;) {
      const page = await list({ ...delimiter, MaxKeys: size, Marker: marker });
      seen.push(...page.keys);
      prefixes.push(...page.prefixes);
      if (!page.IsTruncated) break;
      // Without a delimiter S3 returns no NextMarker: it is the last key.
      expect(page.NextMarker === undefined).toBe(!('Delimiter' in delimiter));
      marker = page.NextMarker ?? page.keys.at(-1) ?? '';
    }
    expect([seen, prefixes]).toEqual([whole.keys, whole.prefixes]);
  }
});

test('encoding-type=url encodes everything derived from keys', async () => {
  const answer = await list({ EncodingType: 'url', Delimiter: '😀', Prefix: 'é', Marker: 'é&' });
  expect(answer).toMatchObject({
    EncodingType: 'url',
    Prefix: '%C3%A9',
    Marker: '%C3%A9%26',
    Delimiter: '%F0%9F%98%80',
  });
  expect((await list({ EncodingType: 'url' })).keys.map(decodeURIComponent)).toEqual(keys);
  const marked = await list({ EncodingType: 'url', Delimiter: '/', Marker: 'é', MaxKeys: 1 });
  expect(marked.NextMarker).toBe('%EF%BF%AE');
});

test('refuses parameters of the newer listing; absurd markers are still just markers', async () => {
  const url = (query: Record<string, string>) => store.presign('GET', '', { query });
  expect((await send('GET', url({ 'continuation-token': 'x' }))).code).toBe('NotImplemented');
  expect((await send('GET', url({ marker: 'x'.repeat(5000) }))).status).toBe(200);
  await expect(list({ Bucket: 'absent' })).rejects.toMatchObject({ name: 'NoSuchBucket' });
});

test('names the checksum of an object that has one', async () => {
  const Bucket = await makeCheckedBucket(store);
  const { Contents = [] } = await store.client.send(new ListObjectsCommand({ Bucket }));
  expect(Contents.map(({ ChecksumAlgorithm, ChecksumType }) => [ChecksumAlgorithm, ChecksumType])).toEqual([
    [['SHA256'], 'FULL_OBJECT'],
    [undefined, undefined],
  ]);
});
