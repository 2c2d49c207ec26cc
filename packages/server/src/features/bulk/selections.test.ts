import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { drainWork, requireDrained } from '../../../test/drain-work.ts';
import { expectProblem, type Library, openLibrary } from '../../../test/library.ts';
import { type Answer, type CallOptions, startTestService, type TestService } from '../../../test/service.ts';
import { purgeExpired } from '../../identity/purge-expired.ts';
import { continueOperation, operationWork } from './operation.ts';

let service: TestService;
let library: Library;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  library = await openLibrary(service);
});

const bulk = (body: object, caller?: CallOptions) =>
  library.call('POST', '/api/storage/bulk', { projectId: library.projectId, ...body }, caller);

async function done(body: object, caller?: CallOptions): Promise<Answer['body']> {
  const { status, body: answer } = await bulk(body, caller);
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer;
}

/** Inserts files straight into the database: more than one transaction takes. */
async function addFiles(count: number, folderId: string | null, name = 'many'): Promise<void> {
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, created_at, updated_at)
     select $1::uuid, gen_random_uuid(), $1::text || gen_random_uuid(), $4::text || ' ' || n, upper($4::text || ' ' || n), 2, 'a/b', $3, 'e', $5, $5
     from generate_series(1, $2::int) n`,
    [library.projectId, count, folderId, name, new Date(service.deps.now())],
  );
  await service.deps.db.pool.query(
    `insert into project_usage (project_id, slot, file_count, total_bytes) values ($1, 0, $2::int, 2 * $2::int)
     on conflict (project_id, slot) do update set
       file_count = project_usage.file_count + excluded.file_count, total_bytes = project_usage.total_bytes + excluded.total_bytes`,
    [library.projectId, count],
  );
}

async function count(folderId: string | null): Promise<number> {
  const { rows } = await service.deps.db.pool.query(
    `select (select count(*) from files where project_id = $1 and folder_id is not distinct from $2 and trash_id is null)
          + (select count(*) from folders where project_id = $1 and parent_id is not distinct from $2 and trash_id is null) as count`,
    [library.projectId, folderId],
  );
  return Number(rows[0].count);
}

const look = (id: string, caller?: CallOptions) =>
  library.call('GET', `/api/storage/operations/${id}`, undefined, caller);

async function events(): Promise<Answer['body'][]> {
  const path = `/api/projects/${library.projectId}/audit`;
  return (await library.call('GET', path, undefined, { as: library.ada })).body.events;
}

describe('a selection', () => {
  test('is everything directly in a place, with all that is in its folders, and the exceptions stay', async () => {
    const place = await library.folder();
    const [outer = '', inner = ''] = await library.chain(2, place);
    await library.file(inner, 100);
    const kept = await library.file(place, 1000);
    const keptFolder = await library.folder('kept', place);
    await library.file(place, 10);
    const beside = await library.file(null, 1);
    const select = { folderId: place, exceptIds: [kept.id, keptFolder] };
    const counts = { files: 2, folders: 2, bytes: 110 };
    expect(await done({ action: 'delete', select, dryRun: true })).toEqual(counts);
    expect(await count(place)).toBe(4);
    expect(await done({ action: 'delete', select })).toEqual(counts);
    expect(await library.listed(place)).toEqual({ files: [kept.id], folders: [keptFolder] });
    expect((await library.listed('root')).files).toContain(beside.id);
    // What was in that place and is in the trash: the way back.
    expect(await done({ action: 'restore', select: { folderId: place } })).toEqual({ ...counts, restored: [] });
    expect((await library.listed(place)).folders).toContain(outer);
    expect(await count(place)).toBe(4);
  });

  test('of a search is what the listing with that search shows', async () => {
    const place = await library.folder();
    for (const name of ['Straße 1', 'STRASSE 2', 'other']) await library.file(place, 5, name);
    await library.folder('strasse', place);
    await library.file(await library.folder('inside', place), 5, 'strasse 3');
    const select = { folderId: place, search: 'straße' };
    expect(await done({ action: 'move', folderId: null, select })).toEqual({ files: 2, folders: 1, bytes: 10 });
    expect(await count(place)).toBe(2);
    expect(await done({ action: 'restore', select })).toEqual({ files: 0, folders: 0, bytes: 0, restored: [] });
  });

  test('of the root can be moved into a folder of it that is left out', async () => {
    const target = await library.folder('target');
    const file = await library.file(null);
    await expectProblem(bulk({ action: 'move', folderId: target, select: { folderId: 'root' } }), 409, 'folder_cycle');
    const select = { folderId: 'root', exceptIds: [target] };
    await done({ action: 'move', folderId: target, select });
    expect(await library.listed(target)).toEqual({ files: [file.id], folders: [] });
  });

  test('of a place that is not there, or not for this key, is 404', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    await library.file(inner);
    const trashed = await library.folder();
    await library.call('DELETE', `/api/storage/folders/${trashed}`);
    const { key } = await service.createKey(library.ada, library.projectId, { folderId: inner });
    for (const action of ['move', 'delete', 'restore']) {
      const ask = (folderId: string, caller?: CallOptions) =>
        bulk({ action, folderId: inner, select: { folderId } }, caller);
      for (const place of [trashed, randomUUID()]) await expectProblem(ask(place), 404, 'folder_not_found');
      for (const place of ['root', outer]) await expectProblem(ask(place, { key }), 404, 'folder_not_found');
      expect((await ask(inner, { key })).status).toBe(200);
    }
  });

  test.each([
    ['ids as well', { action: 'delete', fileIds: [randomUUID()], select: { folderId: 'root' } }, 'select'],
    ['a place that is none', { action: 'delete', select: { folderId: 'x' } }, 'select.folderId'],
    ['no place', { action: 'delete', select: {} }, 'select.folderId'],
    ['an empty search', { action: 'delete', select: { folderId: 'root', search: '' } }, 'select.search'],
    [
      'an exception that is no id',
      { action: 'delete', select: { folderId: 'root', exceptIds: ['x'] } },
      'select.exceptIds.0',
    ],
  ])('with %s is 400', async (_what, body, path) => {
    const { body: answer } = await expectProblem(bulk(body), 400, 'invalid_request');
    expect(answer.issues).toMatchObject([{ path }]);
  });
});

const many = 1200;

/** A folder with a subfolder that has a file, and with more files than one transaction takes. */
async function makeLarge(): Promise<{ place: string; inside: string }> {
  const place = await library.folder();
  const inside = await library.folder('inside', place);
  await library.file(inside, 100);
  await addFiles(many, place);
  service.advance(1);
  return { place, inside };
}
const whole = { files: many + 1, folders: 1, bytes: 2 * many + 100 };
const total = many + 1;

/** Does one batch of an operation, as a process that is killed then does. */
async function doOneBatch(id: string): Promise<void> {
  const stopped = new AbortController();
  const { now } = service.deps;
  const deps = {
    ...service.deps,
    now() {
      stopped.abort(new Error('killed'));
      return now();
    },
  };
  const subject = { projectId: library.projectId, id };
  await expect(continueOperation(deps, subject, stopped.signal)).rejects.toThrow('killed');
}

const start = async (body: object, caller?: CallOptions): Promise<Answer['body']> =>
  (await done(body, caller)).operation;

describe('more than a thousand', () => {
  test('are deleted in the background, as the dry run said, and come back the same way', async () => {
    const { place } = await makeLarge();
    const select = { folderId: place };
    expect(await done({ action: 'delete', select, dryRun: true })).toEqual(whole);
    expect(await count(place)).toBe(total);
    const operation = await start({ action: 'delete', select });
    expect(operation).toMatchObject({
      action: 'delete',
      state: 'running',
      total,
      done: 0,
      problem: null,
      finishedAt: null,
    });
    expect((await look(operation.id)).body).toEqual(operation);
    await doOneBatch(operation.id);
    expect((await look(operation.id)).body).toMatchObject({ state: 'running', done: 1, files: 1, folders: 1 });
    await requireDrained(service, [operationWork]);
    const ended = (await look(operation.id)).body;
    expect(ended).toMatchObject({ ...whole, state: 'finished', total, done: total, finishedAt: expect.any(String) });
    expect(await count(place)).toBe(0);
    expect((await events()).filter(({ type }) => type === 'bulk.deleted')).toMatchObject([{ subject: whole }]);

    const usage = (await library.call('GET', `/api/storage/usage?projectId=${library.projectId}`)).body;
    expect(usage).toMatchObject({ fileCount: 0, totalBytes: 0, trashedBytes: whole.bytes });
    const undo = await start({ action: 'restore', select });
    await requireDrained(service, [operationWork]);
    expect((await look(undo.id)).body).toMatchObject({ ...whole, state: 'finished', total, done: total });
    expect(await count(place)).toBe(total);
    expect((await events()).filter(({ type }) => type === 'bulk.restored')).toMatchObject([{ subject: whole }]);
  });

  test('are moved in the background; a search limits them', async () => {
    const { place, inside } = await makeLarge();
    await addFiles(3, place, 'other');
    service.advance(1);
    const target = await library.folder();
    const select = { folderId: place, search: 'MANY' };
    expect(await done({ action: 'move', folderId: target, select, dryRun: true })).toMatchObject({
      files: many,
      folders: 0,
    });
    const operation = await start({ action: 'move', folderId: target, select });
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toMatchObject({ state: 'finished', total: many, done: many });
    expect(await count(target)).toBe(many);
    expect((await library.listed(place)).folders).toEqual([inside]);
    expect(await count(place)).toBe(4);
  });

  test('what is added, changed or deleted afterwards is left alone', async () => {
    const { place } = await makeLarge();
    const changed = await library.file(place);
    service.advance(1);
    const operation = await start({ action: 'delete', select: { folderId: place } });
    service.advance(1);
    const added = await library.file(place);
    await library.call('PATCH', `/api/storage/files/${changed.id}`, { fileName: 'changed since' });
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toMatchObject({ state: 'finished', total: total + 1, done: total });
    expect((await library.listed(place)).files).toEqual([changed.id, added.id].sort());
  });

  test('can be cancelled: what is done stays done, and nothing more is', async () => {
    const { place, inside } = await makeLarge();
    const operation = await start({ action: 'delete', select: { folderId: place } });
    await doOneBatch(operation.id);
    const cancel = () => library.call('DELETE', `/api/storage/operations/${operation.id}`);
    const { body } = await cancel();
    expect(body).toMatchObject({ state: 'cancelled', done: 1, finishedAt: expect.any(String) });
    expect((await cancel()).body).toEqual(body);
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toEqual(body);
    expect(await count(place)).toBe(many);
    expect((await library.trash()).map(({ id }) => id)).toEqual([inside]);
    expect((await events()).filter(({ type }) => type === 'bulk.deleted')).toMatchObject([
      { subject: { files: 1, folders: 1, bytes: 100 } },
    ]);
  });

  test.each([
    ['its key is revoked', 'invalid_api_key'],
    ['whoever started it leaves the project', 'project_not_found'],
    ['whoever started it may only read', 'role_missing'],
    ['their account is disabled', 'account_disabled'],
  ])('stop when %s', async (what, code) => {
    const { place } = await makeLarge();
    const eve = await service.join(library.ada, library.projectId, 'editor');
    const key = await service.createKey(library.ada, library.projectId);
    const caller = what === 'its key is revoked' ? { key: key.key } : { as: eve };
    const operation = await start({ action: 'delete', select: { folderId: place } }, caller);
    await doOneBatch(operation.id);
    const asAda = { as: library.ada };
    const member = `/api/projects/${library.projectId}/members/${eve.id}`;
    if (code === 'invalid_api_key') await library.call('DELETE', `/api/api-keys/${key.id}`, undefined, asAda);
    if (code === 'project_not_found') await library.call('DELETE', member, undefined, asAda);
    if (code === 'role_missing') await library.call('PATCH', member, { role: 'viewer' }, asAda);
    if (code === 'account_disabled') {
      await service.deps.db.pool.query('update users set disabled_at = now() where id = $1', [eve.id]);
    }
    await requireDrained(service, [operationWork]);
    const { body } = await look(operation.id, asAda);
    expect(body).toMatchObject({ state: 'failed', done: 1, problem: { code, detail: expect.any(String) } });
    expect(await count(place)).toBe(many);
  });

  test('go on when whoever started them signs out', async () => {
    const { place } = await makeLarge();
    const eve = await service.join(library.ada, library.projectId, 'editor');
    const operation = await start({ action: 'delete', select: { folderId: place } }, { as: eve });
    await library.call('POST', '/api/auth/sign-out', {}, { as: eve });
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toMatchObject({ state: 'finished', createdBy: { userId: eve.id } });
  });

  test('fail when their place is deleted meanwhile', async () => {
    const { place } = await makeLarge();
    const operation = await start({ action: 'move', folderId: null, select: { folderId: place } });
    await library.call('DELETE', `/api/storage/folders/${place}?recursive=true`);
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toMatchObject({
      state: 'failed',
      done: 0,
      problem: { code: 'folder_not_found' },
    });
  });

  test('are not moved at all if one of the folders cannot be, and fail if that happens later', async () => {
    const { place } = await makeLarge();
    const target = await library.folder();
    const taken = await library.folder('INSIDE', target);
    const move = { action: 'move', folderId: target, select: { folderId: place } };
    for (const dryRun of [true, false]) await expectProblem(bulk({ ...move, dryRun }), 409, 'folder_exists');
    expect(await count(place)).toBe(total);
    await library.call('DELETE', `/api/storage/folders/${taken}`);
    const operation = await start(move);
    await library.call('POST', `/api/storage/folders/${taken}/restore`);
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toMatchObject({
      state: 'failed',
      done: 0,
      problem: { code: 'folder_exists' },
    });
    expect(await count(place)).toBe(total);
  });

  test('are done once by several processes', async () => {
    const { place } = await makeLarge();
    const other = await startTestService({ beside: service });
    const operation = await start({ action: 'delete', select: { folderId: place } });
    const subject = { projectId: library.projectId, id: operation.id };
    const { signal } = new AbortController();
    await Promise.all([service, other, service].map(({ deps }) => continueOperation(deps, subject, signal)));
    expect((await look(operation.id)).body).toMatchObject({ ...whole, state: 'finished', done: total });
    expect(await drainWork(other, [operationWork])).toMatchObject([{ outcome: 'done' }]);
    expect((await events()).filter(({ type }) => type === 'bulk.deleted')).toHaveLength(1);
  });

  test('are known for a day after they have ended', async () => {
    const { place } = await makeLarge();
    const operation = await start({ action: 'delete', select: { folderId: place } });
    const hour = 3600_000;
    await requireDrained(service, [operationWork]);
    service.advance(24 * hour);
    await purgeExpired(service.deps, 100);
    const { key } = await service.createKey(library.ada, library.projectId);
    expect((await look(operation.id, { key })).status).toBe(200);
    service.advance(2 * hour);
    await purgeExpired(service.deps, 100);
    await expectProblem(look(operation.id, { key }), 404, 'operation_not_found');
  });
});

describe('an operation', () => {
  test('exists only for whoever may do it', async () => {
    const [outer = '', inner = ''] = await library.chain(2);
    await addFiles(1001, inner);
    service.advance(1);
    const keyOf = async (more: Record<string, unknown>) => ({
      key: (await service.createKey(library.ada, library.projectId, more)).key,
    });
    const own = await keyOf({ folderId: inner });
    const { id } = await start({ action: 'delete', select: { folderId: inner } }, own);
    const ask = async (caller: CallOptions) => {
      const { status, body } = await look(id, caller);
      const path = `/api/storage/operations/${id}`;
      if (status !== 200) expect((await library.call('DELETE', path, undefined, caller)).status).toBe(status);
      return status === 200 ? '200' : `${status} ${body.code}`;
    };
    const beside = await library.folder();
    const strangers = await openLibrary(service);
    expect(await ask(own)).toBe('200');
    expect(await ask(await keyOf({ folderId: outer }))).toBe('200');
    expect(await ask(await keyOf({ scopes: ['files:delete'] }))).toBe('200');
    expect(await ask(await keyOf({ folderId: beside }))).toBe('404 operation_not_found');
    expect(await ask(await keyOf({ folderId: beside, scopes: ['files:write'] }))).toBe('404 operation_not_found');
    expect(await ask(await keyOf({ scopes: ['files:write'] }))).toBe('403 scope_missing');
    expect(await ask(await keyOf({ scopes: ['files:read'] }))).toBe('403 scope_missing');
    expect(await ask({ key: strangers.key })).toBe('404 operation_not_found');
    expect(await ask({ as: strangers.ada })).toBe('404 operation_not_found');
    expect(await ask({ as: library.ada })).toBe('200');
    await expectProblem(look(randomUUID()), 404, 'operation_not_found');
    await expectProblem(look('x'), 400, 'invalid_request');
  });

  test('goes with its project', async () => {
    const { place } = await makeLarge();
    const { id } = await start({ action: 'delete', select: { folderId: place } }, { as: library.ada });
    await library.call('DELETE', `/api/projects/${library.projectId}?force=true`, undefined, { as: library.ada });
    const left = 'select from work where project_id = $1';
    expect((await service.deps.db.pool.query(left, [library.projectId])).rowCount).toBe(0);
    await expectProblem(look(id, { as: library.ada }), 404, 'operation_not_found');
    await continueOperation(service.deps, { projectId: library.projectId, id }, new AbortController().signal);
  });
});
