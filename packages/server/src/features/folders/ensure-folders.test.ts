import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const post = (path: string, body: object) => service.call('POST', `/api/storage/folders${path}`, { as: ada, body });
const ensure = (paths: unknown, parentId: string | null = null, project = projectId) =>
  post('/ensure', { projectId: project, parentId, paths });
const find = (path: string, project = projectId) =>
  service.call('GET', `/api/storage/folders?projectId=${project}&path=${encodeURIComponent(path)}`, { as: ada });
const namesOf = ({ body }: Answer) => body.folders.map(({ name }: { name: string }) => name);
const idsOf = ({ body }: Answer) => body.folders.map(({ id }: { id: string }) => id);

async function countFolders(project = projectId): Promise<number> {
  const { rowCount } = await service.deps.db.pool.query('select from folders where project_id = $1', [project]);
  return rowCount ?? 0;
}

describe('ensuring folders', () => {
  test('makes what is missing and answers the last folder of each path, in their order', async () => {
    const project = await service.createProject(ada);
    const answer = await ensure(['a/b/c', 'd', 'a/b', 'a/b/e'], null, project);
    expect(answer.status).toBe(200);
    expect(namesOf(answer)).toEqual(['c', 'd', 'b', 'e']);
    const [c, d, b, e] = answer.body.folders;
    expect([c.parentId, e.parentId, d.parentId]).toEqual([b.id, b.id, null]);
    expect(await countFolders(project)).toBe(5);
    expect((await find('a/b/c', project)).body).toEqual(c);
  });

  test('again, in another case and in one that has folders already, makes nothing', async () => {
    const project = await service.createProject(ada);
    const made = (await post('', { projectId: project, name: 'Été', parentId: null })).body;
    const first = await ensure(['été/Photos', 'ÉTÉ', 'E\u0301te\u0301/photos'], null, project);
    expect(first.body.folders[1]).toEqual(made);
    expect(first.body.folders[2]).toEqual(first.body.folders[0]);
    expect(namesOf(first)).toEqual(['Photos', 'Été', 'Photos']);
    expect((await ensure(['été/Photos', 'ÉTÉ', 'été/PHOTOS'], null, project)).body).toEqual(first.body);
    expect(await countFolders(project)).toBe(2);
  });

  test('begins at the parent', async () => {
    const [parent] = idsOf(await ensure([randomUUID()]));
    const answer = await ensure(['x/y'], parent);
    const { body } = await service.call('GET', `/api/storage/folders/${answer.body.folders[0].parentId}`, { as: ada });
    expect([body.name, body.parentId]).toEqual(['x', parent]);
  });

  test('requests that race for the same paths make each folder once, and answer the same', async () => {
    const project = await service.createProject(ada);
    const paths = ['a/b/c', 'a/b', 'A/B/d', 'e'];
    const answers = await Promise.all(Array.from({ length: 8 }, () => ensure(paths, null, project)));
    for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body);
    expect(answers[0]?.status).toBe(200);
    expect(await countFolders(project)).toBe(5);
  });

  test('a folder in the trash does not count: a new one is made', async () => {
    const name = randomUUID();
    const [before] = idsOf(await ensure([`${name}/x`]));
    const top = (await find(name)).body.id;
    await service.call('DELETE', `/api/storage/folders/${top}?recursive=true`, { as: ada });
    const [after] = idsOf(await ensure([`${name}/x`]));
    expect(after).not.toBe(before);
    expect((await find(`${name}/x`)).body.id).toBe(after);
  });

  test('32 levels are the most, from the root on; one more and nothing is made', async () => {
    const project = await service.createProject(ada);
    const deep = (levels: number) => Array.from({ length: levels }, (_, n) => `${n}`).join('/');
    const refused = await ensure(['other', deep(33)], null, project);
    expect([refused.status, refused.body.code]).toEqual([409, 'folder_too_deep']);
    expect(await countFolders(project)).toBe(0);
    const [bottom] = idsOf(await ensure([deep(32)], null, project));
    expect((await ensure(['more'], bottom, project)).body.code).toBe('folder_too_deep');
    const [top] = idsOf(await ensure(['top'], null, project));
    expect((await ensure([deep(32)], top, project)).body.code).toBe('folder_too_deep');
    expect((await ensure([deep(31)], top, project)).status).toBe(200);
  });

  test('an absent parent is 404, and so is one in the trash', async () => {
    expect((await ensure(['a'], randomUUID())).body.code).toBe('folder_not_found');
    const [gone] = idsOf(await ensure([randomUUID()]));
    await service.call('DELETE', `/api/storage/folders/${gone}`, { as: ada });
    expect((await ensure(['a'], gone)).body.code).toBe('folder_not_found');
  });

  const slashes = 'must have names with one / between them, and none at either end';
  test.each([
    ['', slashes],
    ['/a', slashes],
    ['a/', slashes],
    ['a//b', slashes],
    ['a/./b', 'has a name that must not be . or ..'],
    ['..', 'has a name that must not be . or ..'],
    ['a\\b', 'has a name that must not contain / or \\'],
    ['a/\u0007', 'has a name that must not contain control characters'],
    ['a/\ud800', 'has a name that must be well-formed Unicode (it has half of a surrogate pair)'],
    ['a/'.repeat(2) + 'x'.repeat(256), 'has a name that must be at most 255 bytes of UTF-8, and has 256'],
    [7, 'must be a string'],
  ])('the path %j is refused by its place in the list', async (path, message) => {
    const answer = await ensure(['fine', 'also/fine', path]);
    expect([answer.status, answer.body.issues]).toEqual([400, [{ path: 'paths.2', message }]]);
  });

  test.each([
    [[], 'must have at least one path'],
    [Array.from({ length: 101 }, (_, n) => `${n}`), 'must have at most 100 paths'],
  ])('a list of a wrong length is refused', async (paths, message) => {
    expect((await ensure(paths)).body.issues).toEqual([{ path: 'paths', message }]);
  });

  test('a hundred paths of 32 long names fit', async () => {
    const project = await service.createProject(ada);
    const long = Array.from({ length: 32 }, (_, n) => `${n}-${'x'.repeat(250)}`).join('/');
    const answer = await ensure(
      Array.from({ length: 100 }, () => long),
      null,
      project,
    );
    expect([answer.status, new Set(idsOf(answer)).size]).toEqual([200, 1]);
    expect(await countFolders(project)).toBe(32);
  });
});

describe('finding a folder by its path', () => {
  test('is 404 if a part of the path is not there, or the path is too deep', async () => {
    await ensure(['one/two']);
    expect((await find('ONE/Two')).status).toBe(200);
    for (const path of ['two', 'one/three', 'one/two/three', Array(40).fill('one').join('/')]) {
      expect([path, (await find(path)).body.code]).toEqual([path, 'folder_not_found']);
    }
  });

  test('a bad path is 400', async () => {
    const { status, body } = await find('a//b');
    expect([status, body.issues]).toEqual([
      400,
      [{ path: 'path', message: 'must have names with one / between them, and none at either end' }],
    ]);
  });
});

describe('folder_exists', () => {
  test('names the folder that has the name: when one is created, renamed or moved', async () => {
    const [taken, other, elsewhere] = idsOf(await ensure(['taken', 'other', 'elsewhere/Taken']));
    const create = await post('', { projectId, name: 'TAKEN', parentId: null });
    expect([create.status, create.body.code, create.body.existingId]).toEqual([409, 'folder_exists', taken]);
    const change = (id: string, body: object) => service.call('PATCH', `/api/storage/folders/${id}`, { as: ada, body });
    expect((await change(other, { name: 'Taken' })).body.existingId).toBe(taken);
    expect((await change(elsewhere, { parentId: null })).body.existingId).toBe(taken);
    const bulk = { projectId, action: 'move', folderIds: [elsewhere], folderId: null };
    expect((await service.call('POST', '/api/storage/bulk', { as: ada, body: bulk })).body.existingId).toBe(taken);
  });
});
