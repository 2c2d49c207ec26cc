import { UploadPartCopyCommand, type UploadPartCopyCommandInput } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginUpload, complete, md5, partBytes, partOf, sendPart, uploadInParts } from '../../test/multipart.ts';
import { bucket, send, startStore, type TestStore } from '../../test/running-store.ts';

let store: TestStore;
let uploadId = '';
const bodies = [partOf(partBytes, 1), partOf(partBytes, 2)];
const whole = Buffer.concat(bodies);
beforeAll(async () => {
  store = await startStore();
  await uploadInParts(store, 'source', bodies);
  uploadId = await beginUpload(store, 'key');
});
afterAll(() => store.close());

const copy = (partNumber: number, more: Partial<UploadPartCopyCommandInput> = {}) => {
  const named = { Bucket: bucket, Key: 'key', UploadId: uploadId, PartNumber: partNumber };
  return store.client.send(new UploadPartCopyCommand({ ...named, CopySource: `${bucket}/source`, ...more }));
};

test('parts copied from ranges of another object and parts that are sent make one object', async () => {
  const range = { CopySourceRange: `bytes=100-${partBytes + 99}` };
  const first = await copy(1, range);
  const bytes = whole.subarray(100, partBytes + 100);
  expect(first.CopyPartResult?.ETag).toBe(`"${md5(bytes)}"`);
  const second = await copy(2);
  expect(second.CopyPartResult?.ETag).toBe(`"${md5(whole)}"`);
  const third = await sendPart(store, 'key', uploadId, 3, 'end');
  const named = [first, second].map(({ CopyPartResult }, at) => ({
    PartNumber: at + 1,
    ETag: CopyPartResult?.ETag ?? '',
  }));
  await complete(store, 'key', uploadId, [...named, third]);
  const got = await send('GET', store.presign('GET', 'key'));
  expect(md5(got.body)).toBe(md5(Buffer.concat([bytes, whole, Buffer.from('end')])));
});

describe('refuses, and stores nothing', () => {
  beforeAll(async () => {
    uploadId = await beginUpload(store, 'key');
  });

  test.each(['bytes=0-99999999', 'bytes=5-2', 'bytes=0-', 'bytes=-5', 'bytes=0-1,3-4', '0-1', ''])(
    'the range "%s"',
    async (range) => {
      const headers = { 'x-amz-copy-source': `${bucket}/source`, 'x-amz-copy-source-range': range };
      const url = store.presign('PUT', 'key', { query: { partNumber: '1', uploadId }, headers });
      const files = store.files().length;
      const answer = await send('PUT', url, { headers });
      expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
      expect(store.files()).toHaveLength(files);
    },
  );

  test('a missing source, and a condition that is not met', async () => {
    await expect(copy(1, { CopySource: `${bucket}/absent` })).rejects.toMatchObject({ name: 'NoSuchKey' });
    await expect(copy(1, { UploadId: '0'.repeat(44) })).rejects.toMatchObject({ name: 'NoSuchUpload' });
    await expect(copy(0)).rejects.toMatchObject({ name: 'InvalidArgument' });
    await expect(copy(1, { CopySourceIfMatch: '"other"' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });

  test('a copy that was not signed, on a presigned part', async () => {
    const url = store.presign('PUT', 'key', { query: { partNumber: '1', uploadId } });
    const answer = await send('PUT', url, { headers: { 'x-amz-copy-source': `${bucket}/source` } });
    expect([answer.status, answer.code]).toEqual([403, 'AccessDenied']);
  });

  test('a range that was not signed', async () => {
    const headers = { 'x-amz-copy-source': `${bucket}/source` };
    const url = store.presign('PUT', 'key', { query: { partNumber: '1', uploadId }, headers });
    const answer = await send('PUT', url, { headers: { ...headers, 'x-amz-copy-source-range': 'bytes=0-1' } });
    expect([answer.status, answer.code]).toEqual([403, 'AccessDenied']);
  });
});
