import type { Answer } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary, startLibrary, tally } from '../../../test/library.ts';
import { startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let library: Library;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** A project of its own for each test, since each project has one trash. */
async function fresh(): Promise<Library> {
  library = await openLibrary(service);
  return library;
}

const deleteFolder = (id: string) => library.call('DELETE', `/api/storage/folders/${id}?recursive=true`);
const deleteFile = (id: string) => library.call('DELETE', `/api/storage/files/${id}`);
const list = (query = '') => library.call('GET', `/api/storage/trash?projectId=${library.projectId}${query}`);
const empty = () => library.call('DELETE', `/api/storage/trash?projectId=${library.projectId}`);

describe('the trash', () => {
  test('lists deleted entries, the latest first, with everything deleted with them, and nothing else', async () => {
    const { folder, file, chain, trash } = await fresh();
    expect(await trash()).toEqual([]);
    const parentId = await folder();
    const [outer = '', inner = ''] = await chain(2, parentId);
    await file(outer, 10);
    await file(inner, 100);
    const alone = await file(inner, 1000, 'alone.txt');
    await file(parentId, 1);
    const deletedAt: string[] = [];
    for (const remove of [() => deleteFile(alone.id), () => deleteFolder(outer)]) {
      service.advance(5);
      const { body } = await remove();
      deletedAt.unshift(body.restorableUntil);
    }
    expect(await trash()).toEqual([
      {
        kind: 'folder',
        id: outer,
        name: 'Level 1',
        parentId,
        files: 2,
        folders: 2,
        bytes: 110,
        path: [{ id: parentId, name: expect.any(String) }],
        deletedAt: expect.any(String),
        deletedBy: { apiKeyId: expect.any(String) },
        restorableUntil: deletedAt[0],
      },
      {
        kind: 'file',
        id: alone.id,
        name: 'alone.txt',
        parentId: inner,
        files: 1,
        folders: 0,
        bytes: 1000,
        path: [],
        deletedAt: expect.any(String),
        deletedBy: { apiKeyId: expect.any(String) },
        restorableUntil: deletedAt[1],
      },
    ]);
  });

  test('says that something goes to the root if its old place is too deep for it by now', async () => {
    const { folder, chain, trash } = await fresh();
    const above = await folder('Above');
    const parentId = await folder('Moved', above);
    const [tall = ''] = await chain(2, parentId);
    const low = await folder('Low', parentId);
    for (const id of [tall, low]) await deleteFolder(id);
    const deep = await chain(30);
    const isMoved = await library.call('PATCH', `/api/storage/folders/${parentId}`, { parentId: deep.at(-1) });
    expect(isMoved.status).toBe(200);
    const pathsFor = async (key: string) => {
      const path = `/api/storage/trash?projectId=${library.projectId}`;
      const { entries } = (await library.call('GET', path, undefined, { key })).body as Answer<'listTrash'>;
      return Object.fromEntries(entries.map(({ id, path }) => [id, path.map(({ name }) => name)]));
    };
    const names = Array.from({ length: 30 }, (_, index) => `Level ${index + 1}`);
    expect(await pathsFor(library.key)).toEqual({ [tall]: [], [low]: [...names, 'Moved'] });
    // For a key tied to a folder, that is the folder of the key.
    const { key } = await service.createKey(library.ada, library.projectId, { folderId: deep[28] });
    expect(await pathsFor(key)).toEqual({ [tall]: ['Level 29'], [low]: ['Level 29', 'Level 30', 'Moved'] });
    const restore = (id: string) => library.call('POST', `/api/storage/folders/${id}/restore`);
    expect((await restore(tall)).body).toMatchObject({ parentId: null, restored: { movedToRoot: true } });
    expect((await restore(low)).body).toMatchObject({ parentId, restored: { movedToRoot: false } });
    expect(await trash()).toEqual([]);
  });

  test('belongs to one project', async () => {
    const other = await fresh();
    await deleteFile((await other.file()).id);
    expect(await (await fresh()).trash()).toEqual([]);
  });

  test('comes in pages, each entry once, even if some were deleted in the same millisecond', async () => {
    const { folder, file, projectId, call } = await fresh();
    const files = await Promise.all(Array.from({ length: 7 }, () => file()));
    const folders = await Promise.all(Array.from({ length: 6 }, () => folder()));
    const fileIds = files.map(({ id }) => id);
    await call('POST', '/api/storage/bulk', {
      projectId,
      action: 'delete',
      fileIds: fileIds.slice(1),
      folderIds: folders,
    });
    await deleteFile(fileIds[0]);
    const all = (await list()).body.entries;
    expect(all.map(({ id }: { id: string }) => id).sort()).toEqual([...fileIds, ...folders].sort());
    expect(all[0].id).toBe(fileIds[0]);
    for (const limit of [1, 3, 13, 1000]) {
      const paged: unknown[] = [];
      let cursor = '';
      do {
        const { status, body } = await list(`&limit=${limit}${cursor && `&cursor=${cursor}`}`);
        expect(status).toBe(200);
        expect(body.entries.length).toBeLessThanOrEqual(limit);
        paged.push(...body.entries);
        cursor = body.nextCursor;
      } while (cursor);
      expect(paged).toEqual(all);
    }
  });

  test('refuses a cursor of another project, a cursor of another listing, and nonsense', async () => {
    const { file, projectId } = await fresh();
    for (const { id } of [await file(), await file()]) await deleteFile(id);
    const { nextCursor } = (await list('&limit=1')).body;
    const forge = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const listing = (await library.call('GET', `/api/storage/list?projectId=${projectId}&limit=1`)).body.nextCursor;
    await fresh();
    for (const cursor of [
      nextCursor,
      listing ?? 'x',
      'x',
      forge('trash', library.projectId, -1, projectId),
      forge('trash', library.projectId, 9e15, projectId),
      forge('trash', library.projectId, 0, 'x'),
      forge('trash', library.projectId, '2026-01-01', projectId),
    ]) {
      const { body } = await expectProblem(list(`&cursor=${cursor}`), 400, 'invalid_request');
      expect(body.issues).toMatchObject([{ path: 'cursor' }]);
    }
    expect((await list(`&cursor=${forge('trash', library.projectId, 8.64e15, projectId)}`)).status).toBe(200);
    for (const limit of ['0', '1001', 'x']) await expectProblem(list(`&limit=${limit}`), 400, 'invalid_request');
  });
});

describe('emptying', () => {
  test('counts what was in the trash, and makes it unrestorable', async () => {
    const { folder, file, chain, trash } = await fresh();
    const kept = await folder();
    const keptFile = await file(kept);
    const [outer = '', inner = ''] = await chain(2, kept);
    await file(inner, 100);
    const alone = await file(inner, 1000);
    await deleteFile(alone.id);
    await deleteFolder(inner);
    await deleteFolder(outer);
    expect((await empty()).body).toEqual({ files: 2, folders: 2, bytes: 1100 });
    expect(await trash()).toEqual([]);
    expect((await empty()).body).toEqual({ files: 0, folders: 0, bytes: 0 });
    await expectProblem(library.call('POST', `/api/storage/folders/${outer}/restore`), 404, 'folder_not_found');
    await expectProblem(library.call('POST', `/api/storage/files/${alone.id}/restore`), 404, 'file_not_found');
    expect(await library.listed(kept)).toEqual({ files: [keptFile.id], folders: [] });
  });

  test('does not affect later deletions, even in the same millisecond or by a process with a slow clock', async () => {
    const { folder, file, trash } = await fresh();
    await deleteFile((await file()).id);
    const [laterFile, laterFolder] = [await file(), await folder()];
    await service.deps.db.pool.query(`update projects set trash_emptied_at = now() + interval '1 hour' where id = $1`, [
      library.projectId,
    ]);
    await deleteFile(laterFile.id);
    await deleteFolder(laterFolder);
    expect((await trash()).map(({ id }) => id).sort()).toEqual([laterFile.id, laterFolder].sort());
    expect((await library.call('POST', `/api/storage/folders/${laterFolder}/restore`)).status).toBe(200);
    expect((await empty()).body).toEqual({ files: 1, folders: 0, bytes: 5 });
    expect(await trash()).toEqual([]);
  });

  test('also affects deletions by a process whose clock runs ahead', async () => {
    const { file, trash } = await fresh();
    const { id } = await file();
    await deleteFile(id);
    await service.deps.db.pool.query(`update files set trashed_at = now() + interval '1 hour' where id = $1`, [id]);
    await empty();
    expect(await trash()).toEqual([]);
  });

  test('in a race with restores: each entry is either restored or gone for good', async () => {
    const { file, folder, trash } = await fresh();
    for (let round = 0; round < 4; round += 1) {
      const folders = await Promise.all(Array.from({ length: 4 }, () => folder()));
      const files = await Promise.all(Array.from({ length: 4 }, async () => (await file()).id));
      for (const id of folders) await deleteFolder(id);
      for (const id of files) await deleteFile(id);
      const restores = [...folders.map((id) => ['folders', id] as const), ...files.map((id) => ['files', id] as const)];
      const [emptied, ...answers] = await Promise.all([
        empty(),
        ...restores.map(([kind, id]) => library.call('POST', `/api/storage/${kind}/${id}/restore`)),
      ]);
      const { '200': restored = 0, '404 file_not_found': _, '404 folder_not_found': __, ...others } = tally(answers);
      expect(others).toEqual({});
      expect(emptied.body.files + emptied.body.folders).toBe(8 - restored);
      expect(await trash()).toEqual([]);
      const { files: there, folders: foldersThere } = await library.listed();
      for (const [index, [kind, id]] of restores.entries()) {
        const isThere = (kind === 'files' ? there : foldersThere).includes(id);
        expect(isThere).toBe(answers[index]?.status === 200);
      }
    }
  });
});

test('a projectId that is missing or not a UUID is 400', async () => {
  await fresh();
  for (const query of ['', '?projectId=', '?projectId=x']) {
    await expectProblem(library.call('GET', `/api/storage/trash${query}`), 400, 'invalid_request');
    await expectProblem(library.call('DELETE', `/api/storage/trash${query}`), 400, 'invalid_request');
  }
});

test('an entry that is too old is in no list, and emptying does not count it', async () => {
  const old = await startLibrary({ TRASH_RETENTION_DAYS: '1' });
  const { id } = await old.file();
  await old.call('DELETE', `/api/storage/files/${id}`);
  old.service.advance(86_400_000);
  expect(await old.trash()).toEqual([]);
  const { body } = await old.call('DELETE', `/api/storage/trash?projectId=${old.projectId}`);
  expect(body).toEqual({ files: 0, folders: 0, bytes: 0 });
  await old.service.close();
});
