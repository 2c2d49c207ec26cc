import { ListObjectVersionsCommand, type ListObjectVersionsCommandInput } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucket, makeCheckedBucket, send, startStoreWith, type TestStore } from '../../test/running-store.ts';

const keys = ['a', 'a/1', 'a/2', 'ab', 'b', 'b/3', 'é', '😀'];

let store: TestStore;
beforeAll(async () => {
  store = await startStoreWith(keys);
});
afterAll(() => store.close());

async function list(input: Partial<ListObjectVersionsCommandInput> = {}) {
  const answer = await store.client.send(new ListObjectVersionsCommand({ Bucket: bucket, ...input }));
  return { ...answer, keys: answer.Versions?.map(({ Key }) => Key ?? '') ?? [] };
}

test('every object is its latest version, "null"', async () => {
  const answer = await list();
  expect(answer.keys).toEqual(keys);
  expect(answer.DeleteMarkers ?? []).toEqual([]);
  expect(answer.Versions?.[0]).toMatchObject({
    VersionId: 'null',
    IsLatest: true,
    Size: 1,
    ETag: '"0cc175b9c0f1b6a831c399e269772661"',
  });
});

test.each([1, 2, 3, 100])('pages of %i return everything, with and without a delimiter', async (size) => {
  for (const delimiter of [{}, { Delimiter: '/' }]) {
    const whole = await list(delimiter);
    const seen: string[] = [];
    const prefixes: (string | undefined)[] = [];
    let marker: { KeyMarker?: string; VersionIdMarker?: string } = {};
    for (;;) {
      const page = await list({ ...delimiter, MaxKeys: size, ...marker });
      seen.push(...page.keys);
      prefixes.push(...(page.CommonPrefixes?.map(({ Prefix }) => Prefix) ?? []));
      if (!page.IsTruncated) break;
      marker = {
        KeyMarker: page.NextKeyMarker ?? '',
        ...(page.NextVersionIdMarker ? { VersionIdMarker: page.NextVersionIdMarker } : {}),
      };
    }
    expect([seen, prefixes]).toEqual([whole.keys, whole.CommonPrefixes?.map(({ Prefix }) => Prefix) ?? []]);
  }
});

test('refuses markers without a meaning', async () => {
  await expect(list({ VersionIdMarker: 'null' })).rejects.toMatchObject({ name: 'InvalidArgument' });
  await expect(list({ KeyMarker: 'a', VersionIdMarker: 'x' })).rejects.toMatchObject({ name: 'InvalidArgument' });
  await expect(list({ Bucket: 'absent' })).rejects.toMatchObject({ name: 'NoSuchBucket' });
});

describe('versionId of an object', () => {
  const ask = (method: string, key: string, versionId: string) =>
    send(method, store.presign(method, key, { query: { versionId } }));

  test('"null" is the object', async () => {
    expect((await ask('GET', 'a', 'null')).text).toBe('a');
    expect((await ask('HEAD', 'a', 'null')).status).toBe(200);
    await send('PUT', store.presign('PUT', 'going'), { body: 'x' });
    expect((await ask('DELETE', 'going', 'null')).status).toBe(204);
    expect((await ask('GET', 'going', 'null')).code).toBe('NoSuchKey');
  });

  test.each([
    ['x'.repeat(32), 404, 'NoSuchVersion'],
    ['x', 400, 'InvalidArgument'],
    ['', 400, 'InvalidArgument'],
  ])('"%s" is not a version: %i', async (versionId, status, code) => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask(method, 'a', versionId);
      expect([answer.status, answer.code]).toEqual([status, code]);
    }
    expect((await ask('HEAD', 'a', versionId)).status).toBe(status);
    expect((await ask('GET', 'a', 'null')).status).toBe(200);
  });

  test('cannot be written', async () => {
    const url = store.presign('PUT', 'a', { query: { versionId: 'null' } });
    expect((await send('PUT', url, { body: 'x' })).code).toBe('NotImplemented');
  });
});

test('names the checksum of an object that has one', async () => {
  const Bucket = await makeCheckedBucket(store);
  const { Versions = [] } = await store.client.send(new ListObjectVersionsCommand({ Bucket }));
  expect(Versions.map(({ ChecksumAlgorithm, ChecksumType }) => [ChecksumAlgorithm, ChecksumType])).toEqual([
    [['SHA256'], 'FULL_OBJECT'],
    [undefined, undefined],
  ]);
});
