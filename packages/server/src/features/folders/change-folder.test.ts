import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, startLibrary, tally } from '../../../test/library.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

const patch = (id: unknown, body: unknown) => library.call('PATCH', `/api/storage/folders/${id}`, body);
const get = async (id: string) => (await library.call('GET', `/api/storage/folders/${id}`)).body;

async function expectUnchanged(id: string, change: () => ReturnType<typeof patch>, status: number, code: string) {
  const before = await get(id);
  const answer = await expectProblem(change(), status, code);
  expect(await get(id)).toEqual(before);
  return answer;
}

describe('renaming', () => {
  test('changes the name and updatedAt, and nothing else', async () => {
    const parentId = await library.folder();
    const id = await library.folder('Before', parentId);
    const before = await get(id);
    library.service.advance(5);
    const { status, body } = await patch(id, { name: 'Nach her 写真' });
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, name: 'Nach her 写真', updatedAt: expect.any(String) });
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
    expect(await get(id)).toEqual(body);
  });

  test('to its own name, even in another case, is allowed', async () => {
    const id = await library.folder(`own ${randomUUID()}`);
    const { name } = await get(id);
    expect((await patch(id, { name })).status).toBe(200);
    expect((await patch(id, { name: name.toUpperCase() })).body.name).toBe(name.toUpperCase());
  });

  test('to the name of a sibling, in any case, is 409', async () => {
    const parentId = await library.folder();
    await library.folder('Été', parentId);
    const id = await library.folder('Hiver', parentId);
    for (const name of ['Été', 'ÉTÉ', 'E\u0301te\u0301']) {
      const { body } = await expectUnchanged(id, () => patch(id, { name }), 409, 'folder_exists');
      expect(body.detail).toContain(name);
    }
    expect((await patch(id, { name: 'Ete' })).status).toBe(200);
  });

  test('frees the old name', async () => {
    const parentId = await library.folder();
    await patch(await library.folder('A', parentId), { name: 'B' });
    await library.folder('A', parentId);
  });

  test('twenty siblings to one name at once: one gets it', async () => {
    const parentId = await library.folder();
    const ids = await Promise.all(Array.from({ length: 20 }, () => library.folder(undefined, parentId)));
    const answers = await Promise.all(ids.map((id) => patch(id, { name: 'Wanted' })));
    expect(tally(answers)).toEqual({ '200': 1, '409 folder_exists': 19 });
  });
});

describe('moving', () => {
  test('takes its contents along', async () => {
    const [outer = '', inner = ''] = await library.chain(2, await library.folder());
    const file = await library.file(inner);
    const target = await library.folder();
    const { status, body } = await patch(outer, { parentId: target });
    expect({ status, parentId: body.parentId }).toEqual({ status: 200, parentId: target });
    expect(await library.listed(inner)).toEqual({ files: [file.id], folders: [] });
    const { body: listing } = await library.call(
      'GET',
      `/api/storage/list?projectId=${library.projectId}&folderId=${inner}`,
    );
    expect(listing.breadcrumbs.map(({ id }: { id: string }) => id)).toEqual([null, target, outer, inner]);
  });

  test('to the root and back, with a new name in the same request', async () => {
    const parentId = await library.folder();
    const id = await library.folder('Kid', parentId);
    const name = randomUUID();
    expect((await patch(id, { parentId: null, name })).body).toMatchObject({ parentId: null, name });
    expect((await patch(id, { parentId, name: 'Kid' })).body).toMatchObject({ parentId, name: 'Kid' });
  });

  test('with a new name ignores conflicts with the old name', async () => {
    const from = await library.folder();
    const to = await library.folder();
    await library.folder('Taken', to);
    const id = await library.folder('Taken', from);
    await expectUnchanged(id, () => patch(id, { parentId: to }), 409, 'folder_exists');
    expect((await patch(id, { parentId: to, name: 'Free' })).status).toBe(200);
  });

  test('into itself, a child or a grandchild is 409', async () => {
    const [a = '', b = '', c = ''] = await library.chain(3, await library.folder());
    for (const parentId of [a, b, c, c.toUpperCase()]) {
      await expectUnchanged(a, () => patch(a, { parentId }), 409, 'folder_cycle');
    }
  });

  test('into a folder that is missing, in the trash or in another project is 404', async () => {
    const id = await library.folder();
    const trashed = await library.folder();
    await library.call('DELETE', `/api/storage/folders/${trashed}`);
    const foreign = await library.service.call('POST', '/api/storage/folders', {
      as: library.ada,
      body: { projectId: await library.service.createProject(library.ada), name: 'Foreign', parentId: null },
    });
    for (const parentId of [randomUUID(), trashed, foreign.body.id]) {
      await expectUnchanged(id, () => patch(id, { parentId }), 404, 'folder_not_found');
    }
  });

  test('to exactly 32 levels is allowed, and one more is 409', async () => {
    const deep = await library.chain(30, await library.folder());
    const [tree = ''] = await library.chain(2, await library.folder());
    await expectUnchanged(tree, () => patch(tree, { parentId: deep.at(-1) }), 409, 'folder_too_deep');
    await expectUnchanged(tree, () => patch(tree, { parentId: deep.at(-1), name: 'x' }), 409, 'folder_too_deep');
    expect((await patch(tree, { parentId: deep.at(-2) })).status).toBe(200);
  });

  test('does not count folders in the trash', async () => {
    const deep = await library.chain(30, await library.folder());
    const [tree = '', inner = ''] = await library.chain(2, await library.folder());
    await library.call('DELETE', `/api/storage/folders/${inner}`);
    expect((await patch(tree, { parentId: deep.at(-1) })).status).toBe(200);
  });

  test('many at once, each into another, never make a cycle', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => library.folder()));
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        ids.flatMap((id, index) => [1, 2, 3].map((step) => patch(id, { parentId: ids[(index + step) % ids.length] }))),
      );
      const { '200': moved = 0, '409 folder_cycle': refused = 0, ...others } = tally(answers);
      expect(others).toEqual({});
      expect(moved).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
      // Every path up ends at the root.
      for (const id of ids) {
        let at: string | null = id;
        for (let steps = 0; at !== null; steps += 1) {
          expect(steps).toBeLessThanOrEqual(ids.length);
          at = (await get(at)).parentId;
        }
      }
      for (const id of ids) await patch(id, { parentId: null });
    }
  });
});

test.each([
  ['nothing', {}, ''],
  ['only unknown fields', { title: 'x' }, ''],
  ['a name with a slash', { name: 'a/b' }, 'name'],
  ['an empty name', { name: '' }, 'name'],
  ['null as its name', { name: null }, 'name'],
  ['root as its parent', { parentId: 'root' }, 'parentId'],
  ['a list', [], ''],
])('%s is 400', async (_what, body, path) => {
  const id = await library.folder();
  const answer = await expectUnchanged(id, () => patch(id, body), 400, 'invalid_request');
  expect(answer.body.issues).toMatchObject([{ path }]);
});

test('a folder that is missing or in the trash is 404, and an id that is not a UUID 400', async () => {
  const trashed = await library.folder();
  await library.call('DELETE', `/api/storage/folders/${trashed}`);
  await expectProblem(patch(trashed, { name: 'x' }), 404, 'folder_not_found');
  await expectProblem(patch(randomUUID(), { name: 'x' }), 404, 'folder_not_found');
  await expectProblem(patch('root', { name: 'x' }), 400, 'invalid_request');
});
