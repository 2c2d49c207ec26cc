import { GetObjectCommand, NoSuchKey } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucket, send, startStore, type TestStore } from '../test/running-store.ts';

let store: TestStore;
let etag = '';
beforeAll(async () => {
  store = await startStore();
  const put = await send('PUT', store.presign('PUT', 'digits'), { body: '0123456789' });
  etag = String(put.headers.etag);
  await send('PUT', store.presign('PUT', 'empty'), { headers: { 'content-length': '0' } });
});
afterAll(() => store.close());

const get = (headers: Record<string, string> = {}, more = {}) =>
  send('GET', store.presign('GET', 'digits', more), { headers });

test('gives the bytes, and headers that keep them from running as a page', async () => {
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

  test.each(['bytes=10-', 'bytes=10-12', 'bytes=-0'])('%s lies outside: 416', async (range) => {
    const answer = await get({ range });
    expect([answer.status, answer.code]).toEqual([416, 'InvalidRange']);
  });

  test('of no bytes at all: 416', async () => {
    const answer = await send('GET', store.presign('GET', 'empty'), { headers: { range: 'bytes=0-' } });
    expect(answer.status).toBe(416);
  });

  test.each(['bytes=5-2', 'bytes=a-b', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=-'])('%s means all', async (range) => {
    const answer = await get({ range });
    expect([answer.status, answer.text]).toEqual([200, '0123456789']);
  });

  test('only if it is still the same object', async () => {
    expect((await get({ range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    expect((await get({ range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
  });
});

test('conditions', async () => {
  const unchanged = await get({ 'if-none-match': etag });
  expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, '', etag]);
  expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
  expect((await get({ 'if-match': etag })).status).toBe(200);
  expect((await get({ 'if-match': '"other"' })).code).toBe('PreconditionFailed');
  const later = new Date(Date.now() + 60_000).toUTCString();
  expect((await get({ 'if-modified-since': later })).status).toBe(304);
  expect((await get({ 'if-unmodified-since': new Date(0).toUTCString() })).status).toBe(412);
});

test('answers with the headers that the address was signed for', async () => {
  const disposition = "attachment; filename*=UTF-8''%C3%A4.txt";
  const query = { 'response-content-type': 'text/plain', 'response-content-disposition': disposition };
  const answer = await get({}, { query });
  expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'content-disposition': disposition });
  expect((await get({}, { query: { 'response-content-type': 'a\r\nb' } })).code).toBe('InvalidArgument');
});

test('refuses what it does not do', async () => {
  for (const query of [{ torrent: '' }, { restore: '' }]) {
    const answer = await get({}, { query });
    expect([answer.status, answer.code]).toEqual([501, 'NotImplemented']);
  }
  expect((await get({ 'x-amz-server-side-encryption-customer-key': 'x' })).status).toBe(403);
});

test('an absent key and an absent bucket', async () => {
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

test('an object that is replaced all the time is always there', async () => {
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

test('a client that leaves in the middle does no harm', async () => {
  await send('PUT', store.presign('PUT', 'left'), { body: Buffer.alloc(8_000_000, 'x') });
  const leaving = new AbortController();
  const answer = await fetch(store.presign('GET', 'left'), { signal: leaving.signal });
  leaving.abort();
  await expect(answer.text()).rejects.toThrow();
  expect((await get()).status).toBe(200);
});
