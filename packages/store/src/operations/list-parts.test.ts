import { ListPartsCommand, NoSuchUpload } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginUpload, md5, sendPart } from '../../test/multipart.ts';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
let uploadId = '';
const numbers = [1, 2, 9, 10, 99, 100, 1000, 9999, 10_000];
beforeAll(async () => {
  store = await startStore();
  uploadId = await beginUpload(store, 'key');
  await Promise.all(numbers.toReversed().map((at) => sendPart(store, 'key', uploadId, at, `part ${at}`)));
});
afterAll(() => store.close());

const list = (more = {}) =>
  store.client.send(new ListPartsCommand({ Bucket: bucket, Key: 'key', UploadId: uploadId, ...more }));

test('lists parts by their numbers', async () => {
  const listed = await list();
  expect(listed).toMatchObject({ Bucket: bucket, Key: 'key', UploadId: uploadId, IsTruncated: false, MaxParts: 1000 });
  expect(listed.Parts?.map(({ PartNumber, ETag, Size }) => [PartNumber, ETag, Size])).toEqual(
    numbers.map((at) => [at, `"${md5(`part ${at}`)}"`, `part ${at}`.length]),
  );
  expect(listed.Owner?.ID).toBe(listed.Initiator?.ID);
});

test.each([1, 2, 3, 9])('in pages of %i', async (size) => {
  const found: (number | undefined)[] = [];
  let marker: string | undefined;
  do {
    const page = await list({ MaxParts: size, ...(marker === undefined ? {} : { PartNumberMarker: marker }) });
    expect(page.Parts?.length).toBeLessThanOrEqual(size);
    found.push(...(page.Parts ?? []).map(({ PartNumber }) => PartNumber));
    marker = page.IsTruncated ? page.NextPartNumberMarker : undefined;
  } while (marker !== undefined);
  expect(found).toEqual(numbers);
});

test('no parts, and a marker past the end', async () => {
  expect((await list({ MaxParts: 0 })).IsTruncated).toBe(false);
  expect((await list({ PartNumberMarker: '10000' })).Parts ?? []).toEqual([]);
  const empty = await beginUpload(store, 'empty');
  expect((await list({ Key: 'empty', UploadId: empty })).Parts ?? []).toEqual([]);
});

test('refuses an unknown upload, and arguments that are not numbers', async () => {
  await expect(list({ UploadId: '0'.repeat(44) })).rejects.toThrow(NoSuchUpload);
  await expect(list({ Key: 'other' })).rejects.toThrow(NoSuchUpload);
  for (const query of [{ 'max-parts': '-1' }, { 'part-number-marker': 'x' }]) {
    const answer = await send('GET', store.presign('GET', 'key', { query: { uploadId, ...query } }));
    expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
  }
});
