import { afterEach, beforeEach, expect, test } from 'vitest';
import { id, type Stub, startStub } from './stub.ts';

const tied = '0199f3a0-1111-7000-8000-000000000000';
const named = '0199f3a0-2222-7000-8000-000000000000';
const key = 'GET /api/storage/key';

let stub: Stub;
beforeEach(async () => {
  stub = await startStub();
  stub.answers['/api/storage/key'] = { projectId: id, folderId: tied };
});
afterEach(() => stub.close());

test('a key tied to a folder uploads to that folder, lists it and creates folders in it, though a project is given', async () => {
  const cadiz = stub.client();
  stub.answers['/api/storage/list'] = { files: [], folders: [], breadcrumbs: [], nextCursor: null };
  await Promise.all([cadiz.upload('x', { name: 'x' }), cadiz.upload('y', { name: 'y' })]);
  expect(stub.bodies.filter(({ fileName }) => fileName).map(({ folderId }) => folderId)).toEqual([
    tied,
    tied,
    tied,
    tied,
  ]);
  await cadiz.files.page({ folder: null });
  expect(stub.asked.at(-1)).toContain(`folderId=${tied}`);
  await cadiz.folders.create('a');
  expect(stub.bodies.at(-1)).toMatchObject({ parentId: tied });
  await cadiz.folders.ensure(['a']);
  expect(stub.bodies.at(-1)).toMatchObject({ parentId: tied });
  // It is asked once.
  expect(stub.asked.filter((request) => request === key)).toHaveLength(1);
});

test('a key tied to no project has the root of the one that is given', async () => {
  stub.answers['/api/storage/key'] = { projectId: null, folderId: null };
  expect(await stub.client().upload('x', { name: 'x' })).toMatchObject({ projectId: id, folderId: null });
});

test('what says another folder, or none, does not ask what the key is', async () => {
  const cadiz = stub.client();
  await cadiz.upload('x', { name: 'x', folder: named });
  await cadiz.files.get(id);
  await cadiz.usage();
  await stub.client({ apiKey: undefined, session: 'a=b' }).upload('x', { name: 'x' });
  expect(stub.asked).not.toContain(key);
});

test('a folder that is named like an id is one, where only paths are meant', async () => {
  const file = new File(['x'], 'x');
  const { uploads } = await stub
    .client()
    .uploads.create([{ file, path: `${named}/x` }])
    .done();
  expect(uploads.map(({ state }) => state)).toEqual(['done']);
  expect(stub.bodies).toContainEqual({ projectId: id, parentId: tied, paths: [named] });
  // Beneath a folder that is given by its id, too.
  await stub
    .client()
    .uploads.create([{ file, path: `${named}/x` }], { folder: tied })
    .done();
  expect(stub.bodies.filter(({ paths }) => paths).at(-1)).toEqual({ projectId: id, parentId: tied, paths: [named] });
  await stub.client().upload('x', { name: 'x', folder: `/${named}` });
  expect(stub.bodies.filter(({ paths }) => paths)).toHaveLength(3);
});

test('a ticket takes a folder as everything else does', async () => {
  const cadiz = stub.client();
  const budget = { maxFiles: 1, maxBytes: 1 };
  stub.answers['/api/storage/folders'] = { id: named };
  await cadiz.tickets.create({ ...budget, folder: 's1' });
  expect(stub.asked.at(-2)).toMatch(/^GET \/api\/storage\/folders\?.*path=s1$/);
  expect(stub.bodies.at(-1)).toEqual({ ...budget, projectId: id, folderId: named });
  for (const given of [{ folder: named }, { folderId: named }]) {
    await cadiz.tickets.create({ ...budget, ...given });
    expect(stub.bodies.at(-1)).toEqual({ ...budget, projectId: id, folderId: named });
  }
  await cadiz.tickets.create(budget);
  expect(stub.bodies.at(-1)).toEqual({ ...budget, projectId: id, folderId: tied });
});
