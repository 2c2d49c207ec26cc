import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  type CallOptions,
  type Facts,
  type Person,
  send,
  startTestService,
  type TestService,
  withObjects,
} from '../../../test/service.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const call = (method: string, path: string, body?: unknown) =>
  service.call(method, `/api/storage${path}`, { as: ada, body });
const copy = (id: string, body: object = { folderId: null }) => call('POST', `/files/${id}/copy`, body);

async function createFile(facts: Partial<Facts> = {}, more: object = {}, project = projectId, bytes = png) {
  const wanted = { fileName: 'Ä +%20 "写真" 👍.png', mimeType: 'image/png', ...facts };
  const body = await service.upload({ as: ada }, project, bytes, wanted);
  const { status, body: file } = await call('POST', '/record', { ...body, ...more });
  expect(status).toBe(200);
  return file;
}

async function createFolder(project = projectId): Promise<string> {
  return (await call('POST', '/folders', { projectId: project, name: randomUUID(), parentId: null })).body.id;
}

async function usageOf(project: string) {
  return (await call('GET', `/usage?projectId=${project}`)).body;
}

test('a copy is a file of its own, with an object of its own and the facts of the first', async () => {
  const folderId = await createFolder();
  const file = await createFile();
  const { status, body } = await copy(file.id, { folderId });
  expect(status).toBe(200);
  const { id, storeKey, createdAt, updatedAt } = body;
  expect(body).toEqual({ ...file, id, storeKey, createdAt, updatedAt, folderId });
  expect(id).not.toBe(file.id);
  expect(storeKey).not.toBe(file.storeKey);
  expect(storeKey).toMatch(new RegExp(`^${projectId}/\\d{19}-`));
  const { url } = (await call('POST', `/files/${id}/url`, {})).body;
  expect((await service.deps.objects.peek(storeKey, 100))?.firstBytes).toEqual(png);
  expect((await send('GET', url)).status).toBe(200);
  expect((await call('GET', `/files/${id}`)).body).toEqual(body);

  const named = (await copy(file.id, { folderId: null, fileName: 'another.png' })).body;
  expect([named.fileName, named.folderId]).toEqual(['another.png', null]);
  expect(named.storeKey).toMatch(/-another\.png$/);
});

test('an empty file can be copied', async () => {
  const file = await createFile({}, {}, projectId, Buffer.alloc(0));
  const { body } = await copy(file.id);
  expect([body.fileSize, body.etag]).toEqual([0, file.etag]);
});

test('what is known of the content is true of the copy: the type, its check and the SHA-256', async () => {
  const mismatch = await createFile({ mimeType: 'text/plain' });
  expect((await copy(mismatch.id)).body).toMatchObject({ detectedMimeType: 'image/png', contentCheck: 'mismatch' });

  const sha256 = createHash('sha256').update(png).digest('hex');
  const { pool } = service.deps.db;
  const declared = await createFile({}, { sha256 });
  for (const state of ['declared', 'verified', 'mismatch']) {
    await pool.query('update files set sha256_state = $2 where id = $1', [declared.id, state]);
    const { body } = await copy(declared.id);
    expect([body.sha256, body.sha256State]).toEqual([sha256, state]);
    const { rowCount } = await pool.query('select from work where subject = $1', [body.id]);
    expect([state, rowCount]).toEqual([state, state === 'declared' ? 1 : 0]);
  }

  await pool.query(`update files set content_check = 'pending', detected_mime_type = null where id = $1`, [
    declared.id,
  ]);
  expect((await copy(declared.id)).body).toMatchObject({ detectedMimeType: 'image/png', contentCheck: 'match' });
});

test('counts as stored, and a quota refuses it exactly', async () => {
  const body = { name: 'Limited', quotaBytes: 100 };
  const project = (await service.call('POST', '/api/projects', { as: ada, body })).body.id;
  const file = await createFile({}, {}, project);
  const answers = await Promise.all(Array.from({ length: 8 }, () => copy(file.id)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer.body.code).toBe('quota_exceeded');
  expect(await usageOf(project)).toMatchObject({ fileCount: 6, totalBytes: 96 });
});

test('limits of the project apply to the copy', async () => {
  const project = await service.createProject(ada);
  const file = await createFile({}, {}, project);
  const change = (body: object) => service.call('PATCH', `/api/projects/${project}`, { as: ada, body });
  await change({ maxFileSizeBytes: 5 });
  expect((await copy(file.id)).body.code).toBe('file_too_large');
  await change({ maxFileSizeBytes: null, allowedMimeTypes: ['text/plain'] });
  expect((await copy(file.id)).body.code).toBe('mime_type_not_allowed');
  expect(await usageOf(project)).toMatchObject({ fileCount: 1 });
});

test('a file that is absent, in the trash or in a deleted folder is 404, and so is a folder that is absent or gone', async () => {
  expect((await copy(randomUUID())).body.code).toBe('file_not_found');
  const folderId = await createFolder();
  const [file, inFolder] = [await createFile(), await createFile({ folderId })];
  expect((await copy(file.id, { folderId: randomUUID() })).body.code).toBe('folder_not_found');
  await call('DELETE', `/folders/${folderId}?recursive=true`);
  expect((await copy(file.id, { folderId })).body.code).toBe('folder_not_found');
  expect((await copy(inFolder.id)).body.code).toBe('file_not_found');
  await call('DELETE', `/files/${file.id}`);
  expect((await copy(file.id)).body.code).toBe('file_not_found');
});

test("a file in another project's folder is not copied there", async () => {
  const other = await createFolder(await service.createProject(ada));
  expect((await copy((await createFile()).id, { folderId: other })).body.code).toBe('folder_not_found');
});

test('an object that is gone, or is another than was recorded, is 409 object_changed, and nothing is recorded', async () => {
  const project = await service.createProject(ada);
  const gone = await createFile({}, {}, project);
  await service.deps.objects.remove([gone.storeKey]);
  const changed = await createFile({}, {}, project);
  await service.deps.db.pool.query(`update files set etag = 'another' where id = $1`, [changed.id]);
  for (const { id } of [gone, changed]) {
    const answer = await copy(id);
    expect([answer.status, answer.body.code]).toEqual([409, 'object_changed']);
  }
  expect(await usageOf(project)).toMatchObject({ fileCount: 2 });
});

test.each([
  [{}, 'folderId', 'is missing'],
  [{ folderId: null, fileName: 'a/b' }, 'fileName', 'must not contain / or \\'],
])('400 for %j', async (body, path, message) => {
  expect((await copy(randomUUID(), body)).body.issues).toEqual([{ path, message }]);
});

test('when the recording fails, an object is left that is an upload like any other to the janitor', async () => {
  const project = await service.createProject(ada);
  const file = await createFile({}, {}, project);
  const { inserts } = service.deps;
  service.deps.inserts = () => Promise.reject(new Error('Connection terminated'));
  try {
    expect((await copy(file.id)).body.code).toBe('database_unavailable');
  } finally {
    service.deps.inserts = inserts;
  }
  const { objects } = await service.deps.objects.list(`${project}/`);
  expect(objects.map(({ sizeBytes }) => sizeBytes)).toEqual([16, 16]);
  const orphan = objects.find(({ storeKey }) => storeKey !== file.storeKey);
  const recording = {
    projectId: project,
    fileName: file.fileName,
    mimeType: file.mimeType,
    fileSize: 16,
    folderId: null,
  };
  expect((await call('POST', '/record', { ...recording, storeKey: orphan?.storeKey })).status).toBe(200);
});

describe('a copy that takes long is not recorded for a caller', () => {
  const byAda = async (method: string, path: string, body?: unknown) =>
    expect((await service.call(method, path, { as: ada, body })).status).toBe(200);

  /** Copies a file, and does something while the store copies the bytes. */
  async function copyWhile(caller: CallOptions, project: string, act: () => Promise<unknown>): Promise<Answer> {
    const file = await createFile({}, {}, project);
    const { objects } = service.deps;
    const copy: typeof objects.copy = async (...asked) => {
      const copied = await objects.copy(...asked);
      await act();
      return copied;
    };
    const body = { folderId: null };
    return withObjects(service, { copy }, () =>
      service.call('POST', `/api/storage/files/${file.id}/copy`, { ...caller, body }),
    );
  }

  test.each<[string, string, boolean, (project: string, bob: Person, keyId: string) => Promise<void>]>([
    ['whose key is revoked', 'invalid_api_key', true, (_project, _bob, id) => byAda('DELETE', `/api/api-keys/${id}`)],
    [
      'whose role is lowered',
      'role_missing',
      true,
      (project, bob) => byAda('PATCH', `/api/projects/${project}/members/${bob.id}`, { role: 'viewer' }),
    ],
    [
      'who is removed from the project',
      'project_not_found',
      false,
      (project, bob) => byAda('DELETE', `/api/projects/${project}/members/${bob.id}`),
    ],
    [
      'whose session is ended',
      'session_required',
      false,
      (_project, bob) => byAda('DELETE', `/api/users/${bob.id}/sessions`),
    ],
  ])('%s meanwhile', async (_who, code, hasKey, end) => {
    const project = await service.createProject(ada);
    const bob = await service.join(ada, project, 'editor');
    const { id, key } = await service.createKey(bob, project);
    const { body } = await copyWhile(hasKey ? { key } : { as: bob }, project, () => end(project, bob, id));
    expect(body.code).toBe(code);
    expect((await usageOf(project)).fileCount).toBe(1);
  });

  test('but for one who keeps access', async () => {
    const project = await service.createProject(ada);
    const bob = await service.join(ada, project, 'editor');
    const { id } = await service.createKey(bob, project);
    const revoke = () => byAda('DELETE', `/api/api-keys/${id}`);
    expect((await copyWhile({ as: bob }, project, revoke)).status).toBe(200);
    expect((await usageOf(project)).fileCount).toBe(2);
  });
});
