import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { drainWork, requireDrained } from '../../../test/drain-work.ts';
import { expectProblem, type Library, openLibrary } from '../../../test/library.ts';
import { type Answer, type CallOptions, startTestService, type TestService } from '../../../test/service.ts';
import { numberEvents } from '../../events/number-events.ts';
import { purgeExpired } from '../../identity/purge-expired.ts';
import { retryDeadLetters } from '../../work/dead-letters.ts';
import { endGivenUp } from './end-given-up.ts';
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

/** The events of one type that readers of the project get. */
async function feed(type: string): Promise<Answer['body'][]> {
  const path = `/api/storage/events?projectId=${library.projectId}&types=${type}`;
  while ((await numberEvents(service.deps.db)) > 0);
  return (await library.call('GET', path)).body.events;
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
    ['an invalid folder id', { action: 'delete', select: { folderId: 'x' } }, 'select.folderId'],
    ['neither a place nor a search', { action: 'delete', select: {} }, 'select.folderId'],
    ['null for a place', { action: 'delete', select: { folderId: null, search: 'a' } }, 'select.folderId'],
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

describe('a selection without a place', () => {
  /** Files and folders called "draft" at every depth, beside others. */
  async function scatter() {
    const [outer = '', inner = ''] = await library.chain(2);
    const drafts = await library.folder('Drafts', outer);
    const files = {
      root: await library.file(null, 1, 'draft 1'),
      inner: await library.file(inner, 10, 'a DRAFT'),
      inDrafts: await library.file(drafts, 100, 'draft 2'),
      besides: await library.file(drafts, 1000, 'other'),
      other: await library.file(inner, 10_000, 'final'),
    };
    return { outer, inner, drafts, files };
  }

  test('is what a search of the whole project shows: files and folders with what is in them, each counted once', async () => {
    const { outer, inner, drafts, files } = await scatter();
    const select = { search: 'draft', exceptIds: [files.root.id] };
    const counts = { files: 3, folders: 1, bytes: 1110 };
    expect(await done({ action: 'delete', select, dryRun: true })).toEqual(counts);
    expect((await library.listed()).files).toHaveLength(5);
    expect(await done({ action: 'delete', select })).toEqual(counts);
    expect(await library.listed()).toEqual({
      files: [files.root.id, files.other.id].sort(),
      folders: [outer, inner].sort(),
    });
    expect((await library.trash()).map(({ id }) => id).sort()).toEqual([drafts, files.inner.id].sort());
    const [event] = (await events()).filter(({ type }) => type === 'bulk.deleted');
    expect(event).toMatchObject({ subject: counts });
    expect(await done({ action: 'restore', select })).toEqual({ ...counts, restored: [] });
    expect((await library.listed()).files).toHaveLength(5);
    expect((await library.listed(inner)).files).toContain(files.inner.id);
    expect(await done({ action: 'move', folderId: inner, select: { search: 'draft 1' } })).toMatchObject({ files: 1 });
    expect((await library.listed(inner)).files).toContain(files.root.id);
  });

  test('leaves out what is in the trash or in quarantine, and other projects', async () => {
    const { drafts, files } = await scatter();
    const other = await openLibrary(service);
    await other.file(null, 7, 'draft of others');
    const leaked = await service.createKey(library.ada, library.projectId);
    const since = new Date(service.deps.now()).toISOString();
    const hidden = await service.upload({ key: leaked.key }, library.projectId, Buffer.from('x'), {
      fileName: 'draft leak',
    });
    await library.call('POST', '/api/storage/record', hidden, { key: leaked.key });
    await library.call('DELETE', `/api/api-keys/${leaked.id}`, undefined, { as: library.ada });
    const quarantines = `/api/projects/${library.projectId}/quarantines`;
    const { status } = await library.call('POST', quarantines, { apiKeyId: leaked.id, since }, { as: library.ada });
    expect(status).toBe(200);
    await library.call('DELETE', `/api/storage/folders/${drafts}?recursive=true`);
    const select = { search: 'draft' };
    expect(await done({ action: 'delete', select })).toEqual({ files: 2, folders: 0, bytes: 11 });
    expect((await library.trash()).map(({ id }) => id).sort()).toEqual([drafts, files.inner.id, files.root.id].sort());
    expect((await other.listed()).files).toHaveLength(1);
  });

  test('reaches as far as the key does', async () => {
    const { outer, inner, drafts, files } = await scatter();
    const named = await library.folder('draft folder');
    await library.file(named, 5, 'draft in it');
    const keyOf = async (folderId: string) => ({
      key: (await service.createKey(library.ada, library.projectId, { folderId })).key,
    });
    const ofNamed = await keyOf(named);
    // Its own folder is not among what it may change.
    expect(await done({ action: 'delete', select: { search: 'draft' } }, ofNamed)).toEqual({
      files: 1,
      folders: 0,
      bytes: 5,
    });
    expect(await done({ action: 'delete', select: { search: 'draft' }, dryRun: true }, await keyOf(outer))).toEqual({
      files: 3,
      folders: 1,
      bytes: 1110,
    });
    expect(await done({ action: 'delete', select: { search: 'draft' } }, await keyOf(inner))).toMatchObject({
      files: 1,
    });
    expect((await library.listed()).files).toEqual(
      [files.root.id, files.inDrafts.id, files.besides.id, files.other.id].sort(),
    );
    expect(await done({ action: 'restore', select: { search: 'draft' } }, await keyOf(drafts))).toMatchObject({
      files: 0,
    });
    expect(await done({ action: 'restore', select: { search: 'draft' } }, ofNamed)).toMatchObject({ files: 1 });
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

  test('are in the audit as what the request did that started it', async () => {
    const { place } = await makeLarge();
    const caller = { as: library.ada, address: '192.0.2.7' };
    const { headers } = await bulk({ action: 'delete', select: { folderId: place } }, caller);
    await requireDrained(service, [operationWork]);
    const [event] = (await events()).filter(({ type }) => type === 'bulk.deleted');
    expect(event).toMatchObject({
      userId: library.ada.id,
      ip: '192.0.2.7',
      requestId: headers.get('x-request-id'),
      subject: whole,
    });
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

  test('of the whole project are deleted and restored in the background, as far as the key reaches', async () => {
    const { place, inside } = await makeLarge();
    const matching = await library.folder('how many', inside);
    await library.file(matching, 50, 'with it');
    await addFiles(700, inside);
    const beside = await library.folder();
    await addFiles(3, beside);
    await addFiles(2, null, 'other');
    service.advance(1);
    const key = { key: (await service.createKey(library.ada, library.projectId, { folderId: place })).key };
    const select = { search: 'many' };
    const counts = { files: many + 701, folders: 1, bytes: 2 * (many + 700) + 50 };
    expect(await done({ action: 'delete', select, dryRun: true }, key)).toEqual(counts);
    const operation = await start({ action: 'delete', select }, key);
    expect(operation).toMatchObject({ state: 'running', total: many + 701 });
    await doOneBatch(operation.id);
    expect((await look(operation.id, key)).body).toMatchObject({ state: 'running', done: 1, files: 1, folders: 1 });
    const other = { key: (await service.createKey(library.ada, library.projectId, { folderId: beside })).key };
    await expectProblem(look(operation.id, other), 404, 'operation_not_found');
    await requireDrained(service, [operationWork]);
    expect((await look(operation.id)).body).toMatchObject({ ...counts, state: 'finished', done: many + 701 });
    expect(await count(place)).toBe(1);
    expect(await count(inside)).toBe(1);
    expect(await count(beside)).toBe(3);
    const [event] = await feed('bulk.deleted');
    expect(event).toMatchObject({
      data: { ...counts, operationId: operation.id, select: { search: 'MANY', exceptIds: [] } },
    });
    expect(event.data.select).not.toHaveProperty('folderId');
    const undo = await start({ action: 'restore', select });
    await requireDrained(service, [operationWork]);
    expect((await look(undo.id)).body).toMatchObject({ ...counts, state: 'finished', done: many + 701 });
    expect(await count(inside)).toBe(702);
  });

  test('of the whole project are moved together in the background, and found among many others', async () => {
    await addFiles(11_000, null, 'other');
    const folders = await Promise.all(['a', 'b'].map((name) => library.folder(name)));
    for (const folder of folders) await addFiles(600, folder);
    service.advance(1);
    const target = await library.folder('target');
    const { id } = await start({ action: 'move', folderId: target, select: { search: 'many' } });
    await requireDrained(service, [operationWork]);
    expect((await look(id)).body).toMatchObject({ state: 'finished', total: many, done: many, files: many });
    expect(await count(target)).toBe(many);
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
    ['its key is revoked', 'invalid_api_key', 'The API key that started this has been revoked or has expired.'],
    [
      'whoever started it leaves the project',
      'project_not_found',
      'Whoever started this can no longer access the project or the folder.',
    ],
    ['whoever started it may only read', 'role_missing', 'The role viewer does not allow this (files:delete).'],
    ['their account is disabled', 'account_disabled', 'The account that started this has been disabled or deleted.'],
  ])('stop when %s', async (what, code, detail) => {
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
    expect(body).toMatchObject({ state: 'failed', done: 1, problem: { code, detail } });
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

  test.each(['fails', 'ends with its process'])(
    'have failed once their work was given up because it %s twelve times, and go on when that is retried',
    async (how) => {
      const { place } = await makeLarge();
      const { id } = await start({ action: 'delete', select: { folderId: place } });
      await doOneBatch(id);
      const { pool } = service.deps.db;
      const last = 'update work set attempts = $2, state = $3, lease = $4, due_at = now() where subject = $1';
      if (how === 'fails') {
        await pool.query(last, [id, 11, 'waiting', null]);
        const broken = {
          ...service.deps,
          db: { ...service.deps.db, kysely: service.deps.db.kysely.withSchema('gone') },
        };
        expect(await drainWork(service, [operationWork], { deps: broken })).toMatchObject([{ outcome: 'dead' }]);
      } else {
        await pool.query(last, [id, 12, 'leased', randomUUID()]);
        expect(await drainWork(service, [operationWork])).toEqual([]);
      }
      const given = (await look(id)).body;
      expect(given).toMatchObject({
        state: 'failed',
        total,
        done: 1,
        files: 1,
        folders: 1,
        finishedAt: expect.any(String),
      });
      expect(given.problem).toEqual({ code: 'internal_error', detail: expect.stringContaining(`1 of ${total}`) });
      expect(await retryDeadLetters(service.deps.db, { id })).toBe(1);
      expect((await look(id)).body).toMatchObject({ state: 'running', problem: null, finishedAt: null });
      await requireDrained(service, [operationWork]);
      expect((await look(id)).body).toMatchObject({ ...whole, state: 'finished', done: total });
    },
  );

  test('that were given up end a day later, unless they are retried, with an event of what they have done', async () => {
    const { place } = await makeLarge();
    const { id } = await start({ action: 'delete', select: { folderId: place } });
    await doOneBatch(id);
    const { db } = service.deps;
    await db.pool.query("update work set state = 'dead', due_at = $2 where subject = $1", [
      id,
      new Date(service.deps.now()),
    ]);
    const { signal } = new AbortController();
    const hour = 3600_000;
    const { key } = await service.createKey(library.ada, library.projectId);
    const deleted = async () => (await feed('bulk.deleted')).map(({ data }) => [data.operationId, data.files]);
    service.advance(23 * hour);
    await endGivenUp(service.deps, signal);
    expect(await retryDeadLetters(db, { id })).toBe(1);
    await db.pool.query("update work set state = 'dead' where subject = $1", [id]);
    expect(await deleted()).toEqual([]);
    service.advance(2 * hour);
    await endGivenUp(service.deps, signal);
    const { body } = await look(id, { key });
    expect(body).toMatchObject({ state: 'failed', done: 1, total, problem: { code: 'internal_error' } });
    expect(body.problem.detail).toContain(`1 of ${total}`);
    expect(await deleted()).toEqual([[id, 1]]);
    expect(await retryDeadLetters(db, { id })).toBe(0);
    expect(await count(place)).toBe(many);
    service.advance(26 * hour);
    await purgeExpired(service.deps, 100);
    await expectProblem(look(id, { key }), 404, 'operation_not_found');
  });

  test('that were given up can be cancelled', async () => {
    const { place } = await makeLarge();
    const { id } = await start({ action: 'delete', select: { folderId: place } });
    await doOneBatch(id);
    await service.deps.db.pool.query("update work set state = 'dead' where subject = $1", [id]);
    const { body } = await library.call('DELETE', `/api/storage/operations/${id}`);
    expect(body).toMatchObject({ state: 'cancelled', done: 1 });
    expect((await look(id)).body).toEqual(body);
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
