import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let key: string;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  ({ key } = await service.createKey(ada, projectId, { scopes: ['files:read'] }));
});
afterAll(() => service.close());

const call = (method: string, path: string, body?: unknown) => service.call(method, path, { as: ada, body });
const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);

async function usage(project: string, folderId?: string): Promise<Record<string, number | null>> {
  const query = folderId === undefined ? '' : `&folderId=${folderId}`;
  const answer = await call('GET', `/api/storage/usage?projectId=${project}${query}`);
  expect(outcome(answer)).toBe(200);
  return answer.body;
}

async function createFolder(project: string, parentId: string | null = null): Promise<string> {
  const body = { projectId: project, name: randomUUID(), parentId };
  return (await call('POST', '/api/storage/folders', body)).body.id;
}

async function record(project: string, bytes: number, folderId: string | null = null): Promise<string> {
  const upload = await service.upload({ as: ada }, project, Buffer.alloc(bytes, 1), { folderId });
  return (await call('POST', '/api/storage/record', upload)).body.id;
}

/** Puts a file, or folders as one tree, into the trash as the model in migration 0002 says, or takes them out again. */
async function mark(table: 'files' | 'folders', ids: string[], trashId: string | null): Promise<void> {
  await service.deps.db.pool.query(
    `update ${table} set trash_id = $2, trashed_at = case when $2::uuid is null then null else now() end where id = any($1)`,
    [ids, trashId],
  );
}

test('an empty project stores nothing', async () => {
  expect(await usage(projectId)).toEqual({ fileCount: 0, totalBytes: 0, trashedBytes: 0, quotaBytes: null });
});

test('a reading key may ask, and the quota is told', async () => {
  await call('PATCH', `/api/projects/${projectId}`, { quotaBytes: 1000 });
  const { status, body } = await service.call('GET', `/api/storage/usage?projectId=${projectId}`, { key });
  expect({ status, body }).toEqual({
    status: 200,
    body: { fileCount: 0, totalBytes: 0, trashedBytes: 0, quotaBytes: 1000 },
  });
});

test.each([
  ['projectId=x', 'projectId'],
  ['', 'projectId'],
  [`projectId=${randomUUID()}&folderId=root`, 'folderId'],
  [`projectId=${randomUUID()}&folderId=`, 'folderId'],
])('?%s is 400', async (query, field) => {
  const answer = await call('GET', `/api/storage/usage?${query}`);
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.issues).toMatchObject([{ path: field }]);
});

describe('files and folders in the trash', () => {
  test('count as trashed until they are restored, each once, for the project and for every folder above', async () => {
    const project = await service.createProject(ada);
    const top = await createFolder(project);
    const middle = await createFolder(project, top);
    const low = await createFolder(project, middle);
    const beside = await createFolder(project);
    await record(project, 1);
    await record(project, 10, top);
    await record(project, 100, middle);
    const lowFile = await record(project, 1000, low);
    await record(project, 10_000, beside);
    const all = { fileCount: 5, totalBytes: 11_111, trashedBytes: 0, quotaBytes: null };
    expect(await usage(project)).toEqual(all);
    expect(await usage(project, top)).toEqual({ ...all, fileCount: 3, totalBytes: 1110 });
    expect(await usage(project, low)).toEqual({ ...all, fileCount: 1, totalBytes: 1000 });

    await mark('files', [lowFile], lowFile);
    expect(await usage(project)).toEqual({ ...all, fileCount: 4, totalBytes: 10_111, trashedBytes: 1000 });
    expect(await usage(project, top)).toEqual({ ...all, fileCount: 2, totalBytes: 110, trashedBytes: 1000 });

    // The file that was marked itself is in a folder that is marked too, and still counts once.
    await mark('folders', [middle, low], middle);
    expect(await usage(project)).toEqual({ ...all, fileCount: 3, totalBytes: 10_011, trashedBytes: 1100 });
    expect(await usage(project, top)).toEqual({ ...all, fileCount: 1, totalBytes: 10, trashedBytes: 1100 });
    const gone = await call('GET', `/api/storage/usage?projectId=${project}&folderId=${middle}`);
    expect(outcome(gone)).toBe('404 folder_not_found');

    await mark('folders', [middle, low], null);
    await mark('files', [lowFile], null);
    expect(await usage(project)).toEqual(all);
  });

  test('in another project change nothing here', async () => {
    const [project, other] = [await service.createProject(ada), await service.createProject(ada)];
    await record(project, 7);
    const file = await record(other, 9);
    await mark('files', [file], file);
    expect(await usage(project)).toEqual({ fileCount: 1, totalBytes: 7, trashedBytes: 0, quotaBytes: null });
    expect(await usage(other)).toEqual({ fileCount: 0, totalBytes: 0, trashedBytes: 9, quotaBytes: null });
  });
});

test('the sizes of a folder are summed from an index, without a look at the rows', async () => {
  const project = await service.createProject(ada);
  const folders = await Promise.all(Array.from({ length: 20 }, () => createFolder(project)));
  const { pool } = service.deps.db;
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1, gen_random_uuid(), n::text, 'n', 'N', n, 'a/b', ($2::uuid[])[n % 20 + 1], 'e' from generate_series(1, 20000) n`,
    [project, folders],
  );
  await pool.query('vacuum analyze files');
  const client = await pool.connect();
  try {
    // Whether the planner prefers a bitmap depends on when the table was vacuumed; whether it could do without the rows does not.
    await client.query('begin; set local enable_bitmapscan = off; set local enable_seqscan = off');
    const { rows } = await client.query(
      `explain select sum(file_size) from files where project_id = '${project}' and folder_id = '${folders[0]}'`,
    );
    expect(JSON.stringify(rows)).toContain('Index Only Scan');
  } finally {
    await client.query('rollback');
    client.release();
  }
  expect(await usage(project, folders[0])).toMatchObject({ fileCount: 1000, totalBytes: 10_010_000 });
});
