import { maxBulkIds } from '@cadiz/contract';
import { expect, test } from 'vitest';
import { amountOf, changeMany, type Item, type ItemIds } from './change-many.ts';

const items: Item[] = Array.from({ length: 2 * maxBulkIds + 1 }, (_, index) => ({
  kind: index % 2 === 0 ? 'file' : 'folder',
  id: String(index),
}));

test('batches are as large as the service takes, in order, and their counts are added up', async () => {
  const batches: ItemIds[] = [];
  const outcome = await changeMany(items, async (ids) => {
    const restored = [{ id: String(batches.push(ids)), movedToRoot: true, renamedFrom: null }];
    return { files: ids.fileIds.length, folders: ids.folderIds.length, bytes: 10, restored };
  });
  expect(batches.map(amountOf)).toEqual([maxBulkIds, maxBulkIds, 1]);
  expect(batches.map(({ fileIds }) => fileIds[0])).toEqual(['0', String(maxBulkIds), String(2 * maxBulkIds)]);
  expect(outcome.changed).toMatchObject({ files: maxBulkIds + 1, folders: maxBulkIds, bytes: 30 });
  expect(outcome.changed.restored?.map(({ id }) => id)).toEqual(['1', '2', '3']);
  expect([amountOf(outcome.done), outcome.failure]).toEqual([items.length, undefined]);
});

test('a failure after the first batch ends it, with what was done', async () => {
  const error = new Error('no');
  let batches = 0;
  const outcome = await changeMany(items, async () => {
    if (++batches === 2) throw error;
    return { files: 7, folders: 0, bytes: 0 };
  });
  expect(batches).toBe(2);
  expect(outcome).toMatchObject({ changed: { files: 7, folders: 0, bytes: 0 }, failure: { error } });
  expect(amountOf(outcome.done)).toBe(maxBulkIds);
});

test('a failure of the first batch is thrown', async () => {
  await expect(changeMany(items, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
});
