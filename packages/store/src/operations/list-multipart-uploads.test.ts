import { CreateBucketCommand, CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginUpload } from '../../test/multipart.ts';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
const keys = ['a', 'a', 'a', 'a/1', 'a/2', 'b', 'c/1', 'c/2/3', 'c0', 'é', '\uffee', '😀'];
let uploads: [key: string, uploadId: string][] = [];
beforeAll(async () => {
  store = await startStore();
  for (const key of keys) {
    uploads.push([key, await beginUpload(store, key)]);
    await new Promise((resolve) => setTimeout(resolve, 2)); // ids sort by milliseconds
  }
  uploads = uploads.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
});
afterAll(() => store.close());

const list = (more = {}) => store.client.send(new ListMultipartUploadsCommand({ Bucket: bucket, ...more }));

async function listAll(limit: number, more = {}): Promise<string[]> {
  const found: string[] = [];
  let markers: object | undefined = {};
  while (markers) {
    const page = await list({ MaxUploads: limit, ...more, ...markers });
    const lines = (page.Uploads?.length ?? 0) + (page.CommonPrefixes?.length ?? 0);
    expect(lines).toBeLessThanOrEqual(limit);
    found.push(...(page.Uploads ?? []).map(({ Key, UploadId }) => `${Key} ${UploadId}`));
    found.push(...(page.CommonPrefixes ?? []).map(({ Prefix }) => `${Prefix}`));
    markers = page.IsTruncated
      ? {
          KeyMarker: page.NextKeyMarker,
          ...(page.NextUploadIdMarker ? { UploadIdMarker: page.NextUploadIdMarker } : {}),
        }
      : undefined;
  }
  return found;
}

test('lists uploads by key, and by age for each key', async () => {
  const listed = await list();
  expect(listed).toMatchObject({ Bucket: bucket, IsTruncated: false, MaxUploads: 1000 });
  expect(listed.Uploads?.map(({ Key, UploadId }) => [Key, UploadId])).toEqual(uploads);
  expect(Math.abs((listed.Uploads?.[0]?.Initiated?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
});

test.each([1, 2, 5, 100])('in pages of %i', async (limit) => {
  expect(await listAll(limit)).toEqual(uploads.map(([key, id]) => `${key} ${id}`));
});

test.each([1, 2, 100])('in pages of %i, with a delimiter', async (limit) => {
  const rest = uploads.filter(([key]) => !key.includes('/')).map(([key, id]) => `${key} ${id}`);
  expect((await listAll(limit, { Delimiter: '/' })).sort()).toEqual([...rest, 'a/', 'c/'].sort());
  expect(await listAll(limit, { Delimiter: '/', Prefix: 'c/' })).toEqual([
    ...uploads.filter(([key]) => key === 'c/1').map(([key, id]) => `${key} ${id}`),
    'c/2/',
  ]);
});

test('from a key on, whose own uploads are included only after an upload id', async () => {
  expect((await list({ KeyMarker: 'a' })).Uploads?.at(0)?.Key).toBe('a/1');
  const [, first = ''] = uploads[0] ?? [];
  const rest = await list({ KeyMarker: 'a', UploadIdMarker: first });
  expect(rest.Uploads?.map(({ UploadId }) => UploadId)).toEqual(uploads.slice(1).map(([, id]) => id));
});

test('with keys in percent-encoding', async () => {
  const listed = await list({ EncodingType: 'url', Prefix: 'é' });
  expect(listed).toMatchObject({ EncodingType: 'url', Prefix: '%C3%A9', Uploads: [{ Key: '%C3%A9' }] });
});

test('refuses a missing bucket and invalid arguments', async () => {
  await expect(list({ Bucket: 'absent' })).rejects.toMatchObject({ name: 'NoSuchBucket' });
  for (const query of [{ 'max-uploads': 'x' }, { 'encoding-type': 'xml' }]) {
    const answer = await send('GET', store.presign('GET', '', { query: { uploads: '', ...query } }));
    expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
  }
  const long = await send('GET', store.presign('GET', '', { query: { uploads: '', prefix: 'k'.repeat(5000) } }));
  expect([long.status, long.text.includes('<Upload>')]).toEqual([200, false]);
  expect((await list({ MaxUploads: 0 })).IsTruncated).toBe(false);
});

test('names the checksum that an upload was started with', async () => {
  const Bucket = 'checked';
  await store.client.send(new CreateBucketCommand({ Bucket }));
  const upload = { Bucket, Key: 'a', ChecksumAlgorithm: 'CRC32' as const, ChecksumType: 'FULL_OBJECT' as const };
  await store.client.send(new CreateMultipartUploadCommand(upload));
  const { Uploads = [] } = await list({ Bucket });
  expect(Uploads).toMatchObject([{ ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' }]);
});
