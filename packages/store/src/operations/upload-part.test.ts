import { GetObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginUpload, complete, md5, sendPart } from '../../test/multipart.ts';
import { bucket, send, sendBytes, startStore, type TestStore, targetOf, until } from '../../test/running-store.ts';

let store: TestStore;
let uploadId = '';
beforeAll(async () => {
  store = await startStore({ maxObjectBytes: 10_000_000 });
  uploadId = await beginUpload(store, 'key');
});
afterAll(() => store.close());

const address = (partNumber: string | number, more = {}, id = uploadId, key = 'key') =>
  store.presign('PUT', key, { query: { partNumber: String(partNumber), uploadId: id }, ...more });

test('takes a part, and answers with its MD5', async () => {
  expect((await sendPart(store, 'key', uploadId, 1, 'hello')).ETag).toBe(`"${md5('hello')}"`);
  const presigned = await send('PUT', address(10_000, { contentLength: 5 }), { body: 'hello' });
  expect([presigned.status, presigned.headers.etag]).toEqual([200, `"${md5('hello')}"`]);
});

test('a part that is sent again replaces the first, whose file is removed', async () => {
  const id = await beginUpload(store, 'again');
  const files = store.files().length;
  await sendPart(store, 'again', id, 1, 'first');
  const second = await sendPart(store, 'again', id, 1, 'second');
  await until(() => store.files().length === files + 1);
  await complete(store, 'again', id, [second]);
  const got = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'again' }));
  expect(await got.Body?.transformToString()).toBe('second');
});

test('64 parts at once', async () => {
  const id = await beginUpload(store, 'many');
  const numbers = Array.from({ length: 64 }, (_, at) => at + 1);
  const sent = await Promise.all(numbers.map((at) => send('PUT', address(at, {}, id, 'many'), { body: `part ${at}` })));
  expect(sent.map(({ status, headers }) => [status, headers.etag])).toEqual(
    numbers.map((at) => [200, `"${md5(`part ${at}`)}"`]),
  );
});

test('one part number 32 times at once: one of them is kept, whole', async () => {
  const id = await beginUpload(store, 'same');
  const files = store.files().length;
  const bodies = Array.from({ length: 32 }, (_, at) => `body ${at}`);
  await Promise.all(bodies.map((body) => send('PUT', address(1, {}, id, 'same'), { body })));
  await until(() => store.files().length === files + 1);
  const listed = await send('GET', store.presign('GET', 'same', { query: { uploadId: id } }));
  const etag = /<ETag>&quot;(\w+)&quot;<\/ETag>/.exec(listed.text)?.[1] ?? '';
  expect(bodies.map(md5)).toContain(etag);
  await complete(store, 'same', id, [{ PartNumber: 1, ETag: etag }]);
  expect(md5((await send('GET', store.presign('GET', 'same'))).body)).toBe(etag);
});

describe('refuses, and stores nothing', () => {
  const cases: [name: string, status: number, code: string, url: () => string, headers?: Record<string, string>][] = [
    ['part 0', 400, 'InvalidArgument', () => address(0)],
    ['part 10001', 400, 'InvalidArgument', () => address(10_001)],
    ['a part number that is none', 400, 'InvalidArgument', () => address('one')],
    ['no part number', 400, 'InvalidArgument', () => store.presign('PUT', 'key', { query: { uploadId } })],
    ['an unknown upload', 404, 'NoSuchUpload', () => address(2, {}, '0'.repeat(44))],
    ['an upload id that is none', 404, 'NoSuchUpload', () => address(2, {}, 'x'.repeat(5000))],
    ['the upload of another key', 404, 'NoSuchUpload', () => address(2, {}, uploadId, 'other')],
    ['an absent bucket', 404, 'NoSuchBucket', () => address(2, { bucket: 'absent' })],
    ['a shorter body than signed', 403, 'SignatureDoesNotMatch', () => address(2, { contentLength: 6 })],
    ['a longer body than signed', 403, 'SignatureDoesNotMatch', () => address(2, { contentLength: 4 })],
    ['a wrong Content-MD5', 400, 'BadDigest', () => address(2), { 'content-md5': 'XrY7u+Ae7tCTyyK7j1rNww==' }],
    ['a malformed Content-MD5', 400, 'InvalidDigest', () => address(2), { 'content-md5': 'abc' }],
    ['chunks', 411, 'MissingContentLength', () => address(2), { 'transfer-encoding': 'chunked' }],
    ['an unsigned copy', 403, 'AccessDenied', () => address(2), { 'x-amz-copy-source': `/${bucket}/key` }],
    ['an unsigned checksum', 403, 'AccessDenied', () => address(2), { 'x-amz-checksum-crc32': 'AAAAAA==' }],
    ['another part', 403, 'SignatureDoesNotMatch', () => address(2).replace('partNumber=2', 'partNumber=3')],
  ];

  test.each(cases)('%s: %i %s', async (_name, status, code, url, headers = {}) => {
    const files = store.files().length;
    const framing = headers['transfer-encoding'] ? {} : { 'content-length': '5' };
    const answer = await send('PUT', url(), { headers: { ...framing, ...headers }, body: 'hello' });
    expect([answer.status, answer.code]).toEqual([status, code]);
    expect(store.files()).toHaveLength(files);
  });

  test('a body that stops short', async () => {
    const files = store.files().length;
    const head = `PUT ${targetOf(address(2))} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nContent-Length: 100\r\n\r\n`;
    expect(await sendBytes(store.port, `${head}12345`, { halfClose: true })).toContain('IncompleteBody');
    await until(() => store.files().length === files);
  });

  test('more than the largest part', async () => {
    const head = `PUT ${targetOf(address(2))} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nContent-Length: 10000001\r\n\r\n`;
    expect(await sendBytes(store.port, head)).toContain('<Code>EntityTooLarge<');
  });
});
