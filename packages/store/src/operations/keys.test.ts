import { readdirSync } from 'node:fs';
import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucket, send, sendBytes, startStore, type TestStore, targetOf } from '../../test/running-store.ts';

// Keys are opaque bytes: every one of these is itself, and none is a path.

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

const odd = [
  'a b',
  'a+b',
  'a%b',
  '100%',
  '%20',
  '%2F',
  '%2e%2e',
  'caf\u00e9',
  'cafe\u0301',
  '漢字かな',
  '👩‍👩‍👧‍👦',
  'a'.repeat(1024),
  'é'.repeat(512),
  'x'.repeat(300),
  '/leading',
  '//twice',
  'a//b',
  'a/../b',
  '../x',
  '../../x',
  '..',
  '.',
  'a/.',
  './a',
  'trailing/',
  'back\\slash',
  `quotes"'\``,
  '&=;,?#<>',
  '?list-type=2',
  'new\nline',
  'car\rriage',
  'tab\t',
  '\u007f',
  '\u0001',
  '\ufffe',
  'CON.txt',
  'nested',
  'nested/under',
  "()!'*~",
  '[]{}|^',
  '@:$',
  '\uffee',
  '😀',
  'constructor',
  '__proto__',
];

async function listKeys(): Promise<string[]> {
  const answer = await store.client.send(new ListObjectsV2Command({ Bucket: bucket, EncodingType: 'url' }));
  return (answer.Contents ?? []).map(({ Key }) => decodeURIComponent(Key ?? ''));
}

test('odd keys are put, got, listed and deleted exactly', async () => {
  await Promise.all(
    odd.map(async (key, at) => {
      const answer = await send('PUT', store.presign('PUT', key), { body: `body ${at}` });
      expect(answer.status, key).toBe(200);
    }),
  );
  const bodies = await Promise.all(odd.map(async (key) => (await send('GET', store.presign('GET', key))).text));
  expect(bodies).toEqual(odd.map((_, at) => `body ${at}`));
  const sorted = [...odd].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(await listKeys()).toEqual(sorted);
  expect(readdirSync(store.folder).sort()).toEqual([
    'blobs',
    'incoming',
    'index',
    'journal',
    'lock',
    'packs',
    'set-aside',
  ]);
  expect(store.files().every((file) => /^blobs\/[0-9a-f]{8}-[0-9a-f]{32}$/.test(file))).toBe(true);
  for (const key of odd) expect((await send('DELETE', store.presign('DELETE', key))).status).toBe(204);
  expect(await listKeys()).toEqual([]);
});

test('odd keys through the AWS SDK', async () => {
  // The SDK itself normalises keys with "." segments, and cannot send some control characters.
  const keys = odd.filter((key) => !/(^|\/)\.\.?(\/|$)/.test(key));
  for (const key of keys) await store.client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: key }));
  for (const key of keys) {
    const got = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    expect(await got.Body?.transformToString()).toBe(key);
    await store.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  }
  expect(await listKeys()).toEqual([]);
});

test('any key comes back as it was sent', async () => {
  const unit = fc.oneof(
    fc.constantFrom('/', '.', '%', '+', ' ', '\\'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  const key = fc
    .string({ unit, minLength: 1, maxLength: 60 })
    .filter((text) => text.isWellFormed() && !text.includes('\0') && Buffer.byteLength(text) <= 1024);
  const property = fc.asyncProperty(key, async (text) => {
    expect((await send('PUT', store.presign('PUT', text), { body: text })).status).toBe(200);
    expect((await send('GET', store.presign('GET', text))).text).toBe(text);
    expect(await listKeys()).toEqual([text]);
    expect((await send('DELETE', store.presign('DELETE', text))).status).toBe(204);
  });
  await fc.assert(property, { numRuns: 40 });
});

test('spellings of one key on the wire: raw, encoded, lower-case escapes', async () => {
  const key = "a()!'*~+b";
  await send('PUT', store.presign('PUT', key), { body: 'spelt' });
  const url = store.presign('GET', key);
  const [path = '', query = ''] = targetOf(url).split('?');
  for (const spelling of [path, decodeURIComponent(path), path.replace('%2B', '%2b').replace('~', '%7e')]) {
    const request = `GET ${spelling}?${query} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nConnection: close\r\n\r\n`;
    expect(await sendBytes(store.port, request)).toMatch(/^HTTP\/1.1 200 .*spelt$/s);
  }
});

test('keys that are too long, contain NUL, or are not UTF-8', async () => {
  const long = await send('PUT', store.presign('PUT', 'a'.repeat(1025)), { body: 'x' });
  expect([long.status, long.code]).toEqual([400, 'KeyTooLongError']);
  expect((await send('GET', store.presign('GET', 'é'.repeat(513)))).code).toBe('KeyTooLongError');
  expect((await send('PUT', store.presign('PUT', 'a\0b'), { body: 'x' })).status).toBe(400);
  for (const path of ['/photos/%ff', '/photos/%zz', '/photos/%c0%80', '/photos/%ed%a0%80']) {
    expect((await send('GET', `${store.endpoint}${path}`)).code).toBe('InvalidURI');
  }
});
