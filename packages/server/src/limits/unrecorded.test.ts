import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testableKinds } from '../../test/database.ts';
import { type Answer, type Person, send, startTestService, type TestService } from '../../test/service.ts';
import { settleProjects } from '../features/janitor/settle-projects.ts';
import { sweepProjects } from '../features/janitor/sweep-projects.ts';

const never = new AbortController().signal;
const minute = 60_000;
/** PRESIGN_TTL_SECONDS, JANITOR_MARGIN_SECONDS, and the five minutes counted together. */
const settled = 15 * minute + 60 * minute + 5 * minute;

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
const createProject = async (quotaBytes: number | null): Promise<string> =>
  (await call('POST', '/api/projects', { name: 'Full', quotaBytes })).body.id;
const presign = (projectId: string, fileSize: number, by = call) =>
  by('POST', '/api/storage/presign', { projectId, fileName: 'a', mimeType: 'a/b', fileSize, folderId: null });
const upload = (projectId: string, size: number) =>
  service.upload({ as: ada }, projectId, Buffer.alloc(size, 1), { mimeType: 'a/b', fileName: 'a' });
const keysOf = async (projectId: string) =>
  (await service.deps.objects.list(`${projectId}/`)).objects.map(({ storeKey }) => storeKey);

async function settle(): Promise<void> {
  await service.deps.presigned.flush();
  await settleProjects(service.deps, never, () => undefined);
}

/** Uploads until it is refused and never records; returns how many bytes are in the store by then. */
async function hoard(projectId: string, size: number): Promise<number> {
  for (let count = 0; count < 60; count += 1) {
    const { status, body } = await presign(projectId, size);
    if (status !== 200) {
      expect(body.code).toBe('quota_exceeded');
      break;
    }
    expect((await send('PUT', body.presignedUrl, Buffer.alloc(size, 1))).status).toBe(200);
  }
  const { objects } = await service.deps.objects.list(`${projectId}/`);
  return objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

describe('uploads that are never recorded (checklist 40)', () => {
  test('take at most one quota beyond what the project may store', async () => {
    const projectId = await createProject(1000);
    expect(outcome(await record(await upload(projectId, 800)))).toBe(200);
    expect(await hoard(projectId, 100)).toBe(800 + 1000);
    const { body } = await presign(projectId, 100);
    expect(body.detail).toContain('1000 bytes');
  });

  test('no longer count once they are recorded', async () => {
    const projectId = await createProject(1000);
    for (let count = 0; count < 5; count += 1) {
      const recording = await upload(projectId, 400);
      const { status, body } = await record(recording);
      expect(status).toBe(200);
      expect((await record(recording)).text).toBe(JSON.stringify(body));
      // Gone for good, so that the project has space again.
      await service.deps.db.pool.query('delete from files where project_id = $1', [projectId]);
      await service.deps.db.pool.query('delete from project_usage where project_id = $1', [projectId]);
      service.advance(10_001);
    }
    expect((await service.deps.limits.find(projectId)).presigned.bytes).toBe(0);
    await service.deps.presigned.flush();
    service.advance(10_001);
    expect((await service.deps.limits.find(projectId)).presigned.bytes).toBe(0);
  });

  test('are not counted without a quota', async () => {
    const projectId = await createProject(null);
    expect(outcome(await presign(projectId, 5_000_000_000))).toBe(200);
    await service.deps.presigned.flush();
    const { rowCount } = await service.deps.db.pool.query('select from presigned_bytes where project_id = $1', [
      projectId,
    ]);
    expect(rowCount).toBe(0);
  });

  test('are known after a restart and to a second process', async () => {
    const projectId = await createProject(1000);
    const { key } = await service.createKey(ada, projectId);
    const other = await startTestService({ beside: service });
    const byOther = (method: string, path: string, body?: unknown) => other.call(method, path, { key, body });
    other.advance(service.deps.now() - Date.now());
    await hoard(projectId, 500);
    await service.deps.presigned.flush();
    expect(outcome(await presign(projectId, 500, byOther))).toBe('409 quota_exceeded');
    await other.close();
  });

  test.skipIf(!testableKinds.includes('postgres'))(
    'can be recorded by a process that did not presign them',
    async () => {
      const projectId = await createProject(1000);
      const { key } = await service.createKey(ada, projectId);
      const other = await startTestService({ beside: service });
      other.advance(service.deps.now() - Date.now());
      const recording = await upload(projectId, 900);
      expect(outcome(await other.call('POST', '/api/storage/record', { key, body: recording }))).toBe(200);
      await service.deps.presigned.flush();
      await other.deps.presigned.flush();
      service.advance(10_001);
      expect((await service.deps.limits.find(projectId)).presigned.bytes).toBe(0);
      await other.close();
    },
  );

  test('are written to the database later if that fails at first', async () => {
    const projectId = await createProject(1000);
    await presign(projectId, 700);
    const { pool } = service.deps.db;
    const { query } = pool;
    pool.query = (() => Promise.reject(new Error('away'))) as unknown as typeof query;
    await expect(service.deps.presigned.flush()).rejects.toThrow('away');
    pool.query = query;
    await service.deps.presigned.flush();
    const { rows } = await pool.query('select bytes from presigned_bytes where project_id = $1', [projectId]);
    expect(rows).toEqual([{ bytes: 700 }]);
  });
});

describe('a project with more than half of its quota in unrecorded addresses', () => {
  test('is settled soon: unrecorded uploads are removed, cannot be recorded and free their space', async () => {
    const projectId = await createProject(1000);
    const kept = await upload(projectId, 100);
    expect(outcome(await record(kept))).toBe(200);
    const lost = await upload(projectId, 900);
    expect(outcome(await presign(projectId, 200))).toBe('409 quota_exceeded');
    service.advance(settled - 6 * minute);
    await settle();
    expect(await keysOf(projectId)).toContain(lost.storeKey);
    const young = await upload(projectId, 90);
    service.advance(6 * minute);
    await settle();
    expect((await keysOf(projectId)).sort()).toEqual([kept.storeKey, young.storeKey].sort());
    expect(await service.deps.limits.find(projectId)).toMatchObject({ storedBytes: 100, presigned: { bytes: 90 } });
    expect(outcome(await record(lost))).toBe('409 upload_missing');
    // An upload so slow that it arrives only now.
    await send('PUT', service.deps.objects.presignPut(lost.storeKey, 900), Buffer.alloc(900, 1));
    expect(outcome(await record(lost))).toBe('400 invalid_store_key');
    await call('PATCH', `/api/projects/${projectId}`, { quotaBytes: null });
    expect(outcome(await record(lost))).toBe('400 invalid_store_key');
    await call('PATCH', `/api/projects/${projectId}`, { quotaBytes: 1000 });
    expect(outcome(await record(kept))).toBe(200);
    expect(outcome(await record(young))).toBe(200);
    expect(outcome(await presign(projectId, 800))).toBe(200);
  });

  test('keeps uploads below half of the quota, parts of uploads, and the files of other projects', async () => {
    const half = await createProject(1000);
    const few = await upload(half, 400);
    const full = await createProject(1000);
    const body = { projectId: full, fileName: 'b', mimeType: 'a/b', fileSize: 100, folderId: null };
    const { uploadId, storeKey } = (await call('POST', '/api/storage/uploads', body)).body;
    await upload(full, 600);
    service.advance(settled);
    await settle();
    expect(outcome(await record(few))).toBe(200);
    const signed = await call('POST', `/api/storage/uploads/${uploadId}/parts`, { partNumbers: [1] });
    const put = await send('PUT', signed.body.parts[0].presignedUrl, Buffer.alloc(100, 1));
    const parts = [{ partNumber: 1, etag: String(put.headers.etag) }];
    expect(outcome(await call('POST', `/api/storage/uploads/${uploadId}/complete`, { parts }))).toBe(200);
    expect(await keysOf(full)).toEqual([storeKey]);
  });

  test('loses no upload that is recorded at the same moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      const projectId = await createProject(1000);
      const [first, ...others] = await Promise.all(Array.from({ length: 9 }, () => upload(projectId, 100)));
      service.advance(settled);
      await service.deps.presigned.flush();
      expect(outcome(await record(first ?? {}))).toBe(200);
      // It settles before the others in the first round, and in the middle of them in later ones.
      const [answers] = await Promise.all([
        Promise.all(others.map((one, turn) => delay(3 * turn).then(() => record(one)))),
        delay(3 * round).then(settle),
      ]);
      const recorded = [first, ...others.filter((_, index) => answers[index]?.status === 200)];
      expect((await keysOf(projectId)).sort()).toEqual(recorded.map((one) => one?.storeKey).sort());
    }
  });

  test('leaves later arrivals to the usual sweep, and forgets what it counted', async () => {
    const projectId = await createProject(1000);
    const { body } = await presign(projectId, 900);
    await settle();
    service.advance(10 * minute);
    const late = send('PUT', body.presignedUrl, Buffer.alloc(900, 1));
    expect((await late).status).toBe(200);
    // As if the upload had finished after the settling.
    await service.deps.db.pool.query('delete from presigned_bytes where project_id = $1', [projectId]);
    service.advance(25 * 60 * minute);
    await sweepProjects(service.deps, never, () => undefined);
    expect(await keysOf(projectId)).toEqual([]);
    await presign(projectId, 1);
    await settle();
    service.advance(26 * 60 * minute);
    await settle();
    const { rowCount } = await service.deps.db.pool.query('select from presigned_bytes');
    expect(rowCount).toBe(0);
  });
});

describe('unfinished uploads in parts', () => {
  const begin = (projectId: string, fileSize: number) =>
    call('POST', '/api/storage/uploads', { projectId, fileName: 'b', mimeType: 'a/b', fileSize, folderId: null });

  test('reserve their space: other uploads, presigns and records have to fit beside them', async () => {
    const projectId = await createProject(1000);
    const single = await upload(projectId, 500);
    const { body } = await begin(projectId, 600);
    expect(outcome(await begin(projectId, 401))).toBe('409 quota_exceeded');
    expect(outcome(await record(single))).toBe('409 quota_exceeded');
    service.advance(10_001);
    const refused = await presign(projectId, 401);
    expect(outcome(refused)).toBe('409 quota_exceeded');
    expect(refused.body.detail).toContain('600');
    expect(outcome(await presign(projectId, 400))).toBe(200);
    expect(outcome(await call('DELETE', `/api/storage/uploads/${body.uploadId}`))).toBe(200);
    expect(outcome(await record(single))).toBe(200);
  });

  test('can use the space they reserved, and are counted once', async () => {
    const projectId = await createProject(1000);
    const single = await upload(projectId, 400);
    const { body } = await begin(projectId, 600);
    const signed = await call('POST', `/api/storage/uploads/${body.uploadId}/parts`, { partNumbers: [1] });
    const put = await send('PUT', signed.body.parts[0].presignedUrl, Buffer.alloc(600, 1));
    const parts = [{ partNumber: 1, etag: String(put.headers.etag) }];
    expect(outcome(await call('POST', `/api/storage/uploads/${body.uploadId}/complete`, { parts }))).toBe(200);
    service.advance(10_001);
    expect(await service.deps.limits.find(projectId)).toMatchObject({ storedBytes: 600, openBytes: 0 });
    expect(outcome(await record(single))).toBe(200);
  });

  test('started twenty at a time, only as many as fit begin, and the rest leave nothing in the store', async () => {
    const projectId = await createProject(1000);
    const answers = await Promise.all(Array.from({ length: 20 }, () => begin(projectId, 300)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(new Set(answers.map(outcome))).toEqual(new Set([200, '409 quota_exceeded']));
    const { uploads } = await service.deps.objects.listMultiparts(`${projectId}/`);
    expect(uploads).toHaveLength(3);
  });
});
