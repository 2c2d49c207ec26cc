import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, startLibrary } from '../../../test/library.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

const patch = (id: unknown, body: unknown) => library.call('PATCH', `/api/storage/files/${id}`, body);
const get = (id: unknown) => library.call('GET', `/api/storage/files/${id}`);

describe('a file', () => {
  test('is returned as it was recorded', async () => {
    const file = await library.file();
    expect((await get(file.id)).body).toEqual(file);
    expect((await get(file.id.toUpperCase())).body).toEqual(file);
    await expectProblem(get(randomUUID()), 404, 'file_not_found');
    await expectProblem(get('root'), 400, 'invalid_request');
  });

  test('can be renamed, with a new updatedAt and the same object', async () => {
    const file = await library.file();
    library.service.advance(5);
    const { status, body } = await patch(file.id, { fileName: '100% + #1 写真.png' });
    expect(status).toBe(200);
    expect(body).toEqual({ ...file, fileName: '100% + #1 写真.png', updatedAt: expect.any(String) });
    expect(body.updatedAt > file.updatedAt).toBe(true);
    expect((await get(file.id)).body).toEqual(body);
    expect(await library.service.deps.objects.head(file.storeKey)).toBeDefined();
  });

  test('is sorted and found by its new name', async () => {
    const file = await library.file();
    await patch(file.id, { fileName: 'Straße.txt' });
    const { rows } = await library.service.deps.db.pool.query('select name_key from files where id = $1', [file.id]);
    expect(rows).toEqual([{ name_key: 'STRASSE.TXT' }]);
  });

  test('may have the same name as another file in its folder', async () => {
    const folderId = await library.folder();
    const [a, b] = [await library.file(folderId, 1, 'a'), await library.file(folderId, 1, 'b')];
    expect((await patch(b.id, { fileName: a.fileName })).body.fileName).toBe('a');
  });

  test('can move into a folder, and back to the root with a new name', async () => {
    const file = await library.file();
    const folderId = await library.folder();
    expect((await patch(file.id, { folderId, fileName: 'b' })).body).toMatchObject({ folderId, fileName: 'b' });
    expect(await library.listed(folderId)).toEqual({ files: [file.id], folders: [] });
    expect((await patch(file.id, { folderId: null })).body).toMatchObject({ folderId: null, fileName: 'b' });
    expect(await library.listed(folderId)).toEqual({ files: [], folders: [] });
  });

  test('cannot move into a folder that is missing, in the trash or in another project', async () => {
    const file = await library.file();
    const trashed = await library.folder();
    await library.call('DELETE', `/api/storage/folders/${trashed}`);
    const body = { projectId: await library.service.createProject(library.ada), name: 'Foreign', parentId: null };
    const foreign = await library.service.call('POST', '/api/storage/folders', { as: library.ada, body });
    for (const folderId of [randomUUID(), trashed, foreign.body.id]) {
      await expectProblem(patch(file.id, { folderId, fileName: 'x' }), 404, 'folder_not_found');
    }
    expect((await get(file.id)).body).toEqual(file);
  });

  test('cannot move into a folder that has just been deleted, even if another process still has it cached', async () => {
    const file = await library.file();
    const folderId = await library.folder();
    await library.file(folderId);
    await library.service.deps.db.pool.query(
      'update folders set trash_id = id, trashed_at = now() where project_id = $1 and id = $2',
      [library.projectId, folderId],
    );
    await expectProblem(patch(file.id, { folderId }), 404, 'folder_not_found');
    expect((await get(file.id)).body).toEqual(file);
  });

  test('that moves into an empty folder while it is being deleted is either in it or refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      const file = await library.file();
      const folderId = await library.folder();
      const [moved, removed] = await Promise.all([
        patch(file.id, { folderId }),
        library.call('DELETE', `/api/storage/folders/${folderId}`),
      ]);
      expect([moved.status, removed.status].sort()).toEqual(moved.status === 200 ? [200, 409] : [200, 404]);
    }
  });
});

test.each([
  ['nothing', {}, ''],
  ['a storeKey', { storeKey: 'x' }, ''],
  ['a name with a backslash', { fileName: 'a\\b' }, 'fileName'],
  ['null as its name', { fileName: null }, 'fileName'],
  ['root as its folder', { folderId: 'root' }, 'folderId'],
])('%s is 400', async (_what, body, path) => {
  const file = await library.file();
  const answer = await expectProblem(patch(file.id, body), 400, 'invalid_request');
  expect(answer.body.issues).toMatchObject([{ path }]);
  expect((await get(file.id)).body).toEqual(file);
});

test('that is missing or in the trash is 404', async () => {
  const { id } = await library.file();
  await library.call('DELETE', `/api/storage/files/${id}`);
  await expectProblem(patch(id, { fileName: 'x' }), 404, 'file_not_found');
  await expectProblem(patch(randomUUID(), { fileName: 'x' }), 404, 'file_not_found');
});
