import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';
import { testableKinds } from './database.ts';
import { createPostgresServer } from './postgres-server.ts';
import { type CallOptions, type Person, send, startTestService, type TestService } from './service.ts';

const isTestable = testableKinds.includes('postgres');
if (!isTestable) {
  console.warn('LEFT OUT: TEST_DATABASE_URL is not set, so waiting for a standby that does not answer was not tested.');
}

/** A PostgreSQL of its own: its commits wait for a standby that does not exist. */
const server = createPostgresServer(40);
let admin: pg.Client;
let db: Database;
let service: TestService;
let ada: Person;
let projectId: string;

describe.runIf(isTestable)('a synchronous standby that does not answer', () => {
  beforeAll(async () => {
    const url = await server.run('start');
    admin = new pg.Client({ connectionString: url });
    await admin.connect();
    await admin.query('create database waiting');
    // The tests' server waits for no commit; a setting of the database overrides that.
    await admin.query('alter database waiting set synchronous_commit = on');
    const waiting = new URL(url);
    waiting.pathname = '/waiting';
    db = await openDatabase({ kind: 'postgres', url: waiting.href });
    await migrate(db.pool);
    service = await startTestService({ db });
    ada = await service.signUp();
    projectId = await service.createProject(ada);
    await db.pool.query('create table counted (id int primary key, n int); insert into counted values (1, 0), (2, 0)');
  });
  afterAll(async () => {
    await service?.close();
    await admin?.end();
    await server.run('stop');
  });
  beforeEach(() => setStandby('nobody'));
  afterEach(() => setStandby(''));

  /** Names the standby that each commit waits for; an empty name means none. */
  async function setStandby(name: string): Promise<void> {
    await admin.query(`alter system set synchronous_standby_names = '${name}'`);
    await admin.query('select pg_reload_conf()');
    // The process that the others learn it from may be the last to read it.
    await expect
      .poll(async () => {
        const commit = db.pool.query('update counted set n = 0').catch(() => undefined);
        await delay(50);
        const isWaiting = (await interrupt('cancel')) > 0;
        await commit;
        return isWaiting;
      })
      .toBe(name !== '');
  }

  /** Ends the wait of every commit that waits for the standby; returns how many there were. */
  async function interrupt(how: 'cancel' | 'terminate'): Promise<number> {
    const { rowCount } = await admin.query(
      `select pg_${how}_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
    );
    return rowCount ?? 0;
  }

  /** The outcome of work whose commits all wait in vain. If no commit waited, the test would test nothing. */
  async function interrupted<T>(work: () => Promise<T>, how: 'cancel' | 'terminate' = 'cancel'): Promise<T> {
    let isOver = false;
    let waits = 0;
    const outcome = work().finally(() => {
      isOver = true;
    });
    outcome.catch(() => undefined);
    while (!isOver) {
      waits += await interrupt(how);
      await delay(10);
    }
    expect(waits).toBeGreaterThan(0);
    return outcome;
  }

  const as = () => ({ as: ada });
  const post = (path: string, body: object, options: CallOptions = as()) =>
    service.call('POST', path, { ...options, body });

  /** Every path to the database: named statements, single ones, and transactions. */
  async function makeRequests(name: string): Promise<Record<string, () => ReturnType<typeof post>>> {
    const photo = await service.upload(as(), projectId, Buffer.from('bytes'));
    const account = { name: 'Eve', email: `${name}@example.com`, password: 'correct horse battery' };
    return {
      record: () => post('/api/storage/record', photo),
      createProject: () => post('/api/projects', { name }),
      createFolder: () => post('/api/storage/folders', { projectId, name, parentId: null }),
      createUpload: () => post('/api/storage/uploads', { ...photo, fileName: name }),
      createKey: () => post('/api/api-keys', { projectId, name }),
      updateProject: () => service.call('PATCH', `/api/projects/${projectId}`, { ...as(), body: { name } }),
      signUp: () => post('/api/auth/sign-up/email', account, {}),
      signIn: () => post('/api/auth/sign-in/email', { email: ada.email, password: account.password }, {}),
    };
  }

  test.each(['cancel', 'terminate'] as const)('%s: the interrupted commit is not acknowledged', async (how) => {
    await setStandby('');
    const requests = await makeRequests(how);
    await setStandby('nobody');
    for (const [name, request] of Object.entries(requests)) {
      const { status, body, headers } = await interrupted(request, how);
      expect({ name, status, code: body.code }).toEqual({ name, status: 503, code: 'database_unavailable' });
      expect(headers.get('retry-after'), name).toBe('5');
    }
  });

  test('a repeated recording waits as well, and is acknowledged once it need not wait', async () => {
    await setStandby('');
    const photo = await service.upload(as(), projectId, Buffer.from('bytes'));
    await setStandby('nobody');
    const record = () => post('/api/storage/record', photo);
    for (let times = 0; times < 3; times += 1) expect((await interrupted(record)).status).toBe(503);
    // This server has the row now, but a standby that took over would not.
    const { rows } = await db.pool.query('select id from files where store_key = $1', [photo.storeKey]);
    await setStandby('');
    expect(await record()).toMatchObject({ status: 200, body: { id: rows[0]?.id } });
  });

  test('a repeated completion of an upload in parts waits as well, and is acknowledged once it need not wait', async () => {
    await setStandby('');
    const request = { projectId, fileName: 'a.bin', mimeType: 'application/octet-stream', fileSize: 5, folderId: null };
    const { uploadId } = (await post('/api/storage/uploads', request)).body;
    const { parts } = (await post(`/api/storage/uploads/${uploadId}/parts`, { partNumbers: [1] })).body;
    await send('PUT', parts[0].presignedUrl, Buffer.from('bytes'));
    await setStandby('nobody');
    const complete = () => post(`/api/storage/uploads/${uploadId}/complete`, {});
    for (let times = 0; times < 3; times += 1) expect((await interrupted(complete)).status).toBe(503);
    await setStandby('');
    expect((await complete()).status).toBe(200);
  });

  const bump = 'update counted set n = n + 1 where id = 1';
  test.each(
    Object.entries<() => Promise<unknown>>({
      'a statement': () => db.pool.query(bump),
      'a named statement': () => db.pool.query({ name: 'bump', text: bump }),
      'a statement with values': () => db.pool.query('update counted set n = $1 where id = 1', [1]),
      'several statements': () => db.pool.query(`${bump}; ${bump}`),
      'a statement of Kysely': () => sql.raw(bump).execute(db.kysely),
      'a transaction of Kysely': () => db.kysely.transaction().execute((trx) => sql.raw(bump).execute(trx)),
      'a transaction by hand': async () => {
        const client = await db.pool.connect();
        try {
          await client.query('begin');
          await client.query(bump);
          await client.query('commit');
        } finally {
          client.release();
        }
      },
    }),
  )('%s fails with its commit, and not the one after it', async (_, work) => {
    await expect(interrupted(work)).rejects.toMatchObject({ name: 'CommitNotReplicated' });
    expect((await db.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('a database that would hide the warning is refused', async () => {
    await setStandby('');
    const url = new URL(await server.run('url'));
    url.searchParams.set('options', '-c client_min_messages=error');
    await expect(openDatabase({ kind: 'postgres', url: url.href })).rejects.toThrow(
      /client_min_messages is error; set it to warning/,
    );
  });
});
