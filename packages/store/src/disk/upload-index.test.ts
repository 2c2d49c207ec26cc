import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bucket, folderOfTest } from '../../test/running-store.ts';
import { openBlobs } from './blobs.ts';
import { type IndexDb, openIndexDb } from './index-db.ts';
import { openReaper } from './reaper.ts';
import type { LetGo } from './upload-index.ts';

const partsOfEach = 90;
const partNumbers = Array.from({ length: partsOfEach }, (_, at) => at + 1);
const silent = () => undefined;

async function openIndex(folder: string): Promise<IndexDb> {
  const index = await openIndexDb(join(folder, 'index'));
  onTestFinished(() => index.close());
  await index.createBucket(bucket, { createdAt: 1 });
  return index;
}

/** Uploads with 90 parts each, whose ids are their keys. */
async function makeUploads(index: IndexDb, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const name = { bucket, key, uploadId: key };
    await index.uploads.create(name, { initiatedAt: 1, headers: {}, metadata: {} });
    const putPart = (number: number) => {
      const part = { blob: `00000001-${key}-${number}`, size: 1, etag: 'e', lastModified: 1 };
      return index.uploads.putPart(name, number, part);
    };
    await Promise.all(partNumbers.map(putPart));
  }
}

async function complete(index: IndexDb, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const record = { size: partsOfEach, etag: 'e', lastModified: 1, headers: {}, metadata: {} };
    const multipart = { uploadId: key, parts: partsOfEach };
    const assembled = { record: { ...record, multipart }, partNumbers: new Set(partNumbers) };
    await index.uploads.complete({ bucket, key, uploadId: key }, () => assembled);
  }
}

/** How many blobs were released, and the uploads whose parts are to be released later. */
function countReleased(removed: readonly LetGo[]): [blobs: number, later: unknown[]] {
  return [
    removed.filter((each) => typeof each === 'string').length,
    removed.filter((each) => typeof each !== 'string'),
  ];
}

test('a transaction that removes objects releases 200 parts at most, whoever shares it', async () => {
  const index = await openIndex(folderOfTest());
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  await makeUploads(index, keys);
  await complete(index, keys);
  const remove = async (...names: string[]) => {
    const { removed } = await index.deleteObjects(
      bucket,
      names.map((key) => ({ key })),
    );
    return countReleased(removed);
  };
  expect(await Promise.all([remove('a', 'b', 'c'), remove('d')])).toEqual([
    [180, [{ partsOf: 'c' }]],
    [0, [{ partsOf: 'd' }]],
  ]);
  expect(await remove('e')).toEqual([90, []]);
  expect(index.uploads.doomedUploads()).toEqual(['c', 'd']);
  for (const uploadId of ['c', 'd']) expect(await index.uploads.letGoParts(uploadId)).toHaveLength(90);
  expect([index.uploads.doomedUploads(), index.blobs.count()]).toEqual([[], partsOfEach]);
});

test('the deletion of a bucket with uploads under way releases 200 parts at most', async () => {
  const index = await openIndex(folderOfTest());
  await makeUploads(index, ['a', 'b', 'c']);
  const { outcome, removed } = await index.deleteBucket(bucket);
  expect([outcome, countReleased(removed)]).toEqual(['deleted', [180, [{ partsOf: 'c' }]]]);
});

test('a bucket with many uploads under way is deleted in turns, and stays if an object arrives meanwhile', async () => {
  const index = await openIndex(folderOfTest());
  const begin = (key: string) =>
    index.uploads.create({ bucket, key, uploadId: key }, { initiatedAt: 1, headers: {}, metadata: {} });
  await Promise.all(Array.from({ length: 1200 }, (_, at) => begin(`${at}`)));
  const left = () => [...index.uploads.listFrom(bucket, Buffer.alloc(0))].length;
  const outcome = async () => (await index.deleteBucket(bucket)).outcome;
  expect([await outcome(), left()]).toEqual(['begun', 700]);
  await index.putObject(bucket, 'a', { size: 1, etag: 'e', lastModified: 1, headers: {}, metadata: {}, blob: '1-a' });
  expect([await outcome(), left()]).toEqual(['not-empty', 700]);
  await index.deleteObjects(bucket, [{ key: 'a' }]);
  expect([await outcome(), await outcome(), await outcome()]).toEqual(['begun', 'deleted', 'absent']);
  expect(left()).toBe(0);
});

test('what is left of uploads that are removed at once is released one after the other', async () => {
  const folder = folderOfTest();
  const index = await openIndex(folder);
  const blobs = await openBlobs({
    folder,
    openGeneration: 0,
    isKnown: () => true,
    onSetAside: silent,
    onGenerationsSettled: silent,
  });
  onTestFinished(() => blobs.close());
  let releasing = 0;
  let atOnce = 0;
  const letGoParts = async (uploadId: string) => {
    releasing += 1;
    atOnce = Math.max(atOnce, releasing);
    const released = await index.uploads.letGoParts(uploadId);
    releasing -= 1;
    return released;
  };
  const watched = { ...index, uploads: { ...index.uploads, letGoParts } };
  const reaper = await openReaper(watched, blobs, silent, silent);
  const keys = ['a', 'b', 'c', 'd', 'e'];
  await makeUploads(index, keys);
  await complete(index, keys);
  await Promise.all(
    keys.map(async (key) => {
      const { removed } = await index.deleteObjects(bucket, [{ key }]);
      await reaper.remove(removed);
    }),
  );
  await reaper.close();
  expect([index.uploads.doomedUploads(), index.blobs.count(), atOnce]).toEqual([[], 0, 1]);
});
