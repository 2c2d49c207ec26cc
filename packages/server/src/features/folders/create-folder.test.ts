import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, startTestService, type TestService } from '../../../test/service.ts';
import { toNameKey } from '../../tree/name-key.ts';

let service: TestService;
let key: string;
let projectId: string;
let otherProjectId: string;

beforeAll(async () => {
  service = await startTestService();
  const ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
  projectId = await service.createProject(ada);
  otherProjectId = await service.createProject(ada, 'Another project');
});
afterAll(() => service.close());

function create(name: unknown, parentId: unknown = null, project: unknown = projectId): Promise<Answer> {
  return service.call('POST', '/api/storage/folders', { key, body: { projectId: project, name, parentId } });
}

/** A separate folder for each test, so that names do not collide. */
async function newParent(project = projectId): Promise<string> {
  const { status, body } = await create(randomUUID(), null, project);
  expect(status).toBe(200);
  return body.id;
}

async function countFolders(): Promise<number> {
  return (await service.deps.db.pool.query('select count(*) as count from folders')).rows[0].count;
}

async function expectNothingWritten(asked: Promise<Answer>, status: number, code: string): Promise<Answer> {
  const before = await countFolders();
  const answer = await asked;
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
  expect(await countFolders()).toBe(before);
  return answer;
}

describe('a new folder', () => {
  test('in the root has no parent', async () => {
    const name = `Ordner "1" ${randomUUID()}`;
    const { status, body } = await create(name);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      projectId,
      name,
      parentId: null,
      createdBy: { apiKeyId: expect.any(String) },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
    });
  });

  test('in a folder has it as its parent, whatever the case of the ids', async () => {
    const parentId = await newParent();
    const { status, body } = await create('a', parentId.toUpperCase(), projectId.toUpperCase());
    expect({ status, projectId: body.projectId, parentId: body.parentId }).toEqual({
      status: 200,
      projectId,
      parentId,
    });
  });

  test('can be 32 levels deep and no deeper, and is listed with all of its breadcrumbs', async () => {
    let parentId: string | null = null;
    const ids: string[] = [];
    for (let depth = 0; depth < 32; depth += 1) {
      const { body }: Answer = await create(`deep ${depth}`, parentId);
      parentId = body.id;
      ids.push(body.id);
    }
    const { body } = await service.call('GET', `/api/storage/list?projectId=${projectId}&folderId=${parentId}`, {
      key,
    });
    expect(body.breadcrumbs.slice(1).map(({ id }: { id: string }) => id)).toEqual(ids);
    await expectNothingWritten(create('too deep', parentId), 409, 'folder_too_deep');
  });

  test('ignores unknown fields', async () => {
    const id = randomUUID();
    const body = { projectId, name: randomUUID(), parentId: null, id, nameKey: 'x', createdAt: '2000-01-01' };
    const answer = await service.call('POST', '/api/storage/folders', { key, body });
    expect(answer.status).toBe(200);
    expect(answer.body.id).not.toBe(id);
  });
});

describe('names', () => {
  test.each([
    ['spaces at the ends', ' a '],
    ['percent, plus and hash', '100% + #1'],
    ['quotes and angle brackets', `"'<b>`],
    ['a composed emoji', '👩‍👩‍👧'],
    ['right to left', 'תיקייה \u202e'],
    ['three dots', '...'],
    ['255 bytes', 'x'.repeat(255)],
    ['255 bytes of four-byte characters', `${'👍'.repeat(63)}abc`],
    ['decomposed letters', 'cafe\u0301'],
    ['letters that are longer in the other case', 'ß'.repeat(127)],
  ])('with %s are kept exactly', async (_what, name) => {
    const { status, body } = await create(name, await newParent());
    expect({ status, name: body.name }).toEqual({ status: 200, name });
    const read = await service.call('GET', `/api/storage/folders/${body.id}`, { key });
    expect(read.body).toEqual(body);
  });

  test.each([
    ['nothing', ''],
    ['NUL', 'a\0'],
    ['a line feed', 'a\nb'],
    ['DEL', '\x7f'],
    ['C1', 'a\x85'],
    ['a slash', 'a/b'],
    ['a backslash', 'a\\b'],
    ['a dot', '.'],
    ['two dots', '..'],
    ['half a surrogate pair', '\ud83d'],
    ['256 bytes', 'x'.repeat(256)],
    ['256 bytes of four-byte characters', '👍'.repeat(64)],
    ['a number', 1],
    ['null', null],
  ])('of %s are refused', async (_what, name) => {
    const { body } = await expectNothingWritten(create(name), 400, 'invalid_request');
    expect(body.issues).toMatchObject([{ path: 'name' }]);
  });
});

describe('siblings', () => {
  test.each([
    ['the same', 'Photos', 'Photos'],
    ['another case', 'Photos', 'pHOTOS'],
    ['another case beyond ASCII', 'ÉTÉ', 'été'],
    ['composed and decomposed', '\u00c9t\u00e9', 'E\u0301te\u0301'],
    ['decomposed and in another case', '\u00e9', 'E\u0301'],
    ['Cyrillic', 'ФОТО', 'фото'],
    ['Greek with its two small sigmas', 'ΟΔΟΣ', 'οδοσ'],
    ['sharp s', 'STRASSE', 'straße'],
    ['a ligature', 'ﬁn', 'FIN'],
    ['Å as a letter and as Ångström', '\u212b', 'å'],
  ])('%s: one name', async (_what, first, second) => {
    const parentId = await newParent();
    expect((await create(first, parentId)).status).toBe(200);
    const { body } = await expectNothingWritten(create(second, parentId), 409, 'folder_exists');
    expect(body.detail).toContain(second);
    await expectNothingWritten(create(first, parentId), 409, 'folder_exists');
  });

  test.each([
    ['another letter', 'a', 'b'],
    ['an accent', 'e', 'é'],
    ['a space', 'a', 'a '],
    ['wide letters', 'a', 'ａ'],
    ['a dotless i', 'ı', 'j'],
  ])('%s: two names', async (_what, first, second) => {
    const parentId = await newParent();
    expect((await create(first, parentId)).status).toBe(200);
    expect((await create(second, parentId)).status).toBe(200);
  });

  test('the key of a name is the same in every case and form', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), (name) => {
        // The iota subscript of ancient Greek becomes a separate letter, and changes places with other marks.
        fc.pre(!name.normalize('NFD').includes('\u0345'));
        const nameKey = toNameKey(name);
        for (const same of [
          name.toUpperCase(),
          name.toLowerCase(),
          name.normalize('NFC'),
          name.normalize('NFD'),
          nameKey,
        ]) {
          expect(toNameKey(same)).toBe(nameKey);
        }
      }),
      { numRuns: 2000, examples: [['ΟΔΟΣ Σ'], ['İ'], ['ŉ'], ['ǰ'], ['ΐ'], ['ẞß'], ['ﬃ']] },
    );
  });

  test('the same name is allowed elsewhere: in the root, in another folder, in itself, in another project', async () => {
    const name = `Photos ${randomUUID()}`;
    const inRoot = await create(name);
    const statuses = [
      inRoot.status,
      (await create(name, await newParent())).status,
      (await create(name, inRoot.body.id)).status,
      (await create(name, null, otherProjectId)).status,
    ];
    expect(statuses).toEqual([200, 200, 200, 200]);
    await expectNothingWritten(create(name.toUpperCase()), 409, 'folder_exists');
  });

  test.each([
    ['the root', async () => null],
    ['a folder', () => newParent()],
  ])('of twenty at once in %s, one creates the folder and nineteen get folder_exists', async (_where, parent) => {
    const parentId = await parent();
    const name = `Race ${randomUUID()}`;
    const before = await countFolders();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => create(n % 2 ? name.toUpperCase() : name, parentId)),
    );
    const codes = answers.map(({ status, body }) => (status === 200 ? 'created' : `${status} ${body.code}`)).sort();
    expect(codes).toEqual([...Array(19).fill('409 folder_exists'), 'created']);
    expect(await countFolders()).toBe(before + 1);
  });
});

describe('parents', () => {
  test('that are missing or in another project are 404', async () => {
    const absent = await expectNothingWritten(create('a', randomUUID()), 404, 'folder_not_found');
    const foreignId = await newParent(otherProjectId);
    const foreign = await expectNothingWritten(create('a', foreignId), 404, 'folder_not_found');
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
  });

  test('that have just been deleted are 404, even if still cached', async () => {
    const parentId = await newParent();
    const { body } = await create('a', parentId);
    await service.deps.db.pool.query('delete from folders where id = any($1)', [[body.id, parentId]]);
    await expectNothingWritten(create('b', parentId), 404, 'folder_not_found');
  });

  test.each(['root', '', 'no-uuid', 7])('as %j are neither a UUID nor null', async (parentId) => {
    const { body } = await expectNothingWritten(create('a', parentId), 400, 'invalid_request');
    expect(body.issues).toMatchObject([{ path: 'parentId' }]);
  });

  test('must be given: all missing fields are named at once', async () => {
    const { body } = await expectNothingWritten(
      service.call('POST', '/api/storage/folders', { key, body: {} }),
      400,
      'invalid_request',
    );
    expect(body.issues.map(({ path }: { path: string }) => path)).toEqual(['projectId', 'name', 'parentId']);
  });

  test('in a missing project are 404', async () => {
    await expectNothingWritten(create('a', null, randomUUID()), 404, 'project_not_found');
  });
});
