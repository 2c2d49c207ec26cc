import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEmptyDatabase, openTestDatabase, testableKinds } from '../../../test/database.ts';
import { makeEarlierDatabase } from '../../../test/db/earlier-databases.ts';
import { type Answer, startTestService, type TestService } from '../../../test/service.ts';
import { migrate } from '../../db/migrate.ts';
import { purgeTrash } from '../trash/purge-trash.ts';
import { closeDays } from './close-days.ts';

const dayMilliseconds = 86_400_000;
const never = new AbortController().signal;
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);

interface Day {
  day: string;
  files: number;
  bytes: number;
  trashedBytes: number;
  uploads: number;
  addedBytes: number;
}

describe.each(testableKinds)('the usage of each day (%s)', (kind) => {
  let service: TestService;
  let projectId: string;
  let key: string;
  /** While set, the time that the service's clock shows. */
  let frozen: (() => number) | undefined;

  beforeAll(async () => {
    service = await startTestService({ db: await openTestDatabase(kind), clock: () => frozen?.() ?? Date.now() });
  });
  afterAll(() => service.close());

  const call = (method: string, path: string, body?: unknown) => service.call(method, path, { key, body });
  const today = () => dayOf(service.deps.now());
  const daysAgo = (n: number) => dayOf(service.deps.now() - n * dayMilliseconds);

  /** A project of its own for each test, whose owner has just signed in. */
  async function start(): Promise<void> {
    const ada = await service.signUp('Ada');
    projectId = await service.createProject(ada);
    ({ key } = await service.createKey(ada, projectId));
  }

  async function ok(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await call(method, path, body);
    expect(outcome(answer)).toBe(200);
    return answer.body;
  }

  const read = async (range = ''): Promise<Day[]> =>
    (await ok('GET', `/api/storage/usage/daily?projectId=${projectId}${range}`)).days;
  const usage = () => ok('GET', `/api/storage/usage?projectId=${projectId}`);

  async function record(bytes: number, folderId: string | null = null): Promise<string> {
    return (
      await ok(
        'POST',
        '/api/storage/record',
        await service.upload({ key }, projectId, Buffer.alloc(bytes), { folderId }),
      )
    ).id;
  }

  const createFolder = async (): Promise<string> =>
    (await ok('POST', '/api/storage/folders', { projectId, name: randomUUID(), parentId: null })).id;

  /** To five seconds after the next midnight (UTC). */
  function passMidnight(): void {
    const now = service.deps.now();
    service.advance(dayMilliseconds - (now % dayMilliseconds) + 5000);
  }

  async function emptyTrash(): Promise<void> {
    await ok('DELETE', `/api/storage/trash?projectId=${projectId}`);
    await purgeTrash(service.deps, 1000);
  }

  async function closedDays(): Promise<string[]> {
    const { rows } = await service.deps.db.pool.query<{ day: string }>(
      'select day::text from project_days where project_id = $1 order by day',
      [projectId],
    );
    return rows.map(({ day }) => day);
  }

  test('is the state at the end of each, and what was recorded on it, whatever became of that', async () => {
    await start();
    const [first] = [today()];
    expect(await read()).toEqual([{ day: first, files: 0, bytes: 0, trashedBytes: 0, uploads: 0, addedBytes: 0 }]);
    const ids = [await record(1), await record(10), await record(100)];
    await ok('DELETE', `/api/storage/files/${ids[1]}`);
    const ofFirst = { day: first, files: 2, bytes: 101, trashedBytes: 10, uploads: 3, addedBytes: 111 };
    expect(await read()).toEqual([ofFirst]);

    passMidnight();
    const second = today();
    const ofSecond = { day: second, files: 2, bytes: 101, trashedBytes: 10, uploads: 0, addedBytes: 0 };
    expect(await read()).toEqual([ofFirst, ofSecond]);
    await closeDays(service.deps, never);
    expect(await read()).toEqual([ofFirst, ofSecond]);

    // Two days later the first file goes for good, and so does the one in the trash.
    passMidnight();
    passMidnight();
    const fourth = today();
    await ok('DELETE', `/api/storage/files/${ids[0]}`);
    await emptyTrash();
    await record(1000);
    const ofFourth = { day: fourth, files: 2, bytes: 1100, trashedBytes: 0, uploads: 1, addedBytes: 1000 };
    const all = [ofFirst, ofSecond, { ...ofSecond, day: daysAgo(1) }, ofFourth];
    expect(await read()).toEqual(all);
    await closeDays(service.deps, never);
    expect(await read()).toEqual(all);
    passMidnight();
    await closeDays(service.deps, never);
    expect(await read()).toEqual([...all, { ...ofFourth, day: today(), uploads: 0, addedBytes: 0 }]);
    expect(await usage()).toMatchObject({ fileCount: 2, totalBytes: 1100, trashedBytes: 0 });
    expect(await closedDays()).toEqual([first, fourth]);
  });

  test('can be asked for in parts', async () => {
    await start();
    await record(1);
    for (let day = 0; day < 4; day++) passMidnight();
    await closeDays(service.deps, never);
    const all = await read();
    expect(all.map(({ day }) => day)).toEqual([4, 3, 2, 1, 0].map(daysAgo));
    expect(await read(`&from=${daysAgo(3)}`)).toEqual(all.slice(1));
    expect(await read(`&to=${daysAgo(3)}`)).toEqual(all.slice(0, 2));
    expect(await read(`&from=${daysAgo(2)}&to=${daysAgo(1)}`)).toEqual(all.slice(2, 4));
    expect(await read(`&from=${daysAgo(365)}&to=${daysAgo(0)}`)).toEqual(all);
    expect(await read(`&to=${daysAgo(100)}`)).toEqual([]);
    expect(await read(`&to=${daysAgo(-20)}`)).toEqual(all);
    expect(await read('&from=0000-01-01&to=0000-12-31')).toEqual([]);
    expect(await read('&from=9999-12-31&to=9999-12-31')).toEqual([]);
  });

  test.each([
    ['from=2026-02-30', 'from'],
    ['to=yesterday', 'to'],
    ['from=2026-02-01T00:00:00Z', 'from'],
    ['from=2026-02-02&to=2026-02-01', 'from'],
    ['from=2026-01-01&to=2027-01-02', 'from'],
    ['from=2020-01-01', 'from'],
    ['from=9999-01-01', 'from'],
  ])('?%s is 400', async (range, path) => {
    await start();
    const answer = await call('GET', `/api/storage/usage/daily?projectId=${projectId}&${range}`);
    expect(outcome(answer)).toBe('400 invalid_request');
    expect(answer.body.issues).toMatchObject([{ path }]);
  });

  test('names the longest time that can be asked for', async () => {
    await start();
    const answer = await call('GET', `/api/storage/usage/daily?projectId=${projectId}&from=2026-01-01&to=2027-01-02`);
    expect(answer.body.issues[0].message).toContain('366 days');
    await ok('GET', `/api/storage/usage/daily?projectId=${projectId}&from=2026-01-01&to=2027-01-01`);
  });

  test('counts each file on the day of its createdAt, also in a batch at midnight', async () => {
    await start();
    const uploads = await Promise.all(
      Array.from({ length: 20 }, () => service.upload({ key }, projectId, Buffer.alloc(3))),
    );
    // The clock stands still in between: a millisecond more would put all of them after midnight.
    const at = Date.now();
    frozen = () => at;
    const now = service.deps.now();
    const midnight = now - (now % dayMilliseconds) + dayMilliseconds;
    const ahead = now - at;
    // However often each file asks for the time, some come before midnight and some after.
    let asked = 0;
    frozen = () => midnight - ahead + ((asked++ * 7) % 11 < 5 ? -1 : 1);
    try {
      await ok('POST', '/api/storage/record/batch', { projectId, files: uploads.slice(0, 10) });
      await ok('POST', '/api/storage/record/batch', { projectId, files: uploads.slice(10), atomic: true });
    } finally {
      frozen = undefined;
    }
    const { rows } = await service.deps.db.pool.query<{ day: string; uploads: number }>(
      `select (created_at at time zone 'UTC')::date::text as day, count(*)::int as uploads
       from files where project_id = $1 group by 1 order by 1`,
      [projectId],
    );
    expect(rows).toHaveLength(2);
    const seen = async () => (await read()).slice(-2).map(({ day, uploads }) => ({ day, uploads }));
    passMidnight();
    expect(await seen()).toEqual(rows);
    await closeDays(service.deps, never);
    expect(await seen()).toEqual(rows);
  });

  test('does not write about a project in which nothing happened', async () => {
    await start();
    await record(1);
    passMidnight();
    await closeDays(service.deps, never);
    const rowsOf = async () => {
      const { rows } = await service.deps.db.pool.query(
        'select slot, file_count, xmin::text from project_usage where project_id = $1',
        [projectId],
      );
      return rows;
    };
    const before = await rowsOf();
    expect(before).toMatchObject([{ slot: 0, file_count: 1 }]);
    for (let day = 0; day < 3; day++) {
      passMidnight();
      await closeDays(service.deps, never);
    }
    expect(await rowsOf()).toEqual(before);
    expect(await closedDays()).toHaveLength(1);
  });

  describe('the trash', () => {
    /** Something that changes what is out of sight, in a project with a file, a folder with a file, and both deleted. */
    interface Things {
      file: string;
      folder: string;
      trashedFile: string;
      trashedFolder: string;
    }
    const changes: Record<string, (things: Things) => Promise<unknown>> = {
      'deleting a file': ({ file }) => ok('DELETE', `/api/storage/files/${file}`),
      'restoring a file': ({ trashedFile }) => ok('POST', `/api/storage/files/${trashedFile}/restore`),
      'deleting a folder': ({ folder }) => ok('DELETE', `/api/storage/folders/${folder}?recursive=true`),
      'restoring a folder': ({ trashedFolder }) => ok('POST', `/api/storage/folders/${trashedFolder}/restore`),
      'deleting many': ({ file, folder }) =>
        ok('POST', '/api/storage/bulk', { projectId, action: 'delete', fileIds: [file], folderIds: [folder] }),
      'restoring many': ({ trashedFile, trashedFolder }) =>
        ok('POST', '/api/storage/bulk', {
          projectId,
          action: 'restore',
          fileIds: [trashedFile],
          folderIds: [trashedFolder],
        }),
      purging: emptyTrash,
      'a quarantine': () => quarantine(),
      'the end of a quarantine': async () => endQuarantine(await quarantine()),
    };
    let ada: Awaited<ReturnType<TestService['signUp']>>;
    let keyId: string;

    async function quarantine(): Promise<string> {
      const body = { apiKeyId: keyId, since: new Date(0).toISOString() };
      const answer = await service.call('POST', `/api/projects/${projectId}/quarantines`, { as: ada, body });
      expect(outcome(answer)).toBe(200);
      return answer.body.id;
    }

    async function endQuarantine(id: string): Promise<void> {
      const path = `/api/projects/${projectId}/quarantines/${id}/release`;
      expect(outcome(await service.call('POST', path, { as: ada, body: {} }))).toBe(200);
    }

    test.each(Object.keys(changes))('%s is seen at the end of its day', async (name) => {
      ada = await service.signUp('Ada');
      projectId = await service.createProject(ada);
      ({ id: keyId, key } = await service.createKey(ada, projectId));
      const [folder, trashedFolder] = [await createFolder(), await createFolder()];
      const file = await record(1);
      await record(10, folder);
      const trashedFile = await record(100);
      await record(1000, trashedFolder);
      await ok('DELETE', `/api/storage/files/${trashedFile}`);
      await ok('DELETE', `/api/storage/folders/${trashedFolder}?recursive=true`);
      passMidnight();
      await closeDays(service.deps, never);
      const before = await usage();

      await changes[name]?.({ file, folder, trashedFile, trashedFolder });
      const after = await usage();
      if (name !== 'the end of a quarantine') expect(after).not.toEqual(before);
      passMidnight();
      await closeDays(service.deps, never);
      expect(await closedDays()).toEqual([daysAgo(2), daysAgo(1)]);
      const toState = ({ fileCount, totalBytes, trashedBytes }: Record<string, number>) => ({
        files: fileCount,
        bytes: totalBytes,
        trashedBytes,
      });
      expect(await read(`&to=${daysAgo(1)}`)).toMatchObject([toState(before), toState(after)]);

      // Not as it is when somebody asks, but as it was.
      await ok('DELETE', `/api/storage/files/${await record(7)}`);
      expect(await read(`&to=${daysAgo(1)}`)).toMatchObject([toState(before), toState(after)]);
    });

    test('is that of midnight, also if it is looked at later', async () => {
      await start();
      const [kept, file, folder] = [await record(1), await record(10), await createFolder()];
      await record(100, folder);
      await ok('DELETE', `/api/storage/files/${file}`);
      passMidnight();
      await emptyTrash();
      await ok('DELETE', `/api/storage/files/${kept}`);
      await ok('DELETE', `/api/storage/folders/${folder}?recursive=true`);
      await record(1000);
      await closeDays(service.deps, never);
      expect(await read()).toMatchObject([
        { files: 2, bytes: 101, trashedBytes: 10, uploads: 3 },
        { files: 1, bytes: 1000, trashedBytes: 101, uploads: 1 },
      ]);
    });
  });

  test('is right however recordings, deletions, purges and closings race', async () => {
    await start();
    const counted = new Map<string, { uploads: number; addedBytes: number }>();
    const recordCounted = async (size: number) => {
      const body = await service.upload({ key }, projectId, Buffer.alloc(size));
      const file = await ok('POST', '/api/storage/record', body);
      const day = file.createdAt.slice(0, 10);
      const { uploads, addedBytes } = counted.get(day) ?? { uploads: 0, addedBytes: 0 };
      counted.set(day, { uploads: uploads + 1, addedBytes: addedBytes + size });
      return file;
    };
    // A slow machine may record nothing else before the first midnight.
    await recordCounted(1);
    for (let day = 0; day < 3; day++) {
      // Midnight comes while all of them are at work. The clock must not jump then: the store would refuse signatures.
      const now = service.deps.now();
      const midnight = now - (now % dayMilliseconds) + dayMilliseconds;
      service.advance(midnight - now - 1000);
      let working = 6;
      const closing = [1, 2].map(async () => {
        while (working > 0) {
          await closeDays(service.deps, never);
          await delay(1);
        }
      });
      await Promise.all(
        Array.from({ length: 6 }, async (_, worker) => {
          for (let n = 0, recordedAt = 0; n < 5 || recordedAt < midnight + 100; n++) {
            const file = await recordCounted(1 + worker);
            recordedAt = Date.parse(file.createdAt);
            if (n % 2 === 0) await ok('DELETE', `/api/storage/files/${file.id}`);
            if (n % 5 === 4) await emptyTrash();
          }
        }).map((work) => work.finally(() => (working -= 1))),
      );
      await Promise.all(closing);
    }
    await closeDays(service.deps, never);
    const days = await read();
    expect(counted.size).toBe(4);
    for (const { day, uploads, addedBytes } of days) {
      expect([day, { uploads, addedBytes }]).toEqual([day, counted.get(day) ?? { uploads: 0, addedBytes: 0 }]);
    }
    const { fileCount, totalBytes, trashedBytes } = await usage();
    expect(days.at(-1)).toMatchObject({ files: fileCount, bytes: totalBytes, trashedBytes });
    const { rows } = await service.deps.db.pool.query(
      `select (select sum(file_count)::int from project_usage where project_id = $1) as slots,
              (select count(*)::int from files where project_id = $1) as rows`,
      [projectId],
    );
    expect(rows[0].slots).toBe(rows[0].rows);
  });

  test('goes with the project', async () => {
    const ada = await service.signUp('Ada');
    projectId = await service.createProject(ada);
    ({ key } = await service.createKey(ada, projectId));
    await record(1);
    passMidnight();
    await closeDays(service.deps, never);
    expect(await closedDays()).toHaveLength(1);
    await record(1);
    expect(outcome(await service.call('DELETE', `/api/projects/${projectId}?force=true`, { as: ada }))).toBe(200);
    passMidnight();
    await closeDays(service.deps, never);
    expect(await closedDays()).toEqual([]);
  });

  test('a key that is tied to a folder may not read it', async () => {
    const ada = await service.signUp('Ada');
    projectId = await service.createProject(ada);
    ({ key } = await service.createKey(ada, projectId));
    ({ key } = await service.createKey(ada, projectId, { folderId: await createFolder() }));
    const answer = await call('GET', `/api/storage/usage/daily?projectId=${projectId}`);
    expect(outcome(answer)).toBe('403 scope_missing');
    expect(answer.body.detail).toContain('tied to a folder');
  });
});

describe.each(testableKinds)('projects from before days were counted (%s)', (kind) => {
  test('begin with the first whole day, and with the trash that they have', async () => {
    const db = await openEmptyDatabase(kind);
    const names = readdirSync(new URL('../../db/migrations/', import.meta.url))
      .filter((file) => file < '0016')
      .map((file) => file.replace('.sql', ''));
    const projectId = randomUUID();
    await makeEarlierDatabase(db.pool, names.sort(), async () => undefined);
    await db.pool.query("insert into projects (id, name) values ($1, 'Holidays')", [projectId]);
    await db.pool.query('insert into project_usage values ($1, 3, 2, 30)', [projectId]);
    await db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, etag, trash_id, trashed_at)
       select $1, id, id::text, 'a', 'A', 10 * n, 'image/png', 'x', case when n = 2 then id end, case when n = 2 then now() end
       from (select gen_random_uuid() as id, n from generate_series(1, 2) n) f`,
      [projectId],
    );
    await migrate(db.pool);
    const service = await startTestService({ db });
    try {
      const ada = await service.signUp('Ada');
      await db.pool.query("insert into project_members (project_id, user_id, role) values ($1, $2, 'owner')", [
        projectId,
        ada.id,
      ]);
      const { key } = await service.createKey(ada, projectId);
      const read = async () =>
        (await service.call('GET', `/api/storage/usage/daily?projectId=${projectId}`, { key })).body.days;
      expect(await read()).toEqual([]);
      service.advance(dayMilliseconds);
      await closeDays(service.deps, never);
      const state = { files: 1, bytes: 10, trashedBytes: 20, uploads: 0, addedBytes: 0 };
      expect(await read()).toEqual([{ day: dayOf(service.deps.now()), ...state }]);
      service.advance(2 * dayMilliseconds);
      await closeDays(service.deps, never);
      expect(await read()).toMatchObject([state, state, state]);
    } finally {
      await service.close();
    }
  });
});
