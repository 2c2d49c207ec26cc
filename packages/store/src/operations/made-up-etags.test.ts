import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CopyObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { md5, partBytes, partOf } from '../../test/multipart.ts';
import { type Answer, bucket, send, startStore, type TestStore } from '../../test/running-store.ts';
import { checksumAlgorithms, checksumOf } from '../disk/checksum.ts';
import { checksumHeader } from '../protocol/checksum-header.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
});
afterAll(() => store.close());

const large = randomBytes(1024 * 1024);
const madeUp = /^"[0-9a-f]{32}-1"$/;

function put(key: string, body: Buffer, headers: Record<string, string> = {}, query: Record<string, string> = {}) {
  return send('PUT', store.presign('PUT', key, { headers, query }), { headers, body });
}
const checked = (body: Buffer, algorithm: (typeof checksumAlgorithms)[number] = 'SHA256') => ({
  [checksumHeader(algorithm)]: checksumOf(algorithm, body),
});
const etagOf = ({ status, headers }: Answer) => (status === 200 ? headers.etag : status);

describe('the ETag', () => {
  test.each(checksumAlgorithms.filter((algorithm) => algorithm !== 'MD5'))(
    'of a large body with its %s does not look like an MD5',
    async (algorithm) => {
      const etag = etagOf(await put('large', large, checked(large, algorithm)));
      expect(etag).toMatch(madeUp);
      const got = await send('GET', store.presign('GET', 'large'));
      expect([got.headers.etag, md5(got.body)]).toEqual([etag, md5(large)]);
      const unchanged = await send('GET', store.presign('GET', 'large'), {
        headers: { 'if-none-match': String(etag) },
      });
      expect(unchanged.status).toBe(304);
      // The same bytes again are another upload.
      expect(etagOf(await put('large', large, checked(large, algorithm)))).not.toBe(etag);
    },
  );

  test('is the MD5 of a large body without a checksum, of a small one, and of one that comes with its MD5', async () => {
    const contentMd5 = { 'content-md5': Buffer.from(md5(large), 'hex').toString('base64') };
    const small = large.subarray(1);
    expect(etagOf(await put('plain', large))).toBe(`"${md5(large)}"`);
    expect(etagOf(await put('checked', large, checked(large, 'MD5')))).toBe(`"${md5(large)}"`);
    expect(etagOf(await put('small', small, checked(small)))).toBe(`"${md5(small)}"`);
    expect(etagOf(await put('both', large, { ...checked(large), ...contentMd5 }))).toBe(`"${md5(large)}"`);
  });

  test('of a copy is the MD5', async () => {
    await put('source', large, checked(large));
    const { CopyObjectResult } = await store.client.send(
      new CopyObjectCommand({ Bucket: bucket, Key: 'copy', CopySource: `${bucket}/source` }),
    );
    expect(CopyObjectResult?.ETag).toBe(`"${md5(large)}"`);
  });
});

describe('a flipped bit in bytes without an MD5', () => {
  /** Flips a bit of the one new file, and calls `look` before it is flipped back. */
  async function whenFlipped(upload: () => Promise<unknown>, look: () => Promise<unknown>): Promise<void> {
    const before = new Set(store.files());
    await upload();
    const [file = ''] = store.files().filter((name) => !before.has(name));
    const [, blob = ''] = file.split('/');
    const path = join(store.folder, 'blobs', blob.slice(0, 8), blob);
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([Buffer.from([(bytes[0] ?? 0) ^ 1]), bytes.subarray(1)]));
    await look();
    writeFileSync(path, bytes);
  }

  const copy = (key: string) =>
    store.client.send(new CopyObjectCommand({ Bucket: bucket, Key: 'copy', CopySource: `${bucket}/${key}` }));

  test('of an object keeps it from being copied', async () => {
    await whenFlipped(
      () => put('rotten', large, checked(large)),
      () => expect(copy('rotten')).rejects.toMatchObject({ name: 'InternalError' }),
    );
    await copy('rotten');
  });

  test('of a part keeps the object from being copied', async () => {
    const part = partOf(partBytes, 1);
    const begun = await send('POST', store.presign('POST', 'in parts', { query: { uploads: '' } }));
    const [, uploadId = ''] = /<UploadId>(.*)<\/UploadId>/.exec(begun.text) ?? [];
    await whenFlipped(
      async () => {
        const etag = etagOf(await put('in parts', part, checked(part), { uploadId, partNumber: '1' }));
        expect(etag).toMatch(madeUp);
        const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
        const url = store.presign('POST', 'in parts', { query: { uploadId } });
        expect((await send('POST', url, { body })).status).toBe(200);
      },
      () => expect(copy('in parts')).rejects.toMatchObject({ name: 'InternalError' }),
    );
    await copy('in parts');
  });
});
