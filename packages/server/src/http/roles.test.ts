import { randomUUID } from 'node:crypto';
import type { OperationId } from '@cadiz/contract';
import { routes } from '@cadiz/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../test/service.ts';

const ok = '200';
const no = '403 role_missing';

/** What the members of a project may do with it, by their role. */
// biome-ignore format: a table is read by its columns
const expected = {
  //                 owner  editor viewer
  usage:            [ok,    ok,    ok],
  presign:          [ok,    ok,    no],
  record:           [ok,    ok,    no],
  list:             [ok,    ok,    ok],
  createFolder:     [ok,    ok,    no],
  getFolder:        [ok,    ok,    ok],
  changeFolder:     [ok,    ok,    no],
  deleteFolder:     [ok,    ok,    no],
  restoreFolder:    [ok,    ok,    no],
  getFile:          [ok,    ok,    ok],
  changeFile:       [ok,    ok,    no],
  deleteFile:       [ok,    ok,    no],
  restoreFile:      [ok,    ok,    no],
  listTrash:        [ok,    ok,    ok],
  emptyTrash:       [ok,    ok,    no],
  bulk:             [ok,    ok,    no],

  getProject:       [ok,    ok,    ok],
  updateProject:    [ok,    no,    no],
  deleteProject:    [ok,    no,    no],
  listMembers:      [ok,    ok,    ok],
  changeMember:     [ok,    no,    no],
  removeMember:     [ok,    no,    no],
  createInvitation: [ok,    no,    no],
  listInvitations:  [ok,    no,    no],
  removeInvitation: [ok,    no,    no],

  createApiKey:     [ok,    ok,    no],
  listApiKeys:      [ok,    ok,    no],
  revokeApiKey:     [ok,    ok,    '404 api_key_not_found'],
  rotateApiKey:     [ok,    ok,    '404 api_key_not_found'],
} satisfies Partial<Record<OperationId, string[]>>;
type Tested = keyof typeof expected;

let service: TestService;
let ada: Person;
let projectId: string;
let members: Person[];

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
afterAll(() => service.close());

const project = () => `/api/projects/${projectId}`;
const keyOf = async () => `/api/api-keys/${(await service.createKey(ada, projectId)).id}`;
const invited = () => ({ email: `${randomUUID()}@example.com`, role: 'viewer' });
const folder = () => ({ projectId, name: randomUUID(), parentId: null });
const asAda = async (method: string, path: string, body: unknown) =>
  (await service.call(method, path, { as: ada, body })).body;
const newFolder = async () => (await asAda('POST', '/api/storage/folders', folder())).id;
const newFile = async () => {
  const upload = await service.upload({ as: ada }, projectId, Buffer.from('x'));
  return (await asAda('POST', '/api/storage/record', upload)).id;
};

const requests: Record<Tested, () => Promise<{ path: string; body?: unknown }>> = {
  usage: async () => ({ path: `/api/storage/usage?projectId=${projectId}` }),
  presign: async () => ({
    path: '/api/storage/presign',
    body: { projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null },
  }),
  record: async () => ({
    path: '/api/storage/record',
    body: await service.upload({ as: ada }, projectId, Buffer.from('x')),
  }),
  list: async () => ({ path: `/api/storage/list?projectId=${projectId}` }),
  createFolder: async () => ({ path: '/api/storage/folders', body: folder() }),
  getFolder: async () => ({
    path: `/api/storage/folders/${await newFolder()}`,
  }),
  changeFolder: async () => ({ path: `/api/storage/folders/${await newFolder()}`, body: { name: randomUUID() } }),
  deleteFolder: async () => ({ path: `/api/storage/folders/${await newFolder()}` }),
  restoreFolder: async () => ({ path: `/api/storage/folders/${await newFolder()}/restore` }),
  getFile: async () => ({ path: `/api/storage/files/${await newFile()}` }),
  changeFile: async () => ({ path: `/api/storage/files/${await newFile()}`, body: { fileName: 'b' } }),
  deleteFile: async () => ({ path: `/api/storage/files/${await newFile()}` }),
  restoreFile: async () => ({ path: `/api/storage/files/${await newFile()}/restore` }),
  listTrash: async () => ({ path: `/api/storage/trash?projectId=${projectId}` }),
  emptyTrash: async () => ({ path: `/api/storage/trash?projectId=${projectId}` }),
  bulk: async () => ({
    path: '/api/storage/bulk',
    body: { projectId, action: 'delete', folderIds: [await newFolder()] },
  }),
  getProject: async () => ({ path: project() }),
  updateProject: async () => ({ path: project(), body: { name: 'New' } }),
  deleteProject: async () => ({ path: project() }),
  listMembers: async () => ({ path: `${project()}/members` }),
  changeMember: async () => ({
    path: `${project()}/members/${(await service.join(ada, projectId, 'editor')).id}`,
    body: { role: 'viewer' },
  }),
  removeMember: async () => ({ path: `${project()}/members/${(await service.join(ada, projectId, 'editor')).id}` }),
  createInvitation: async () => ({ path: `${project()}/invitations`, body: invited() }),
  listInvitations: async () => ({ path: `${project()}/invitations` }),
  removeInvitation: async () => ({
    path: `${project()}/invitations/${(await asAda('POST', `${project()}/invitations`, invited())).id}`,
  }),
  createApiKey: async () => ({ path: '/api/api-keys', body: { name: 'K', projectId } }),
  listApiKeys: async () => ({ path: `/api/api-keys?projectId=${projectId}` }),
  revokeApiKey: async () => ({ path: await keyOf() }),
  rotateApiKey: async () => ({ path: `${await keyOf()}/rotate`, body: {} }),
};

test.each(Object.keys(expected) as Tested[])('%s', async (operation) => {
  // A project of its own, since an owner may delete it.
  projectId = await service.createProject(ada);
  const viewer = await service.join(ada, projectId, 'viewer');
  const editor = await service.join(ada, projectId, 'editor');
  members = [viewer, editor, ada];
  const outcomes: string[] = [];
  for (const as of members) {
    const { path, body } = await requests[operation]();
    const answer = await service.call(routes[operation].method, path, { as, body });
    outcomes.unshift(answer.status === 200 ? ok : `${answer.status} ${answer.body.code}`);
  }
  expect(outcomes).toEqual(expected[operation]);
});
