import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { expectProblem, type Library, startLibrary, tally } from '../../../test/library.ts';
import { toNumbered } from '../../tree/restore-tree.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

const remove = (id: string) => library.call('DELETE', `/api/storage/folders/${id}?recursive=true`);
const restore = (id: string) => library.call('POST', `/api/storage/folders/${id}/restore`);
const get = async (id: string) => (await library.call('GET', `/api/storage/folders/${id}`)).body;
const asBefore = { movedToRoot: false, renamedFrom: null };

describe('a folder is restored', () => {
  test('to its place, with everything deleted with it', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    const file = await library.file(inner);
    const before = await get(outer);
    await remove(outer);
    library.service.advance(10);
    const { status, body } = await restore(outer);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, updatedAt: expect.any(String), restored: asBefore });
    expect(body.updatedAt > before.updatedAt).toBe(true);
    expect(await library.listed(outer)).toEqual({ files: [], folders: [inner] });
    expect((await library.call('GET', `/api/storage/files/${file.id}`)).body).toEqual(file);
    expect(await library.trash()).toEqual([]);
  });

  test('without anything that was in the trash before', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    const [kept, gone] = [await library.file(outer), await library.file(outer)];
    await remove(inner);
    await library.call('DELETE', `/api/storage/files/${gone.id}`);
    await remove(outer);
    await restore(outer);
    expect(await library.listed(outer)).toEqual({ files: [kept.id], folders: [] });
    expect((await restore(inner)).body).toMatchObject({ parentId: outer, restored: asBefore });
    const { body } = await library.call('POST', `/api/storage/files/${gone.id}/restore`);
    expect(body).toMatchObject({ folderId: outer, restored: asBefore });
  });

  test('to the root if its parent is in the trash', async () => {
    const [outer = '', inner = '', innermost = ''] = await library.chain(3, await library.folder());
    await remove(inner);
    await remove(outer);
    const { body } = await restore(inner);
    expect(body).toMatchObject({ id: inner, parentId: null, restored: { movedToRoot: true, renamedFrom: null } });
    expect(await library.listed(inner)).toEqual({ files: [], folders: [innermost] });
    // Its parent is restored without it.
    await restore(outer);
    expect(await library.listed(outer)).toEqual({ files: [], folders: [] });
  });

  test('to the root if it would be too deep in its place', async () => {
    const [mover = '', inner = ''] = await library.chain(2, await library.folder());
    await library.folder('Innermost', inner);
    await remove(inner);
    const deep = await library.chain(30, await library.folder());
    await library.call('PATCH', `/api/storage/folders/${mover}`, { parentId: deep.at(-1) });
    const { body } = await restore(inner);
    expect(body).toMatchObject({ parentId: null, restored: { movedToRoot: true } });
  });

  test('under a free name if its own is taken', async () => {
    const parentId = await library.folder();
    const id = await library.folder('Été', parentId);
    await remove(id);
    await library.folder('ÉTÉ', parentId);
    await library.folder('été (2)', parentId);
    const { body } = await restore(id);
    expect(body).toMatchObject({ name: 'Été (3)', restored: { movedToRoot: false, renamedFrom: 'Été' } });
    expect(await get(id)).toMatchObject({ name: 'Été (3)' });
  });

  test('under a free name, in the root too', async () => {
    const name = randomUUID();
    const outer = await library.folder();
    const inner = await library.folder(name, outer);
    await remove(inner);
    await remove(outer);
    await library.folder(name.toUpperCase());
    const { body } = await restore(inner);
    expect(body).toMatchObject({
      parentId: null,
      name: `${name} (2)`,
      restored: { movedToRoot: true, renamedFrom: name },
    });
  });

  const many = series({ full: 150, ci: 60, short: 30 });
  test(`under a free name after ${many} others`, async () => {
    const parentId = await library.folder();
    const ids: string[] = [];
    for (let n = 0; n < many; n += 1) {
      const id = await library.folder('Same', parentId);
      await remove(id);
      ids.push(id);
    }
    for (const id of ids) expect((await restore(id)).status).toBe(200);
    const names = await Promise.all(ids.map(async (id) => (await get(id)).name));
    expect(names).toEqual(['Same', ...Array.from({ length: many - 1 }, (_, n) => `Same (${n + 2})`)]);
  });

  test('under a free name where more than a hundred are taken', async () => {
    const parentId = await library.folder();
    const id = await library.folder('Same', parentId);
    await remove(id);
    const taken = ['Same', ...Array.from({ length: 119 }, (_, n) => `Same (${n + 2})`)];
    for (const paths of [taken.slice(0, 60), taken.slice(60)]) {
      const { projectId } = library;
      const made = await library.call('POST', '/api/storage/folders/ensure', { projectId, parentId, paths });
      expect(made.status).toBe(200);
    }
    expect((await restore(id)).body).toMatchObject({ name: 'Same (121)', restored: { renamedFrom: 'Same' } });
  });

  test('ready for uploads and moves', async () => {
    const id = await library.folder();
    await remove(id);
    await restore(id);
    await library.file(id);
    expect(
      (await library.call('PATCH', `/api/storage/folders/${id}`, { parentId: await library.folder() })).status,
    ).toBe(200);
  });
});

test('a name with a number is still a valid folder name', () => {
  expect(toNumbered('A', 1)).toBe('A');
  expect(toNumbered('A', 2)).toBe('A (2)');
  expect(toNumbered('x'.repeat(255), 12)).toBe(`${'x'.repeat(250)} (12)`);
  expect(toNumbered('👍'.repeat(63), 2)).toBe(`${'👍'.repeat(62)} (2)`);
});

test('restoring again, or restoring a folder that is not in the trash, returns it unchanged', async () => {
  const id = await library.folder();
  const before = await get(id);
  expect((await restore(id)).body).toEqual({ ...before, restored: asBefore });
  await remove(id);
  const first = await restore(id);
  expect((await restore(id)).body).toEqual(first.body);
});

test('twenty at once restore it once', async () => {
  const parentId = await library.folder();
  const id = await library.folder('Once', parentId);
  await remove(id);
  const answers = await Promise.all(Array.from({ length: 20 }, () => restore(id)));
  expect(tally(answers)).toEqual({ '200': 20 });
  expect(new Set(answers.map(({ body }) => body.name))).toEqual(new Set(['Once']));
});

test('a folder deleted with another one is 404, and is restored with it', async () => {
  const [outer = '', inner = ''] = await library.chain(2, await library.folder());
  await remove(outer);
  await expectProblem(restore(inner), 404, 'folder_not_found');
  await restore(outer);
  expect((await get(inner)).parentId).toBe(outer);
});

test('restoring too late is 404, and so is restoring a missing folder', async () => {
  const other = await startLibrary({ TRASH_RETENTION_DAYS: '2' });
  const id = await other.folder();
  await other.call('DELETE', `/api/storage/folders/${id}`);
  other.service.advance(2 * 86_400_000 - 60_000);
  const again = await other.folder();
  await other.call('DELETE', `/api/storage/folders/${again}`);
  expect((await other.trash()).map((entry) => entry.id)).toEqual([again, id]);
  other.service.advance(60_000);
  expect((await other.trash()).map((entry) => entry.id)).toEqual([again]);
  await expectProblem(other.call('POST', `/api/storage/folders/${id}/restore`), 404, 'folder_not_found');
  await other.service.close();
  await expectProblem(restore(randomUUID()), 404, 'folder_not_found');
  await expectProblem(restore('no-uuid'), 400, 'invalid_request');
});
