import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CopyObjectCommand, type CopyObjectCommandInput, HeadObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { md5, partBytes, partOf, uploadInParts } from '../../test/multipart.ts';
import { bucket, filed, send, startStore, type TestStore, until } from '../../test/running-store.ts';
import { checksumAlgorithms, checksumOf } from '../disk/checksum.ts';

let store: TestStore;
let etag = '';
beforeAll(async () => {
  store = await startStore({ maxObjectBytes: 8_000_000 });
  const headers = { 'content-type': 'text/plain', 'x-amz-meta-colour': 'green', 'cache-control': 'no-store' };
  const put = await send('PUT', store.presign('PUT', 'source', { headers }), { headers, body: 'hello' });
  etag = String(put.headers.etag);
});
afterAll(() => store.close());

const copy = (key: string, source: string, more: Partial<CopyObjectCommandInput> = {}) =>
  store.client.send(new CopyObjectCommand({ Bucket: bucket, Key: key, CopySource: source, ...more }));
const head = (key: string) => store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
const get = async (key: string) => (await send('GET', store.presign('GET', key))).body;

test('copies the bytes, the headers and the metadata', async () => {
  const copied = await copy('copy', `${bucket}/source`);
  expect(copied.CopyObjectResult?.ETag).toBe(etag);
  expect(copied.CopyObjectResult?.LastModified).toBeInstanceOf(Date);
  expect((await get('copy')).toString()).toBe('hello');
  expect(await head('copy')).toMatchObject({
    ContentType: 'text/plain',
    CacheControl: 'no-store',
    Metadata: { colour: 'green' },
    ETag: etag,
  });
});

test('with REPLACE, the headers and the metadata of the request', async () => {
  const given = { ContentType: 'text/html', Metadata: { size: 'small' } };
  await copy('replaced', `${bucket}/source`, { MetadataDirective: 'REPLACE', ...given });
  const found = await head('replaced');
  expect(found).toMatchObject(given);
  expect(found.CacheControl).toBeUndefined();
});

test('without it, those of the request are ignored', async () => {
  await copy('kept', `${bucket}/source`, { ContentType: 'text/html', Metadata: { size: 'small' } });
  expect(await head('kept')).toMatchObject({ ContentType: 'text/plain', Metadata: { colour: 'green' } });
});

test('outlives its source, whose file is removed', async () => {
  await send('PUT', store.presign('PUT', 'short-lived'), { body: filed('hello') });
  await copy('long-lived', `${bucket}/short-lived`);
  const files = store.files().length;
  await send('DELETE', store.presign('DELETE', 'short-lived'));
  await until(() => store.files().length === files - 1);
  expect((await get('long-lived')).toString()).toBe(filed('hello'));
});

test('an object with several parts becomes a single one, with the MD5 of its bytes', async () => {
  const bodies = [partOf(partBytes, 1), partOf(1000, 2)];
  await uploadInParts(store, 'parts', bodies);
  const copied = await copy('one', `${bucket}/parts`);
  expect(copied.CopyObjectResult?.ETag).toBe(`"${md5(Buffer.concat(bodies))}"`);
  expect(md5(await get('one'))).toBe(md5(Buffer.concat(bodies)));
});

test('a damaged object is not copied: its copy would look sound', async () => {
  const before = new Set(store.files());
  await send('PUT', store.presign('PUT', 'rotten'), { body: filed('hello') });
  const [file = ''] = store.files().filter((name) => name.startsWith('blobs/') && !before.has(name));
  const [, blob = ''] = file.split('/');
  writeFileSync(join(store.folder, 'blobs', blob.slice(0, 8), blob), filed('hellp'));
  await expect(copy('rotten copy', `${bucket}/rotten`)).rejects.toMatchObject({ name: 'InternalError' });
  expect((await send('HEAD', store.presign('HEAD', 'rotten copy'))).status).toBe(404);
  await until(() => !store.files().some((name) => name.startsWith('incoming/')));
});

test('an object with one damaged part is not copied', async () => {
  const bodies = [partOf(partBytes, 3), partOf(1000, 4)];
  const before = new Set(store.files());
  await uploadInParts(store, 'rotten parts', bodies);
  const paths = store.files().filter((name) => !before.has(name));
  for (const file of paths) {
    const [, blob = ''] = file.split('/');
    const path = join(store.folder, 'blobs', blob.slice(0, 8), blob);
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([Buffer.from([(bytes[0] ?? 0) ^ 1]), bytes.subarray(1)]));
    await expect(copy('rotten copy', `${bucket}/rotten parts`)).rejects.toMatchObject({ name: 'InternalError' });
    writeFileSync(path, bytes);
  }
  await copy('sound copy', `${bucket}/rotten parts`);
  expect(md5(await get('sound copy'))).toBe(md5(Buffer.concat(bodies)));
});

test.each(checksumAlgorithms)('with a checksum that is asked for, %s', async (algorithm) => {
  const { CopyObjectResult } = await copy('checked', `${bucket}/source`, { ChecksumAlgorithm: algorithm });
  const value = checksumOf(algorithm, Buffer.from('hello'));
  expect(CopyObjectResult).toMatchObject({ [`Checksum${algorithm}`]: value, ChecksumType: 'FULL_OBJECT' });
  const found = await store.client.send(
    new HeadObjectCommand({ Bucket: bucket, Key: 'checked', ChecksumMode: 'ENABLED' }),
  );
  expect(found).toMatchObject({ [`Checksum${algorithm}`]: value, ChecksumType: 'FULL_OBJECT' });
});

test('an unknown checksum is refused', async () => {
  const asked = { ChecksumAlgorithm: 'XXHASH64' as const };
  await expect(copy('unchecked', `${bucket}/source`, asked)).rejects.toMatchObject({ name: 'InvalidRequest' });
});

test('onto itself only with REPLACE', async () => {
  await send('PUT', store.presign('PUT', 'self'), { body: filed('hello') });
  await expect(copy('self', `${bucket}/self`)).rejects.toMatchObject({ name: 'InvalidRequest' });
  const files = store.files().length;
  await copy('self', `${bucket}/self`, { MetadataDirective: 'REPLACE', ContentType: 'image/png' });
  expect(await head('self')).toMatchObject({
    ContentType: 'image/png',
    ContentLength: filed('').length,
    ETag: `"${md5(filed('hello'))}"`,
  });
  await until(() => store.files().length === files);
});

test.each(['a b', 'ä/é', 'a%20b', 'a?b', 'a?versionId=x', 'a+b', '/a', '//', 'a/../b', '&=;', 'emoji 😀'])(
  'from the key "%s"',
  async (key) => {
    await send('PUT', store.presign('PUT', key), { body: key });
    for (const source of [`${bucket}/${encodeURIComponent(key)}`, `/${bucket}/${encodeURIComponent(key)}`]) {
      await copy('named', source);
      expect((await get('named')).toString()).toBe(key);
    }
  },
);

test('from the only version', async () => {
  await copy('version', `${bucket}/source?versionId=null`);
  await expect(copy('version', `${bucket}/source?versionId=${'x'.repeat(32)}`)).rejects.toMatchObject({
    name: 'NoSuchVersion',
  });
});

test('a tagging directive changes nothing; an unknown storage class is refused with every directive', async () => {
  await copy('tags', `${bucket}/source`, { TaggingDirective: 'REPLACE', StorageClass: 'STANDARD' });
  for (const directive of ['COPY', 'REPLACE'] as const) {
    const more = { MetadataDirective: directive, StorageClass: 'GLACIER' } as const;
    await expect(copy('tags', `${bucket}/source`, more)).rejects.toMatchObject({ name: 'NotImplemented' });
  }
});

describe('conditions on the source', () => {
  const past = new Date(Date.now() - 3_600_000);
  const future = new Date(Date.now() + 3_600_000);
  test.each<[string, () => Partial<CopyObjectCommandInput>]>([
    ['if-match', () => ({ CopySourceIfMatch: etag })],
    ['if-none-match', () => ({ CopySourceIfNoneMatch: '"other"' })],
    ['if-modified-since', () => ({ CopySourceIfModifiedSince: past })],
    ['if-unmodified-since', () => ({ CopySourceIfUnmodifiedSince: future })],
    ['if-match before if-unmodified-since', () => ({ CopySourceIfMatch: etag, CopySourceIfUnmodifiedSince: past })],
  ])('%s holds', async (_name, condition) => {
    expect((await copy('conditional', `${bucket}/source`, condition())).CopyObjectResult?.ETag).toBe(etag);
  });

  test.each<[string, () => Partial<CopyObjectCommandInput>]>([
    ['if-match', () => ({ CopySourceIfMatch: '"other"' })],
    ['if-none-match', () => ({ CopySourceIfNoneMatch: etag })],
    ['if-modified-since', () => ({ CopySourceIfModifiedSince: future })],
    ['if-unmodified-since', () => ({ CopySourceIfUnmodifiedSince: past })],
    ['if-none-match, whatever the date', () => ({ CopySourceIfNoneMatch: etag, CopySourceIfModifiedSince: past })],
  ])('%s does not', async (_name, condition) => {
    const files = store.files().length;
    await expect(copy('unmet', `${bucket}/source`, condition())).rejects.toMatchObject({ name: 'PreconditionFailed' });
    expect(store.files().length).toBeLessThanOrEqual(files);
  });
});

test('If-None-Match: * on the object it would replace', async () => {
  const url = store.presign('PUT', 'once', { headers: { 'x-amz-copy-source': `${bucket}/source` } });
  const headers = { 'x-amz-copy-source': `${bucket}/source`, 'if-none-match': '*' };
  expect((await send('PUT', url, { headers })).status).toBe(200);
  expect((await send('PUT', url, { headers })).code).toBe('PreconditionFailed');
});

describe('refuses', () => {
  const absent = { name: 'NoSuchKey' };
  test('what does not exist', async () => {
    await expect(copy('a', `${bucket}/absent`)).rejects.toMatchObject(absent);
    await expect(copy('a', 'absent/a')).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(copy('a', `${bucket}/source`, { Bucket: 'absent' })).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });

  test.each(['', 'nothing', `/${bucket}`, `${bucket}/`, '%', `${'b'.repeat(5000)}/a`, '%00/a', `${bucket}/%ff`])(
    'a source such as "%s"',
    async (source) => {
      const headers = { 'x-amz-copy-source': source };
      const answer = await send('PUT', store.presign('PUT', 'a', { headers }), { headers });
      expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
    },
  );

  test('another directive, and more than one request copies', async () => {
    const headers = { 'x-amz-copy-source': `${bucket}/source`, 'x-amz-metadata-directive': 'KEEP' };
    expect((await send('PUT', store.presign('PUT', 'a', { headers }), { headers })).code).toBe('InvalidArgument');
    await uploadInParts(store, 'large', [partOf(partBytes, 1), partOf(partBytes, 2)]);
    await expect(copy('a', `${bucket}/large`)).rejects.toMatchObject({ name: 'InvalidRequest' });
  });

  test('a copy that was not signed', async () => {
    const answer = await send('PUT', store.presign('PUT', 'a'), {
      headers: { 'x-amz-copy-source': `${bucket}/source` },
    });
    expect([answer.status, answer.code]).toEqual([403, 'AccessDenied']);
    const added = `${store.presign('PUT', 'a')}&x-amz-copy-source=${bucket}%2Fsource`;
    expect((await send('PUT', added)).code).toBe('SignatureDoesNotMatch');
    const other = { 'x-amz-copy-source': `${bucket}/source` };
    const signed = store.presign('PUT', 'a', { headers: other });
    const swapped = await send('PUT', signed, { headers: { 'x-amz-copy-source': `${bucket}/self` } });
    expect(swapped.code).toBe('SignatureDoesNotMatch');
    expect((await send('HEAD', store.presign('HEAD', 'a'))).status).toBe(404);
  });
});

test('a source that is constantly replaced is copied in one of its states, whole', async () => {
  const bodies = Array.from({ length: 6 }, (_, at) => Buffer.alloc(300_000, at));
  const put = (body: Buffer) => send('PUT', store.presign('PUT', 'restless'), { body });
  await put(bodies[0] ?? Buffer.alloc(0));
  let copying = true;
  const replaced = (async () => {
    for (let at = 1; copying; at += 1) await put(bodies[at % bodies.length] ?? Buffer.alloc(0));
  })();
  const digests = bodies.map(md5);
  for (let round = 0; round < 20; round += 1) {
    const copied = await copy(`rest ${round}`, `${bucket}/restless`);
    const found = md5(await get(`rest ${round}`));
    expect(digests).toContain(found);
    expect(copied.CopyObjectResult?.ETag).toBe(`"${found}"`);
  }
  copying = false;
  await replaced;
});
