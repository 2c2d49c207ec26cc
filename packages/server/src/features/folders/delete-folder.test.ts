import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, startLibrary, tally } from '../../../test/library.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

const remove = (id: string, recursive = '') =>
  library.call('DELETE', `/api/storage/folders/${id}${recursive && `?recursive=${recursive}`}`);

describe('an empty folder', () => {
  test('goes into the trash, says until when it can be restored, and is nowhere else', async () => {
    const id = await library.folder();
    const before = Date.now();
    const { status, body } = await remove(id);
    expect(status).toBe(200);
    expect(body).toEqual({ id, deleted: true, restorableUntil: expect.any(String) });
    const days = (Date.parse(body.restorableUntil) - before) / 86_400_000;
    expect(Math.round(days * 100) / 100).toBe(30);
    await expectProblem(library.call('GET', `/api/storage/folders/${id}`), 404, 'folder_not_found');
    await expectProblem(remove(id), 404, 'folder_not_found');
    expect((await library.listed()).folders).not.toContain(id);
    await expectProblem(
      library.call('GET', `/api/storage/list?projectId=${library.projectId}&folderId=${id}`),
      404,
      'folder_not_found',
    );
  });

  test('frees its name', async () => {
    const parentId = await library.folder();
    await remove(await library.folder('Photos', parentId));
    await library.folder('photos', parentId);
  });

  test('is also one whose files and folders are all in the trash', async () => {
    const id = await library.folder();
    const file = await library.file(id);
    await library.call('DELETE', `/api/storage/files/${file.id}`);
    await remove(await library.folder('Inner', id));
    expect((await remove(id)).status).toBe(200);
  });
});

describe('a folder that is not empty', () => {
  test.each(['', 'false'])('is 409 with recursive=%j', async (recursive) => {
    const withFolder = await library.folder();
    await library.folder('Inner', withFolder);
    const withFile = await library.folder();
    await library.file(withFile);
    for (const id of [withFolder, withFile]) {
      await expectProblem(remove(id, recursive), 409, 'folder_not_empty');
      expect((await library.call('GET', `/api/storage/folders/${id}`)).status).toBe(200);
    }
  });

  test('is deleted with everything in it, and nothing else, if recursive', async () => {
    const above = await library.folder();
    const [outer = '', inner = ''] = await library.chain(2, above);
    const beside = await library.folder('Beside', above);
    const [gone, stays] = [await library.file(inner), await library.file(beside)];
    expect((await remove(outer, 'true')).status).toBe(200);

    for (const id of [outer, inner]) {
      await expectProblem(library.call('GET', `/api/storage/folders/${id}`), 404, 'folder_not_found');
    }
    await expectProblem(library.call('GET', `/api/storage/files/${gone.id}`), 404, 'file_not_found');
    await expectProblem(
      library.call('PATCH', `/api/storage/files/${gone.id}`, { folderId: null }),
      404,
      'file_not_found',
    );
    await expectProblem(library.call('DELETE', `/api/storage/files/${gone.id}`), 404, 'file_not_found');
    expect(await library.listed(above)).toEqual({ files: [], folders: [beside] });
    expect(await library.listed(beside)).toEqual({ files: [stays.id], folders: [] });
  });

  test('is deleted without touching a row of a file', async () => {
    const id = await library.folder();
    const file = await library.file(id);
    const read = async () =>
      (await library.service.deps.db.pool.query('select *, xmin from files where id = $1', [file.id])).rows;
    const before = await read();
    await remove(id, 'true');
    expect(await read()).toEqual(before);
  });
});

describe('uploads into a deleted folder', () => {
  const presign = (folderId: string) =>
    library.call('POST', '/api/storage/presign', {
      projectId: library.projectId,
      fileName: 'a.jpg',
      mimeType: 'image/jpeg',
      fileSize: 1,
      folderId,
    });

  test('are 404 at once, even if the folder was cached', async () => {
    const id = await library.folder();
    const upload = await library.service.upload(library, library.projectId, Buffer.from('x'), { folderId: id });
    await remove(id);
    await expectProblem(presign(id), 404, 'folder_not_found');
    await expectProblem(library.call('POST', '/api/storage/record', upload), 404, 'folder_not_found');
    expect((await library.call('POST', '/api/storage/record', { ...upload, folderId: null })).status).toBe(200);
  });

  test('that another process still has cached are 404 at record', async () => {
    const id = await library.folder();
    const upload = await library.service.upload(library, library.projectId, Buffer.from('x'), { folderId: id });
    await library.service.deps.db.pool.query(
      'update folders set trash_id = id, trashed_at = now() where project_id = $1 and id = $2',
      [library.projectId, id],
    );
    expect((await presign(id)).status).toBe(200);
    await expectProblem(library.call('POST', '/api/storage/record', upload), 404, 'folder_not_found');
  });

  test('that are recorded during the deletion of the empty folder wait for it, and are 404', async () => {
    const id = await library.folder();
    const upload = await library.service.upload(library, library.projectId, Buffer.from('x'), { folderId: id });
    const client = await library.service.deps.db.pool.connect();
    // The steps of deleteFolder, paused halfway.
    await client.query('begin');
    await client.query('select 1 from folders where id = $1 for update', [id]);
    await client.query('update folders set trash_id = id, trashed_at = now() where id = $1', [id]);
    const recorded = library.call('POST', '/api/storage/record', upload);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await client.query('commit');
    client.release();
    await expectProblem(recorded, 404, 'folder_not_found');
  });

  test('that race its deletion are either in it or refused', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await library.folder();
      const uploads = await Promise.all(
        Array.from({ length: 8 }, () =>
          library.service.upload(library, library.projectId, Buffer.from('x'), { folderId: id }),
        ),
      );
      const [removed, ...records] = await Promise.all([
        remove(id),
        ...uploads.map((upload) => library.call('POST', '/api/storage/record', upload)),
      ]);
      const recorded = records.filter(({ status }) => status === 200).length;
      const { '200': _, '404 folder_not_found': __, ...others } = tally(records);
      expect(others).toEqual({});
      // Not recursive: the folder is deleted only if it is empty, and then nothing gets into it.
      if (removed.status === 200) expect(recorded).toBe(0);
      else
        expect({ code: removed.body.code, recorded: recorded > 0 }).toEqual({
          code: 'folder_not_empty',
          recorded: true,
        });
      await remove(id, 'true');
    }
  });

  test('and folders created in it during its deletion are never in sight', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await library.folder();
      const [removed, ...made] = await Promise.all([
        remove(id),
        ...Array.from({ length: 8 }, () =>
          library.call('POST', '/api/storage/folders', {
            projectId: library.projectId,
            name: randomUUID(),
            parentId: id,
          }),
        ),
      ]);
      const { '200': count = 0, '404 folder_not_found': __, ...others } = tally(made);
      expect(others).toEqual({});
      if (removed.status === 200) expect(count).toBe(0);
      const { rows } = await library.service.deps.db.pool.query(
        `select 1 from folders join folders up on up.project_id = folders.project_id and up.id = folders.parent_id
         where folders.project_id = $1 and folders.trash_id is null and up.trash_id is not null`,
        [library.projectId],
      );
      expect(rows).toEqual([]);
    }
  });
});

test('a recursive that is neither true nor false, and an id that is not a UUID, are 400', async () => {
  const id = await library.folder();
  const { body } = await expectProblem(remove(id, '1'), 400, 'invalid_request');
  expect(body.issues).toMatchObject([{ path: 'recursive' }]);
  await expectProblem(remove('root'), 400, 'invalid_request');
  expect((await library.call('GET', `/api/storage/folders/${id}`)).status).toBe(200);
});

test('the deleting user is recorded', async () => {
  const [byKey, byAda] = [await library.folder(), await library.folder()];
  await remove(byKey);
  await library.call('DELETE', `/api/storage/folders/${byAda}`, undefined, { as: library.ada });
  const { rows } = await library.service.deps.db.pool.query(
    `select trashed_by_user is not null as user, trashed_by_key is not null as key from folders
     where id = any($1) order by id`,
    [[byKey, byAda]],
  );
  expect(rows).toEqual([
    { user: false, key: true },
    { user: true, key: false },
  ]);
});
