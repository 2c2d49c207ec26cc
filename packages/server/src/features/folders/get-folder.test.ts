import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type CallOptions, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: NonNullable<CallOptions['as']>;
let projectId: string;
let folder: Record<string, unknown>;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  const body = { projectId, name: 'A folder', parentId: null };
  folder = (await service.call('POST', '/api/storage/folders', { as: ada, body })).body;
});
afterAll(() => service.close());

function get(id: unknown, caller: CallOptions): Promise<Answer> {
  return service.call('GET', `/api/storage/folders/${id}`, caller);
}

test('returns the folder as creation did, to a session, a key of the project and an untied key', async () => {
  const { key: tied } = await service.createKey(ada, projectId);
  const { key: untied } = await service.createKey(ada, null);
  for (const caller of [{ as: ada }, { key: tied }, { key: untied }]) {
    const { status, body } = await get(folder.id, caller);
    expect({ status, body }).toEqual({ status: 200, body: folder });
  }
  expect((await get(String(folder.id).toUpperCase(), { as: ada })).body).toEqual(folder);
});

test('gives the same answer for a folder out of reach as for a missing one', async () => {
  const eve = await service.signUp('Eve');
  const evesProject = await service.createProject(eve);
  const { key: tied } = await service.createKey(eve, evesProject);
  const { key: untied } = await service.createKey(eve, null);
  // Ada's own key, but tied to another of her projects.
  const { key: elsewhere } = await service.createKey(ada, await service.createProject(ada));
  for (const caller of [{ as: eve }, { key: tied }, { key: untied }, { key: elsewhere }]) {
    const foreign = await get(folder.id, caller);
    const absent = await get(randomUUID(), caller);
    expect({ status: foreign.status, code: foreign.body.code }).toEqual({ status: 404, code: 'folder_not_found' });
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
    expect(foreign.text).not.toContain('A folder');
  }
});

test.each(['root', 'no-uuid', 'null', '%00', randomUUID().slice(1)])('an id of %s is not a UUID', async (id) => {
  const { status, body } = await get(id, { as: ada });
  expect({ status, code: body.code, issues: body.issues }).toMatchObject({
    status: 400,
    code: 'invalid_request',
    issues: [{ path: 'id' }],
  });
});
