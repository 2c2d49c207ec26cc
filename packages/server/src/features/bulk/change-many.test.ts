import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary } from '../../../test/library.ts';
import { startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let library: Library;

beforeAll(async () => {
  service = await startTestService();
  library = await openLibrary(service);
});
afterAll(() => service.close());

const bulk = (body: object) => library.call('POST', '/api/storage/bulk', { projectId: library.projectId, ...body });

async function snapshot(): Promise<unknown> {
  const { rows } = await service.deps.db.pool.query(
    `select (select json_agg(t order by id) from folders t where project_id = $1) as folders,
            (select json_agg(t order by id) from files t where project_id = $1) as files,
            (select trash_emptied_at from projects where id = $1)`,
    [library.projectId],
  );
  return rows;
}

async function expectUnchanged<T>(work: () => Promise<T>): Promise<T> {
  const before = await snapshot();
  const result = await work();
  expect(await snapshot()).toEqual(before);
  return result;
}

/** A dry run gives the same answer and changes nothing. */
async function both(body: object) {
  const dry = await expectUnchanged(() => bulk({ ...body, dryRun: true }));
  const wet = await bulk(body);
  expect({ status: dry.status, body: dry.body }).toEqual({ status: wet.status, body: wet.body });
  return wet;
}

describe('delete', () => {
  test('deletes files and trees, and counts each once, however it was chosen', async () => {
    const above = await library.folder();
    const [outer = '', inner = ''] = await library.chain(2, above);
    const [inOuter, inInner, beside] = [
      await library.file(outer, 10),
      await library.file(inner, 100),
      await library.file(above, 1000),
    ];
    const { body } = await both({
      action: 'delete',
      fileIds: [inInner.id, beside.id, beside.id],
      folderIds: [inner, outer, outer.toUpperCase()],
    });
    expect(body).toEqual({ files: 3, folders: 2, bytes: 1110 });
    // The contents of a chosen folder went with it: the outermost folder and the file beside it are the entries.
    const entries = (await library.trash()).map(({ id, files }) => ({ id, files }));
    expect(entries).toHaveLength(2);
    expect(entries).toContainEqual({ id: outer, files: 2 });
    expect(entries).toContainEqual({ id: beside.id, files: 1 });
    await library.call('POST', `/api/storage/folders/${outer}/restore`);
    expect(await library.listed(outer)).toEqual({ files: [inOuter.id], folders: [inner] });
    expect(await library.listed(inner)).toEqual({ files: [inInner.id], folders: [] });
  });

  test('makes uploads into a deleted folder 404 at once, and a dry run does not', async () => {
    const folderId = await library.folder();
    const presign = () =>
      library.call('POST', '/api/storage/presign', {
        projectId: library.projectId,
        fileName: 'a',
        mimeType: 'text/plain',
        fileSize: 1,
        folderId,
      });
    await bulk({ action: 'delete', folderIds: [folderId], dryRun: true });
    expect((await presign()).status).toBe(200);
    await bulk({ action: 'delete', folderIds: [folderId] });
    await expectProblem(presign(), 404, 'folder_not_found');
  });
});

describe('move', () => {
  test('moves files and trees to a folder, and to the root', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    await library.file(inner, 3);
    const file = await library.file(null, 4);
    const target = await library.folder();
    const { body } = await both({ action: 'move', fileIds: [file.id], folderIds: [outer], folderId: target });
    expect(body).toEqual({ files: 2, folders: 2, bytes: 7 });
    expect(await library.listed(target)).toEqual({ files: [file.id], folders: [outer] });
    const back = await both({ action: 'move', fileIds: [file.id], folderIds: [], folderId: null });
    expect(back.body).toEqual({ files: 1, folders: 0, bytes: 4 });
    expect((await library.call('GET', `/api/storage/files/${file.id}`)).body.folderId).toBeNull();
  });

  test('puts a folder and one of its subfolders side by side', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    const target = await library.folder();
    const { body } = await both({ action: 'move', folderIds: [outer, inner], folderId: target });
    expect(body).toMatchObject({ folders: 2 });
    expect((await library.listed(target)).folders).toEqual([outer, inner].sort());
  });

  test('sets updatedAt', async () => {
    const [file, folder] = [await library.file(), await library.folder()];
    service.advance(5);
    await bulk({ action: 'move', fileIds: [file.id], folderIds: [folder], folderId: await library.folder() });
    expect((await library.call('GET', `/api/storage/files/${file.id}`)).body.updatedAt > file.updatedAt).toBe(true);
    const { body } = await library.call('GET', `/api/storage/folders/${folder}`);
    expect(body.updatedAt > body.createdAt).toBe(true);
  });

  test('into or below one of the folders is 409, and so is a place where they would be too deep', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    const other = await library.folder();
    for (const folderId of [outer, inner]) {
      await expectUnchanged(() =>
        expectProblem(bulk({ action: 'move', folderIds: [other, outer], folderId }), 409, 'folder_cycle'),
      );
    }
    const deep = await library.chain(31, await library.folder());
    await expectUnchanged(() =>
      expectProblem(bulk({ action: 'move', folderIds: [other], folderId: deep.at(-1) }), 409, 'folder_too_deep'),
    );
    await expectUnchanged(() =>
      expectProblem(bulk({ action: 'move', folderIds: [outer], folderId: deep.at(-2) }), 409, 'folder_too_deep'),
    );
    const file = await library.file();
    expect((await bulk({ action: 'move', fileIds: [file.id], folderId: deep.at(-1) })).status).toBe(200);
    // With the inner one taken out of it, the outer one fits.
    expect((await bulk({ action: 'move', folderIds: [outer, inner], folderId: deep.at(-2) })).status).toBe(200);
  });

  test('of two folders with the same name, or to a place where the name is taken, is 409', async () => {
    const [from, target] = [await library.folder(), await library.folder()];
    const [a, b] = [await library.folder('Same', from), await library.folder('SAME', await library.folder())];
    await expectUnchanged(() =>
      expectProblem(bulk({ action: 'move', folderIds: [a, b], folderId: target }), 409, 'folder_exists'),
    );
    await library.folder('same', target);
    const { body } = await expectUnchanged(() =>
      expectProblem(bulk({ action: 'move', folderIds: [a], folderId: target }), 409, 'folder_exists'),
    );
    expect(body.detail).toContain('"Same"');
    // A folder may stay where it is.
    expect((await bulk({ action: 'move', folderIds: [a], folderId: from })).status).toBe(200);
  });

  test('to a missing folder, or one in the trash, is 404', async () => {
    const file = await library.file();
    const trashed = await library.folder();
    await library.call('DELETE', `/api/storage/folders/${trashed}`);
    for (const folderId of [trashed, randomUUID()]) {
      await expectUnchanged(() =>
        expectProblem(bulk({ action: 'move', fileIds: [file.id], folderId }), 404, 'folder_not_found'),
      );
    }
  });
});

describe('restore', () => {
  test.each([
    { which: 'first', at: 0 },
    { which: 'second', at: 1 },
  ])('lets the first in the request keep the name of two: the one deleted $which', async ({ at }) => {
    const parentId = await library.folder();
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) {
      const id = await library.folder('twice', parentId);
      await library.call('DELETE', `/api/storage/folders/${id}`);
      ids.push(id);
    }
    const [keeps = '', other = ''] = at === 0 ? ids : ids.reverse();
    const { body } = await both({ action: 'restore', fileIds: [], folderIds: [keeps, other] });
    expect(body.restored).toEqual([{ id: other, movedToRoot: false, renamedFrom: 'twice' }]);
  });

  test('restores entries, even a folder into one that is restored with it', async () => {
    const above = await library.folder();
    const [outer = '', middle = '', inner = ''] = await library.chain(3, above);
    const file = await library.file(inner, 9);
    const alone = await library.file(middle, 90);
    await library.call('DELETE', `/api/storage/files/${alone.id}`);
    await library.call('DELETE', `/api/storage/folders/${inner}?recursive=true`);
    await library.call('DELETE', `/api/storage/folders/${outer}?recursive=true`);
    const { body } = await both({ action: 'restore', fileIds: [alone.id], folderIds: [inner, outer] });
    expect(body).toEqual({ files: 2, folders: 3, bytes: 99, restored: [] });
    expect(await library.listed(middle)).toEqual({ files: [alone.id], folders: [inner] });
    expect(await library.listed(inner)).toEqual({ files: [file.id], folders: [] });
  });

  test('reports the entries that did not go back to where they were', async () => {
    const above = await library.folder();
    const taken = await library.folder('Taken', above);
    const gone = await library.folder();
    const file = await library.file(gone);
    await library.call('DELETE', `/api/storage/folders/${taken}`);
    await library.folder('taken', above);
    await library.call('DELETE', `/api/storage/files/${file.id}`);
    await library.call('DELETE', `/api/storage/folders/${gone}`);
    const { body } = await both({ action: 'restore', fileIds: [file.id], folderIds: [taken] });
    expect(body).toMatchObject({
      restored: [
        { id: taken, movedToRoot: false, renamedFrom: 'Taken' },
        { id: file.id, movedToRoot: true, renamedFrom: null },
      ],
    });
  });

  test('takes the ids of a deletion: what lies in a chosen folder comes back with it, and counts once', async () => {
    const [outer = '', middle = '', inner = ''] = await library.chain(3, await library.folder());
    const [inOuter, inInner] = [await library.file(outer, 1), await library.file(inner, 10)];
    await library.file(middle, 100);
    const chosen = { fileIds: [inInner.id, inOuter.id], folderIds: [inner, outer.toUpperCase(), middle] };
    const deleted = await both({ action: 'delete', ...chosen });
    expect(deleted.body).toEqual({ files: 3, folders: 3, bytes: 111 });
    const { body } = await both({ action: 'restore', ...chosen });
    expect(body).toEqual({ ...deleted.body, restored: [] });
    expect(await library.listed(outer)).toEqual({ files: [inOuter.id], folders: [middle] });
    expect(await library.listed(inner)).toEqual({ files: [inInner.id], folders: [] });
  });

  test('of what is in a deleted folder, without that folder, is 404, and so is what is not in the trash', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    const [within, alive, other] = [await library.file(inner), await library.file(), await library.folder()];
    await bulk({ action: 'delete', folderIds: [outer, other] });
    const { body } = await expectUnchanged(() =>
      expectProblem(
        bulk({ action: 'restore', fileIds: [within.id, alive.id], folderIds: [other, inner] }),
        404,
        'file_not_found',
      ),
    );
    expect(body.issues.map(({ path }: { path: string }) => path)).toEqual(['fileIds.0', 'fileIds.1', 'folderIds.1']);
    const withIt = await expectUnchanged(() =>
      expectProblem(
        bulk({ action: 'restore', fileIds: [within.id, alive.id], folderIds: [outer, inner] }),
        404,
        'file_not_found',
      ),
    );
    expect(withIt.body.issues).toEqual([{ path: 'fileIds.1', message: 'was not found' }]);
  });
});

test.each(['move', 'delete', 'restore'])('%s with no ids counts nothing', async (action) => {
  const { body } = await both({ action, fileIds: [], folderIds: [], folderId: null });
  expect(body).toMatchObject({ files: 0, folders: 0, bytes: 0 });
});

test('one missing id stops everything, and every missing id is named', async () => {
  const [file, folder] = [await library.file(), await library.folder()];
  for (const more of [{ action: 'delete' }, { action: 'move', folderId: null }]) {
    const { body } = await expectUnchanged(() =>
      expectProblem(bulk({ ...more, fileIds: [file.id], folderIds: [randomUUID(), folder] }), 404, 'folder_not_found'),
    );
    expect(body.issues).toEqual([{ path: 'folderIds.0', message: 'was not found' }]);
  }
  const { body } = await expectUnchanged(() =>
    expectProblem(bulk({ action: 'delete', fileIds: [file.id, folder], folderIds: [file.id] }), 404, 'file_not_found'),
  );
  expect(body.issues.map(({ path }: { path: string }) => path)).toEqual(['fileIds.1', 'folderIds.0']);
});

test('a thousand ids are allowed, and 1001 are not', async () => {
  const ids = (count: number) => Array.from({ length: count }, () => randomUUID());
  const { body } = await expectProblem(
    bulk({ action: 'delete', fileIds: ids(600), folderIds: ids(400) }),
    404,
    'file_not_found',
  );
  expect(body.issues).toHaveLength(1000);
  await expectProblem(bulk({ action: 'delete', fileIds: ids(600), folderIds: ids(401) }), 400, 'invalid_request');
  await expectProblem(bulk({ action: 'delete', fileIds: ids(1001) }), 400, 'invalid_request');
});

test.each([
  ['an unknown action', { action: 'copy' }, 'action'],
  ['a move without a destination', { action: 'move' }, 'folderId'],
  ['an invalid id', { action: 'delete', fileIds: ['x'] }, 'fileIds.0'],
  ['ids that are not a list', { action: 'delete', folderIds: 'x' }, 'folderIds'],
  ['a dryRun that is a string', { action: 'delete', dryRun: 'true' }, 'dryRun'],
])('%s is 400', async (_what, body, path) => {
  const answer = await expectProblem(bulk(body), 400, 'invalid_request');
  expect(answer.body.issues).toMatchObject([{ path }]);
});

test('the action determines the scope', async () => {
  const writer = await service.createKey(library.ada, library.projectId, { scopes: ['files:write'] });
  const deleter = await service.createKey(library.ada, library.projectId, { scopes: ['files:delete'] });
  const file = await library.file();
  const ask = (action: string, { key }: { key: string }) =>
    library.call(
      'POST',
      '/api/storage/bulk',
      { projectId: library.projectId, action, fileIds: [file.id], folderId: null },
      { key },
    );
  await expectProblem(ask('delete', writer), 403, 'scope_missing');
  await expectProblem(ask('move', deleter), 403, 'scope_missing');
  await expectProblem(ask('restore', deleter), 403, 'scope_missing');
  expect((await ask('move', writer)).status).toBe(200);
  expect((await ask('delete', deleter)).status).toBe(200);
  expect((await ask('restore', writer)).status).toBe(200);
});
