import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Library, openLibrary } from '../../../test/library.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import { purgeTrash } from './purge-trash.ts';

let service: TestService;
let library: Library;

beforeAll(async () => {
  service = await startTestService({ settings: { TRASH_RETENTION_DAYS: '1' } });
});
afterAll(() => service.close());

const day = 86_400_000;
const hour = 3600_000;
const nothing = { files: 0, folders: 0, bytes: 0, refused: 0 };

/** A project of its own, and no trash left over from another test. */
async function fresh(): Promise<Library> {
  service.advance(2 * day);
  await purgeTrash(service.deps, 1_000_000);
  library = await openLibrary(service);
  return library;
}

const deleteFolder = (id: string) => library.call('DELETE', `/api/storage/folders/${id}?recursive=true`);
const deleteFile = (id: string) => library.call('DELETE', `/api/storage/files/${id}`);
const empty = () => library.call('DELETE', `/api/storage/trash?projectId=${library.projectId}`);
const isStored = async (storeKey: string) => (await service.deps.objects.head(storeKey)) !== undefined;
const purge = (limit = 1_000_000) => purgeTrash(service.deps, limit);

async function counted(): Promise<{ files: number; bytes: number; rows: number; folders: number }> {
  const { rows } = await service.deps.db.pool.query(
    `select (select coalesce(sum(file_count), 0)::int from project_usage where project_id = $1) as files,
            (select coalesce(sum(total_bytes), 0)::int from project_usage where project_id = $1) as bytes,
            (select count(*)::int from files where project_id = $1) as rows,
            (select count(*)::int from folders where project_id = $1) as folders`,
    [library.projectId],
  );
  return rows[0];
}

test('removes objects and rows an hour after they could last be restored, and nothing earlier or else', async () => {
  const { file, folder, chain } = await fresh();
  const kept = await file(await folder());
  const [outer = '', inner = ''] = await chain(2);
  const files = [await file(outer, 10), await file(inner, 20), await file(null, 30)];
  await deleteFile(files[2].id);
  await deleteFolder(outer);
  service.advance(day + hour - 60_000);
  expect(await purge()).toEqual(nothing);
  expect(await counted()).toEqual({ files: 4, bytes: 65, rows: 4, folders: 3 });

  service.advance(60_000);
  expect(await purge()).toEqual({ files: 3, folders: 2, bytes: 60, refused: 0 });
  for (const { storeKey } of files) expect(await isStored(storeKey)).toBe(false);
  expect(await isStored(kept.storeKey)).toBe(true);
  expect(await counted()).toEqual({ files: 1, bytes: 5, rows: 1, folders: 1 });
  expect(await purge()).toEqual(nothing);
});

test('in a project with a quota, leaves a file as long as its URL takes its bytes again', async () => {
  const { file, folder, projectId, ada } = await fresh();
  await service.call('PATCH', `/api/projects/${projectId}`, { as: ada, body: { quotaBytes: 1000 } });
  const folderId = await folder();
  const files = [await file(folderId), await file()];
  await deleteFolder(folderId);
  await deleteFile(files[1].id);
  await empty();
  expect(await purge()).toEqual(nothing);
  expect(await counted()).toEqual({ files: 2, bytes: 10, rows: 2, folders: 1 });
  service.advance((service.deps.config.presignTtlSeconds + 301) * 1000);
  expect(await purge()).toEqual({ files: 2, folders: 1, bytes: 10, refused: 0 });
  for (const { storeKey } of files) expect(await isStored(storeKey)).toBe(false);
});

test('removes an emptied trash at once, but not anything deleted since', async () => {
  const { file, folder, trash } = await fresh();
  const folderId = await folder();
  const gone = [await file(folderId), await file()];
  await deleteFolder(folderId);
  await deleteFile(gone[1].id);
  await empty();
  const later = await file();
  await deleteFile(later.id);
  expect(await purge()).toEqual({ files: 2, folders: 1, bytes: 10, refused: 0 });
  for (const { storeKey } of gone) expect(await isStored(storeKey)).toBe(false);
  expect(await isStored(later.storeKey)).toBe(true);
  expect((await trash()).map(({ id }) => id)).toEqual([later.id]);
});

test('removes trees inside trees, each deleted separately', async () => {
  const { file, chain } = await fresh();
  const ids = await chain(8);
  for (const id of ids) await file(id, 1);
  for (const id of [ids[6], ids[4], ids[1], ids[0]]) await deleteFolder(id ?? '');
  await empty();
  expect(await purge()).toEqual({ files: 8, folders: 8, bytes: 8, refused: 0 });
  expect(await counted()).toEqual({ files: 0, bytes: 0, rows: 0, folders: 0 });
});

test('stops at its limit, and continues from there', async () => {
  const { file, folder } = await fresh();
  const folderId = await folder();
  const files = [];
  for (let n = 0; n < 10; n += 1) files.push(await file(n < 5 ? folderId : null));
  for (const { id, folderId: inFolder } of files) if (!inFolder) await deleteFile(id);
  await deleteFolder(folderId);
  await empty();
  expect(await purge(3)).toMatchObject({ files: 3, folders: 0 });
  expect(await purge(4)).toMatchObject({ files: 4, folders: 0 });
  expect(await purge(4)).toMatchObject({ files: 3, folders: 1 });
  expect(await counted()).toEqual({ files: 0, bytes: 0, rows: 0, folders: 0 });
});

test('keeps the row of an object that the store will not remove, logs it, and tries again', async () => {
  const { file, folder } = await fresh();
  const folderId = await folder();
  const [stubborn, inFolder, other] = [await file(), await file(folderId), await file()];
  for (const { id } of [stubborn, other]) await deleteFile(id);
  await deleteFolder(folderId);
  await empty();
  const { objects } = service.deps;
  const refusedKeys = new Set([stubborn.storeKey, inFolder.storeKey]);
  const refusing = {
    ...service.deps,
    objects: {
      ...objects,
      remove: async (keys: readonly string[]) => [
        ...(await objects.remove(keys.filter((key) => !refusedKeys.has(key)))),
        ...keys.filter((key) => refusedKeys.has(key)).map((storeKey) => ({ storeKey, reason: 'AccessDenied' })),
      ],
    },
  };
  // The limit counts removed files, so that stuck ones cannot block the purge.
  expect(await purgeTrash(refusing, 1)).toEqual({ files: 1, folders: 0, bytes: 5, refused: 1 });
  expect(await purgeTrash(refusing, 10)).toEqual({ files: 0, folders: 0, bytes: 0, refused: 2 });
  expect(service.logged()).toContain('AccessDenied');
  expect(await isStored(stubborn.storeKey)).toBe(true);
  expect(await counted()).toEqual({ files: 2, bytes: 10, rows: 2, folders: 1 });
  expect(await purge()).toEqual({ files: 2, folders: 1, bytes: 10, refused: 0 });
});

test('resumes after an interruption between an object and its row', async () => {
  const { file } = await fresh();
  const { id, storeKey } = await file();
  await deleteFile(id);
  await empty();
  await service.deps.objects.remove([storeKey]);
  expect(await purge()).toMatchObject({ files: 1 });
  expect(await counted()).toMatchObject({ files: 0, rows: 0 });
});

test('changes nothing if the store is down', async () => {
  const { file } = await fresh();
  await deleteFile((await file()).id);
  await empty();
  const down = { ...service.deps.objects, remove: () => Promise.reject(new Error('down')) };
  await expect(purgeTrash({ ...service.deps, objects: down }, 10)).rejects.toThrow('down');
  expect(await counted()).toMatchObject({ files: 1, rows: 1 });
});

test('removes everything with six at once, and counts each file once', async () => {
  const { file, folder } = await fresh();
  const folders = [await folder(), await folder(), null];
  for (let n = 0; n < 30; n += 1) {
    const { id, folderId } = await file(folders[n % 3], 7);
    if (folderId === null) await deleteFile(id);
  }
  for (const id of folders) if (id) await deleteFolder(id);
  await empty();
  const all = await Promise.all(Array.from({ length: 6 }, () => purge()));
  await purge();
  expect(all.reduce((sum, { files }) => sum + files, 0)).toBe(30);
  expect(await counted()).toEqual({ files: 0, bytes: 0, rows: 0, folders: 0 });
});
