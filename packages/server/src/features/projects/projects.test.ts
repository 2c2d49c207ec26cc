import { randomUUID } from 'node:crypto';
import { CreateProjectRequest } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countWaiting } from '../../../test/database.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { deleteProject } from './delete-project.ts';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const call = (method: string, path: string, body?: unknown) => service.call(method, path, { as: ada, body });

async function count(table: string, projectId: string): Promise<number> {
  const { rowCount } = await service.deps.db.pool.query(`select from ${table} where project_id = $1`, [projectId]);
  return rowCount ?? 0;
}

async function record(projectId: string, folderId: string | null = null): Promise<void> {
  const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), { folderId });
  expect(outcome(await call('POST', '/api/storage/record', upload))).toBe(200);
}

test('a project is created with every setting that it can have', async () => {
  const settings = {
    quotaBytes: 1000,
    maxFileSizeBytes: 100,
    allowedMimeTypes: ['image/*'],
    contentMismatch: 'refuse',
    imagePresets: { thumb: { w: 32 } },
    stripLocation: 'links',
  };
  expect(Object.keys(CreateProjectRequest.shape).sort()).toEqual(['name', ...Object.keys(settings)].sort());
  const { status, body, headers } = await call('POST', '/api/projects', { name: 'Whole', ...settings });
  expect([status, headers.get('cadiz-warning')]).toEqual([200, null]);
  expect(body).toMatchObject(settings);
  expect((await call('GET', `/api/projects/${body.id}`)).body).toMatchObject(settings);
});

test('a project is created, read, renamed and deleted', async () => {
  const made = await call('POST', '/api/projects', { name: 'Été 🌞 100%' });
  expect(made.body).toEqual({
    id: expect.any(String),
    name: 'Été 🌞 100%',
    quotaBytes: null,
    maxFileSizeBytes: null,
    allowedMimeTypes: null,
    contentMismatch: 'report',
    imagePresets: {},
    stripLocation: 'never',
    createdAt: expect.any(String),
    updatedAt: made.body.createdAt,
  });
  expect(made.body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  const path = `/api/projects/${made.body.id}`;
  expect((await call('GET', path)).body).toEqual(made.body);
  expect((await call('GET', path.toUpperCase().replace('/API/PROJECTS', '/api/projects'))).body).toEqual(made.body);

  service.advance(1000);
  const renamed = await call('PATCH', path, {
    name: 'Winter',
    id: randomUUID(),
    createdAt: '2001-01-01T00:00:00.000Z',
  });
  expect(renamed.body).toEqual({ ...made.body, name: 'Winter', updatedAt: renamed.body.updatedAt });
  expect(renamed.body.updatedAt > made.body.updatedAt).toBe(true);
  expect((await call('GET', path)).body).toEqual(renamed.body);
  const breadcrumbs = (await call('GET', `/api/storage/list?projectId=${made.body.id}`)).body.breadcrumbs;
  expect(breadcrumbs).toEqual([{ id: null, name: 'Winter' }]);

  expect((await call('DELETE', path)).body).toEqual({ id: made.body.id, deleted: true });
  for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    expect(outcome(await call(method, path, body))).toBe('404 project_not_found');
  }
});

test('a user lists the projects that they are a member of, the oldest first', async () => {
  const [bob, eve] = [await service.signUp('Bob'), await service.signUp('Eve')];
  expect((await service.call('GET', '/api/projects', { as: bob })).body).toEqual({ projects: [] });
  const ids = [await service.createProject(bob, 'b'), await service.createProject(bob, 'a')];
  await service.createProject(eve);
  const { body } = await service.call('GET', '/api/projects', { as: bob });
  expect(body.projects.map(({ id }: { id: string }) => id)).toEqual(ids);
});

describe.each([
  ['no name', {}],
  ['null', { name: null }],
  ['an empty name', { name: '' }],
  ['a number', { name: 5 }],
  ['a list', { name: ['x'] }],
  ['NUL', { name: 'a\0b' }],
  ['a control character', { name: 'a\u0085b' }],
  ['half of a surrogate pair', { name: 'a\ud83d' }],
  ['201 bytes', { name: `${'é'.repeat(100)}x` }],
])('a name that is %s', (_what, body) => {
  test('is refused, and nothing is written', async () => {
    const projectId = await service.createProject(ada, 'Before');
    const before = (await call('GET', '/api/projects')).body;
    for (const answer of [
      await call('POST', '/api/projects', body),
      await call('PATCH', `/api/projects/${projectId}`, body),
    ]) {
      expect(outcome(answer)).toBe('400 invalid_request');
      expect(answer.body.issues).toEqual([{ path: 'name', message: expect.any(String) }]);
    }
    expect((await call('GET', '/api/projects')).body).toEqual(before);
  });
});

describe('settings', () => {
  const settings = {
    quotaBytes: 10_000,
    maxFileSizeBytes: 5000,
    allowedMimeTypes: ['image/*', 'application/pdf'],
    contentMismatch: 'refuse',
  };

  test('can be set at creation or later, one at a time, and are removed by null', async () => {
    const made = (await call('POST', '/api/projects', { name: 'Limited', ...settings })).body;
    expect(made).toMatchObject({ name: 'Limited', ...settings });
    const path = `/api/projects/${made.id}`;
    expect((await call('GET', path)).body).toEqual(made);
    expect((await call('GET', '/api/projects')).body.projects).toContainEqual(made);

    let expected = { name: 'Limited', ...settings };
    for (const change of [
      { quotaBytes: 0 },
      { quotaBytes: null },
      { maxFileSizeBytes: null },
      { allowedMimeTypes: ['TEXT/Plain'] },
      { allowedMimeTypes: null },
      { contentMismatch: 'report' },
      { name: 'Free' },
      { quotaBytes: Number.MAX_SAFE_INTEGER, name: 'Both' },
    ]) {
      const { status, body } = await call('PATCH', path, change);
      expected = { ...expected, ...(change as object) };
      if (expected.allowedMimeTypes)
        expected.allowedMimeTypes = expected.allowedMimeTypes.map((type) => type.toLowerCase());
      expect({ status, body }).toMatchObject({ status: 200, body: expected });
      expect((await call('GET', path)).body).toEqual(body);
    }
  });

  test.each([
    ['quotaBytes', -1],
    ['quotaBytes', 1.5],
    ['quotaBytes', '10'],
    ['quotaBytes', 2 ** 53],
    ['quotaBytes', 1e300],
    ['maxFileSizeBytes', -1],
    ['maxFileSizeBytes', true],
    ['allowedMimeTypes', []],
    ['allowedMimeTypes', 'image/png'],
    ['allowedMimeTypes', {}],
    ['allowedMimeTypes', Array.from({ length: 101 }, (_, n) => `image/x${n}`)],
    ['contentMismatch', 'delete'],
    ['contentMismatch', null],
  ])('%s %j is refused, and nothing is written', async (field, value) => {
    const projectId = await service.createProject(ada);
    const before = (await call('GET', '/api/projects')).body;
    for (const answer of [
      await call('POST', '/api/projects', { name: 'Limited', [field]: value }),
      await call('PATCH', `/api/projects/${projectId}`, { [field]: value }),
    ]) {
      expect(outcome(answer)).toBe('400 invalid_request');
      expect(answer.body.issues).toEqual([{ path: field, message: expect.any(String) }]);
    }
    expect((await call('GET', '/api/projects')).body).toEqual(before);
  });

  test.each(['image', '*', '*/*', 'image/', '/png', 'image/png; charset=utf-8', 'image/p*', 'image//png', '', 7, null])(
    'the refused allowed type %j is named by its place in the list',
    async (type) => {
      const answer = await call('POST', '/api/projects', { name: 'Limited', allowedMimeTypes: ['image/png', type] });
      expect(outcome(answer)).toBe('400 invalid_request');
      expect(answer.body.issues).toMatchObject([{ path: 'allowedMimeTypes.1' }]);
    },
  );
});

test('a name of 200 bytes is kept unchanged', async () => {
  const name = 'é'.repeat(100);
  const projectId = await service.createProject(ada, name);
  expect((await call('GET', `/api/projects/${projectId}`)).body.name).toBe(name);
});

describe('deleting a project', () => {
  test('is refused with files in it, and leaves everything unchanged', async () => {
    const projectId = await service.createProject(ada);
    await record(projectId);
    for (const query of ['', '?force=false']) {
      expect(outcome(await call('DELETE', `/api/projects/${projectId}${query}`))).toBe('409 project_not_empty');
    }
    expect((await call('GET', `/api/storage/list?projectId=${projectId}`)).body.files).toHaveLength(1);
    expect(await count('removed_projects', projectId)).toBe(0);
  });

  test('is not refused for empty folders', async () => {
    const projectId = await service.createProject(ada);
    await call('POST', '/api/storage/folders', { projectId, name: 'Empty', parentId: null });
    expect(outcome(await call('DELETE', `/api/projects/${projectId}`))).toBe(200);
  });

  test('by force deletes every row of it, remembers its id, and touches no other project', async () => {
    const [projectId, other] = [await service.createProject(ada), await service.createProject(ada)];
    for (const id of [projectId, other]) {
      const parent = (await call('POST', '/api/storage/folders', { projectId: id, name: 'A', parentId: null })).body;
      const child = await call('POST', '/api/storage/folders', { projectId: id, name: 'B', parentId: parent.id });
      await record(id, child.body.id);
      await service.createKey(ada, id);
    }
    const tables = ['files', 'folders', 'project_members', 'api_keys', 'removed_projects'];
    const counts = (id: string) => Promise.all(tables.map((table) => count(table, id)));
    expect(await counts(projectId)).toEqual([1, 2, 1, 1, 0]);

    expect((await call('DELETE', `/api/projects/${projectId}?force=true`)).body).toEqual({
      id: projectId,
      deleted: true,
    });

    expect(await counts(projectId)).toEqual([0, 0, 0, 0, 1]);
    expect(await counts(other)).toEqual([1, 2, 1, 1, 0]);
    expect(outcome(await call('DELETE', `/api/projects/${projectId}?force=true`))).toBe('404 project_not_found');
  });

  test('deletes its files in statements that each delete a bounded number', async () => {
    const [projectId, other] = [await service.createProject(ada), await service.createProject(ada)];
    const { pool } = service.deps.db;
    const add = `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag)
      select $1, gen_random_uuid(), 'k' || n, 'f' || n, 'f' || n, 1, 'text/plain', 'e' from generate_series(1, 25) n`;
    for (const id of [projectId, other]) await pool.query(add, [id]);
    await pool.query(`
      create table deleted_at_once (files bigint);
      create function count_deleted() returns trigger language plpgsql as $$
        begin insert into deleted_at_once select count(*) from gone; return null; end $$;
      create trigger count_deleted after delete on files referencing old table as gone
        for each statement execute function count_deleted()`);
    await deleteProject(service.deps, { kind: 'session', userId: ada.id }, { projectId, force: 'true' }, 10);
    const { rows } = await pool.query('select files from deleted_at_once');
    await pool.query('drop trigger count_deleted on files; drop function count_deleted; drop table deleted_at_once');
    expect(rows.map(({ files }) => files)).toEqual([10, 10, 5]);
    expect([await count('files', projectId), await count('files', other)]).toEqual([0, 25]);
  });

  test.each(['yes', '1', 'TRUE', ''])('force=%s is 400', async (force) => {
    const projectId = await service.createProject(ada);
    const answer = await call('DELETE', `/api/projects/${projectId}?force=${force}`);
    expect(answer.body.issues).toEqual([{ path: 'force', message: 'must be true or false' }]);
    expect(outcome(await call('GET', `/api/projects/${projectId}`))).toBe(200);
  });

  test('in a race, one deletion wins and the others find nothing', async () => {
    const projectId = await service.createProject(ada);
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('DELETE', `/api/projects/${projectId}`)));
    expect(answers.map(outcome).sort()).toEqual([200, ...Array(4).fill('404 project_not_found')]);
    expect(await count('removed_projects', projectId)).toBe(1);
  });

  test('in a race with recordings, either all of a file stays or none of it', async () => {
    for (let round = 0; round < 10; round++) {
      const projectId = await service.createProject(ada);
      const folder = { projectId, name: 'F', parentId: null };
      const folderId = round % 2 ? (await call('POST', '/api/storage/folders', folder)).body.id : null;
      const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), { folderId });
      const [recorded, removed] = await Promise.all([
        call('POST', '/api/storage/record', upload),
        call('DELETE', `/api/projects/${projectId}`),
      ]);
      const both = [outcome(recorded), outcome(removed)];
      expect([
        [200, '409 project_not_empty'],
        ['404 project_not_found', 200],
      ]).toContainEqual(both);
      expect(await count('files', projectId)).toBe(both[0] === 200 ? 1 : 0);
    }
  });
});

/** PGlite has one session, so nothing can wait halfway there. */
const onServer = process.env.TEST_DATABASE_URL !== undefined;

test.runIf(onServer)(
  'a recording that waits for the project’s deletion holds no lock that the deletion needs',
  async () => {
    const projectId = await service.createProject(ada);
    const newFolder = async (name: string) =>
      (await call('POST', '/api/storage/folders', { projectId, name, parentId: null })).body.id;
    const folderId = await newFolder('F');
    const upload = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), { folderId });
    const { pool } = service.deps.db;
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query('select from projects where id = $1 for update', [projectId]);
      const recorded = call('POST', '/api/storage/record', upload);
      await expect.poll(() => countWaiting(service.deps.db)).toBe(1);
      await client.query('select from folders where project_id = $1 for update nowait', [projectId]);
      await client.query('rollback');
      expect(outcome(await recorded)).toBe(200);
    } finally {
      client.release();
    }
  },
);

test('an id that is not a UUID is 400', async () => {
  for (const id of ['x', '1', `${randomUUID()}0`, '%00', '%', '..%2f', randomUUID().replaceAll('-', '')]) {
    const answer = await call('GET', `/api/projects/${id}`);
    expect([id, outcome(answer)]).toEqual([id, '400 invalid_request']);
    expect(answer.body.issues).toEqual([{ path: 'projectId', message: 'must be a UUID' }]);
  }
});
