import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, type Library, startLibrary, tally } from '../../../test/library.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

const remove = (id: string) => library.call('DELETE', `/api/storage/files/${id}`);
const restore = (id: string) => library.call('POST', `/api/storage/files/${id}/restore`);
const get = (id: string) => library.call('GET', `/api/storage/files/${id}`);

test('a deleted file is in no listing, keeps its object, and can be restored unchanged', async () => {
  const folderId = await library.folder();
  const file = await library.file(folderId);
  const { status, body } = await remove(file.id);
  expect(status).toBe(200);
  expect(body).toEqual({ id: file.id, deleted: true, restorableUntil: expect.any(String) });

  await expectProblem(get(file.id), 404, 'file_not_found');
  expect((await library.listed(folderId)).files).toEqual([]);
  expect((await library.listed()).files).not.toContain(file.id);
  expect(await library.service.deps.objects.head(file.storeKey)).toBeDefined();

  library.service.advance(5);
  const restored = await restore(file.id);
  expect(restored.body).toEqual({
    ...file,
    updatedAt: expect.any(String),
    restored: { movedToRoot: false, renamedFrom: null },
  });
  expect(restored.body.updatedAt > file.updatedAt).toBe(true);
  expect((await library.listed(folderId)).files).toEqual([file.id]);
});

test('a second deletion is 404, and one of twenty at once succeeds', async () => {
  const { id } = await library.file();
  const answers = await Promise.all(Array.from({ length: 20 }, () => remove(id)));
  expect(tally(answers)).toEqual({ '200': 1, '404 file_not_found': 19 });
  await expectProblem(remove(id), 404, 'file_not_found');
});

test('a file is never missing for a restore while others delete it', async () => {
  const { id } = await library.file();
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? restore(id) : remove(id).then(() => undefined))),
  );
  expect(tally(answers.filter((answer) => answer !== undefined))).toEqual({ '200': 50 });
});

test('a file whose folder is in the trash is restored to the root, and stays there', async () => {
  const [a, b] = [await library.folder(), await library.folder()];
  const [first, second] = [await library.file(a), await library.file(b)];
  await remove(first.id);
  await remove(second.id);
  await library.call('DELETE', `/api/storage/folders/${a}`);
  const expected = { folderId: null, restored: { movedToRoot: true, renamedFrom: null } };
  expect((await restore(first.id)).body).toMatchObject(expected);
  // It stays there even when its folder is restored.
  await library.call('POST', `/api/storage/folders/${a}/restore`);
  expect((await get(first.id)).body.folderId).toBeNull();
  expect((await restore(second.id)).body).toMatchObject({ folderId: b, restored: { movedToRoot: false } });
});

test('a file deleted with its folder is 404, and is restored with it', async () => {
  const folderId = await library.folder();
  const { id } = await library.file(folderId);
  await library.call('DELETE', `/api/storage/folders/${folderId}?recursive=true`);
  await expectProblem(restore(id), 404, 'file_not_found');
  await library.call('POST', `/api/storage/folders/${folderId}/restore`);
  expect((await get(id)).status).toBe(200);
});

test('restoring a file that is not in the trash returns it unchanged, and a missing file is 404', async () => {
  const file = await library.file();
  const there = { ...file, restored: { movedToRoot: false, renamedFrom: null } };
  expect((await restore(file.id)).body).toEqual(there);
  await expectProblem(restore(randomUUID()), 404, 'file_not_found');
  await expectProblem(restore('no-uuid'), 400, 'invalid_request');
  await expectProblem(remove('no-uuid'), 400, 'invalid_request');
});

test('restoring a file too late is 404', async () => {
  const other = await startLibrary({ TRASH_RETENTION_DAYS: '1' });
  const { id } = await other.file();
  const { body } = await other.call('DELETE', `/api/storage/files/${id}`);
  other.service.advance(86_400_000 + 1);
  expect(Date.parse(body.restorableUntil)).toBeLessThan(other.service.deps.now());
  await expectProblem(other.call('POST', `/api/storage/files/${id}/restore`), 404, 'file_not_found');
  expect(await other.trash()).toEqual([]);
  await other.service.close();
});

test('recording a deleted file again reports that it is deleted, and does not restore it', async () => {
  const recording = await library.service.upload(library, library.projectId, Buffer.from('x'));
  const { body: file } = await library.call('POST', '/api/storage/record', recording);
  await remove(file.id);
  await expectProblem(library.call('POST', '/api/storage/record', recording), 409, 'file_deleted');
  await expectProblem(get(file.id), 404, 'file_not_found');
});
