import { rmSync } from 'node:fs';
import {
  ListObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  ListObjectVersionsCommand,
} from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  bucket,
  makeCheckedBucket,
  newFolder,
  send,
  startStoreWith,
  type TestStore,
} from '../../test/running-store.ts';
import { type IndexDb, openIndexDb } from '../disk/index-db.ts';
import { listPage } from './list-page.ts';

const keys = ['a', 'a/1', 'a/2', 'a/b/3', 'ab', 'b', 'b/4', 'c&d<e>', 'é', '\uffee', '😀', '😀/5'];

let store: TestStore;
beforeAll(async () => {
  store = await startStoreWith(keys);
});
afterAll(() => store.close());

async function list(input: Partial<ListObjectsV2CommandInput> = {}) {
  const answer = await store.client.send(new ListObjectsV2Command({ Bucket: bucket, ...input }));
  return {
    ...answer,
    keys: answer.Contents?.map(({ Key }) => Key) ?? [],
    prefixes: answer.CommonPrefixes?.map(({ Prefix }) => Prefix) ?? [],
  };
}

test('all keys in the order of their UTF-8 bytes, with their facts', async () => {
  const answer = await list();
  expect(answer.keys).toEqual(keys);
  expect(answer).toMatchObject({ KeyCount: keys.length, IsTruncated: false, MaxKeys: 1000, Name: bucket });
  expect(answer.Contents?.[0]).toMatchObject({
    Size: 1,
    ETag: '"0cc175b9c0f1b6a831c399e269772661"',
    StorageClass: 'STANDARD',
  });
});

test('takes the question for metadata of MinIO’s clients, and ignores it as S3 does', async () => {
  const answer = await send('GET', store.presign('GET', '', { query: { 'list-type': '2', metadata: 'true' } }));
  expect([answer.status, answer.text.match(/<Key>/g)?.length]).toEqual([200, keys.length]);
});

test('takes the question whether objects were restored from an archive, as Mountpoint for S3 asks it', async () => {
  const asking = { OptionalObjectAttributes: ['RestoreStatus' as const] };
  const answer = await list(asking);
  expect(answer.keys).toEqual(keys);
  expect(answer.Contents?.[0]).not.toHaveProperty('RestoreStatus');
  const older = await store.client.send(new ListObjectsCommand({ Bucket: bucket, ...asking }));
  const versions = await store.client.send(new ListObjectVersionsCommand({ Bucket: bucket, ...asking }));
  expect([older.Contents?.length, versions.Versions?.length]).toEqual([keys.length, keys.length]);
  const other = { OptionalObjectAttributes: ['Owner' as 'RestoreStatus'] };
  await expect(list(other)).rejects.toMatchObject({ name: 'InvalidArgument' });
});

test('a space in a prefix can be sent as a plus, as Apache’s object_store for Rust and older AWS SDKs send it', async () => {
  for (const key of ['spa ced/1', 'spa+ced/1']) await send('PUT', store.presign('PUT', key), { body: key });
  const ask = async (prefix: string, sent: string) => {
    const url = store.presign('GET', '', { query: { 'list-type': '2', prefix } });
    return (await send('GET', url.replace(/prefix=[^&]*/, `prefix=${sent}`))).text;
  };
  expect(await ask('spa ced/', 'spa+ced/')).toContain('<KeyCount>1</KeyCount><IsTruncated>false');
  expect(await ask('spa ced/', 'spa+ced/')).toContain('<Key>spa ced/1</Key>');
  expect(await ask('spa+ced/', 'spa%2Bced/')).toContain('<Key>spa+ced/1</Key>');
  expect(await ask('spa+ced/', 'spa+ced/')).toContain('<Code>SignatureDoesNotMatch</Code>');
  for (const key of ['spa ced/1', 'spa+ced/1']) await send('DELETE', store.presign('DELETE', key));
});

test('prefix, delimiter, start-after', async () => {
  expect((await list({ Prefix: 'a/' })).keys).toEqual(['a/1', 'a/2', 'a/b/3']);
  expect(await list({ Prefix: 'a/', Delimiter: '/' })).toMatchObject({ keys: ['a/1', 'a/2'], prefixes: ['a/b/'] });
  expect(await list({ Delimiter: '/' })).toMatchObject({
    keys: ['a', 'ab', 'b', 'c&d<e>', 'é', '\uffee', '😀'],
    prefixes: ['a/', 'b/', '😀/'],
  });
  expect((await list({ StartAfter: 'b' })).keys).toEqual(['b/4', 'c&d<e>', 'é', '\uffee', '😀', '😀/5']);
  expect((await list({ StartAfter: 'a/1', Prefix: 'a/' })).keys).toEqual(['a/2', 'a/b/3']);
  expect((await list({ Prefix: 'zzz' })).keys).toEqual([]);
  expect((await list({ StartAfter: '😀/5' })).keys).toEqual([]);
});

test.each([1, 2, 3, 5, 100])('pages of %i return the same, with and without a delimiter', async (size) => {
  for (const delimiter of [{}, { Delimiter: '/' }]) {
    const whole = await list(delimiter);
    const seen: (string | undefined)[] = [];
    const prefixes: (string | undefined)[] = [];
    let token: string | undefined;
    do {
      const page = await list({ ...delimiter, MaxKeys: size, ...(token ? { ContinuationToken: token } : {}) });
      expect(page.KeyCount).toBeLessThanOrEqual(size);
      expect(page.IsTruncated).toBe(page.NextContinuationToken !== undefined);
      seen.push(...page.keys);
      prefixes.push(...page.prefixes);
      token = page.NextContinuationToken;
    } while (token);
    expect([seen, prefixes]).toEqual([whole.keys, whole.prefixes]);
  }
});

test('max-keys of 0, above 1000, and not a number', async () => {
  expect(await list({ MaxKeys: 0 })).toMatchObject({ keys: [], IsTruncated: false });
  expect((await list({ MaxKeys: 5000 })).MaxKeys).toBe(1000);
  for (const text of ['-1', 'abc', '1.5', '']) {
    const url = store.presign('GET', '', { query: { 'list-type': '2', 'max-keys': text } });
    expect((await send('GET', url)).code).toBe('InvalidArgument');
  }
});

test('keys that XML cannot carry come with encoding-type=url', async () => {
  const odd = 'odd/\u0001\u0002\ufffe %+😀';
  await send('PUT', store.presign('PUT', odd), { body: 'x' });
  const answer = await list({ Prefix: 'odd/', EncodingType: 'url' });
  expect(answer.keys.map((key) => decodeURIComponent(key ?? ''))).toEqual([odd]);
  await send('DELETE', store.presign('DELETE', odd));
});

test('refuses what is not implemented', async () => {
  const refused = async (query: Record<string, string>) =>
    (await send('GET', store.presign('GET', '', { query }))).code;
  expect(await refused({ 'list-type': '1' })).toBe('NotImplemented');
  expect(await refused({ 'list-type': '2', marker: 'a' })).toBe('NotImplemented');
  expect(await refused({ 'list-type': '2', inventory: '' })).toBe('NotImplemented');
  expect(await refused({ 'list-type': '2', 'continuation-token': 'not ours' })).toBe('InvalidArgument');
  expect(await refused({ 'list-type': '2', 'encoding-type': 'xml' })).toBe('InvalidArgument');
  expect((await send('GET', `${store.endpoint}/${bucket}?list-type=2`)).code).toBe('AccessDenied');
  await expect(list({ Bucket: 'absent' })).rejects.toMatchObject({ name: 'NoSuchBucket' });
});

describe('the index', () => {
  const record = { size: 1, etag: 'e', lastModified: 0, headers: {}, metadata: {} };
  const folder = newFolder();
  let index: IndexDb;
  beforeAll(async () => {
    index = await openIndexDb(folder);
  });
  afterAll(async () => {
    await index.close();
    rmSync(folder, { recursive: true });
  });

  async function fill(name: string, names: readonly string[]): Promise<void> {
    await index.createBucket(name, { createdAt: 0 });
    await Promise.all(names.map((key, at) => index.putObject(name, key, { ...record, blob: `${at}` })));
  }

  const page = (name: string, query: { prefix?: string; delimiter?: string; from?: Buffer; limit?: number }) =>
    listPage(index, name, {
      prefix: Buffer.from(query.prefix ?? ''),
      delimiter: Buffer.from(query.delimiter ?? ''),
      from: query.from ?? Buffer.alloc(0),
      limit: query.limit ?? 10_000,
    }).map((line) => line.key.toString());

  test('lists the way plainly sorting and grouping the keys would', async () => {
    let bucketNumber = 0;
    const character = fc.constantFrom('a', 'b', '/', '-', 'é', '\uffee', '😀', '\u0000\u0001'.slice(1));
    const key = fc.string({ unit: character, minLength: 1, maxLength: 6 });
    const property = fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 25 }),
      fc.string({ unit: character, maxLength: 2 }),
      fc.constantFrom('', '/', '-', 'a', 'é', '😀', 'ab'),
      async (names, prefix, delimiter) => {
        bucketNumber += 1;
        const name = `bucket-${bucketNumber}`;
        await fill(name, names);
        const sorted = names
          .filter((n) => n.startsWith(prefix))
          .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const grouped = sorted.map((n) => {
          const at = delimiter === '' ? -1 : n.indexOf(delimiter, prefix.length);
          return at < 0 ? n : n.slice(0, at + delimiter.length);
        });
        expect(page(name, { prefix, delimiter })).toEqual([...new Set(grouped)]);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });

  test('skips a hundred thousand keys under one prefix', async () => {
    const names = Array.from({ length: 100_000 }, (_, at) => `deep/${String(at).padStart(6, '0')}`);
    await fill('big', ['a', ...names, 'z']);
    let read = 0;
    const counting: IndexDb = {
      ...index,
      *objectsFrom(name, from) {
        for (const object of index.objectsFrom(name, from)) {
          read += 1;
          yield object;
        }
      },
    };
    const lines = listPage(counting, 'big', {
      prefix: Buffer.alloc(0),
      delimiter: Buffer.from('/'),
      from: Buffer.alloc(0),
      limit: 1001,
    });
    expect(lines.map((line) => line.key.toString())).toEqual(['a', 'deep/', 'z']);
    expect(read).toBe(3);
  });
});

test('names the checksum of an object that has one', async () => {
  const Bucket = await makeCheckedBucket(store);
  const { Contents = [] } = await store.client.send(new ListObjectsV2Command({ Bucket }));
  expect(Contents.map(({ ChecksumAlgorithm, ChecksumType }) => [ChecksumAlgorithm, ChecksumType])).toEqual([
    [['SHA256'], 'FULL_OBJECT'],
    [undefined, undefined],
  ]);
});
