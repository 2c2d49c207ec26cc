import {
  CompleteMultipartUploadCommand,
  GetObjectAttributesCommand,
  type GetObjectAttributesCommandInput,
  ObjectAttributes,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginUpload, md5, partBytes, partOf, uploadInParts } from '../../test/multipart.ts';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';
import { checksumOf } from '../disk/checksum.ts';

const bodies = [partOf(partBytes, 1), partOf(partBytes, 2), partOf(77, 3)];
const all = Object.values(ObjectAttributes);
let store: TestStore;
beforeAll(async () => {
  store = await startStore();
  await store.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'plain', Body: 'hello' }));
  const checked = { Bucket: bucket, Key: 'checked', Body: 'hello', ChecksumAlgorithm: 'SHA256' as const };
  await store.client.send(new PutObjectCommand(checked));
  await uploadInParts(store, 'plain parts', bodies);
  for (const numbers of [
    [1, 2, 3],
    [2, 5, 9],
  ]) {
    await uploadChecked(`checked parts ${numbers}`, numbers);
  }
});
afterAll(() => store.close());

async function uploadChecked(Key: string, numbers: number[]): Promise<void> {
  const upload = { Bucket: bucket, Key, UploadId: await beginUpload(store, Key, { ChecksumAlgorithm: 'CRC32C' }) };
  const Parts = [];
  for (const [at, PartNumber] of numbers.entries()) {
    const part = { ...upload, PartNumber, Body: bodies[at] ?? '', ChecksumAlgorithm: 'CRC32C' as const };
    const { ETag, ChecksumCRC32C } = await store.client.send(new UploadPartCommand(part));
    Parts.push({ PartNumber, ETag, ChecksumCRC32C });
  }
  await store.client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
}

const attributes = (Key: string, more: Partial<GetObjectAttributesCommandInput> = {}) =>
  store.client.send(new GetObjectAttributesCommand({ Bucket: bucket, Key, ObjectAttributes: all, ...more }));

test('returns everything about an object uploaded in one piece', async () => {
  const found = await attributes('checked');
  expect(found).toMatchObject({
    ETag: md5('hello'),
    Checksum: { ChecksumSHA256: checksumOf('SHA256', Buffer.from('hello')), ChecksumType: 'FULL_OBJECT' },
    StorageClass: 'STANDARD',
    ObjectSize: 5,
  });
  expect(found.LastModified).toBeInstanceOf(Date);
  expect(found.ObjectParts).toBeUndefined();
  expect((await attributes('plain')).Checksum).toBeUndefined();
});

test('returns what was asked for, and nothing else', async () => {
  const found = await attributes('checked', { ObjectAttributes: ['ObjectSize'] });
  expect(found.ObjectSize).toBe(5);
  expect([found.ETag, found.Checksum, found.StorageClass]).toEqual([undefined, undefined, undefined]);
});

test('accepts the list in several lines, as aws-sdk-go-v2 sends it', async () => {
  const url = store.presign('GET', 'checked', {
    query: { attributes: '' },
    headers: { 'x-amz-object-attributes': 'ETag,ObjectSize' },
  });
  const answer = await send('GET', url, { headers: { 'x-amz-object-attributes': ['ETag', 'ObjectSize'] } });
  expect(answer.text).toMatch(/<ETag>\w+<\/ETag><ObjectSize>5<\/ObjectSize><\/GetObjectAttributesResponse>$/);
});

test('returns the number of parts, and lists those that have checksums', async () => {
  expect((await attributes('plain parts')).ObjectParts).toEqual({ TotalPartsCount: 3 });
  for (const key of ['checked parts 1,2,3', 'checked parts 2,5,9']) {
    const { ObjectParts, Checksum } = await attributes(key);
    expect(Checksum?.ChecksumType).toBe('COMPOSITE');
    expect(ObjectParts).toMatchObject({
      TotalPartsCount: 3,
      IsTruncated: false,
      PartNumberMarker: '0',
      MaxParts: 1000,
    });
    expect(ObjectParts?.Parts).toEqual(
      bodies.map((body, at) => ({
        PartNumber: at + 1,
        Size: body.length,
        ChecksumCRC32C: checksumOf('CRC32C', body),
      })),
    );
  }
});

test('lists parts page by page', async () => {
  for (const key of ['checked parts 1,2,3', 'checked parts 2,5,9']) {
    const first = (await attributes(key, { MaxParts: 2 })).ObjectParts;
    expect(first).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '2' });
    expect(first?.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([1, 2]);
    const second = (await attributes(key, { MaxParts: 2, PartNumberMarker: '2' })).ObjectParts;
    expect(second).toMatchObject({ IsTruncated: false, PartNumberMarker: '2' });
    expect(second?.Parts?.map(({ Size }) => Size)).toEqual([77]);
    const third = (await attributes(key, { PartNumberMarker: '3' })).ObjectParts;
    expect(third).toMatchObject({ IsTruncated: false });
    expect(third?.Parts).toBeUndefined();
  }
});

test.each([[{}], [{ 'x-amz-object-attributes': 'ETag,Owner' }], [{ 'x-amz-object-attributes': '' }]])(
  'refuses %j',
  async (headers: Record<string, string>) => {
    const url = store.presign('GET', 'plain', { query: { attributes: '' }, headers });
    const answer = await send('GET', url, { headers });
    expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
  },
);

test('refuses a missing object, a missing version, and an invalid count', async () => {
  await expect(attributes('absent')).rejects.toMatchObject({ name: 'NoSuchKey' });
  await expect(attributes('plain', { VersionId: 'x'.repeat(32) })).rejects.toMatchObject({ name: 'NoSuchVersion' });
  await expect(attributes('plain', { PartNumberMarker: 'two' })).rejects.toMatchObject({ name: 'InvalidArgument' });
});
