import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Library, openLibrary } from '../../test/library.ts';
import { type Answer, type CallOptions, startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
let library: Library;
let asAda: CallOptions;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  library = await openLibrary(service);
  asAda = { as: library.ada };
});

async function record(caller: CallOptions, folderId: string | null = null): Promise<Answer['body']> {
  const recording = await service.upload(caller, library.projectId, Buffer.from('hello'), { folderId });
  const { status, body } = await library.call('POST', '/api/storage/record', recording, caller);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

async function list(): Promise<Answer['body']> {
  return (await library.call('GET', `/api/storage/list?projectId=${library.projectId}`)).body;
}

describe('createdBy', () => {
  test('of a file names who recorded it, in each answer: an account, a key, a ticket; null if nobody knows', async () => {
    const key = await service.createKey(library.ada, library.projectId);
    const ticket = (
      await library.call('POST', '/api/storage/tickets', {
        projectId: library.projectId,
        folderId: null,
        maxFiles: 1,
        maxBytes: 100,
      })
    ).body;
    const expected = [
      [await record(asAda), { userId: library.ada.id }],
      [await record({ key: key.key }), { apiKeyId: key.id }],
      [await record({ key: ticket.ticket }), { ticketId: ticket.id }],
      [await record(asAda), null],
    ] as const;
    const [, , , unknown] = expected;
    await service.deps.db.pool.query('update files set created_by_user = null where id = $1', [unknown[0].id]);
    for (const [file, createdBy] of expected.slice(0, -1)) expect(file.createdBy).toEqual(createdBy);
    const { files } = await list();
    for (const [{ id }, createdBy] of expected) {
      expect(files.find((file: { id: string }) => file.id === id).createdBy).toEqual(createdBy);
      expect((await library.call('GET', `/api/storage/files/${id}`)).body.createdBy).toEqual(createdBy);
    }
  });

  test('of a folder names the account or the key that made it', async () => {
    const key = await service.createKey(library.ada, library.projectId);
    for (const [caller, createdBy] of [
      [asAda, { userId: library.ada.id }],
      [{ key: key.key }, { apiKeyId: key.id }],
    ] as const) {
      const request = { projectId: library.projectId, name: JSON.stringify(createdBy), parentId: null };
      const { body } = await library.call('POST', '/api/storage/folders', request, caller);
      expect(body.createdBy).toEqual(createdBy);
      expect((await list()).folders).toContainEqual(body);
    }
  });

  test('of a key names the account, also after it has left', async () => {
    const eve = await service.join(library.ada, library.projectId, 'editor');
    const { id } = await service.createKey(eve, library.projectId);
    const file = await record({ as: eve });
    await library.call('DELETE', `/api/projects/${library.projectId}/members/${eve.id}`, undefined, asAda);
    const { body } = await library.call('GET', `/api/api-keys?projectId=${library.projectId}`, undefined, asAda);
    expect(body.apiKeys.find((key: { id: string }) => key.id === id).createdBy).toEqual({ userId: eve.id });
    expect((await library.call('GET', `/api/storage/files/${file.id}`)).body.createdBy).toEqual({ userId: eve.id });
  });
});

describe('an entry of the trash', () => {
  const entry = async (id: string, caller?: CallOptions) => {
    const path = `/api/storage/trash?projectId=${library.projectId}`;
    const { body } = await library.call('GET', path, undefined, caller);
    return body.entries.find((one: { id: string }) => one.id === id);
  };

  test('names who deleted it', async () => {
    const [byAda, byKey, folder] = [await library.file(), await library.file(), await library.folder()];
    const key = await service.createKey(library.ada, library.projectId);
    await library.call('DELETE', `/api/storage/files/${byAda.id}`, undefined, asAda);
    await library.call('DELETE', `/api/storage/files/${byKey.id}`, undefined, { key: key.key });
    await library.call('DELETE', `/api/storage/folders/${folder}`, undefined, asAda);
    expect(await entry(byAda.id)).toMatchObject({ deletedBy: { userId: library.ada.id } });
    expect(await entry(byKey.id)).toMatchObject({ deletedBy: { apiKeyId: key.id } });
    expect(await entry(folder)).toMatchObject({ deletedBy: { userId: library.ada.id } });
    await service.deps.db.pool.query('update files set trashed_by_user = null where id = $1', [byAda.id]);
    expect(await entry(byAda.id)).toMatchObject({ deletedBy: null });
  });

  test('has the path that it was on, as long as restoring leads there', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    const deep = await library.folder('deep', inner);
    const [file, atRoot, inDeep] = [await library.file(inner), await library.file(null), await library.file(deep)];
    for (const { id } of [file, atRoot, inDeep]) await library.call('DELETE', `/api/storage/files/${id}`);
    await library.call('DELETE', `/api/storage/folders/${deep}`);
    const path = [
      { id: outer, name: 'Level 1' },
      { id: inner, name: 'Level 2' },
    ];
    expect((await entry(file.id)).path).toEqual(path);
    expect((await entry(deep)).path).toEqual(path);
    expect((await entry(atRoot.id)).path).toEqual([]);
    // Its folder is in the trash itself, so that it would be restored to the root.
    expect((await entry(inDeep.id)).path).toEqual([]);
    await library.call('POST', `/api/storage/folders/${deep}/restore`);
    expect((await entry(inDeep.id)).path).toEqual([...path, { id: deep, name: 'deep' }]);
    const { body } = await library.call('POST', `/api/storage/files/${inDeep.id}/restore`);
    expect(body).toMatchObject({ folderId: deep, restored: { movedToRoot: false } });
  });

  test('has a path from the folder of a key on, which is also where the rest is restored to', async () => {
    const [outer = '', middle = '', inner = ''] = await library.chain(3);
    const [file, inInner] = [await library.file(middle), await library.file(inner)];
    for (const { id } of [file, inInner]) await library.call('DELETE', `/api/storage/files/${id}`);
    await library.call('DELETE', `/api/storage/folders/${inner}`);
    const { key } = await service.createKey(library.ada, library.projectId, { folderId: middle });
    for (const id of [file.id, inInner.id, inner]) {
      const found = await entry(id, { key });
      expect(found.path).toEqual([{ id: middle, name: 'Level 2' }]);
      expect(JSON.stringify(found)).not.toContain(outer);
    }
    const { body } = await library.call('POST', `/api/storage/files/${inInner.id}/restore`, undefined, { key });
    expect(body).toMatchObject({ folderId: middle, restored: { movedToRoot: true } });
  });
});
