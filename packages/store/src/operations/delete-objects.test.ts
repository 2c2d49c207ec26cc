import { createHash } from 'node:crypto';
import { DeleteObjectsCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucket, filed, newDefaultClient, send, startStore, type TestStore, until } from '../../test/running-store.ts';
import { textElement } from '../protocol/xml.ts';

let store: TestStore;
let client: S3Client;
beforeAll(async () => {
  store = await startStore();
  client = newDefaultClient(store.endpoint);
});
afterAll(async () => {
  client.destroy();
  await store.close();
});

async function put(names: readonly string[]): Promise<void> {
  for (const Key of names) await store.client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: filed('x') }));
}

async function listed(): Promise<(string | undefined)[]> {
  const answer = await store.client.send(new ListObjectsV2Command({ Bucket: bucket }));
  return answer.Contents?.map(({ Key }) => Key) ?? [];
}

const post = (body: string, headers: Record<string, string> = {}) =>
  send('POST', store.presign('POST', '', { query: { delete: '' } }), { headers, body });
const md5 = (text: string) => createHash('md5').update(text).digest('base64');

test('removes objects and their files, and accepts keys without an object', async () => {
  const odd = ['a', 'b & <c>', 'd"\'', '😀/é', 'line\r\nbreak', '../up', ' blanks '];
  await put([...odd, 'kept']);
  const Objects = [...odd, 'absent'].map((Key) => ({ Key }));
  const answer = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }));
  expect(answer.Deleted?.map(({ Key }) => Key)).toEqual(Objects.map(({ Key }) => Key));
  expect(answer.Errors ?? []).toEqual([]);
  expect(await listed()).toEqual(['kept']);
  await until(() => store.files().length === 1);
});

test('a key of control characters, as a listing names it', async () => {
  await send('PUT', store.presign('PUT', 'c\u0001\u001f'), { body: 'x' });
  const answer = await post(`<Delete><Object>${textElement('Key', 'c\u0001\u001f')}</Object></Delete>`);
  expect(answer.text).toContain('<Deleted><Key>c&#1;&#31;</Key></Deleted>');
  expect(await listed()).toEqual(['kept']);
});

test('Quiet returns errors only; each key has its own', async () => {
  await put(['one', 'two', 'three', 'four']);
  const Objects = [
    { Key: 'one' },
    { Key: 'two', VersionId: 'null' },
    { Key: 'three', VersionId: 'x'.repeat(32) },
    { Key: 'three', VersionId: 'odd' },
    { Key: 'x'.repeat(1025) },
    { Key: 'four', ETag: '"other"' },
    { Key: 'absent', ETag: '*' },
    { Key: 'kept', Size: 7 },
  ];
  const answer = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }));
  expect(answer.Deleted ?? []).toEqual([]);
  expect(answer.Errors?.map(({ Code }) => Code)).toEqual([
    'NoSuchVersion',
    'InvalidArgument',
    'KeyTooLongError',
    'PreconditionFailed',
    'NoSuchKey',
    'NotImplemented',
  ]);
  expect(answer.Errors?.[3]?.Message).toContain('was not removed');
  expect(await listed()).toEqual(['four', 'kept', 'three']);
});

test('a thousand keys, but not one more', async () => {
  const object = (at: number) => `<Object><Key>many/${at}</Key></Object>`;
  const thousand = Array.from({ length: 1000 }, (_, at) => object(at)).join('');
  await put(['many/0', 'many/999']);
  const one = await post(`<Delete>${thousand}${object(1000)}</Delete>`);
  expect([one.status, one.code]).toEqual([400, 'MalformedXML']);
  expect(await listed()).toContain('many/999');
  const answer = await post(`<Delete>${thousand}</Delete>`);
  expect(answer.text.match(/<Deleted>/g)).toHaveLength(1000);
  expect(await listed()).not.toContain('many/999');
});

test('Content-MD5 is verified, but need not be sent', async () => {
  await put(['guarded']);
  const body = '<Delete><Object><Key>guarded</Key></Object></Delete>';
  const wrong = await post(body, { 'content-md5': md5('other') });
  expect([wrong.status, wrong.code]).toEqual([400, 'BadDigest']);
  expect((await post(body, { 'content-md5': 'abc' })).code).toBe('InvalidDigest');
  expect(await listed()).toContain('guarded');
  expect((await post(body, { 'content-md5': md5(body) })).status).toBe(200);
  expect(await listed()).not.toContain('guarded');
});

describe('refuses', () => {
  const many = 'x'.repeat(5 * 1024 * 1024);
  test.each([
    ['no document', '', 'MalformedXML'],
    ['no keys', '<Delete/>', 'MalformedXML'],
    ['an empty key', '<Delete><Object><Key/></Object></Delete>', 'MalformedXML'],
    ['two keys in one object', '<Delete><Object><Key>a</Key><Key>b</Key></Object></Delete>', 'MalformedXML'],
    ['another document', '<Remove><Object><Key>kept</Key></Object></Remove>', 'MalformedXML'],
    ['an element it does not know', '<Delete><Object><Key>kept</Key></Object><Loud/></Delete>', 'MalformedXML'],
    ['what is no XML', '<Delete><Object><Key>kept</Object></Delete>', 'MalformedXML'],
    ['an entity', '<!DOCTYPE a [<!ENTITY x "kept">]><Delete><Object><Key>&x;</Key></Object></Delete>', 'MalformedXML'],
    ['a document without end', many, 'EntityTooLarge'],
  ])('%s', async (_, body, code) => {
    const answer = await post(body);
    expect([answer.status, answer.code]).toEqual([400, code]);
    expect(await listed()).toContain('kept');
  });

  test('a bucket that does not exist', async () => {
    await expect(
      client.send(new DeleteObjectsCommand({ Bucket: 'absent', Delete: { Objects: [{ Key: 'a' }] } })),
    ).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });
});
