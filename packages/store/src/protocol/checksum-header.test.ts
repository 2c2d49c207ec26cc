import { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { partBytes, partOf } from '../../test/multipart.ts';
import {
  type Answer,
  bucket,
  keys,
  region,
  send,
  startStore,
  type TestStore,
  toSdkChecksum,
} from '../../test/running-store.ts';
import { type ChecksumAlgorithm, checksumAlgorithms, checksumOf } from '../disk/checksum.ts';
import { checksumHeader } from './checksum-header.ts';

let store: TestStore;
let sdk: S3Client;
beforeAll(async () => {
  store = await startStore();
  sdk = openSdk({ SHA512: toSdkChecksum('sha512') });
});
afterAll(async () => {
  sdk.destroy();
  await store.close();
});

function openSdk(checksumAlgorithms: Record<string, ReturnType<typeof toSdkChecksum>>): S3Client {
  const { endpoint } = store;
  return new S3Client({
    endpoint,
    region,
    credentials: keys,
    forcePathStyle: true,
    maxAttempts: 1,
    checksumAlgorithms,
  });
}

// Of the five bytes "hello".
const ofHello: Record<ChecksumAlgorithm, string> = {
  CRC32: 'NhCmhg==',
  CRC32C: 'mnG7TA==',
  CRC64NVME: 'M3eFcAZSQlc=',
  MD5: 'XUFAKrxLKna5cZ2REBfFkg==',
  SHA1: 'qvTGHdzF6KLavt4PO0gs2a6pQ00=',
  SHA256: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=',
  SHA512: 'm3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==',
};

const presignedPut = (key: string, headers: Record<string, string>, body = 'hello') =>
  send('PUT', store.presign('PUT', key, { headers }), { headers, body });
const head = async (key: string) => {
  const url = store.presign('HEAD', key, { headers: { 'x-amz-checksum-mode': 'ENABLED' } });
  return (await send('HEAD', url, { headers: { 'x-amz-checksum-mode': 'ENABLED' } })).headers;
};

describe.each(checksumAlgorithms)('%s', (algorithm) => {
  const name = checksumHeader(algorithm);

  test('is verified, returned and kept', async () => {
    const put = await presignedPut(algorithm, {
      [name]: ofHello[algorithm],
      'x-amz-sdk-checksum-algorithm': algorithm,
    });
    expect([put.status, put.headers[name], put.headers['x-amz-checksum-type']]).toEqual([
      200,
      ofHello[algorithm],
      'FULL_OBJECT',
    ]);
    const kept = await head(algorithm);
    expect([kept[name], kept['x-amz-checksum-type']]).toEqual([ofHello[algorithm], 'FULL_OBJECT']);
  });

  test('is returned only in checksum mode, and not for a range', async () => {
    await presignedPut(algorithm, { [name]: ofHello[algorithm] });
    expect((await send('HEAD', store.presign('HEAD', algorithm))).headers).not.toHaveProperty(name);
    const headers = { 'x-amz-checksum-mode': 'ENABLED' };
    const url = store.presign('GET', algorithm, { headers });
    expect((await send('GET', url, { headers })).headers[name]).toBe(ofHello[algorithm]);
    expect((await send('GET', url, { headers: { ...headers, range: 'bytes=0-1' } })).headers).not.toHaveProperty(name);
    expect((await send('GET', store.presign('GET', algorithm, { query: headers }))).headers[name]).toBe(
      ofHello[algorithm],
    );
  });

  const nothing = checksumOf(algorithm, Buffer.alloc(0));
  const refused: [what: string, code: string, headers: Record<string, string>][] = [
    ['a wrong one', 'BadDigest', { [name]: nothing }],
    ['a malformed one', 'InvalidRequest', { [name]: 'abc' }],
    ['one with more after it', 'InvalidRequest', { [name]: `${ofHello[algorithm]}A` }],
    ['an empty one', 'InvalidRequest', { [name]: '' }],
    [
      'one announced as another',
      'InvalidRequest',
      { [name]: ofHello[algorithm], 'x-amz-sdk-checksum-algorithm': 'XXHASH64' },
    ],
    ['one announced and not sent', 'InvalidRequest', { 'x-amz-sdk-checksum-algorithm': algorithm }],
    [
      'two at once',
      'InvalidRequest',
      { 'x-amz-checksum-crc32': ofHello.CRC32, 'x-amz-checksum-sha1': ofHello.SHA1, [name]: ofHello[algorithm] },
    ],
  ];

  test.each(refused)('%s is refused: %s', async (_what, code, headers) => {
    const files = store.files().length;
    const answer = await presignedPut('refused', headers);
    expect([answer.status, answer.code]).toEqual([400, code]);
    expect(store.files()).toHaveLength(files);
  });
});

test.each(['XXHASH3', 'XXHASH64', 'XXHASH128'] as const)('%s is refused with those that can be sent', async (name) => {
  const sender = openSdk({ [name]: toSdkChecksum('sha256') });
  const sent = { Bucket: bucket, Key: 'xxhash', ChecksumAlgorithm: name };
  const bodies = [{ Body: 'hello' }, { Body: Readable.from(['hello']), ContentLength: 5 }];
  for (const body of bodies) {
    await expect(sender.send(new PutObjectCommand({ ...sent, ...body }))).rejects.toMatchObject({
      name: 'NotImplemented',
      message: expect.stringContaining('CRC64NVME'),
    });
  }
  sender.destroy();
  const announced = { 'x-amz-sdk-checksum-algorithm': name };
  expect((await presignedPut('xxhash', announced)).code).toBe('InvalidRequest');
});

describe('in the address', () => {
  const put = (query: Record<string, string>) =>
    send('PUT', store.presign('PUT', 'query', { query }), { body: 'hello' });

  test('a correct one is kept, a wrong one refused, with its name in upper or lower case', async () => {
    for (const name of ['x-amz-checksum-sha256', 'X-Amz-Checksum-Sha256']) {
      const right = await put({ [name]: ofHello.SHA256 });
      expect([right.status, right.headers['x-amz-checksum-sha256']]).toEqual([200, ofHello.SHA256]);
      expect((await put({ [name]: checksumOf('SHA256', Buffer.from('other')) })).code).toBe('BadDigest');
      expect((await put({ [name]: 'abc' })).code).toBe('InvalidRequest');
    }
  });

  test('that of zero bytes, which the default presigner adds, is ignored', async () => {
    const url = await getSignedUrl(sdk, new PutObjectCommand({ Bucket: bucket, Key: 'default' }));
    expect(url).toContain('x-amz-checksum-crc32=AAAAAA%3D%3D');
    expect((await send('PUT', url, { body: 'hello' })).status).toBe(200);
    const read = await getSignedUrl(sdk, new GetObjectCommand({ Bucket: bucket, Key: 'default' }));
    expect((await send('GET', read)).text).toBe('hello');
    const upload = { Bucket: bucket, Key: 'default', ChecksumAlgorithm: 'CRC32C' as const };
    const begin = await getSignedUrl(sdk, new CreateMultipartUploadCommand(upload));
    const begun = await send('POST', begin);
    expect(begun.headers['x-amz-checksum-algorithm']).toBe('CRC32C');
    const UploadId = /<UploadId>(\w+)/.exec(begun.text)?.[1] ?? '';
    const part = { Bucket: bucket, Key: 'default', UploadId, PartNumber: 1 };
    const sent = await send('PUT', await getSignedUrl(sdk, new UploadPartCommand(part)), { body: 'hello' });
    expect([sent.status, sent.headers['x-amz-checksum-crc32c']]).toEqual([200, ofHello.CRC32C]);
  });
});

test('a copy keeps the checksum', async () => {
  await presignedPut('copied', { 'x-amz-checksum-sha256': ofHello.SHA256 });
  const copy = { Bucket: bucket, Key: 'copy', CopySource: `${bucket}/copied` };
  const { CopyObjectResult } = await sdk.send(new CopyObjectCommand(copy));
  expect(CopyObjectResult?.ChecksumSHA256).toBe(ofHello.SHA256);
  expect((await head('copy'))['x-amz-checksum-sha256']).toBe(ofHello.SHA256);
});

test('an object replaced without one has none', async () => {
  await presignedPut('replaced', { 'x-amz-checksum-crc32': ofHello.CRC32 });
  await presignedPut('replaced', {});
  expect(await head('replaced')).not.toHaveProperty('x-amz-checksum-crc32');
});

test.each(checksumAlgorithms)('a document must match its %s', async (ChecksumAlgorithm) => {
  const Delete = { Objects: [{ Key: 'absent' }] };
  const { Deleted } = await sdk.send(new DeleteObjectsCommand({ Bucket: bucket, Delete, ChecksumAlgorithm }));
  expect(Deleted).toHaveLength(1);
});

describe('a multipart upload', () => {
  const bodies = [partOf(partBytes, 1), partOf(partBytes + 1, 2), Buffer.from('the end')];
  const whole = Buffer.concat(bodies);

  async function begin(key: string, algorithm: ChecksumAlgorithm, type?: 'COMPOSITE' | 'FULL_OBJECT') {
    const more = { ChecksumAlgorithm: algorithm, ...(type && { ChecksumType: type }) };
    const begun = await sdk.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ...more }));
    return { ...begun, UploadId: begun.UploadId ?? '' };
  }

  async function sendParts(key: string, uploadId: string, algorithm: ChecksumAlgorithm) {
    for (const [at, body] of bodies.entries()) {
      const name = checksumHeader(algorithm);
      // The second is sent without one: the store computes what it will need.
      const headers: Record<string, string> = at === 1 ? {} : { [name]: checksumOf(algorithm, body) };
      const query = { uploadId, partNumber: String(at + 1) };
      const sent = await send('PUT', store.presign('PUT', key, { query, headers }), { headers, body });
      expect([sent.status, sent.headers[name]]).toEqual([200, checksumOf(algorithm, body)]);
    }
  }

  const xmlOf = async (key: string, uploadId: string, elements: (at: number) => string) => {
    const { Parts = [] } = await sdk.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));
    const parts = Parts.map(
      ({ PartNumber, ETag }, at) =>
        `<Part><PartNumber>${PartNumber}</PartNumber><ETag>${ETag}</ETag>${elements(at)}</Part>`,
    );
    return `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
  };

  async function complete(
    key: string,
    uploadId: string,
    elements: (at: number) => string,
    headers = {},
  ): Promise<Answer> {
    const url = store.presign('POST', key, { query: { uploadId }, headers });
    return send('POST', url, { headers, body: await xmlOf(key, uploadId, elements) });
  }

  const composite = (algorithm: ChecksumAlgorithm) => {
    const digests = bodies.map((body) => Buffer.from(checksumOf(algorithm, body), 'base64'));
    return `${checksumOf(algorithm, Buffer.concat(digests))}-${bodies.length}`;
  };

  test.each([
    ['CRC32', undefined, 'COMPOSITE'],
    ['CRC32', 'FULL_OBJECT', 'FULL_OBJECT'],
    ['CRC32C', 'FULL_OBJECT', 'FULL_OBJECT'],
    ['CRC64NVME', undefined, 'FULL_OBJECT'],
    ['SHA1', undefined, 'COMPOSITE'],
    ['SHA256', 'COMPOSITE', 'COMPOSITE'],
    ['SHA512', undefined, 'COMPOSITE'],
    ['MD5', undefined, 'COMPOSITE'],
  ] as const)('%s, %s: the checksum is %s', async (algorithm, asked, type) => {
    const key = `${algorithm}-${asked}`;
    const { UploadId, ...begun } = await begin(key, algorithm, asked);
    expect([begun.ChecksumAlgorithm, begun.ChecksumType]).toEqual([algorithm, type]);
    await sendParts(key, UploadId, algorithm);
    const listed = await sdk.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId }));
    expect([listed.ChecksumAlgorithm, listed.ChecksumType]).toEqual([algorithm, type]);
    const field = `Checksum${algorithm}` as const;
    expect(listed.Parts?.map((part) => part[field])).toEqual(bodies.map((body) => checksumOf(algorithm, body)));

    const value = type === 'COMPOSITE' ? composite(algorithm) : checksumOf(algorithm, whole);
    const element = (at: number) => `<${field}>${checksumOf(algorithm, bodies[at] ?? Buffer.alloc(0))}</${field}>`;
    const answers = [
      await complete(key, UploadId, element, { [checksumHeader(algorithm)]: value, 'x-amz-checksum-type': type }),
    ];
    const told = [`<${field}>${value}</${field}>`, `<ChecksumType>${type}</ChecksumType>`];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      for (const line of told) expect(text).toContain(line);
    }
    const kept = await sdk.send(new HeadObjectCommand({ Bucket: bucket, Key: key, ChecksumMode: 'ENABLED' }));
    expect([kept[field], kept.ChecksumType]).toEqual([value, type]);
    for (const [at, body] of bodies.entries()) {
      const part = { Bucket: bucket, Key: key, PartNumber: at + 1, ChecksumMode: 'ENABLED' as const };
      const partHead = await sdk.send(new HeadObjectCommand(part));
      // For parts under a FULL_OBJECT checksum, S3 returns none.
      const expected = type === 'COMPOSITE' ? [checksumOf(algorithm, body), type] : [undefined, undefined];
      expect([partHead[field], partHead.ChecksumType]).toEqual(expected);
      const read = await sdk.send(new GetObjectCommand(part));
      expect([read[field], read.PartsCount]).toEqual([expected[0], bodies.length]);
      expect(Buffer.from((await read.Body?.transformToByteArray()) ?? []).equals(body)).toBe(true);
      const unasked = await send('HEAD', store.presign('HEAD', key, { query: { partNumber: `${at + 1}` } }));
      expect(unasked.headers[checksumHeader(algorithm)]).toBeUndefined();
    }
    const got = await sdk.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(whole)).toBe(true);
  });

  test.each(['COMPOSITE', 'FULL_OBJECT'] as const)('the only part, %s, has the checksum of its bytes', async (type) => {
    const key = `only-${type}`;
    const { UploadId } = await begin(key, 'CRC32', type);
    const query = { uploadId: UploadId, partNumber: '1' };
    await send('PUT', store.presign('PUT', key, { query }), { body: 'hello' });
    expect((await complete(key, UploadId, () => '')).status).toBe(200);
    const part = { Bucket: bucket, Key: key, PartNumber: 1, ChecksumMode: 'ENABLED' as const };
    const { ChecksumCRC32, ChecksumType } = await sdk.send(new HeadObjectCommand(part));
    expect([ChecksumCRC32, ChecksumType]).toEqual([ofHello.CRC32, type]);
  });

  test('an object uploaded in one piece is its own first part, with its checksum', async () => {
    await presignedPut('as one', { 'x-amz-checksum-crc32': ofHello.CRC32 });
    const part = { Bucket: bucket, Key: 'as one', PartNumber: 1, ChecksumMode: 'ENABLED' as const };
    const { ChecksumCRC32, ChecksumType } = await sdk.send(new HeadObjectCommand(part));
    expect([ChecksumCRC32, ChecksumType]).toEqual([ofHello.CRC32, 'FULL_OBJECT']);
  });

  test('a mismatch is refused, and the upload can go on', async () => {
    const key = 'fits';
    const { UploadId } = await begin(key, 'CRC32');
    await sendParts(key, UploadId, 'CRC32');
    const other = { 'x-amz-checksum-sha1': checksumOf('SHA1', Buffer.from('x')) };
    const query = { uploadId: UploadId, partNumber: '4' };
    const part = await send('PUT', store.presign('PUT', key, { query, headers: other }), { headers: other, body: 'x' });
    expect([part.status, part.code]).toEqual([400, 'InvalidRequest']);
    const none = () => '';
    const answers = [
      await complete(key, UploadId, () => '<ChecksumCRC32>AAAAAA==</ChecksumCRC32>'),
      await complete(key, UploadId, () => '<ChecksumCRC32>A</ChecksumCRC32>'),
      await complete(key, UploadId, none, { 'x-amz-checksum-crc32': 'AAAAAA==' }),
      await complete(key, UploadId, none, { 'x-amz-checksum-sha1': checksumOf('SHA1', whole) }),
      await complete(key, UploadId, none, { 'x-amz-checksum-type': 'FULL_OBJECT' }),
      await complete(key, UploadId, none),
    ];
    expect(answers.map(({ code }) => code)).toEqual([
      'InvalidPart',
      'InvalidRequest',
      'BadDigest',
      'InvalidRequest',
      'InvalidRequest',
      undefined,
    ]);
  });

  test('a copied part has one too', async () => {
    await presignedPut('source', {});
    const { UploadId } = await begin('with-copy', 'SHA256');
    const part = { Bucket: bucket, Key: 'with-copy', UploadId, PartNumber: 1, CopySource: `${bucket}/source` };
    const { CopyPartResult } = await sdk.send(new UploadPartCopyCommand(part));
    expect(CopyPartResult?.ChecksumSHA256).toBe(ofHello.SHA256);
    expect((await complete('with-copy', UploadId, () => '')).status).toBe(200);
  });

  test.each([
    ['an unknown algorithm', { 'x-amz-checksum-algorithm': 'XXHASH64' }],
    ['a type without an algorithm', { 'x-amz-checksum-type': 'COMPOSITE' }],
    ['a full SHA-256', { 'x-amz-checksum-algorithm': 'SHA256', 'x-amz-checksum-type': 'FULL_OBJECT' }],
    ['a composite CRC64NVME', { 'x-amz-checksum-algorithm': 'CRC64NVME', 'x-amz-checksum-type': 'COMPOSITE' }],
  ])('is not started with %s', async (_what, headers) => {
    const url = store.presign('POST', 'unbegun', { query: { uploads: '' }, headers });
    expect((await send('POST', url, { headers })).code).toBe('InvalidRequest');
  });
});
