import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { purgeTrash } from '../trash/purge-trash.ts';

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

/** Without `variantBytes`, which has tests of its own. */
async function usage(project: string, folderId?: string): Promise<Record<string, number | null>> {
  const query = folderId === undefined ? '' : `&folderId=${folderId}`;
  const answer = await call('GET', `/api/storage/usage?projectId=${project}${query}`);
  expect(outcome(answer)).toBe(200);
  const { variantBytes: _, ...figures } = answer.body;
  return figures;
}

async function createFolder(project: string, parentId: string | null = null): Promise<string> {
  const body = { projectId: project, name: randomUUID(), parentId };
  return (await call('POST', '/api/storage/folders', body)).body.id;
}

async function record(project: string, bytes: number, folderId: string | null = null): Promise<string> {
  const upload = await service.upload({ as: ada }, project, Buffer.alloc(bytes, 1), { folderId });
  return (await call('POST', '/api/storage/record', upload)).body.id;
}

/** Puts a file, or folders as one tree, into the trash as migration 0002 models it, or takes them out again. */
async function mark(table: 'files' | 'folders', ids: string[], trashId: string | null): Promise<void> {
  await service.deps.db.pool.query(
    `update ${table} set trash_id = $2, trashed_at = case when $2::uuid is null then null else now() end where id = any($1)`,
    [ids, trashId],
  );
}

test('an empty project stores nothing', async () => {
  expect(await usage(projectId)).toEqual({ fileCount: 0, totalBytes: 0, trashedBytes: 0, quotaBytes: null });
});

test('a reading key may ask, and is told the quota', async () => {
  await call('PATCH', `/api/projects/${projectId}`, { quotaBytes: 1000 });
  const { status, body } = await service.call('GET', `/api/storage/usage?projectId=${projectId}`, { key });
  expect({ status, body }).toEqual({
    status: 200,
    body: { fileCount: 0, totalBytes: 0, trashedBytes: 0, variantBytes: 0, quotaBytes: 1000 },
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

  test('do not count in another project', async () => {
    const [project, other] = [await service.createProject(ada), await service.createProject(ada)];
    await record(project, 7);
    const file = await record(other, 9);
    await mark('files', [file], file);
    expect(await usage(project)).toEqual({ fileCount: 1, totalBytes: 7, trashedBytes: 0, quotaBytes: null });
    expect(await usage(other)).toEqual({ fileCount: 0, totalBytes: 0, trashedBytes: 9, quotaBytes: null });
  });
});

test('the sizes of a folder are summed from an index, without reading the rows', async () => {
  const project = await service.createProject(ada);
  const folders = await Promise.all(Array.from({ length: 20 }, () => createFolder(project)));
  const { pool } = service.deps.db;
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1, gen_random_uuid(), n::text, 'n', 'N', n, 'a/b', ($2::uuid[])[n % 20 + 1], 'e' from generate_series(1, 20000) n`,
    [project, folders],
  );
  // Vacuum marks a row as visible to all only once its commit is in the log on disk, which may be a moment later.
  await pool.query('checkpoint');
  await pool.query('vacuum analyze files');
  const client = await pool.connect();
  try {
    // Whether the planner prefers a bitmap depends on when the table was vacuumed; whether it could avoid the rows does
    // not.
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

describe('simultaneous recordings, deletions, restores and purges', () => {
  /** The sums of the slots and of the rows, at one moment. */
  async function sums(project: string): Promise<Record<'slots' | 'rows', { files: number; bytes: number }>> {
    const { rows } = await service.deps.db.pool.query(
      `select (select json_build_object('files', coalesce(sum(file_count), 0), 'bytes', coalesce(sum(total_bytes), 0))
               from project_usage where project_id = $1) as slots,
              (select json_build_object('files', count(*), 'bytes', coalesce(sum(file_size), 0))
               from files where project_id = $1) as rows`,
      [project],
    );
    return rows[0];
  }

  /** The same figures as the route's, counted row by row. */
  async function counted(project: string): Promise<object> {
    const { rows } = await service.deps.db.pool.query(
      `select count(*) filter (where is_live) as "fileCount",
              coalesce(sum(file_size) filter (where is_live), 0)::bigint as "totalBytes",
              coalesce(sum(file_size) filter (where not is_live), 0)::bigint as "trashedBytes"
       from (select file_size, files.trash_id is null and folders.trash_id is null as is_live
             from files left join folders on folders.project_id = files.project_id and folders.id = files.folder_id
             where files.project_id = $1) f`,
      [project],
    );
    return rows[0];
  }

  test.each([null, 1_000_000])('leave sums that are right at every moment, with the quota %s', async (quotaBytes) => {
    const project = await service.createProject(ada);
    await call('PATCH', `/api/projects/${project}`, { quotaBytes });
    const folders = await Promise.all(Array.from({ length: 4 }, () => createFolder(project)));
    const places = [...folders, null];
    const files: string[] = [];
    const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)];
    // By then, deleted files are too old to restore: both calls may be refused, but neither may be wrong.
    const later = { ...service.deps, now: () => service.deps.now() + 40 * 86_400_000 };
    const steps: (() => Promise<unknown>)[] = [
      async () => {
        const upload = await service.upload({ as: ada }, project, Buffer.alloc(1 + Math.floor(Math.random() * 500)));
        const answer = await call('POST', '/api/storage/record', { ...upload, folderId: pick(places) ?? null });
        if (answer.status === 200) files.push(answer.body.id);
      },
      () => call('DELETE', `/api/storage/files/${pick(files) ?? randomUUID()}`),
      () => call('POST', `/api/storage/files/${pick(files) ?? randomUUID()}/restore`),
      () => call('DELETE', `/api/storage/folders/${pick(folders)}?recursive=true`),
      () => call('POST', `/api/storage/folders/${pick(folders)}/restore`),
      async () => (Math.random() < 0.2 ? purgeTrash(later, 1000) : undefined),
    ];
    const work = async () => {
      for (let n = 0; n < 25; n++) {
        await (n % 2 === 0 ? steps[0] : pick(steps))?.();
        const { slots, rows } = await sums(project);
        expect(slots).toEqual(rows);
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));

    const { quotaBytes: _, ...figures } = await usage(project);
    expect(figures).toEqual(await counted(project));
    expect(files.length).toBeGreaterThan(20);

    for (const id of folders) await call('DELETE', `/api/storage/folders/${id}?recursive=true`);
    for (const id of files) await call('DELETE', `/api/storage/files/${id}`);
    expect(await usage(project)).toMatchObject({ fileCount: 0, totalBytes: 0 });
    await purgeTrash(later, 1000);
    expect(await usage(project)).toEqual({ fileCount: 0, totalBytes: 0, trashedBytes: 0, quotaBytes });
  });

  test('recordings spread over the slots, so that none waits for a single row', async () => {
    const project = await service.createProject(ada);
    // One after another, since those of one process share statements.
    for (let n = 0; n < 40; n++) await record(project, 1);
    const { rowCount } = await service.deps.db.pool.query('select from project_usage where project_id = $1', [project]);
    expect(rowCount).toBeGreaterThan(4);
  });
});
