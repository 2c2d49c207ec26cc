import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { requireDrained } from '../../../test/drain-work.ts';
import { type Person, send, startTestService, type TestService } from '../../../test/service.ts';
import type { Deps } from '../../deps.ts';
import { makeStoreKey } from '../../store/store-key.ts';
import { reconciliationWork } from './advance-reconciliation.ts';
import { planReconciliations } from './plan-reconciliations.ts';

const past = 25 * 3600_000 + 1000;
/** Of RECONCILE_INTERVAL_SECONDS: shorter than a session lives that nobody uses. */
const interval = 24 * 3600_000;

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService({ settings: { RECONCILE_INTERVAL_SECONDS: String(interval / 1000) } });
  ada = await service.signUp();
});
beforeEach(async () => {
  // The clock moves by days here: as a browser does, she keeps her session alive.
  await service.call('GET', '/api/auth/get-session', { as: ada });
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const path = () => `/api/projects/${projectId}/reconcile`;
const ask = (dryRun: boolean) => service.call('POST', path(), { as: ada, body: { dryRun } });
async function run(deps: Deps = service.deps): Promise<void> {
  await planReconciliations(deps);
  await requireDrained(service, [reconciliationWork], { deps });
}
const look = async (id?: string) => (await service.call('GET', id ? `${path()}?id=${id}` : path(), { as: ada })).body;

async function put(storeKey: string, bytes = Buffer.from('bytes')): Promise<string> {
  expect((await send('PUT', service.deps.objects.presignPut(storeKey, bytes.length), bytes)).status).toBe(200);
  return storeKey;
}

async function file(fileName: string): Promise<{ id: string; storeKey: string; etag: string }> {
  const body = await service.upload({ as: ada }, projectId, Buffer.from('bytes'), { fileName });
  const answer = await service.call('POST', '/api/storage/record', { as: ada, body });
  expect(answer.status).toBe(200);
  return answer.body;
}

const orphan = async (fileName: string) =>
  (await service.upload({ as: ada }, projectId, Buffer.from('bytes'), { fileName })).storeKey;

async function keys(): Promise<string[]> {
  return (await service.deps.objects.list(`${projectId}/`)).objects.map(({ storeKey }) => storeKey).sort();
}

/** A store that lists in pages of this size. */
function inPagesOf(limit: number): Deps {
  const { objects } = service.deps;
  return {
    ...service.deps,
    objects: { ...objects, list: (prefix, options) => objects.list(prefix, { ...options, limit }) },
  };
}

/** One of each kind: kept, orphan, missing, changed, foreign, pending. */
async function mix() {
  const made = {
    kept: await file('kept.jpg'),
    orphan: await orphan('orphan 写真.jpg'),
    missing: await file('missing.jpg'),
    changed: await file('changed.jpg'),
    resized: await file('resized.jpg'),
    foreign: await put(`${projectId}/notes.txt`),
    pending: '',
  };
  await service.deps.objects.remove([made.missing.storeKey, made.changed.storeKey, made.resized.storeKey]);
  await put(made.changed.storeKey, Buffer.from('other'));
  await put(made.resized.storeKey, Buffer.from('longer than before'));
  service.advance(past);
  made.pending = await orphan('pending.jpg');
  return made;
}

it('tells what differs, with examples, and changes nothing in a dry run', async () => {
  const made = await mix();
  const before = await keys();
  const asked = await ask(true);
  expect(asked.status).toBe(200);
  expect(asked.body).toMatchObject({ projectId, dryRun: true, requestedBy: ada.id, state: 'queued', startedAt: null });
  await run();
  const done = await look(asked.body.id);
  expect(done).toMatchObject({
    id: asked.body.id,
    state: 'done',
    objects: { count: 6, bytes: 5 + 5 + 5 + 18 + 5 + 5 },
    files: { count: 4 },
    pending: { count: 1 },
    orphans: { count: 1, bytes: 5, removed: 0, examples: [{ storeKey: made.orphan, fileSize: 5 }] },
    missing: {
      count: 1,
      examples: [{ fileId: made.missing.id, storeKey: made.missing.storeKey, fileName: 'missing.jpg' }],
    },
    foreign: { count: 1, examples: [{ storeKey: made.foreign }] },
  });
  expect(done.changed).toMatchObject({
    count: 2,
    examples: [
      { fileId: made.changed.id, fileSize: 5, etag: made.changed.etag, storedSize: 5 },
      { fileId: made.resized.id, fileSize: 5, storedSize: 18 },
    ],
  });
  expect(done.changed.examples[0].storedEtag).not.toBe(made.changed.etag);
  expect(await keys()).toEqual(before);
});

it('removes orphans past the deadline and nothing else, and no row ever', async () => {
  const made = await mix();
  const before = await keys();
  await ask(false);
  await run();
  expect(await look()).toMatchObject({ dryRun: false, orphans: { count: 1, removed: 1 }, missing: { count: 1 } });
  expect(await keys()).toEqual(before.filter((key) => key !== made.orphan));
  const { body } = await service.call('GET', `/api/storage/list?projectId=${projectId}`, { as: ada });
  expect(body.files).toHaveLength(4);
});

it.each([1, 2, 3])('finds the same in pages of %i', async (limit) => {
  await mix();
  await file('写真.jpg');
  await file('\u{1f600}.jpg');
  await file('\ufb01.jpg');
  await ask(true);
  await run(inPagesOf(limit));
  expect(await look()).toMatchObject({
    state: 'done',
    objects: { count: 9 },
    files: { count: 7 },
    orphans: { count: 1 },
    missing: { count: 1 },
    changed: { count: 2 },
    foreign: { count: 1 },
    pending: { count: 1 },
  });
});

it('walks both sides in the byte order of UTF-8', async () => {
  const at = service.deps.now();
  // In UTF-16 units, the first sorts after the second.
  const names = ['\ufb01.jpg', '\u{1f600}.jpg', 'z.jpg', 'ß.jpg', 'Z.jpg', '𐐷.jpg', '\uffee.jpg'];
  for (const name of names) {
    const storeKey = await put(`${projectId}/${at}000000-${name}`);
    const body = { projectId, storeKey, fileName: name, fileSize: 5, mimeType: 'image/jpeg', folderId: null };
    expect((await service.call('POST', '/api/storage/record', { as: ada, body })).status).toBe(200);
  }
  for (const limit of [1, 2, 1000]) {
    const { body } = await ask(true);
    await run(inPagesOf(limit));
    const counts = { objects: { count: names.length }, files: { count: names.length }, missing: { count: 0 } };
    expect(await look(body.id)).toMatchObject({
      state: 'done',
      ...counts,
      pending: { count: 0 },
      orphans: { count: 0 },
    });
  }
});

it('finds more missing files than a page holds', async () => {
  const { storeKey } = await file('first.jpg');
  const [time] = storeKey.slice(37).split('-');
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag)
     select $1::uuid, gen_random_uuid(), $1::text || '/' || ($2::numeric + n)::text || '-x.jpg', 'x.jpg', 'X.JPG', 5, 'image/jpeg', 'e'
     from generate_series(1, 2500) as n`,
    [projectId, time ?? ''],
  );
  const last = await orphan('last.jpg');
  service.advance(past);
  await ask(true);
  await run();
  const done = await look();
  expect(done).toMatchObject({ files: { count: 2501 }, missing: { count: 2500 }, objects: { count: 2 } });
  expect(done.missing.examples).toHaveLength(1000);
  expect(done.orphans.examples).toMatchObject([{ storeKey: last }]);
});

it('goes on where it was when it is cut short', async () => {
  for (let i = 0; i < 6; i++) await file(`${i}.jpg`);
  await ask(true);
  const deps = inPagesOf(2);
  let listings = 0;
  const breaking: Deps = {
    ...deps,
    objects: {
      ...deps.objects,
      list: (prefix, options) => {
        if (prefix.startsWith(projectId) && ++listings === 2) throw new Error('Cut short.');
        return deps.objects.list(prefix, options);
      },
    },
  };
  await expect(run(breaking)).rejects.toThrow('Cut short.');
  expect(await look()).toMatchObject({ state: 'running', objects: { count: 2 }, files: { count: 2 } });
  service.advance(61_000);
  await run(deps);
  expect(await look()).toMatchObject({ state: 'done', objects: { count: 6 }, files: { count: 6 } });
});

it('does not take for missing what is deleted for good, or recorded, meanwhile', async () => {
  const gone = await file('gone.jpg');
  await ask(true);
  const { objects, db } = service.deps;
  const racing: Deps = {
    ...service.deps,
    objects: {
      ...objects,
      list: async (prefix, options) => {
        const page = await objects.list(prefix, options);
        if (!prefix.startsWith(projectId)) return page;
        // Recorded after the listing, and gone before the second look.
        await file('new.jpg');
        await objects.remove([gone.storeKey]);
        return { ...page, objects: [] };
      },
      head: async (key) => {
        const head = await objects.head(key);
        if (key === gone.storeKey) await db.pool.query('delete from files where id = $1', [gone.id]);
        return head;
      },
    },
  };
  await run(racing);
  expect(await look()).toMatchObject({ state: 'done', files: { count: 2 }, missing: { count: 0 } });
});

it('comes by itself, once in its interval, also for what appeared behind the sweep', async () => {
  const key = await put(makeStoreKey(projectId, 'slow.jpg', service.deps.now() - past));
  await run();
  service.advance(interval + 1000);
  await run();
  const first = await look();
  expect(first).toMatchObject({ requestedBy: null, dryRun: false, state: 'done', orphans: { removed: 1 } });
  expect(await keys()).not.toContain(key);
  await run();
  expect((await look()).id).toBe(first.id);
  service.advance(interval + 1000);
  await run();
  expect((await look()).id).not.toBe(first.id);
});

it('is asked for once at a time, and the five newest are kept', async () => {
  const first = await ask(true);
  expect(await ask(false)).toMatchObject({ status: 409, body: { code: 'reconciliation_running' } });
  await run();
  for (let i = 0; i < 5; i++) {
    expect((await ask(true)).status).toBe(200);
    await run();
  }
  expect(await look(first.body.id)).toMatchObject({ code: 'reconciliation_not_found' });
});

it('is in the queue when it is answered, and no more when it is done', async () => {
  const queued = async () =>
    (await service.deps.db.pool.query('select kind, subject from work where project_id = $1', [projectId])).rows;
  const { body } = await ask(true);
  expect(await queued()).toEqual([{ kind: reconciliationWork, subject: body.id }]);
  await run();
  expect(await queued()).toEqual([]);
});

it('is tried again when it is asked for once more after it was given up', async () => {
  await ask(true);
  await run();
  const { body } = await ask(true);
  await service.deps.db.pool.query("update work set state = 'dead' where project_id = $1", [projectId]);
  expect(await ask(true)).toMatchObject({ status: 409, body: { code: 'reconciliation_running' } });
  await run();
  expect(await look(body.id)).toMatchObject({ state: 'done' });
});

it('answers 404 where there is none, and 400 for a wrong request', async () => {
  expect(await look()).toMatchObject({ code: 'reconciliation_not_found' });
  expect(await look(randomUUID())).toMatchObject({ code: 'reconciliation_not_found' });
  expect(await look('x')).toMatchObject({ code: 'invalid_request' });
  expect((await service.call('POST', path(), { as: ada, body: {} })).body.issues).toMatchObject([{ path: 'dryRun' }]);
});

it('shows nothing of another project', async () => {
  const { body } = await ask(true);
  const other = await service.createProject(ada);
  const answer = await service.call('GET', `/api/projects/${other}/reconcile?id=${body.id}`, { as: ada });
  expect(answer.body.code).toBe('reconciliation_not_found');
});

it('goes with its project', async () => {
  await mix();
  await ask(true);
  await run();
  await ask(true);
  expect((await service.call('DELETE', `/api/projects/${projectId}?force=true`, { as: ada })).status).toBe(200);
  await run();
  for (const table of ['reconciliations', 'work']) {
    const { rowCount } = await service.deps.db.pool.query(`select 1 from ${table} where project_id = $1`, [projectId]);
    expect(rowCount).toBe(0);
  }
});
