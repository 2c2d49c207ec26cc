import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Person, send, startTestService, type TestService } from '../../../test/service.ts';
import type { Deps } from '../../deps.ts';
import { makeStoreKey } from '../../store/store-key.ts';
import type { Removed } from '../../telemetry/observed.ts';
import { abortMultiparts } from './abort-multiparts.ts';
import { endImpossibleSweeps } from './end-impossible-sweeps.ts';
import { sweepProjects } from './sweep-projects.ts';

const deadline = 24 * 3600_000;
const margin = 3600_000;
const never = new AbortController().signal;
const bytes = Buffer.from('bytes');

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
});
beforeEach(async () => {
  // Objects left behind by an earlier test do not count here.
  service.advance(2 * deadline);
  await sweep();
  // Otherwise her session would have expired by this time.
  const begin = new Date(service.deps.now());
  const end = new Date(service.deps.now() + 7 * deadline);
  await service.deps.db.kysely.updateTable('sessions').set({ created_at: begin, expires_at: end }).execute();
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

async function sweep(deps: Deps = service.deps): Promise<Partial<Record<Removed, number>>> {
  const removed: Partial<Record<Removed, number>> = {};
  await sweepProjects(deps, never, (what, howMany) => {
    if (howMany > 0) removed[what] = (removed[what] ?? 0) + howMany;
  });
  return removed;
}

async function keys(project = projectId): Promise<string[]> {
  const { objects } = await service.deps.objects.list(`${project}/`);
  return objects.map(({ storeKey }) => storeKey);
}

const upload = (facts = {}) => service.upload({ as: ada }, projectId, bytes, facts);
const record = async (body: object) => (await service.call('POST', '/api/storage/record', { as: ada, body })).status;

/** Puts an object under any key, as the owner of the store's credentials can. */
async function put(storeKey: string): Promise<void> {
  expect((await send('PUT', service.deps.objects.presignPut(storeKey, bytes.length), bytes)).status).toBe(200);
}

async function sweepRow(project = projectId) {
  const rows = service.deps.db.kysely.selectFrom('project_sweeps').selectAll();
  return rows.where('project_id', '=', project).executeTakeFirst();
}

/** A store that answers like the real one, except where it is overridden, and counts its listings. */
function withStore(change: Partial<Deps['objects']> = {}): Deps & { listings: string[] } {
  const { objects } = service.deps;
  const listings: string[] = [];
  const list: Deps['objects']['list'] = (prefix, options) => {
    listings.push(prefix);
    return objects.list(prefix, options);
  };
  return { ...service.deps, objects: { ...objects, list, ...change }, listings };
}

describe('a sweep', () => {
  it('removes what was never recorded, past deadline and margin, and nothing else', async () => {
    const recorded = await upload({ fileName: 'kept.jpg' });
    expect(await record(recorded)).toBe(200);
    const forgotten = await upload({ fileName: 'forgotten 写真 😀.jpg' });

    service.advance(deadline + margin - 60_000);
    expect(await sweep()).toEqual({});
    expect((await keys()).sort()).toEqual([recorded.storeKey, forgotten.storeKey].sort());
    const young = await upload();

    service.advance(600_000);
    expect(await sweep()).toEqual({ orphan: 1 });
    expect((await keys()).sort()).toEqual([recorded.storeKey, young.storeKey].sort());
  });

  it('goes on, as reconciliations and recordings do, once a clock that ran ahead has been set back', async () => {
    const { kysely } = service.deps.db;
    await upload();
    await sweep();
    const planned = await sweepRow();
    const far = new Date(service.deps.now() + 400 * deadline);
    const usual = await service.createProject(ada);
    await sweep();
    const before = await sweepRow(usual);
    await kysely
      .updateTable('project_sweeps')
      .set({ next_sweep_at: far, next_reconcile_at: far })
      .where('project_id', '=', projectId)
      .execute();
    await kysely
      .updateTable('projects')
      .set({ quota_bytes: 1_000_000, record_from: far })
      .where('id', '=', projectId)
      .execute();
    await endImpossibleSweeps(service.deps);
    const after = await sweepRow();
    expect(after?.next_sweep_at.getTime()).toBeLessThanOrEqual(planned?.next_sweep_at.getTime() ?? 0);
    expect(after?.next_reconcile_at.getTime()).toBeLessThan(service.deps.now() + 8 * deadline);
    expect(await sweepRow(usual)).toEqual(before);
    service.advance(1000);
    expect(await record(await upload())).toBe(200);
  });

  it('leaves what record still takes: record refuses first, by the margin', async () => {
    const late = await upload();
    service.advance(deadline - 60_000);
    await sweep();
    expect(await record(late)).toBe(200);
    const tooLate = await upload();
    service.advance(deadline + 60_000);
    await sweep();
    expect(await record(tooLate)).toBe(400);
    expect(await keys()).toContain(tooLate.storeKey);
  });

  it('costs one listing where nothing is new, and none before something can be old enough', async () => {
    await upload();
    service.advance(deadline + margin + 1000);
    await sweep();
    const deps = withStore();
    await sweep(deps);
    expect(deps.listings).not.toContain(`${projectId}/`);
    service.advance(deadline);
    await sweep(deps);
    expect(deps.listings.filter((prefix) => prefix === `${projectId}/`)).toHaveLength(1);
  });

  it('is due again when the oldest young object is old enough', async () => {
    await sweep();
    service.advance(23 * 3600_000);
    const { storeKey } = await upload();
    const issuedAt = Number(storeKey.slice(37, 50));
    service.advance(2 * 3600_000);
    await sweep();
    const due = (await sweepRow())?.next_sweep_at.getTime() ?? 0;
    expect(due).toBe(issuedAt + deadline + margin + 1);
    service.advance(due - service.deps.now());
    expect(await sweep()).toMatchObject({ orphan: 1 });
    expect(await keys()).toEqual([]);
  });

  it('goes on after the key where it was, over more than one page', async () => {
    const objects = service.deps.objects;
    // Pages of two, as a store with a hundred thousand uploads would answer in pages of a thousand.
    const list: typeof objects.list = (prefix, options) => objects.list(prefix, { ...options, limit: 2 });
    const [first, second] = [await upload(), await upload()];
    expect(await record(second)).toBe(200);
    for (let i = 0; i < 4; i++) await upload();
    service.advance(deadline + margin + 1000);
    const deps = withStore({ list });
    expect(await sweep(deps)).toEqual({ orphan: 5 });
    expect(await keys()).toEqual([second.storeKey]);
    expect(((await sweepRow())?.swept_until ?? '') > first.storeKey).toBe(true);
    await put(first.storeKey);
    service.advance(deadline + margin + 1000);
    await sweep();
    // It sorts before the point that the sweep has reached, so only a reconciliation can find it.
    expect(await keys()).toEqual([first.storeKey, second.storeKey]);
  });

  it('leaves what was not stored through the service, and is not kept by it from what comes after', async () => {
    const at = service.deps.now();
    const foreign = [
      `${projectId}/notes.txt`,
      `${projectId}/!first`,
      `${projectId}/${at}-short.jpg`,
      `${projectId}/${at}000000-a/b.jpg`,
      `${projectId}/${at}000000-a\\b.jpg`,
    ];
    for (const key of foreign) await put(key);
    await upload();
    service.advance(deadline + margin + 1000);
    expect(await sweep()).toEqual({ orphan: 1 });
    await upload();
    service.advance(deadline + margin + 1000);
    expect(await sweep()).toEqual({ orphan: 1 });
    expect((await keys()).sort()).toEqual(foreign.sort());
  });

  it('leaves the object of an upload in parts that may still be completed', async () => {
    const storeKey = makeStoreKey(projectId, 'film.mp4', service.deps.now());
    await put(storeKey);
    const id = await addUpload(storeKey, 'some-upload');
    service.advance(deadline + margin + 1000);
    await sweep();
    expect(await keys()).toEqual([storeKey]);
    await service.deps.db.pool.query('update uploads set aborted_at = now() where id = $1', [id]);
    await service.deps.db.pool.query('delete from project_sweeps where project_id = $1', [projectId]);
    await sweep();
    expect(await keys()).toEqual([]);
  });

  it('remembers what the store would not remove, and asks again', async () => {
    const { storeKey } = await upload();
    service.advance(deadline + margin + 1000);
    const refusing = withStore({
      remove: async (all) => all.map((key) => ({ storeKey: key, reason: 'AccessDenied' })),
    });
    expect(await sweep(refusing)).toEqual({});
    const stuck = () =>
      service.deps.db.kysely.selectFrom('stuck_orphans').selectAll().where('project_id', '=', projectId);
    expect(await stuck().execute()).toMatchObject([{ store_key: storeKey, reason: 'AccessDenied' }]);
    service.advance(600_000);
    expect(await sweep(refusing)).toEqual({});
    expect(await stuck().execute()).toHaveLength(1);
    service.advance(600_000);
    expect(await sweep()).toMatchObject({ orphan: 1 });
    expect(await stuck().execute()).toEqual([]);
    expect(await keys()).toEqual([]);
  });

  it('asks again for each in turn, also where the store refuses more than one turn asks for', async () => {
    const { storeKey } = await upload();
    service.advance(deadline + margin + 1000);
    const refusing = withStore({
      remove: async (all) => all.map((key) => ({ storeKey: key, reason: 'AccessDenied' })),
    });
    await sweep(refusing);
    await service.deps.db.pool.query(
      `insert into stuck_orphans (project_id, store_key, issued_at, found_at, reason)
       select project_id, store_key || number, issued_at, found_at - interval '1 hour', 'AccessDenied'
       from stuck_orphans cross join generate_series(1, 1000) as number where project_id = $1`,
      [projectId],
    );
    const retained = withStore({
      remove: async (all) => {
        const locked = all.filter((key) => key !== storeKey);
        await service.deps.objects.remove(all.filter((key) => key === storeKey));
        return locked.map((key) => ({ storeKey: key, reason: 'AccessDenied' }));
      },
    });
    service.advance(600_000);
    expect(await sweep(retained)).toEqual({});
    service.advance(600_000);
    expect(await sweep(retained)).toEqual({ orphan: 1 });
    expect(await keys()).toEqual([]);
    await service.deps.db.pool.query('delete from stuck_orphans where project_id = $1', [projectId]);
  });

  it('lets the others have their turn after a project that fails', async () => {
    await sweep();
    const other = await service.createProject(ada);
    service.advance(2 * deadline);
    const list: Deps['objects']['list'] = async (prefix) => {
      if (prefix.startsWith(projectId)) throw new Error('This listing is broken.');
      return { objects: [], more: false };
    };
    const deps = withStore({ list });
    await expect(sweep(deps)).rejects.toThrow('broken');
    await sweep(deps);
    expect((await sweepRow(other))?.next_sweep_at.getTime()).toBeGreaterThan(service.deps.now());
    expect((await sweepRow())?.next_sweep_at.getTime()).toBeGreaterThan(service.deps.now());
  });

  it('stops when it is told to', async () => {
    await upload();
    service.advance(deadline + margin + 1000);
    const stopped = AbortSignal.abort(new Error('enough'));
    await expect(sweepProjects(service.deps, stopped, () => undefined)).rejects.toThrow('enough');
    expect(await keys()).toHaveLength(1);
  });

  it('touches no other project', async () => {
    const other = await service.createProject(ada);
    const theirs = await service.upload({ as: ada }, other, bytes);
    expect(await record(theirs)).toBe(200);
    await upload();
    service.advance(deadline + margin + 1000);
    await sweep();
    expect(await keys()).toEqual([]);
    expect(await keys(other)).toEqual([theirs.storeKey]);
  });
});

describe('a deleted project', () => {
  const remove = () => service.call('DELETE', `/api/projects/${projectId}?force=true`, { as: ada });
  const isKnown = async () => {
    const rows = service.deps.db.kysely.selectFrom('removed_projects').selectAll();
    return (await rows.where('project_id', '=', projectId).execute()).length === 1;
  };

  it('loses every object and every upload in parts at once, and is forgotten when nothing more can come', async () => {
    expect(await record(await upload())).toBe(200);
    await put(`${projectId}/notes.txt`);
    const late = await upload();
    const film = makeStoreKey(projectId, 'film.mp4', service.deps.now());
    const uploadId = await service.deps.objects.createMultipart(film);
    await sweep();
    expect((await remove()).status).toBe(200);

    expect(await sweep()).toEqual({ removed_project: 3, multipart: 1 });
    expect(await keys()).toEqual([]);
    expect(await service.deps.objects.listParts(film, uploadId)).toBeUndefined();
    expect(await isKnown()).toBe(true);

    // What was presigned before is over soon.
    await put(late.storeKey);
    const expiry = service.deps.config.presignTtlSeconds * 1000 + 6 * 60_000;
    service.advance(expiry);
    expect(await sweep()).toMatchObject({ removed_project: 1 });
    await put(late.storeKey);
    service.advance(deadline + margin - 60_000 - expiry);
    await sweep();
    expect(await isKnown()).toBe(true);
    service.advance(120_000);
    expect(await sweep()).toMatchObject({ removed_project: 1 });
    expect(await keys()).toEqual([]);
    expect(await isKnown()).toBe(false);
    expect(await sweepRow()).toBeUndefined();
  });

  it('is not forgotten while the store keeps something of it', async () => {
    await upload();
    await remove();
    service.advance(deadline + margin + 1000);
    await sweep(withStore({ remove: async (all) => all.map((key) => ({ storeKey: key, reason: 'AccessDenied' })) }));
    expect(await isKnown()).toBe(true);
    service.advance(600_000);
    await sweep();
    expect(await isKnown()).toBe(false);
    expect(await keys()).toEqual([]);
    const stuck = service.deps.db.kysely.selectFrom('stuck_orphans').selectAll();
    expect(await stuck.where('project_id', '=', projectId).execute()).toEqual([]);
  });

  it('is left alone for a while if the store keeps more of it than one turn looks at, such as for a retention rule', async () => {
    const kept = 51;
    for (let count = 0; count <= kept; count += 1) await upload();
    await remove();
    const { objects } = service.deps;
    let asked = 0;
    const keeping = withStore({
      list: (prefix, options) => objects.list(prefix, { ...options, limit: 1 }),
      remove: async (all) => {
        asked += 1;
        if (asked > 1000) throw new Error('It asks without end.');
        return all.map((key) => ({ storeKey: key, reason: 'AccessDenied' }));
      },
    });
    expect(await sweep(keeping)).toEqual({});
    expect(asked).toBe(50);
    expect((await sweepRow())?.next_sweep_at.getTime()).toBeGreaterThan(service.deps.now());
    // Where it removes something, the rest follows at once.
    service.advance(600_000);
    expect(await sweep(withStore({ list: keeping.objects.list }))).toEqual({ removed_project: kept + 1 });
    expect(await keys()).toEqual([]);
  });
});

describe('uploads in parts', () => {
  async function abort(): Promise<number> {
    let aborted = 0;
    await abortMultiparts(service.deps, never, (_what, howMany) => {
      aborted += howMany;
    });
    return aborted;
  }

  it('are aborted when they are old and nobody can complete them', async () => {
    const { objects, now } = service.deps;
    const [known, unknown, given] = ['known.mp4', 'unknown.mp4', 'given up.mp4'].map((name) =>
      makeStoreKey(projectId, name, now()),
    ) as [string, string, string];
    const others = makeStoreKey(randomUUID(), 'of another service.mp4', now());
    const foreign = `${projectId}/mine.iso`;
    const begun = new Map<string, string>();
    for (const key of [known, unknown, given, others, foreign]) begun.set(key, await objects.createMultipart(key));
    const alive = async () => {
      const states = await Promise.all(
        [...begun].map(async ([key, id]) => [key, await objects.listParts(key, id)] as const),
      );
      return states.filter(([, parts]) => parts !== undefined).map(([key]) => key);
    };
    await addUpload(known, begun.get(known) ?? '');
    const id = await addUpload(given, begun.get(given) ?? '');
    await service.deps.db.pool.query('update uploads set aborted_at = now() where id = $1', [id]);

    service.advance(deadline + margin - 60_000);
    expect(await abort()).toBe(0);
    expect(await alive()).toHaveLength(5);
    service.advance(120_000);
    expect(await abort()).toBe(2);
    expect((await alive()).sort()).toEqual([known, others, foreign].sort());
    for (const key of [known, others, foreign]) await objects.abortMultipart(key, begun.get(key) ?? '');
  });
});

async function addUpload(storeKey: string, storeUploadId: string): Promise<string> {
  const id = randomUUID();
  await service.deps.db.kysely
    .insertInto('uploads')
    .values({
      project_id: projectId,
      id,
      store_key: storeKey,
      store_upload_id: storeUploadId,
      file_name: 'film.mp4',
      file_size: 5,
      mime_type: 'video/mp4',
      folder_id: null,
      part_size: 5,
      created_by_user: ada.id,
      created_by_key: null,
      expires_at: new Date(service.deps.now() + 7 * deadline),
      aborted_at: null,
      completed_at: null,
      file_id: null,
    })
    .execute();
  return id;
}
