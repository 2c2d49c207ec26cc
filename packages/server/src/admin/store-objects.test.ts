import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../test/service.ts';
import { copyObject } from './objects.ts';
import { storeObject } from './store-objects.ts';

test('an empty object that a tool has uploaded in parts is stored again whole', async () => {
  const { objects, close } = await openTestStore({ presignTtlSeconds: 900 }, Date.now);
  onTestFinished(close);
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-store-objects-'));
  onTestFinished(() => rm(folder, { recursive: true }));
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
