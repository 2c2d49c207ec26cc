import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countWaiting } from '../../test/database.ts';
import { type Answer, type Person, send, startTestService, type TestService } from '../../test/service.ts';
import { createLimitsCache } from './find-limits.ts';
import { toFirstSlot } from './usage-slots.ts';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const call = (method: string, path: string, body?: unknown) => service.call(method, path, { as: ada, body });
const record = (body: object) => call('POST', '/api/storage/record', body);

async function createProject(settings: object = {}): Promise<string> {
  return (await call('POST', '/api/projects', { name: 'Limited', ...settings })).body.id;
}

async function change(projectId: string, settings: object): Promise<void> {
  expect(outcome(await call('PATCH', `/api/projects/${projectId}`, settings))).toBe(200);
}

/** Changes a project as another replica would: this one's cache does not notice. */
async function changeElsewhere(projectId: string, column: string, value: unknown): Promise<void> {
  await service.deps.db.pool.query(`update projects set ${column} = $2 where id = $1`, [projectId, value]);
}

function presign(projectId: string, fileSize: number, mimeType = 'image/png'): Promise<Answer> {
  return call('POST', '/api/storage/presign', { projectId, fileName: 'a', mimeType, fileSize, folderId: null });
}

function upload(projectId: string, size: number, mimeType = 'image/png') {
  return service.upload({ as: ada }, projectId, Buffer.alloc(size, 1), { mimeType, fileName: 'a' });
}

async function countRows(projectId: string): Promise<number> {
  const { rowCount } = await service.deps.db.pool.query('select from files where project_id = $1', [projectId]);
  return rowCount ?? 0;
}

async function storedBytes(projectId: string): Promise<{ slots: number; rows: number }> {
  const { rows } = await service.deps.db.pool.query(
    `select (select coalesce(sum(total_bytes), 0) from project_usage where project_id = $1)::bigint as slots,
            (select coalesce(sum(file_size), 0) from files where project_id = $1)::bigint as rows`,
    [projectId],
  );
  return rows[0];
}

describe('presign', () => {
  test('refuses a file over a limit of the project, and says which limit', async () => {
    const projectId = await createProject({ maxFileSizeBytes: 100 });
    expect(outcome(await presign(projectId, 100))).toBe(200);
    const refused = await presign(projectId, 101);
    expect(outcome(refused)).toBe('413 file_too_large');
    expect(refused.body.detail).toBe('The file has 101 bytes; this project accepts at most 100.');
  });

  test.each<[string[], string, number | string]>([
    [['image/*'], 'image/png', 200],
    [['image/*'], 'IMAGE/PNG; charset=utf-8', 200],
    [['image/png'], 'image/png ;a=b', 200],
    [['text/plain', 'image/png'], 'image/png', 200],
    [['image/*'], 'text/html', '422 mime_type_not_allowed'],
    [['image/png'], 'image/jpeg', '422 mime_type_not_allowed'],
    [['image/png'], 'image/pngx', '422 mime_type_not_allowed'],
    [['image/*'], 'imagex/png', '422 mime_type_not_allowed'],
    [['image/*'], 'text/html; a="image/png"', '422 mime_type_not_allowed'],
  ])('of %j, %s is %s, at record too', async (allowedMimeTypes, mimeType, expected) => {
    const projectId = await createProject();
    const recording = await upload(projectId, 3, mimeType);
    await change(projectId, { allowedMimeTypes });
    const answer = await presign(projectId, 3, mimeType);
    expect(outcome(answer)).toBe(expected);
    if (expected !== 200) expect(answer.body.detail).toContain(allowedMimeTypes.join(', '));
    expect(outcome(await record(recording))).toBe(expected);
    expect(await countRows(projectId)).toBe(expected === 200 ? 1 : 0);
  });

  test('accepts a file that just fits and refuses one that does not', async () => {
    const projectId = await createProject({ quotaBytes: 10 });
    expect(outcome(await presign(projectId, 11))).toBe('409 quota_exceeded');
    expect(outcome(await record(await upload(projectId, 6)))).toBe(200);
    service.advance(10_001);
    expect(outcome(await presign(projectId, 4))).toBe(200);
    const refused = await presign(projectId, 5);
    expect(outcome(refused)).toBe('409 quota_exceeded');
    expect(refused.body.detail).toContain('stores 6 of its 10');
    expect(outcome(await presign(projectId, 0))).toBe(200);
  });

  test('sends one query in ten seconds however many requests come at once, with limits and without', async () => {
    for (const settings of [{}, { quotaBytes: 1000, allowedMimeTypes: ['image/png'] }]) {
      const projectId = await createProject(settings);
      const { pool } = service.deps.db;
      let queries = 0;
      const counting = Object.assign(Object.create(pool), {
        query: (...args: unknown[]) => {
          queries += 1;
          return Reflect.apply(pool.query, pool, args);
        },
      });
      const cache = createLimitsCache(counting, service.deps.now);
      await Promise.all(Array.from({ length: 50 }, () => cache.find(projectId)));
      expect(queries).toBe(1);
      expect(cache.find(projectId)).not.toBeInstanceOf(Promise);
      service.advance(10_001);
      expect(await cache.find(projectId)).toMatchObject({ quotaBytes: settings.quotaBytes ?? null });
      expect(queries).toBe(2);
    }
  });

  test('are asked for again after five seconds, while presign goes on with what is known', async () => {
    const projectId = await createProject({ quotaBytes: 1000 });
    const cache = createLimitsCache(service.deps.db.pool, service.deps.now);
    await cache.find(projectId);
    await changeElsewhere(projectId, 'quota_bytes', 5);
    service.advance(5_000);
    expect(cache.find(projectId)).toMatchObject({ quotaBytes: 1000 });
    await expect.poll(() => cache.find(projectId)).toMatchObject({ quotaBytes: 5 });
  });

  test('a change made during the query for the limits is not overwritten by the older answer', async () => {
    const projectId = await createProject();
    const { limits } = service.deps;
    const before = limits.find(projectId);
    await changeElsewhere(projectId, 'quota_bytes', 5);
    limits.forgetProject(projectId);
    await before;
    expect((await limits.find(projectId)).quotaBytes).toBe(5);
  });
});

describe('record has the last word', () => {
  test.each<[string, string, unknown, string]>([
    ['a size', 'max_file_size_bytes', 4, '413 file_too_large'],
    ['a type', 'allowed_mime_types', ['text/plain'], '422 mime_type_not_allowed'],
    ['a quota', 'quota_bytes', 4, '409 quota_exceeded'],
  ])('%s that another replica has just forbidden is refused', async (_what, column, value, expected) => {
    const projectId = await createProject();
    const recording = await upload(projectId, 5);
    expect(await service.deps.limits.find(projectId)).toMatchObject({ quotaBytes: null });
    await changeElsewhere(projectId, column, value);
    expect(outcome(await record(recording))).toBe(expected);
    expect(await countRows(projectId)).toBe(0);
    expect(await storedBytes(projectId)).toEqual({ slots: 0, rows: 0 });

    await changeElsewhere(projectId, column, null);
    expect(outcome(await record(recording))).toBe(200);
  });

  test('a recorded file is answered again even if the project is full and no longer accepts such files', async () => {
    const projectId = await createProject({ quotaBytes: 5 });
    const recording = await upload(projectId, 5);
    const first = await record(recording);
    expect(outcome(first)).toBe(200);
    await change(projectId, { quotaBytes: 0, maxFileSizeBytes: 0, allowedMimeTypes: ['text/plain'] });
    expect((await record(recording)).text).toBe(first.text);
    expect(outcome(await record({ ...recording, fileName: 'b' }))).toBe('409 already_recorded');
  });

  test('a quota below the stored size deletes nothing and refuses any file that is not empty', async () => {
    const projectId = await createProject();
    const [first, second, empty] = [await upload(projectId, 5), await upload(projectId, 5), await upload(projectId, 0)];
    expect(outcome(await record(first))).toBe(200);
    await change(projectId, { quotaBytes: 2 });
    expect(outcome(await record(second))).toBe('409 quota_exceeded');
    expect(outcome(await record(empty))).toBe('409 quota_exceeded');
    expect(await countRows(projectId)).toBe(1);
    await change(projectId, { quotaBytes: 10 });
    expect(outcome(await record(second))).toBe(200);
  });

  test('a missing folder is reported before the limits are checked', async () => {
    const projectId = await createProject({ quotaBytes: 100 });
    const folder = await call('POST', '/api/storage/folders', { projectId, name: 'F', parentId: null });
    const recording = { ...(await upload(projectId, 5)), folderId: folder.body.id };
    await service.deps.access.folders.find(projectId, folder.body.id);
    await service.deps.db.pool.query('delete from folders where id = $1', [folder.body.id]);
    expect(outcome(await record(recording))).toBe('404 folder_not_found');
    expect(await storedBytes(projectId)).toEqual({ slots: 0, rows: 0 });
  });
});

test('uploads in parts that are declared larger together than any number hinder no others', async () => {
  const projectId = await createProject();
  await service.deps.db.pool.query(
    `insert into uploads (project_id, id, store_key, store_upload_id, file_name, file_size, mime_type, part_size, expires_at)
     select $1, gen_random_uuid(), 'k' || n, 'u', 'n', 5::bigint * 1024 ^ 4, 'a/b', 1024 ^ 3, now() + interval '1 day'
     from generate_series(1, 2000) n`,
    [projectId],
  );
  const recordAs = async (externalId: string) => outcome(await record({ ...(await upload(projectId, 5)), externalId }));
  expect([await recordAs('one'), await recordAs('one')]).toEqual([200, '409 external_id_taken']);
  await change(projectId, { quotaBytes: Number.MAX_SAFE_INTEGER });
  expect(outcome(await presign(projectId, 5))).toBe('409 quota_exceeded');
});

describe('fifty uploads at once (checklist 40, T12)', () => {
  async function fifty(projectId: string, size: number) {
    const presigned = await Promise.all(Array.from({ length: 50 }, () => presign(projectId, size)));
    expect(new Set(presigned.map(outcome))).toEqual(new Set([200]));
    const bytes = Buffer.alloc(size, 1);
    await Promise.all(presigned.map(({ body }) => send('PUT', body.presignedUrl, bytes)));
    const facts = { projectId, fileName: 'a', mimeType: 'image/png', fileSize: size, folderId: null };
    return presigned.map(({ body }) => ({ ...facts, storeKey: body.storeKey }));
  }

  test('into the last megabyte never exceed it, and fill it as far as possible', async () => {
    const size = 100_000;
    const quotaBytes = 10_000_000;
    const projectId = await createProject({ quotaBytes });
    // Rows that fill the project up to its last megabyte, without objects.
    await service.deps.db.pool.query(
      `with filled as (
         insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag)
         values ($1, gen_random_uuid(), 'k', 'n', 'N', $2, 'a/b', 'e') returning file_size)
       insert into project_usage select $1, 3, 1, file_size from filled`,
      [projectId, quotaBytes - 1_000_000],
    );
    const recordings = await fifty(projectId, size);
    const answers = await Promise.all(recordings.map((recording) => record(recording)));

    const taken = answers.filter(({ status }) => status === 200);
    expect(taken).toHaveLength(10);
    expect(new Set(answers.map(outcome))).toEqual(new Set([200, '409 quota_exceeded']));
    expect(await storedBytes(projectId)).toEqual({ slots: quotaBytes, rows: quotaBytes });
    // All at once again: recorded uploads are answered, the others are refused.
    const again = await Promise.all(recordings.map((recording) => record(recording)));
    expect(again.map(outcome)).toEqual(answers.map(outcome));
    expect(await storedBytes(projectId)).toEqual({ slots: quotaBytes, rows: quotaBytes });
  });

  test('stay within a quota set in their midst, if they were within it at that moment', async () => {
    for (let round = 0; round < 5; round++) {
      const projectId = await createProject();
      const recordings = await fifty(projectId, 1000);
      const answers = Promise.all(recordings.map((recording) => record(recording)));
      await new Promise((resolve) => setTimeout(resolve, round * 4));
      await call('PATCH', `/api/projects/${projectId}`, { quotaBytes: 20_000 });
      const { rows } = await service.deps.db.pool.query(
        'select coalesce(sum(file_size), 0)::bigint as bytes from files where project_id = $1',
        [projectId],
      );
      await answers;
      const { slots, rows: counted } = await storedBytes(projectId);
      expect(slots).toBe(counted);
      expect(slots).toBe(Math.max(20_000, rows[0].bytes));
    }
  });
});

/** PGlite has one session, so a recording is never in progress while a project changes. */
const onServer = process.env.TEST_DATABASE_URL !== undefined;

test.runIf(onServer)(
  'a change of the limits waits for a recording that has already read them (checklist 40)',
  async () => {
    const projectId = await createProject();
    const recording = await upload(projectId, 5);
    const { pool } = service.deps.db;
    await pool.query(
      'insert into project_usage select $1, $2::integer + n, 0, 0 from generate_series(0, 15) n on conflict do nothing',
      [projectId, toFirstSlot(service.deps.now())],
    );
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query('select from project_usage where project_id = $1 for update', [projectId]);
      const recorded = record(recording);
      await expect.poll(() => countWaiting(service.deps.db)).toBe(1);
      let isChanged = false;
      const changed = change(projectId, { quotaBytes: 0 }).then(() => {
        isChanged = true;
      });
      await expect.poll(() => countWaiting(service.deps.db)).toBe(2);
      expect(isChanged).toBe(false);
      await client.query('commit');
      expect(outcome(await recorded)).toBe(200);
      await changed;
    } finally {
      client.release();
    }
  },
);
