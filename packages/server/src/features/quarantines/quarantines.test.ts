import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { requireDrained } from '../../../test/drain-work.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { purgeTrash } from '../trash/purge-trash.ts';
import { quarantineWork } from './advance-quarantine.ts';

let service: TestService;
let ada: Person;
let projectId: string;
let leaked: { id: string; key: string };
let other: { id: string; key: string };
let before: string;
let since: string;
let after: string[];
let others: string;

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const byAda = (method: string, path: string, body?: unknown) => service.call(method, path, { as: ada, body });
const quarantines = (path = '') => `/api/projects/${projectId}/quarantines${path}`;
const uploads = (query: string, id = leaked.id) =>
  byAda('GET', `/api/projects/${projectId}/api-keys/${id}/uploads?${query}`);

async function ok(method: string, path: string, body?: unknown) {
  const answer = await byAda(method, path, body);
  expect([path, outcome(answer)]).toEqual([path, 200]);
  return answer.body;
}

async function makeFolder(): Promise<string> {
  return (await ok('POST', '/api/storage/folders', { projectId, name: randomUUID(), parentId: null })).id;
}

async function record(key: string, folderId: string | null = null): Promise<string> {
  const body = await service.upload({ key }, projectId, Buffer.from('bytes'), { folderId });
  const answer = await service.call('POST', '/api/storage/record', { key, body });
  expect(outcome(answer)).toBe(200);
  return answer.body.id;
}

async function listed(): Promise<string[]> {
  const { files } = await ok('GET', `/api/storage/list?projectId=${projectId}`);
  return files.map(({ id }: { id: string }) => id).sort();
}

async function audited(): Promise<unknown[]> {
  const { events } = await ok('GET', `/api/projects/${projectId}/audit`);
  return events.map(({ type, subject }: { type: string; subject: object }) => ({ type, ...subject }));
}

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
afterAll(() => service.close());
beforeEach(async () => {
  projectId = await service.createProject(ada);
  leaked = await service.createKey(ada, projectId);
  other = await service.createKey(ada, projectId);
  before = await record(leaked.key);
  service.advance(1000);
  since = new Date(service.deps.now()).toISOString();
  after = [await record(leaked.key), await record(leaked.key, await makeFolder())].sort();
  others = await record(other.key);
});

test('a file whose folder is gone when it is released can be recorded again as it was', async () => {
  const folderId = await makeFolder();
  const recording = await service.upload({ key: leaked.key }, projectId, Buffer.from('bytes'), { folderId });
  const again = () => service.call('POST', '/api/storage/record', { key: leaked.key, body: recording });
  const { id } = (await again()).body;
  const quarantine = await makeOne();
  await ok('DELETE', `/api/storage/folders/${folderId}`);
  await ok('POST', quarantines(`/${quarantine.id}/release`), {});
  const answer = await again();
  expect([outcome(answer), answer.body.id, answer.body.folderId]).toEqual([200, id, null]);
});

const makeOne = (more: object = {}) => ok('POST', quarantines(), { apiKeyId: leaked.id, since, ...more });

describe('what a leaked key has uploaded since a moment', () => {
  test('is listed in pages, with where it is by now', async () => {
    await ok('DELETE', `/api/storage/files/${after[0]}`);
    const first = (await uploads(`since=${since}&limit=1`)).body;
    const second = (await uploads(`since=${since}&limit=1&cursor=${first.nextCursor}`)).body;
    const files = [...first.files, ...second.files];
    expect(files.map(({ id, state }) => [id, state])).toEqual([
      [after[0], 'trashed'],
      [after[1], 'present'],
    ]);
    expect(second.nextCursor).toBeNull();
    const all = (await uploads('since=1969-01-01T00:00:00Z')).body.files;
    expect(all.map(({ id }: { id: string }) => id)).toEqual([before, ...after]);
    expect(outcome(await uploads(`since=${since}`, randomUUID()))).toBe('404 api_key_not_found');
    const unused = await service.createKey(ada, projectId);
    expect((await uploads(`since=${since}`, unused.id)).body).toEqual({ files: [], nextCursor: null });
  });

  test('takes no other cursor and no other time', async () => {
    const { nextCursor } = (await uploads(`since=${since}&limit=1`)).body;
    for (const query of [`since=${since}&cursor=x`, 'since=yesterday', '', `since=${since}&limit=0`]) {
      expect([query, outcome(await uploads(query))]).toEqual([query, '400 invalid_request']);
    }
    expect(outcome(await uploads(`since=${since}&cursor=${nextCursor}`, other.id))).toBe('400 invalid_request');
  });

  test('is found across other uploads, a bounded number of them at a time', async () => {
    await fill(6_000, other.id);
    const last = await record(leaked.key);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages += 1) {
      const { body } = await uploads(`since=${since}${cursor}`);
      seen.push(...body.files.map(({ id }: { id: string }) => id));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen).toEqual([...after, last]);
    expect(pages).toBe(1);
  });
});

test.each(['0000-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'])('nothing begins at %s', async (moment) => {
  const answer = await byAda('POST', quarantines(), { apiKeyId: leaked.id, since: moment });
  expect(outcome(answer)).toBe('400 invalid_request');
  expect(answer.body.issues).toEqual([{ path: 'since', message: 'must lie in the years 0000 to 9999 in UTC' }]);
});

describe('a quarantine', () => {
  test('takes out of sight what the key recorded since, and nothing else', async () => {
    const dry = await makeOne({ dryRun: true });
    expect(dry).toMatchObject({ id: null, state: 'planned', files: 2, bytes: 10 });
    expect(await listed()).toEqual([before, ...after, others].sort());

    const made = await makeOne();
    expect(made).toMatchObject({ state: 'held', files: 2, bytes: 10, apiKeyId: leaked.id, since });
    expect(await listed()).toEqual([before, others].sort());
    expect((await ok('GET', quarantines())).quarantines).toEqual([made]);
    expect((await uploads(`since=${since}`)).body.files.map(({ state }: { state: string }) => state)).toEqual([
      'quarantined',
      'quarantined',
    ]);
    expect(await audited()).toContainEqual(
      expect.objectContaining({ type: 'quarantine.created', apiKeyId: leaked.id, quarantineId: made.id, files: 2 }),
    );
  });

  test('lets nobody download, look at, move, delete or restore it, and no archive has it', async () => {
    await makeOne();
    const [id] = after;
    for (const [method, path, body] of [
      ['GET', `/api/storage/files/${id}`, undefined],
      ['POST', `/api/storage/files/${id}/url`, {}],
      ['GET', `/api/storage/files/${id}/content`, undefined],
      ['PATCH', `/api/storage/files/${id}`, { fileName: 'x' }],
      ['DELETE', `/api/storage/files/${id}`, undefined],
      ['POST', `/api/storage/files/${id}/restore`, undefined],
      ['POST', '/api/storage/bulk', { projectId, action: 'restore', fileIds: [id] }],
      ['POST', '/api/storage/bulk', { projectId, action: 'move', fileIds: [id], folderId: null }],
      ['POST', '/api/storage/archives', { projectId, fileIds: [id] }],
    ] as const) {
      expect([method, path, outcome(await byAda(method, path, body))]).toEqual([method, path, '404 file_not_found']);
    }
    expect((await ok('GET', `/api/storage/list?projectId=${projectId}&search=photo`)).files).toHaveLength(2);
    expect((await ok('GET', `/api/storage/trash?projectId=${projectId}`)).entries).toEqual([]);
    expect(await ok('GET', `/api/storage/usage?projectId=${projectId}`)).toMatchObject({
      fileCount: 2,
      trashedBytes: 10,
    });
  });

  test('outlives the trash: neither an emptying nor its end takes it', async () => {
    const { id } = await makeOne();
    expect(await ok('DELETE', `/api/storage/trash?projectId=${projectId}`)).toEqual({ files: 0, folders: 0, bytes: 0 });
    const { pool } = service.deps.db;
    await pool.query(`update files set trashed_at = trashed_at - interval '60 days' where trash_id = $1`, [id]);
    await pool.query(`update quarantines set created_at = created_at - interval '60 days' where id = $1`, [id]);
    await purgeTrash(service.deps, 1000);
    expect(await ok('POST', quarantines(`/${id}/release`), {})).toMatchObject({ state: 'released', files: 2 });
    expect(await listed()).toEqual([before, ...after, others].sort());
  });

  test('is given back to where it was, or to the root when that is gone; again is the same', async () => {
    const folder = (await ok('GET', `/api/storage/files/${after[1]}`)).folderId;
    const [rootFile, folderFile] = folder === null ? [after[1], after[0]] : after;
    const place = folder ?? (await ok('GET', `/api/storage/files/${after[0]}`)).folderId;
    const { id } = await makeOne();
    await ok('DELETE', `/api/storage/folders/${place}`);
    expect(await ok('POST', quarantines(`/${id}/release`), { dryRun: true })).toMatchObject({
      state: 'held',
      files: 2,
    });
    expect(await listed()).toEqual([before, others].sort());
    const released = await ok('POST', quarantines(`/${id}/release`), {});
    expect(await ok('POST', quarantines(`/${id}/release`), {})).toEqual(released);
    for (const fileId of [rootFile, folderFile]) {
      expect((await ok('GET', `/api/storage/files/${fileId}`)).folderId).toBeNull();
    }
    expect(outcome(await byAda('POST', quarantines(`/${id}/trash`), {}))).toBe('409 quarantine_not_held');
    expect((await audited()).filter((event) => JSON.stringify(event).includes('quarantine.released'))).toHaveLength(1);
  });

  test('gives back nothing that another one of the same key covers: that one holds it from then on', async () => {
    const narrow = await makeOne();
    const wide = await makeOne({ since: '2020-01-01T00:00:00Z' });
    expect([narrow.files, wide.files]).toEqual([2, 1]);
    const elsewhere = await ok('POST', quarantines(), { apiKeyId: other.id, since });
    expect(await listed()).toEqual([]);
    expect(await ok('POST', quarantines(`/${narrow.id}/release`), {})).toMatchObject({ state: 'released' });
    expect(await listed()).toEqual([]);
    const { quarantines: all } = await ok('GET', quarantines());
    expect(all.map(({ id, files, bytes }: Record<string, unknown>) => [id, files, bytes])).toEqual([
      [elsewhere.id, 1, 5],
      [wide.id, 3, 15],
      [narrow.id, 2, 10],
    ]);
    await ok('POST', quarantines(`/${wide.id}/release`), {});
    expect(await listed()).toEqual([before, ...after].sort());
  });

  test('gives back what another one of the same key does not cover', async () => {
    const wide = await makeOne({ since: '2020-01-01T00:00:00Z' });
    const narrow = await makeOne();
    expect([wide.files, narrow.files]).toEqual([3, 0]);
    await ok('POST', quarantines(`/${wide.id}/release`), {});
    expect(await listed()).toEqual([before, others].sort());
    expect(await ok('POST', quarantines(`/${narrow.id}/trash`), {})).toMatchObject({ state: 'trashed', files: 2 });
    expect((await ok('GET', `/api/storage/trash?projectId=${projectId}`)).entries).toHaveLength(2);
  });

  test('goes into the trash, from where single files can be restored', async () => {
    const { id } = await makeOne();
    await ok('DELETE', `/api/storage/trash?projectId=${projectId}`);
    expect(await ok('POST', quarantines(`/${id}/trash`), { dryRun: true })).toMatchObject({ state: 'held' });
    expect(await ok('POST', quarantines(`/${id}/trash`), {})).toMatchObject({ state: 'trashed', files: 2 });
    expect((await ok('GET', `/api/storage/trash?projectId=${projectId}`)).entries).toHaveLength(2);
    await ok('POST', `/api/storage/files/${after[0]}/restore`);
    expect(await listed()).toEqual([before, after[0], others].sort());
    expect(outcome(await byAda('POST', quarantines(`/${id}/release`), {}))).toBe('409 quarantine_not_held');
    expect(await audited()).toContainEqual(expect.objectContaining({ type: 'quarantine.trashed', files: 2 }));
  });

  test('leaves in the trash what was there', async () => {
    await ok('DELETE', `/api/storage/files/${after[0]}`);
    expect(await makeOne()).toMatchObject({ files: 1 });
    await ok('POST', `/api/storage/files/${after[0]}/restore`);
  });

  test('of many files goes on after the answer, and in as many steps as it takes', async () => {
    await fill(5_500, leaked.id);
    const { id } = await makeOne();
    const state = async () => (await ok('GET', quarantines())).quarantines[0];
    expect(await state()).toMatchObject({ state: 'marking' });
    expect(outcome(await byAda('POST', quarantines(`/${id}/trash`), {}))).toBe('409 quarantine_not_held');
    await requireDrained(service, [quarantineWork]);
    expect(await state()).toMatchObject({ state: 'held', files: 5_502 });
    expect(await listed()).toEqual([before, others].sort());
    expect(await ok('POST', quarantines(`/${id}/release`), {})).toMatchObject({ state: 'releasing' });
    await requireDrained(service, [quarantineWork]);
    expect(await state()).toMatchObject({ state: 'released' });
    expect(await listed()).toHaveLength(5_504);
  });

  test('works for an untied key of somebody who has left, too', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const untied = await service.createKey(eve, null);
    const id = await record(untied.key);
    await ok('DELETE', `/api/projects/${projectId}/members/${eve.id}`);
    expect(await makeOne({ apiKeyId: untied.id })).toMatchObject({ state: 'held', files: 1 });
    expect(outcome(await byAda('GET', `/api/storage/files/${id}`))).toBe('404 file_not_found');
  });

  test('is of its project only, and goes with it', async () => {
    const { id } = await makeOne();
    const mine = projectId;
    projectId = await service.createProject(ada);
    expect(outcome(await byAda('POST', quarantines(`/${id}/release`), {}))).toBe('404 quarantine_not_found');
    expect(outcome(await byAda('POST', quarantines(`/${randomUUID()}/release`), {}))).toBe('404 quarantine_not_found');
    const elsewhere = { apiKeyId: leaked.id, since };
    expect(outcome(await byAda('POST', quarantines(), elsewhere))).toBe('404 api_key_not_found');
    const { id: apiKeyId } = await service.createKey(ada, projectId);
    expect(await makeOne({ apiKeyId })).toMatchObject({ files: 0, state: 'held' });
    await ok('DELETE', `/api/projects/${mine}?force=true`);
  });

  test.each([
    ['no key', { apiKeyId: undefined }],
    ['a key that is no UUID', { apiKeyId: 'x' }],
    ['no time', { since: undefined }],
    ['an invalid time', { since: '2026-02-30T00:00:00Z' }],
    ['a dryRun that is no boolean', { dryRun: 'yes' }],
  ])('is not made with %s', async (_what, wrong) => {
    expect(outcome(await byAda('POST', quarantines(), { apiKeyId: leaked.id, since, ...wrong }))).toBe(
      '400 invalid_request',
    );
  });
});

/** Inserts rows of files as recording does, without objects. */
async function fill(count: number, keyId: string): Promise<void> {
  const at = service.deps.now().toString(16).padStart(12, '0');
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag, created_by_key)
     select $1::uuid, ($2 || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1::uuid || '/x-' || n, 'f', 'F', 1, 'image/png', 'x', $3
     from generate_series(1, $4::int) n`,
    [projectId, `${at.slice(0, 8)}-${at.slice(8)}`, keyId, count],
  );
  service.advance(10);
}
