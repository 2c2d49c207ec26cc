import { randomUUID } from 'node:crypto';
import { type OperationId, type Route, routes, takesKeys } from '@cadiz/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertOperation } from '../../test/operations.ts';
import { type Answer, type Person, send, startTestService, type TestService } from '../../test/service.ts';
import { insertVariant } from '../../test/variants.ts';

/**
 * A key that is tied to a folder. The project:
 *
 *   root ── file outside, trashed file
 *   ├── outer ── file
 *   │   └── own (the key's) ── file
 *   │       └── inner ── file
 *   └── beside ── file
 */
interface Places {
  outer: string;
  own: string;
  inner: string;
  beside: string;
}
interface Things {
  folders: Places;
  files: Places & { root: string };
}

let service: TestService;
let ada: Person;
let projectId: string;
let key: string;
let keyId: string;
let there: Things;
let names = 0;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? `${status}` : `${status} ${body.code}`);
const byKey = (method: string, path: string, body?: unknown) => service.call(method, path, { key, body });

async function byAda(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, { as: ada, body });
  expect(outcome(answer)).toBe('200');
  return answer.body;
}

async function makeFolder(parentId: string | null, name = `folder-${++names}`): Promise<string> {
  return (await byAda('POST', '/api/storage/folders', { projectId, name, parentId })).id;
}

async function makeFile(folderId: string | null, fileName = `needle-${++names}.txt`): Promise<string> {
  const facts = { folderId, fileName, mimeType: 'text/plain' };
  return (
    await byAda(
      'POST',
      '/api/storage/record',
      await service.upload({ as: ada }, projectId, Buffer.from('bytes'), facts),
    )
  ).id;
}

async function makeUpload(folderId: string | null): Promise<string> {
  const body = { projectId, fileName: 'a.bin', mimeType: 'image/png', fileSize: 5, folderId };
  return (await byAda('POST', '/api/storage/uploads', body)).uploadId;
}

async function trashed(kind: 'files' | 'folders', id: string): Promise<string> {
  await byAda('DELETE', `/api/storage/${kind}/${id}`);
  return id;
}

beforeEach(async () => {
  projectId = await service.createProject(ada);
  const outer = await makeFolder(null);
  const own = await makeFolder(outer);
  const folders = { outer, own, inner: await makeFolder(own), beside: await makeFolder(null) };
  const files = {
    root: await makeFile(null),
    outer: await makeFile(folders.outer),
    own: await makeFile(folders.own),
    inner: await makeFile(folders.inner),
    beside: await makeFile(folders.beside),
  };
  there = { folders, files };
  ({ id: keyId, key } = await service.createKey(ada, projectId, { folderId: own }));
});

/** Makes an operation's request about something in a folder (null: the root). */
interface Asked {
  path: string;
  body?: unknown;
}
type Ask = (folderId: string | null) => Asked | Promise<Asked>;

const photo = (folderId: string | null) => ({
  projectId,
  fileName: 'a.png',
  mimeType: 'image/png',
  fileSize: 5,
  folderId,
});

/** Every operation that accepts a key, about something in a folder. A new route needs a new row, or a reason below. */
const asks: Partial<Record<OperationId, Ask>> = {
  presign: (folderId) => ({ path: '/api/storage/presign', body: photo(folderId) }),
  record: async (folderId) => ({
    path: '/api/storage/record',
    body: { ...(await service.upload({ as: ada }, projectId, Buffer.from('bytes'))), folderId },
  }),
  presignBatch: (folderId) => ({
    path: '/api/storage/presign/batch',
    body: { projectId, files: [photo(folderId)], atomic: true },
  }),
  recordBatch: async (folderId) => ({
    path: '/api/storage/record/batch',
    body: {
      projectId,
      files: [{ ...(await service.upload({ as: ada }, projectId, Buffer.from('bytes'))), folderId }],
      atomic: true,
    },
  }),
  list: (folderId) => ({ path: `/api/storage/list?projectId=${projectId}&folderId=${folderId ?? 'root'}` }),
  usage: (folderId) => ({
    path: `/api/storage/usage?projectId=${projectId}&folderId=${folderId ?? there.folders.outer}`,
  }),
  createFolder: (parentId) => ({ path: '/api/storage/folders', body: { projectId, name: randomUUID(), parentId } }),
  ensureFolders: (parentId) => ({
    path: '/api/storage/folders/ensure',
    body: { projectId, parentId, paths: [`${randomUUID()}/b`] },
  }),
  getFolder: async (folderId) => ({ path: `/api/storage/folders/${await makeFolder(folderId)}` }),
  changeFolder: async (folderId) => ({
    path: `/api/storage/folders/${await makeFolder(folderId)}`,
    body: { name: randomUUID() },
  }),
  deleteFolder: async (folderId) => ({ path: `/api/storage/folders/${await makeFolder(folderId)}` }),
  restoreFolder: async (folderId) => ({
    path: `/api/storage/folders/${await trashed('folders', await makeFolder(folderId))}/restore`,
  }),
  getFile: async (folderId) => ({ path: `/api/storage/files/${await makeFile(folderId)}` }),
  changeFile: async (folderId) => ({
    path: `/api/storage/files/${await makeFile(folderId)}`,
    body: { fileName: 'new' },
  }),
  copyFile: async (folderId) => ({
    path: `/api/storage/files/${await makeFile(folderId)}/copy`,
    body: { folderId: there.folders.own },
  }),
  deleteFile: async (folderId) => ({ path: `/api/storage/files/${await makeFile(folderId)}` }),
  restoreFile: async (folderId) => ({
    path: `/api/storage/files/${await trashed('files', await makeFile(folderId))}/restore`,
  }),
  bulk: async (folderId) => ({
    path: '/api/storage/bulk',
    body: { projectId, action: 'delete', fileIds: [await makeFile(folderId)], folderIds: [await makeFolder(folderId)] },
  }),
  getOperation: async (folderId) => ({
    path: `/api/storage/operations/${await insertOperation(service, projectId, folderId, ada.id)}`,
  }),
  cancelOperation: async (folderId) => ({
    path: `/api/storage/operations/${await insertOperation(service, projectId, folderId, ada.id)}`,
  }),
  createDownloadUrl: async (folderId) => ({ path: `/api/storage/files/${await makeFile(folderId)}/url`, body: {} }),
  redirectToContent: async (folderId) => ({ path: `/api/storage/files/${await makeFile(folderId)}/content` }),
  redirectToImage: async (folderId) => {
    const fileId = await makeFile(folderId);
    await insertVariant(service, projectId, fileId);
    return { path: `/api/storage/files/${fileId}/image?w=64` };
  },
  createArchiveUrl: async (folderId) => ({
    path: '/api/storage/archives',
    body: { projectId, fileIds: [await makeFile(folderId)], folderIds: [await makeFolder(folderId)] },
  }),
  createLink: async (folderId) => ({ path: '/api/storage/links', body: { fileId: await makeFile(folderId) } }),
  listLinks: async (folderId) => ({ path: `/api/storage/links?fileId=${await makeFile(folderId)}` }),
  deleteLink: async (folderId) => {
    const { id } = await byAda('POST', '/api/storage/links', { fileId: await makeFile(folderId) });
    return { path: `/api/storage/links/${id}` };
  },
  createUpload: (folderId) => ({ path: '/api/storage/uploads', body: photo(folderId) }),
  signParts: async (folderId) => ({
    path: `/api/storage/uploads/${await makeUpload(folderId)}/parts`,
    body: { partNumbers: [1] },
  }),
  getUpload: async (folderId) => ({ path: `/api/storage/uploads/${await makeUpload(folderId)}` }),
  completeUpload: async (folderId) => {
    const path = `/api/storage/uploads/${await makeUpload(folderId)}`;
    const { parts } = await byAda('POST', `${path}/parts`, { partNumbers: [1] });
    await send('PUT', parts[0].presignedUrl, Buffer.from('bytes'));
    return { path: `${path}/complete`, body: {} };
  },
  abortUpload: async (folderId) => ({ path: `/api/storage/uploads/${await makeUpload(folderId)}` }),
  createTicket: (folderId) => ({ path: '/api/storage/tickets', body: ticketFor(folderId) }),
  revokeTicket: async (folderId) => ({
    path: `/api/storage/tickets/${(await byAda('POST', '/api/storage/tickets', ticketFor(folderId))).id}`,
  }),
};
const ticketFor = (folderId: string | null) => ({ projectId, folderId, maxFiles: 1, maxBytes: 1 });
/**
 * Operations that name no folder: they have tests of their own below, in api-keys.test.ts, in tickets.test.ts and in
 * daily-usage.test.ts.
 */
const ofTheWholeProject: OperationId[] = [
  'listTrash',
  'emptyTrash',
  'getOwnKey',
  'dailyUsage',
  'readEvents',
  'findFolder',
  'listUploads',
  'listTickets',
  'createDownloadUrls',
];

test('every route that a key can ask for is here', () => {
  const forKeys = (Object.entries(routes) as [OperationId, Route][])
    .filter(([, route]) => takesKeys(route))
    .map(([operation]) => operation);
  expect([...Object.keys(asks), ...ofTheWholeProject].sort()).toEqual(forKeys.sort());
});

/** The answer without anything that differs between any two requests, and with one name for all ids of the request. */
function comparable({ status, headers, body }: Answer, ids: string[]) {
  let text = JSON.stringify({ ...body, requestId: '' });
  for (const id of ids) text = text.replaceAll(id, 'id');
  return { status, text, headers: [...headers].filter(([name]) => !/request-id|ratelimit/i.test(name)) };
}

function idsIn({ path, body }: Asked): string[] {
  return (
    `${path} ${JSON.stringify(body)}`
      .match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)
      ?.filter((id) => id !== projectId) ?? []
  );
}

/** The same request with ids that do not exist. */
function withAbsentIds(asked: Asked): Asked {
  let text = JSON.stringify(asked);
  for (const id of idsIn(asked)) text = text.replaceAll(id, randomUUID());
  return JSON.parse(text);
}

describe.each(Object.keys(asks) as OperationId[])('%s with a key that is tied to a folder', (operation) => {
  const { method } = routes[operation];
  const ask = (folderId: string | null): Asked | Promise<Asked> => asks[operation]?.(folderId) ?? { path: '' };

  test('works in the folder and below it', async () => {
    for (const place of ['own', 'inner'] as const) {
      const { path, body } = await ask(there.folders[place]);
      expect([place, (await byKey(method, path, body)).status]).toEqual([
        place,
        operation.startsWith('redirect') ? 302 : 200,
      ]);
    }
  });

  test('elsewhere in the project it answers as if nothing were there', async () => {
    for (const folderId of [there.folders.outer, there.folders.beside, null]) {
      const asked = await ask(folderId);
      const refused = await byKey(method, asked.path, asked.body);
      expect(outcome(refused)).toMatch(/^404 (folder|file|upload|ticket|link|operation)_not_found$/);
      const nothing = withAbsentIds(asked);
      // Uploads stay, so the test looks at the folder.
      if (operation === 'record')
        Object.assign(nothing.body as object, { storeKey: (asked.body as { storeKey: string }).storeKey });
      const absent = await byKey(method, nothing.path, nothing.body);
      expect(comparable(refused, idsIn(asked))).toEqual(comparable(absent, idsIn(nothing)));
      // The same request works for a member of the whole project, so the refusal has changed nothing.
      expect((await service.call(method, asked.path, { as: ada, body: asked.body })).status).toBeLessThan(400);
    }
  });
});

describe('a key that is tied to a folder', () => {
  const list = (query = '') => byKey('GET', `/api/storage/list?projectId=${projectId}${query}`);
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id).sort();

  test('lists its folder as if that were the project', async () => {
    const { body } = await list();
    expect(idsOf(body.files)).toEqual([there.files.own, there.files.inner].sort());
    expect(idsOf(body.folders)).toEqual([there.folders.inner]);
    expect(body.breadcrumbs.map(({ id }: { id: string }) => id)).toEqual([there.folders.own]);

    const inner = (await list(`&folderId=${there.folders.inner}`)).body;
    expect(idsOf(inner.files)).toEqual([there.files.inner]);
    expect(inner.breadcrumbs.map(({ id }: { id: string }) => id)).toEqual([there.folders.own, there.folders.inner]);
    expect(outcome(await list('&folderId=root'))).toBe('404 folder_not_found');
  });

  test('finds folders by paths that begin at its own', async () => {
    const inner = await byKey('GET', `/api/storage/folders/${there.folders.inner}`);
    const nested = (
      await byAda('POST', '/api/storage/folders/ensure', {
        projectId,
        parentId: there.folders.inner,
        paths: ['deep'],
      })
    ).folders[0];
    const find = (path: string) => byKey('GET', `/api/storage/folders?projectId=${projectId}&path=${path}`);
    expect((await find(inner.body.name)).body).toEqual(inner.body);
    expect((await find(`${inner.body.name}/deep`)).body).toEqual(nested);
    for (const folderId of [there.folders.outer, there.folders.beside]) {
      const { name } = await byAda('GET', `/api/storage/folders/${folderId}`);
      expect(outcome(await find(name))).toBe('404 folder_not_found');
    }
  });

  test('copies nothing out of its folder', async () => {
    for (const folderId of [there.folders.outer, there.folders.beside, null, randomUUID()]) {
      const copied = await byKey('POST', `/api/storage/files/${there.files.own}/copy`, { folderId });
      expect(outcome(copied)).toBe('404 folder_not_found');
    }
  });

  test('gets addresses of files there only, and the same problem for others as for absent ones', async () => {
    const { own, inner, outer, beside, root } = there.files;
    const fileIds = [outer, own, root, inner, beside, randomUUID()];
    const { body } = await byKey('POST', '/api/storage/files/urls', { fileIds });
    const codes = body.urls.map(({ url, problem }: { url?: string; problem?: { code: string } }) =>
      url === undefined ? problem?.code : 'ok',
    );
    const no = 'file_not_found';
    expect(codes).toEqual([no, 'ok', no, 'ok', no, no]);
    expect(body.urls[0].problem).toEqual(body.urls[5].problem);
  });

  test('lists the open uploads there only', async () => {
    const { own, inner, outer } = there.folders;
    const ids = [await makeUpload(own), await makeUpload(inner)];
    for (const folderId of [outer, null]) await makeUpload(folderId);
    const { body } = await byKey('GET', `/api/storage/uploads?projectId=${projectId}`);
    expect(body.uploads.map(({ uploadId }: { uploadId: string }) => uploadId)).toEqual(ids.toReversed());
  });

  test('searches and pages there only, in every order', async () => {
    for (const sort of ['name', 'createdAt', 'fileSize']) {
      for (const search of ['', '&search=needle', '&search=ne']) {
        const seen: string[] = [];
        for (let cursor = ''; ; ) {
          const { body } = await list(`&sort=${sort}&limit=1${search}${cursor}`);
          seen.push(...[...body.files, ...body.folders].map(({ id }: { id: string }) => id));
          if (body.nextCursor === null) break;
          cursor = `&cursor=${body.nextCursor}`;
        }
        const folders = search ? [] : [there.folders.inner];
        expect([sort, search, seen.sort()]).toEqual([
          sort,
          search,
          [...folders, there.files.own, there.files.inner].sort(),
        ]);
      }
    }
  });

  test('gets nothing of the rest by a cursor that somebody else was given', async () => {
    const { body } = await service.call('GET', `/api/storage/list?projectId=${projectId}&limit=3`, { as: ada });
    const { body: next } = await list(`&limit=1000&cursor=${body.nextCursor}`);
    expect(idsOf(next.files)).toEqual([there.files.own, there.files.inner].sort());
  });

  test('counts its folder as the usage', async () => {
    const usage = await byKey('GET', `/api/storage/usage?projectId=${projectId}`);
    expect(usage.body).toMatchObject({ fileCount: 2, totalBytes: 10 });
  });

  test('does not learn what its folder lies in', async () => {
    expect((await byKey('GET', `/api/storage/folders/${there.folders.own}`)).body.parentId).toBeNull();
    expect((await byKey('GET', `/api/storage/folders/${there.folders.inner}`)).body.parentId).toBe(there.folders.own);
  });

  test('cannot rename, move, delete or restore its own folder', async () => {
    const own = there.folders.own;
    for (const [method, path, body] of [
      ['PATCH', `/api/storage/folders/${own}`, { name: 'Mine' }],
      ['PATCH', `/api/storage/folders/${own}`, { parentId: null }],
      ['DELETE', `/api/storage/folders/${own}?recursive=true`, undefined],
      ['POST', `/api/storage/folders/${own}/restore`, undefined],
      ['POST', '/api/storage/bulk', { projectId, action: 'delete', folderIds: [own] }],
      ['POST', '/api/storage/bulk', { projectId, action: 'move', folderIds: [own], folderId: there.folders.inner }],
      ['POST', '/api/storage/bulk', { projectId, action: 'restore', folderIds: [own] }],
    ] as const) {
      expect([method, path, outcome(await byKey(method, path, body))]).toEqual([method, path, '404 folder_not_found']);
    }
  });

  test('moves nothing out and nothing in, not even to the root', async () => {
    const { files, folders } = there;
    for (const folderId of [null, folders.outer, folders.beside]) {
      for (const [method, path, body] of [
        ['PATCH', `/api/storage/files/${files.own}`, { folderId }],
        ['PATCH', `/api/storage/folders/${folders.inner}`, { parentId: folderId }],
        ['POST', '/api/storage/bulk', { projectId, action: 'move', fileIds: [files.inner], folderId }],
        ['POST', '/api/storage/bulk', { projectId, action: 'move', folderIds: [folders.inner], folderId }],
        ['POST', '/api/storage/presign', photo(folderId)],
        ['POST', '/api/storage/uploads', photo(folderId)],
        ['POST', '/api/storage/folders', { projectId, name: 'New', parentId: folderId }],
      ] as const) {
        expect([path, outcome(await byKey(method, path, body))]).toEqual([path, '404 folder_not_found']);
      }
    }
    const into = { projectId, action: 'move', fileIds: [files.beside], folderId: folders.own };
    expect(outcome(await byKey('POST', '/api/storage/bulk', into))).toBe('404 file_not_found');
    const changed = await byKey('PATCH', `/api/storage/files/${files.beside}`, { folderId: folders.own });
    expect(outcome(changed)).toBe('404 file_not_found');
    expect((await byAda('GET', `/api/storage/files/${files.beside}`)).folderId).toBe(folders.beside);
    const within = await byKey('PATCH', `/api/storage/files/${files.own}`, { folderId: folders.inner });
    expect(outcome(within)).toBe('200');
  });

  test('sees and restores only its own part of the trash, and cannot empty it', async () => {
    const { files, folders } = there;
    for (const id of [files.root, files.beside, files.own]) await byAda('DELETE', `/api/storage/files/${id}`);
    await byAda('DELETE', `/api/storage/folders/${folders.beside}?recursive=true`);
    await byAda('DELETE', `/api/storage/folders/${folders.inner}?recursive=true`);
    const trash = await byKey('GET', `/api/storage/trash?projectId=${projectId}`);
    expect(idsOf(trash.body.entries)).toEqual([files.own, folders.inner].sort());
    const bulk = (body: object) => byKey('POST', '/api/storage/bulk', { projectId, action: 'restore', ...body });
    expect(outcome(await bulk({ fileIds: [files.root] }))).toBe('404 file_not_found');
    expect(outcome(await bulk({ folderIds: [folders.beside] }))).toBe('404 folder_not_found');
    expect(outcome(await byKey('DELETE', `/api/storage/trash?projectId=${projectId}`))).toBe('403 scope_missing');
    expect((await bulk({ fileIds: [files.own], folderIds: [folders.inner] })).body).toMatchObject({
      files: 2,
      folders: 1,
    });
  });

  test('brings back into its own folder what cannot go back to where it was', async () => {
    const { files, folders } = there;
    const deeper = await makeFolder(folders.inner);
    await byAda('DELETE', `/api/storage/files/${files.inner}`);
    await byAda('DELETE', `/api/storage/folders/${deeper}`);
    await byAda('DELETE', `/api/storage/folders/${folders.inner}`);
    const file = (await byKey('POST', `/api/storage/files/${files.inner}/restore`)).body;
    expect(file).toMatchObject({ folderId: folders.own, restored: { movedToRoot: true } });
    const folder = (await byKey('POST', `/api/storage/folders/${deeper}/restore`)).body;
    expect(folder).toMatchObject({ parentId: folders.own, restored: { movedToRoot: true } });
  });

  test('does not bring back what is too deep even for its own folder', async () => {
    const { folders } = there;
    await makeFolder(folders.inner);
    await byAda('DELETE', `/api/storage/folders/${folders.inner}?recursive=true`);
    let deepest = folders.beside;
    for (let level = 2; level <= 31; level += 1) deepest = await makeFolder(deepest);
    await byAda('PATCH', `/api/storage/folders/${folders.own}`, { parentId: deepest });
    expect(outcome(await byKey('POST', `/api/storage/folders/${folders.inner}/restore`))).toBe('404 folder_not_found');
  });

  test('archives its folder when it names nothing, and an address stops with the folder', async () => {
    const archive = await byKey('POST', '/api/storage/archives', { projectId });
    const fetchZip = () => service.fetch(new Request(archive.body.url));
    // Names appear in a ZIP verbatim, and these contents are too short to contain one.
    const named = new Set((await (await fetchZip()).text()).match(/needle-\d+\.txt/g));
    expect(named.size).toBe(2);
    await byAda('DELETE', `/api/storage/folders/${there.folders.own}?recursive=true`);
    expect((await fetchZip()).status).toBe(404);
  });

  test('goes along when its folder, or one around it, is moved', async () => {
    const { folders } = there;
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(folders.inner)))).toBe('200');
    await byAda('PATCH', `/api/storage/folders/${folders.own}`, { parentId: folders.beside });
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(folders.inner)))).toBe('200');
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(folders.beside)))).toBe('404 folder_not_found');
    expect(idsOf((await list()).body.folders)).toEqual([folders.inner]);
  });

  test('loses at once what is moved out of its folder, and has at once what is moved in', async () => {
    const { folders } = there;
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(folders.inner)))).toBe('200');
    await byAda('PATCH', `/api/storage/folders/${folders.inner}`, { parentId: folders.beside });
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(folders.inner)))).toBe('404 folder_not_found');
    await byAda('POST', '/api/storage/bulk', {
      projectId,
      action: 'move',
      folderIds: [folders.beside],
      folderId: folders.own,
    });
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(folders.inner)))).toBe('200');
  });

  test('has nothing when its folder is in the trash, and everything when it is back', async () => {
    const { folders, files } = there;
    expect(outcome(await list())).toBe('200');
    await byAda('DELETE', `/api/storage/folders/${folders.outer}?recursive=true`);
    for (const [method, path, body] of [
      ['GET', `/api/storage/list?projectId=${projectId}`, undefined],
      ['GET', `/api/storage/usage?projectId=${projectId}`, undefined],
      ['GET', `/api/storage/trash?projectId=${projectId}`, undefined],
      ['POST', '/api/storage/presign', photo(folders.inner)],
      ['POST', '/api/storage/archives', { projectId }],
      ['POST', '/api/storage/bulk', { projectId, action: 'restore', folderIds: [folders.inner] }],
    ] as const) {
      expect([path, outcome(await byKey(method, path, body))]).toEqual([path, '404 project_not_found']);
    }
    expect(outcome(await byKey('GET', `/api/storage/files/${files.own}`))).toBe('404 file_not_found');
    await byAda('POST', `/api/storage/folders/${folders.outer}/restore`);
    expect(outcome(await list())).toBe('200');
  });

  test('goes for good with its folder', async () => {
    await service.deps.db.pool.query('update files set folder_id = null where project_id = $1', [projectId]);
    await service.deps.db.pool.query('delete from folders where project_id = $1 and parent_id is not null', [
      projectId,
    ]);
    const { body } = await service.call('GET', `/api/api-keys?projectId=${projectId}`, { as: ada });
    expect(body.apiKeys).toEqual([]);
  });

  test('does not learn by recording that something was recorded elsewhere', async () => {
    const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), {
      folderId: there.folders.beside,
    });
    await byAda('POST', '/api/storage/record', upload);
    const wanted = { ...upload, folderId: there.folders.own };
    const absent = { ...wanted, storeKey: upload.storeKey.replace(/\d{6}-/, '000000-') };
    expect(absent.storeKey).not.toBe(upload.storeKey);
    const answers = await Promise.all([wanted, absent].map((body) => byKey('POST', '/api/storage/record', body)));
    expect(answers.map(outcome)).toEqual(['409 upload_missing', '409 upload_missing']);
    const texts = answers.map(({ body }) => JSON.stringify({ ...body, requestId: '' }));
    expect(texts[0]).toBe(texts[1]);
  });

  test('does not learn by recording that something was recorded elsewhere, and deleted', async () => {
    const { own, beside } = there.folders;
    const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), { folderId: beside });
    const file = await byAda('POST', '/api/storage/record', upload);
    const absent = { ...upload, storeKey: upload.storeKey.replace(/\d{6}-/, '000000-') };
    const expectNothingLearned = async () => {
      for (const folderId of [own, beside, null, randomUUID()]) {
        const bodies = [upload, absent].map((body) => ({ ...body, folderId }));
        const answers = await Promise.all(bodies.map((body) => byKey('POST', '/api/storage/record', body)));
        const expected = folderId === own ? '409 upload_missing' : '404 folder_not_found';
        expect(answers.map(outcome)).toEqual([expected, expected]);
        const texts = answers.map(({ body }) => JSON.stringify({ ...body, requestId: '' }));
        expect(texts[0]).toBe(texts[1]);
      }
    };
    await byAda('DELETE', `/api/storage/files/${file.id}`);
    await expectNothingLearned();
    await byAda('POST', `/api/storage/files/${file.id}/restore`);
    await byAda('DELETE', `/api/storage/folders/${beside}?recursive=true`);
    await expectNothingLearned();
  });

  test('does not learn so either when the time to record is over', async () => {
    const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), {
      folderId: there.folders.beside,
    });
    await byAda('POST', '/api/storage/record', upload);
    const wanted = { ...upload, folderId: there.folders.own };
    const absent = { ...wanted, storeKey: upload.storeKey.replace(/\d{6}-/, '000000-') };
    service.advance(service.deps.config.recordDeadlineSeconds * 1000 + 1000);
    const answers = await Promise.all([wanted, absent].map((body) => byKey('POST', '/api/storage/record', body)));
    expect(answers.map(outcome)).toEqual(['400 invalid_store_key', '400 invalid_store_key']);
    const texts = answers.map(({ body }) => JSON.stringify({ ...body, requestId: '' }));
    expect(texts[0]).toBe(texts[1]);
  });

  test('does not see by completing it again what became of an upload outside', async () => {
    const { uploadId, partCount } = (await byKey('POST', '/api/storage/uploads', photo(there.folders.own))).body;
    expect(partCount).toBe(1);
    const path = `/api/storage/uploads/${uploadId}`;
    const { parts } = (await byKey('POST', `${path}/parts`, { partNumbers: [1] })).body;
    await send('PUT', parts[0].presignedUrl, Buffer.from('bytes'));
    const file = (await byKey('POST', `${path}/complete`, {})).body;
    expect((await byKey('POST', `${path}/complete`, {})).body).toEqual(file);
    await byAda('PATCH', `/api/storage/files/${file.id}`, { folderId: there.folders.beside, fileName: 'secret.png' });
    const again = await byKey('POST', `${path}/complete`, {});
    expect(outcome(again)).toBe('409 upload_completed');
    expect(again.text).not.toContain('secret');
  });

  test('learns nothing of what lies elsewhere by what its role does not allow', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const hers = await service.createKey(eve, projectId, { folderId: there.folders.own });
    const body = { role: 'viewer' };
    await byAda('PATCH', `/api/projects/${projectId}/members/${eve.id}`, body);
    const remove = async (id: string) =>
      outcome(await service.call('DELETE', `/api/storage/files/${id}`, { key: hers.key }));
    expect(await remove(there.files.own)).toBe('403 role_missing');
    for (const id of [there.files.beside, there.files.root, randomUUID()]) {
      expect(await remove(id)).toBe('404 file_not_found');
    }
  });

  test('lists the links of files in its folder only', async () => {
    for (const fileId of Object.values(there.files)) await byAda('POST', '/api/storage/links', { fileId });
    const { links } = (await byKey('GET', `/api/storage/links?projectId=${projectId}`)).body;
    expect(links.map(({ fileId }: { fileId: string }) => fileId)).toEqual([there.files.inner, there.files.own]);
  });

  test('names an archive after its folder, and not after the project', async () => {
    const { url } = (await byKey('POST', '/api/storage/archives', { projectId, fileIds: [there.files.own] })).body;
    const { name } = await byAda('GET', `/api/storage/folders/${there.folders.own}`);
    const { headers } = await service.call('HEAD', new URL(url).pathname);
    expect(headers.get('content-disposition')).toContain(`${name}.zip`);
  });

  test('presigns without a query once the folder is known', async () => {
    await byKey('POST', '/api/storage/presign', photo(there.folders.inner));
    const asked = countStatements();
    for (let n = 0; n < 20; n++) {
      expect(outcome(await byKey('POST', '/api/storage/presign', photo(there.folders.inner)))).toBe('200');
    }
    expect(asked.stop()).toBe(0);
  });

  test('is made for a folder of its project only, and rotated with it', async () => {
    const make = (body: object) =>
      service.call('POST', '/api/api-keys', { as: ada, body: { name: 'K', projectId, ...body } });
    const elsewhere = projectId;
    projectId = await service.createProject(ada);
    const foreign = await makeFolder(null);
    projectId = elsewhere;
    expect(outcome(await make({ folderId: foreign }))).toBe('404 folder_not_found');
    expect(outcome(await make({ folderId: randomUUID() }))).toBe('404 folder_not_found');
    expect(outcome(await make({ folderId: there.folders.own, projectId: null }))).toBe('400 invalid_request');
    expect(outcome(await make({ folderId: 'x' }))).toBe('400 invalid_request');
    expect(outcome(await make({ folderId: null }))).toBe('200');

    const rotated = await byAda('POST', `/api/api-keys/${keyId}/rotate`, {});
    key = rotated.key;
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(there.folders.beside)))).toBe(
      '404 folder_not_found',
    );
    expect(outcome(await byKey('POST', '/api/storage/presign', photo(there.folders.own)))).toBe('200');
    const { apiKeys } = await byAda('GET', `/api/api-keys?projectId=${projectId}`);
    expect(apiKeys.map(({ folderId }: { folderId: string | null }) => folderId)).toEqual([
      there.folders.own,
      null,
      there.folders.own,
    ]);
    // The database enforces it too.
    await expect(
      service.deps.db.pool.query('update api_keys set folder_id = $2 where id = $1', [keyId, foreign]),
    ).rejects.toThrow(/api_keys_folder_fkey/);
  });
});

/** Collects the statements that reach the database through the pool, until `stop`. */
function countStatements(): { stop(): number } {
  const { pool } = service.deps.db;
  const { query, connect } = pool;
  let count = 0;
  Object.assign(pool, {
    query: (...all: Parameters<typeof query>) => {
      count += 1;
      return Reflect.apply(query, pool, all);
    },
    connect: (...all: Parameters<typeof connect>) => {
      count += 1;
      return Reflect.apply(connect, pool, all);
    },
  });
  return {
    stop() {
      Object.assign(pool, { query, connect });
      return count;
    },
  };
}
