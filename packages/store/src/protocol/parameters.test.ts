import {
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectCommand,
  type S3Client,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginUpload, complete } from '../../test/multipart.ts';
import { bucket, newDefaultClient, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
let client: S3Client;
beforeAll(async () => {
  store = await startStore();
  client = newDefaultClient(store.endpoint);
  await send('PUT', store.presign('PUT', 'there'), { body: 'hello' });
});
afterAll(async () => {
  client.destroy();
  await store.close();
});

const head = (Key: string): Promise<HeadObjectCommandOutput> =>
  client.send(new HeadObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }));

/** Presigners of AWS SDKs put headers of a request into the address; the request is then sent without them. */
describe('headers that an SDK has put into the address count as headers', () => {
  test('of a PUT: metadata, storage class and ACL', async () => {
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: 'put',
      Metadata: { colour: 'blue', 'Taken-By': 'Zoë & co' },
      StorageClass: 'STANDARD',
      ACL: 'private',
    });
    const url = await getSignedUrl(client, command);
    expect(url).toMatch(/x-amz-meta-colour=blue.*x-amz-storage-class=STANDARD/);
    const answer = await send('PUT', url, { body: 'hello' });
    expect([answer.status, answer.text]).toEqual([200, '']);
    const { Metadata = {} } = await head('put');
    expect(Metadata.colour).toBe('blue');
    expect(Buffer.from(Metadata['taken-by'] ?? '', 'latin1').toString()).toBe('Zoë & co');
  });

  test('of a PUT: a checksum, which the body must match', async () => {
    const sum = { ChecksumSHA256: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=' };
    const url = await getSignedUrl(client, new PutObjectCommand({ Bucket: bucket, Key: 'summed', ...sum }));
    expect(url).toContain('x-amz-checksum-sha256');
    expect((await send('PUT', url, { body: 'other' })).code).toBe('BadDigest');
    expect((await send('PUT', url, { body: 'hello' })).status).toBe(200);
    expect(await head('summed')).toMatchObject(sum);
    const got = await send('GET', store.presign('GET', 'summed', { query: { 'x-amz-checksum-mode': 'ENABLED' } }));
    expect(got.headers['x-amz-checksum-sha256']).toBe(sum.ChecksumSHA256);
  });

  test('of the start of a multipart upload', async () => {
    const command = new CreateMultipartUploadCommand({
      Bucket: bucket,
      Key: 'parts',
      Metadata: { colour: 'red' },
      ChecksumAlgorithm: 'CRC32',
      ChecksumType: 'FULL_OBJECT',
    });
    const begun = await send('POST', await getSignedUrl(client, command));
    const uploadId = /<UploadId>(.*)<\/UploadId>/.exec(begun.text)?.[1] ?? '';
    const part = await send('PUT', store.presign('PUT', 'parts', { query: { uploadId, partNumber: '1' } }), {
      body: 'hello',
    });
    await complete(store, 'parts', uploadId, [{ PartNumber: 1, ETag: part.headers.etag ?? '' }]);
    expect(await head('parts')).toMatchObject({
      Metadata: { colour: 'red' },
      ChecksumCRC32: 'NhCmhg==',
      ChecksumType: 'FULL_OBJECT',
    });
  });

  test('of a copy, and of a part copy', async () => {
    const CopySource = `${bucket}/there`;
    const copy = (more: object) =>
      getSignedUrl(client, new CopyObjectCommand({ Bucket: bucket, Key: 'copied', CopySource, ...more }));
    expect((await send('PUT', await copy({ CopySourceIfMatch: '"another"' }))).status).toBe(412);
    const copied = await send('PUT', await copy({}));
    expect(copied.text).toContain('<CopyObjectResult');
    expect((await head('copied')).ContentLength).toBe(5);

    const UploadId = await beginUpload(store, 'copied parts');
    const part = new UploadPartCopyCommand({
      ...{ Bucket: bucket, Key: 'copied parts', CopySource, CopySourceRange: 'bytes=1-3' },
      ...{ UploadId, PartNumber: 1 },
    });
    const sent = await send('PUT', await getSignedUrl(client, part));
    const ETag = /&quot;(.*)&quot;/.exec(sent.text)?.[1] ?? '';
    await complete(store, 'copied parts', UploadId, [{ PartNumber: 1, ETag }]);
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: 'copied parts' }));
    expect(await Body?.transformToString()).toBe('ell');
  });

  test('in upper or lower case, as presigners write it', async () => {
    const url = store.presign('PUT', 'cased', { query: { 'X-Amz-Meta-Colour': ' green ', 'X-Amz-Acl': 'private' } });
    expect((await send('PUT', url, { body: 'hello' })).status).toBe(200);
    expect((await head('cased')).Metadata).toEqual({ colour: 'green' });
  });
});

describe('is refused, and stores nothing', () => {
  const cases: [name: string, query: Record<string, string>, status: number, code: string][] = [
    ['a header that is not understood', { 'x-amz-tagging': 'a=b' }, 501, 'NotImplemented'],
    ['a storage class there is not', { 'x-amz-storage-class': 'GLACIER' }, 501, 'NotImplemented'],
    ['a public ACL', { 'x-amz-acl': 'public-read' }, 400, 'AccessControlListNotSupported'],
    ['a grant', { 'x-amz-grant-read': 'id="a"' }, 400, 'AccessControlListNotSupported'],
    ['a session token', { 'X-Amz-Security-Token': 'a' }, 501, 'NotImplemented'],
    ['a hash of the body under another name', { 'x-amz-content-sha256': '0'.repeat(64) }, 501, 'NotImplemented'],
    ['the same one twice', { 'x-amz-meta-a': '1', 'X-Amz-Meta-A': '2' }, 400, 'InvalidArgument'],
    ['a line break', { 'x-amz-meta-a': 'b\r\nx-amz-meta-c: d' }, 400, 'InvalidArgument'],
    ['a NUL', { 'x-amz-meta-a': '\0' }, 400, 'InvalidArgument'],
    ['a name that no header has', { 'x-amz-meta-a b': 'c' }, 400, 'InvalidArgument'],
    ['metadata that is too much', { 'x-amz-meta-a': 'ü'.repeat(1024) }, 400, 'MetadataTooLarge'],
    ['a malformed checksum', { 'x-amz-checksum-crc32': 'x' }, 400, 'InvalidRequest'],
  ];

  test.each(cases)('%s', async (_, query, status, code) => {
    const answer = await send('PUT', store.presign('PUT', 'refused', { query }), { body: 'hello' });
    expect([answer.status, answer.code]).toEqual([status, code]);
    await expect(head('refused')).rejects.toMatchObject({ name: 'NotFound' });
  });

  test('one that is in both the address and a header', async () => {
    const headers = { 'x-amz-meta-a': 'header' };
    const url = store.presign('PUT', 'refused', { query: { 'x-amz-meta-a': 'address' }, headers });
    const answer = await send('PUT', url, { headers, body: 'hello' });
    expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
  });

  test('one that was added to the address after it was signed', async () => {
    for (const added of ['x-amz-meta-a=b', `x-amz-copy-source=${bucket}%2Fthere`, 'x-amz-acl=public-read']) {
      const answer = await send('PUT', `${store.presign('PUT', 'refused')}&${added}`, { body: 'hello' });
      expect([answer.status, answer.code]).toEqual([403, 'SignatureDoesNotMatch']);
    }
  });
});
