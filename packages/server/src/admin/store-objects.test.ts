import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../test/service.ts';
import { copyObject } from './objects.ts';
import { storeObject } from './store-objects.ts';

/** A store, and a folder for copies of its objects. */
async function open() {
  const { objects, close } = await openTestStore({ presignTtlSeconds: 900 }, Date.now);
  onTestFinished(close);
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-store-objects-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return { objects, folder };
}

test('an empty object that a tool has uploaded in parts is stored again whole', async () => {
  const { objects, folder } = await open();
  const storeKey = 'empty';
  const uploadId = await objects.createMultipart(storeKey);
  const nothing = { sizeBytes: 0, sha256: createHash('sha256').digest('hex'), open: () => Readable.from([]) };
  const etag = await objects.putPart(storeKey, { uploadId, partNumber: 1 }, nothing);
  expect(await objects.completeMultipart(storeKey, uploadId, [{ partNumber: 1, etag }])).toBe('completed');
  const made = await objects.head(storeKey);
  expect(made).toEqual({ sizeBytes: 0, etag: expect.stringMatching(/-1$/) });
  const recorded = { storeKey, sizeBytes: 0, etag: made?.etag ?? '', sha256: undefined };
  const listed = await copyObject(folder, objects, recorded, undefined, () => undefined);
  await objects.remove([storeKey]);
  const again = await storeObject(folder, objects, listed, () => undefined);
  expect(await objects.head(storeKey)).toEqual({ sizeBytes: 0, etag: again });
});

test('an object in parts is stored again also if the answer of the store that has joined them was lost', async () => {
  const { objects, folder } = await open();
  const storeKey = 'parts';
  const uploadId = await objects.createMultipart(storeKey);
  const parts: { partNumber: number; etag: string }[] = [];
  for (const bytes of [randomBytes(8 * 1024 ** 2), randomBytes(1000)]) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const content = { sizeBytes: bytes.length, sha256, open: () => Readable.from([bytes]) };
    const partNumber = parts.length + 1;
    parts.push({ partNumber, etag: await objects.putPart(storeKey, { uploadId, partNumber }, content) });
  }
  await objects.completeMultipart(storeKey, uploadId, parts);
  const made = await objects.head(storeKey);
  const recorded = { storeKey, sizeBytes: 8 * 1024 ** 2 + 1000, etag: made?.etag ?? '', sha256: undefined };
  const listed = await copyObject(folder, objects, recorded, undefined, () => undefined);
  await objects.remove([storeKey]);
  const forgetful: typeof objects = {
    ...objects,
    async completeMultipart(...args) {
      await objects.completeMultipart(...args);
      return 'unknown';
    },
  };
  expect(await storeObject(folder, forgetful, listed, () => undefined)).toBe(recorded.etag);
  expect(await objects.head(storeKey)).toEqual(made);
  await objects.remove([storeKey]);
  const lost: typeof objects = { ...objects, completeMultipart: async () => 'unknown' };
  await expect(storeObject(folder, lost, listed, () => undefined)).rejects.toThrow('does not know the upload');
});
