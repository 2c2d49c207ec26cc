import { once } from 'node:events';
import { connect } from 'node:net';
import { GetObjectCommand, NoSuchKey } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore, targetOf } from '../../test/running-store.ts';

let store: TestStore;
let etag = '';
let modified = '';
beforeAll(async () => {
  store = await startStore();
  const put = await send('PUT', store.presign('PUT', 'digits'), { body: '0123456789' });
  etag = String(put.headers.etag);
  modified = String((await send('HEAD', store.presign('HEAD', 'digits'))).headers['last-modified']);
  await send('PUT', store.presign('PUT', 'empty'), { headers: { 'content-length': '0' } });
});
afterAll(() => store.close());

const get = (headers: Record<string, string> = {}, more = {}) =>
  send('GET', store.presign('GET', 'digits', more), { headers });

test('returns the bytes, and headers that keep them from running as a page', async () => {
  const answer = await get();
  expect([answer.status, answer.text]).toEqual([200, '0123456789']);
  expect(answer.headers).toMatchObject({
    'content-length': '10',
    'content-type': 'binary/octet-stream',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
  });
  expect(answer.headers['content-security-policy']).toContain('sandbox');
});

test.each([
  ['video/mp4', false],
  ['Audio/mpeg', false],
  ['video/webm; codecs=vp8', false],
  ['video/mp4, text/html', true],
  ['video/mp4;x="', true],
  ['image/svg+xml', true],
  ['text/html', true],
])('%s: script is forbidden; in a sandbox: %s', async (type, sandboxed) => {
  const { headers } = await get({}, { query: { 'response-content-type': type } });
  expect(headers['content-type']).toBe(type);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(headers['content-security-policy']).not.toContain('script-src');
  expect(headers['content-security-policy']?.includes('sandbox')).toBe(sandboxed);
});

describe('one range', () => {
  test.each([
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=2-5', '2345', 'bytes 2-5/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
    ['bytes=5-99', '56789', 'bytes 5-9/10'],
  ])('%s', async (range, text, contentRange) => {
    const answer = await get({ range });
    expect([answer.status, answer.text, answer.headers['content-range']]).toEqual([206, text, contentRange]);
    expect(answer.headers['content-length']).toBe(String(text.length));
  });

  const huge = '9'.repeat(400);
  test.each([`bytes=0-${huge}`, `bytes=-${huge}`, 'BYTES=0-', 'bytes= 0-9 '])('%s is all of it', async (range) => {
    const answer = await get({ range });
    expect([answer.status, answer.text, answer.headers['content-range']]).toEqual([206, '0123456789', 'bytes 0-9/10']);
  });

  test.each(['bytes=10-', 'bytes=10-12', 'bytes=-0', `bytes=${huge}-`])('%s is outside: 416', async (range) => {
    const answer = await get({ range });
    expect([answer.status, answer.code]).toEqual([416, 'InvalidRange']);
    expect(answer.headers['content-range']).toBe('bytes */10');
    expect(answer.text).toContain(`<RangeRequested>${range}</RangeRequested><ActualObjectSize>10</ActualObjectSize>`);
  });

  test('of an empty object: 416', async () => {
    const answer = await send('GET', store.presign('GET', 'empty'), { headers: { range: 'bytes=0-' } });
    expect(answer.status).toBe(416);
    expect(answer.text).toContain('<ActualObjectSize>0</ActualObjectSize>');
  });

  // Several ranges too, as on S3.
  test.each([
    ...['bytes=0-1,3-4', 'bytes=0-0,-1', 'bytes=0-1,99-', 'bytes=0-0,', 'bytes=,0-0'],
    ...[
      'bytes=5-2',
      'bytes=a-b',
      'lines=1-2',
      'bytes=-',
      'bytes=0x1-2',
      'bytes=1',
      'bytes',
      'bytes=--1',
      'bytes=1-2-3',
    ],
  ])('%s means the whole object', async (range) => {
    const answer = await get({ range });
    expect([answer.status, answer.text]).toEqual([200, '0123456789']);
  });

  test('only if it is still the same object', async () => {
    expect((await get({ range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    for (const other of ['"other"', `W/${etag}`, new Date(0).toUTCString(), 'yesterday']) {
      expect((await get({ range: 'bytes=0-1', 'if-range': other })).status).toBe(200);
    }
    expect((await get({ range: 'bytes=0-1', 'if-range': modified })).status).toBe(206);
  });

  test('of a HEAD: its headers', async () => {
    const url = store.presign('HEAD', 'digits');
    const answer = await send('HEAD', url, { headers: { range: 'bytes=2-5' } });
    expect([answer.status, answer.headers['content-length'], answer.headers['content-range']]).toEqual([
      206,
      '4',
      'bytes 2-5/10',
    ]);
  });
});

describe('conditions, in the order of RFC 9110, 13.2.2', () => {
  const before = new Date(0).toUTCString();
  const after = new Date(Date.now() + 60_000).toUTCString();
  type Named = Record<string, string>;
  const cases: [status: number, conditions: () => Named][] = [
    [200, () => ({ 'if-match': etag })],
    [200, () => ({ 'if-match': '*' })],
    [200, () => ({ 'if-match': `"other", ${etag}` })],
    [200, () => ({ 'if-match': etag.replaceAll('"', '') })],
    [412, () => ({ 'if-match': '"other"' })],
    [412, () => ({ 'if-match': `W/${etag}` })],
    [304, () => ({ 'if-none-match': etag })],
    [304, () => ({ 'if-none-match': '*' })],
    [304, () => ({ 'if-none-match': `"other", W/${etag}` })],
    [200, () => ({ 'if-none-match': '"other"' })],
    [304, () => ({ 'if-modified-since': after })],
    [304, () => ({ 'if-modified-since': modified })],
    [200, () => ({ 'if-modified-since': before })],
    [412, () => ({ 'if-unmodified-since': before })],
    [200, () => ({ 'if-unmodified-since': modified })],
    [200, () => ({ 'if-unmodified-since': after })],
    // The other two forms of a date, and something that is not one.
    [412, () => ({ 'if-unmodified-since': 'Thu Jan  1 00:00:00 1970' })],
    [412, () => ({ 'if-unmodified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' })],
    [200, () => ({ 'if-unmodified-since': '1970' })],
    [200, () => ({ 'if-modified-since': 'tomorrow' })],
    // An ETag takes precedence over a date.
    [200, () => ({ 'if-match': etag, 'if-unmodified-since': before })],
    [412, () => ({ 'if-match': '"other"', 'if-unmodified-since': after })],
    [304, () => ({ 'if-none-match': etag, 'if-modified-since': before })],
    [200, () => ({ 'if-none-match': '"other"', 'if-modified-since': after })],
    // 412 takes precedence over 304.
    [412, () => ({ 'if-match': '"other"', 'if-none-match': etag })],
    [304, () => ({ 'if-match': etag, 'if-none-match': etag })],
    [412, () => ({ 'if-unmodified-since': before, 'if-none-match': etag })],
    // A range comes last.
    [304, () => ({ 'if-none-match': etag, range: 'bytes=99-' })],
    [412, () => ({ 'if-match': '"other"', range: 'bytes=0-1' })],
    [206, () => ({ 'if-match': etag, range: 'bytes=0-1' })],
  ];

  test.each(cases)('%i', async (status, conditions) => {
    const headers = conditions();
    const answer = await get(headers);
    expect([headers, answer.status]).toEqual([headers, status]);
    expect((await send('HEAD', store.presign('HEAD', 'digits'), { headers })).status).toBe(status);
    if (status === 412) expect(answer.code).toBe('PreconditionFailed');
    if (status !== 304) return;
    expect([answer.text, answer.headers.etag, answer.headers['last-modified']]).toEqual(['', etag, modified]);
  });
});

test('answers with the headers that the address asks for', async () => {
  const disposition = "attachment; filename*=UTF-8''%C3%A4.txt";
  const query = { 'response-content-type': 'text/plain', 'response-content-disposition': disposition };
  const answer = await get({}, { query });
  expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'content-disposition': disposition });
  expect((await get({}, { query: { 'response-content-type': 'a\r\nb' } })).code).toBe('InvalidArgument');
});

test('refuses what is not implemented', async () => {
  for (const query of [{ torrent: '' }, { restore: '' }]) {
    const answer = await get({}, { query });
    expect([answer.status, answer.code]).toEqual([501, 'NotImplemented']);
  }
  expect((await get({ 'x-amz-server-side-encryption-customer-key': 'x' })).status).toBe(403);
});

test('a missing key and a missing bucket', async () => {
  await expect(store.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'absent' }))).rejects.toThrow(NoSuchKey);
  await expect(store.client.send(new GetObjectCommand({ Bucket: 'absent', Key: 'a' }))).rejects.toMatchObject({
    name: 'NoSuchBucket',
  });
});

test('a reader keeps its object while it is replaced and deleted', async () => {
  const body = Buffer.alloc(8_000_000, 'x');
  await send('PUT', store.presign('PUT', 'moving'), { body });
  const reading = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'moving' }));
  await send('PUT', store.presign('PUT', 'moving'), { body: 'short' });
  await send('DELETE', store.presign('DELETE', 'moving'));
  const bytes = Buffer.from((await reading.Body?.transformToByteArray()) ?? []);
  expect(bytes.equals(body)).toBe(true);
});

test('an object that is constantly replaced is always there', async () => {
  const put = () => send('PUT', store.presign('PUT', 'restless'), { body: 'x'.repeat(100) });
  await put();
  let replacing = true;
  const replaced = Promise.all(
    [1, 2, 3, 4].map(async () => {
      while (replacing) await put();
    }),
  );
  const url = store.presign('GET', 'restless');
  for (let round = 0; round < 25; round += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('GET', url)));
    for (const answer of answers) expect([answer.status, answer.text.length]).toEqual([200, 100]);
  }
  replacing = false;
  await replaced;
});

test('a client that disconnects halfway does no harm', async () => {
  await send('PUT', store.presign('PUT', 'left'), { body: Buffer.alloc(8_000_000, 'x') });
  const leaving = new AbortController();
  const answer = await fetch(store.presign('GET', 'left'), { signal: leaving.signal });
  leaving.abort();
  await expect(answer.text()).rejects.toThrow();
  expect((await get()).status).toBe(200);
});

test('a client that asks for several without waiting, and leaves, does not keep the store from closing', async () => {
  const own = await startStore();
  await send('PUT', own.presign('PUT', 'left'), { body: Buffer.alloc(8_000_000, 'x') });
  const socket = connect(own.port, '127.0.0.1');
  socket.write(`GET ${targetOf(own.presign('GET', 'left'))} HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\n\r\n`.repeat(3));
  await once(socket, 'readable');
  socket.destroy();
  await own.close();
});
