import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type OperationId, type Route, routes, takesKeys, takesTickets } from '@cadiz/contract';
import pg from 'pg';
import { pino } from 'pino';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../../e2e/service.ts';
import { apiKeyTokens } from '../src/access/api-key-token.ts';
import { ticketTokens } from '../src/access/ticket-token.ts';
import { type RunningService, startService } from '../src/service.ts';
import { readConfig } from '../src/settings/config.ts';
import { testableKinds } from './database.ts';
import { createPostgresServer } from './postgres-server.ts';
import { startTestService } from './service.ts';

const poolSize = 4;

/** A PostgreSQL of its own, because it is stopped, starved and frozen here. */
const server = createPostgresServer(24);

interface Asked {
  method?: string;
  key?: string;
  cookie?: string | undefined;
  body?: unknown;
}

let url: string;
let database: string;
let folder: string;
let service: RunningService;
let cookie: string;
let projectId: string;
let keys: Record<'used' | 'revoked' | 'unknown', string>;
/** Unused keys, which no cache contains: one for each use. */
let unused: string[];
let unusedRevoked: string[];
/** Undoes what a test did to the server, even if the test fails. */
let undo: (() => Promise<unknown>) | undefined;

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came
async function ask(path: string, { method = 'GET', key, cookie: sent, body }: Asked = {}): Promise<any> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(sent === undefined ? {} : { Cookie: sent }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return { headers: response.headers, text, ...(isJson ? JSON.parse(text) : {}), status: response.status };
}

const presign = (key: string, folderId: string | null = null) =>
  ask('/api/storage/presign', {
    method: 'POST',
    key,
    body: { projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 5, folderId },
  });

type Request = [string, () => ReturnType<typeof ask>];

/** A request for every operation that needs the database, with each kind of credential that it accepts. */
function makeRequests(): Request[] {
  const toPath = (path: string) => path.replaceAll(/\{\w+\}/g, '01990000-0000-7000-8000-000000000000');
  const guarded = (Object.entries(routes) as [OperationId, Route][]).filter(
    ([, { access }]) => access !== 'anybody' && access !== 'objectStore',
  );
  const { unknown } = keys;
  const fresh = unused.pop() ?? '';
  // A key that was just used is known to be dead, and is refused without the database.
  const revoked = unusedRevoked.pop() ?? '';
  const account = { email: 'ada@example.com', password: 'correct horse battery' };
  return [
    ...guarded.flatMap(([operation, { method, path, access, body }]): [string, () => ReturnType<typeof ask>][] => {
      const asked = { method, ...(body ? { body: {} } : {}) };
      const withKeys = takesKeys({ access }) ? Object.entries({ fresh, revoked, unknown }) : [];
      const withSession = access === 'ticket' ? [] : [`${operation} with a session`];
      const withTicket = takesTickets({ access }) ? [`${operation} with a ticket`] : [];
      return [
        ...withSession.map((name): Request => [name, () => ask(toPath(path), { ...asked, cookie })]),
        ...withTicket.map((name): Request => [name, () => ask(toPath(path), { ...asked, key: ticketTokens.mint() })]),
        ...withKeys.map(([name, key]): [string, () => ReturnType<typeof ask>] => [
          `${operation} with a key, ${name}`,
          () => ask(toPath(path), { ...asked, key }),
        ]),
      ];
    }),
    ['getSession', () => ask('/api/auth/get-session', { cookie })],
    ['signOut', () => ask('/api/auth/sign-out', { method: 'POST', cookie })],
    ['signIn', () => ask('/api/auth/sign-in/email', { method: 'POST', body: account })],
    ['signUp', () => ask('/api/auth/sign-up/email', { method: 'POST', body: { ...account, name: 'Eve' } })],
  ];
}

async function expectUnavailable(requests: [string, () => ReturnType<typeof ask>][]): Promise<void> {
  const answers = await Promise.all(
    requests.map(async ([name, send]) => {
      const { status, code, headers, text } = await send();
      expect(text, name).not.toMatch(/:5432|127\.0\.0\.1|select |connect|pool/i);
      return [name, status, code, headers.get('retry-after')];
    }),
  );
  expect(answers).toEqual(requests.map(([name]) => [name, 503, 'database_unavailable', '5']));
}

/** While something is in the way, every request is told to retry; once it is undone, everything works again. */
async function expectOutage(requests: ReturnType<typeof makeRequests>): Promise<void> {
  await expectUnavailable(requests);
  await expectTheRest();
  await undo?.();
  undo = undefined;
  await expectRecovery();
}

async function expectRecovery(): Promise<void> {
  const fresh = unused.pop() ?? '';
  const deadline = Date.now() + 25_000;
  for (;;) {
    const answers = await Promise.all([
      ask('/healthz'),
      presign(fresh),
      ask('/api/projects', { cookie }),
      ask(`/api/storage/list?projectId=${projectId}`, { key: keys.used }),
    ]);
    if (answers.every(({ status }) => status === 200)) break;
    if (Date.now() > deadline) throw new Error(`It has not recovered: ${answers.map(({ text }) => text)}`);
    await delay(200);
  }
  for (const key of [keys.revoked, keys.unknown]) expect((await presign(key)).code).toBe('invalid_api_key');
}

/** What a process does when the database goes away. */
interface Interrupted {
  askForIt: () => ReturnType<typeof ask>;
  /** Finds one row once it is being done. */
  atWork: string;
  /** One of these is answered with 503 meanwhile. */
  codes: readonly string[];
  /** The status once it is done. */
  done: number;
}

/** It can be done again as soon as the database is back: nothing but the process that has begun it knows that it is not being done any more. */
async function expectDoneLater({ askForIt, atWork, codes, done }: Interrupted): Promise<void> {
  const admin = new pg.Client({ connectionString: database });
  await admin.connect();
  admin.on('error', () => undefined);
  const early = askForIt();
  await expect.poll(async () => (await admin.query(atWork)).rowCount).toBe(1);
  // This server flushes nothing on its own.
  await admin.query('checkpoint');
  await server.run('halt');
  undo = () => server.run('resume');
  const { status, code } = await early;
  expect(status).toBe(503);
  expect(codes).toContain(code);
  await undo();
  undo = undefined;
  await expect.poll(async () => (await askForIt()).status, { timeout: 60_000 }).toBe(done);
}

/** Requests that need no database still work, and invalid requests are still refused. */
async function expectTheRest(): Promise<void> {
  expect((await ask('/livez')).status).toBe(200);
  expect((await ask('/readyz')).status).toBe(200);
  expect((await ask('/openapi.json')).status).toBe(200);
  expect((await presign('cz_live_no')).code).toBe('invalid_api_key');
  expect((await ask('/api/projects')).code).toBe('session_required');
}

describe.runIf(testableKinds.includes('postgres'))('a failing PostgreSQL (checklist 49)', () => {
  beforeAll(async () => {
    database = await server.run('start');
    folder = await mkdtemp(join(tmpdir(), 'cadiz-outage-data-'));
    const [port, storePort] = await freePorts(2);
    const config = readConfig({
      PORT: String(port),
      STORE_PORT: String(storePort),
      CADIZ_DATA_DIR: folder,
      DATABASE_URL: database,
      DATABASE_POOL_SIZE: String(poolSize),
      RATE_LIMITS: 'off',
      DRAIN_DELAY_SECONDS: '0',
    });
    service = await startService(config, pino({ level: 'silent' }));
    url = `http://127.0.0.1:${port}`;
    const account = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' };
    const { headers } = await ask('/api/auth/sign-up/email', { method: 'POST', body: account });
    cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
    projectId = (await ask('/api/projects', { method: 'POST', cookie, body: { name: 'P' } })).id;
    const make = () => ask('/api/api-keys', { method: 'POST', cookie, body: { name: 'K', projectId } });
    const makeRevoked = async (): Promise<string> => {
      const { id, key } = await make();
      await ask(`/api/api-keys/${id}`, { method: 'DELETE', cookie });
      return key;
    };
    const [used, revoked] = [await make(), await make()];
    unused = await Promise.all(Array.from({ length: 14 }, async () => (await make()).key));
    unusedRevoked = await Promise.all(Array.from({ length: 12 }, makeRevoked));
    keys = { used: used.key, revoked: revoked.key, unknown: apiKeyTokens.mint() };
    expect((await presign(keys.used)).status).toBe(200);
    expect((await presign(keys.revoked)).status).toBe(200);
    await ask(`/api/api-keys/${revoked.id}`, { method: 'DELETE', cookie });
    // This server flushes nothing on its own.
    const admin = new pg.Client({ connectionString: database });
    await admin.connect();
    await admin.query('checkpoint');
    await admin.end();
  });
  afterEach(async () => {
    await undo?.();
    undo = undefined;
  });
  afterAll(async () => {
    await service?.stop();
    await server.run('stop');
    await rm(folder, { recursive: true, force: true });
  });

  test('down: 503 everywhere, nobody gets in, and everything recovers without a restart', async () => {
    await presign(keys.used);
    await server.run('halt');
    undo = () => server.run('resume');
    // A cached key may presign for its ten seconds, but do nothing else.
    expect([200, 503]).toContain((await presign(keys.used)).status);
    await expectUnavailable([['a folder', () => presign(keys.used, '01990000-0000-7000-8000-000000000000')]]);
    await expectUnavailable(makeRequests());
    expect((await ask('/healthz')).code).toBe('dependency_down');
    // Otherwise a proxy would take every process out at once, along with the requests that need no database.
    expect((await ask('/readyz')).dependencies.database.status).toBe('down');
    await expectTheRest();
    await undo();
    undo = undefined;
    await expectRecovery();
  });

  test('down while an image is made: it is made as soon as the database is back', async () => {
    const picture = await sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#2a6f97' } })
      .jpeg()
      .toBuffer();
    const facts = { projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: picture.length, folderId: null };
    const upload = await ask('/api/storage/presign', { method: 'POST', key: keys.used, body: facts });
    expect((await fetch(upload.presignedUrl, { method: 'PUT', body: new Uint8Array(picture) })).status).toBe(200);
    const recording = { ...facts, storeKey: upload.storeKey };
    const { id } = await ask('/api/storage/record', { method: 'POST', key: keys.used, body: recording });
    await expectDoneLater({
      // It takes seconds.
      askForIt: () => ask(`/api/storage/files/${id}/image?w=4000&f=avif`, { key: keys.used }),
      atWork: 'select from image_variants',
      // On a busy machine, making it takes longer than it is waited for.
      codes: ['database_unavailable', 'image_not_ready'],
      done: 302,
    });
  });

  test('down while the doctor is at work: it can run as soon as the database is back', () =>
    expectDoneLater({
      askForIt: () => ask('/api/system/doctor', { method: 'POST', cookie }),
      atWork: 'select from doctor_run where leased_until > now()',
      codes: ['database_unavailable'],
      done: 200,
    }));

  test('locked: waiting requests are told to retry, and the connections are free again afterwards', async () => {
    const locker = new pg.Client({ connectionString: database });
    await locker.connect();
    undo = () => locker.end();
    await locker.query('begin');
    await locker.query('lock table sessions, api_keys, project_members in access exclusive mode');
    await expectOutage(makeRequests().slice(0, 2 * poolSize));
  });

  test('out of connections: 503 until one is free', async () => {
    const others: pg.Client[] = [];
    undo = () => Promise.all(others.map((client) => client.end()));
    const admin = new pg.Client({ connectionString: database });
    await admin.connect();
    others.push(admin);
    // This test connects as a superuser, like the service, so it uses up the reserved connections too.
    const takeAll = async () => {
      for (;;) {
        const client = new pg.Client({ connectionString: database });
        client.on('error', () => undefined);
        const full = await client.connect().then(
          () => undefined,
          (error: unknown) => error,
        );
        if (full instanceof pg.DatabaseError && full.code === '53300') return;
        if (full) throw full;
        others.push(client);
      }
    };
    await takeAll();
    const terminate = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cadiz'";
    while ((await admin.query(terminate)).rowCount) await takeAll();
    await takeAll();
    await expectOutage(makeRequests());
  });

  test.each([
    ['a user that may not log in', 'alter role postgres nologin', 'alter role postgres login'],
    [
      'a database that takes no connections',
      'alter database postgres allow_connections false',
      'alter database postgres allow_connections true',
    ],
  ])('refused, with %s: 503 until the service is let in', async (_, refuse, allow) => {
    const admin = new pg.Client({ connectionString: database.replace(/postgres$/, 'template1') });
    await admin.connect();
    undo = async () => {
      await admin.query(allow);
      await admin.end();
    };
    await admin.query(refuse);
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'cadiz%'");
    await expectOutage(makeRequests());
  });

  test('without its tables, as in the middle of a restore: 503 and not healthy until they are back', async () => {
    const admin = new pg.Client({ connectionString: database });
    await admin.connect();
    undo = async () => {
      await admin.query('alter schema elsewhere rename to public');
      await admin.end();
    };
    await admin.query('alter schema public rename to elsewhere');
    const askHealth = async () => (await ask('/healthz')).dependencies.database;
    const detail = 'lacks tables of the service, or rights on them';
    await expect.poll(askHealth).toEqual({ status: 'down', detail });
    await expectOutage(makeRequests());
    await expect.poll(askHealth).toEqual({ status: 'healthy' });
  });

  test('frozen: connections that never open are given up', async () => {
    const postmaster = Number((await readFile(join(server.folder, 'data/postmaster.pid'), 'utf8')).split('\n')[0]);
    const admin = new pg.Client({ connectionString: database });
    await admin.connect();
    process.kill(postmaster, 'SIGSTOP');
    undo = async () => {
      process.kill(postmaster, 'SIGCONT');
      await admin.end();
    };
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cadiz'");
    await expectOutage(makeRequests());
  });
});

test('a stopped database: 503 for every caller who would have to be looked up (checklist 49)', async () => {
  const service = await startTestService();
  const ada = await service.signUp();
  const ofProject = await service.createProject(ada);
  const make = () => service.createKey(ada, ofProject);
  const [fresh, revoked, used] = [await make(), await make(), await make()];
  await service.call('DELETE', `/api/api-keys/${revoked.id}`, { as: ada });
  const inFolder = { projectId: ofProject, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null };
  const presignBy = (key: string, folderId: string | null) =>
    service.call('POST', '/api/storage/presign', { key, body: { ...inFolder, folderId } });
  expect((await presignBy(used.key, null)).status).toBe(200);
  // The revoked key has not been sent yet: a known dead key is refused without asking the database.
  await service.deps.db.close();

  const answers = new Set<string>();
  for (const { method, path, access, body } of Object.values<Route>(routes)) {
    // The secret of the object store is a setting.
    if (access === 'anybody' || access === 'objectStore') continue;
    const keysOf = [fresh.key, revoked.key, apiKeyTokens.mint()].map((key) => ({ key }));
    const callers = [
      ...(access === 'ticket' ? [] : [{ as: ada }]),
      ...(takesKeys({ access }) ? keysOf : []),
      ...(takesTickets({ access }) ? [{ key: ticketTokens.mint() }] : []),
    ];
    for (const caller of callers) {
      const asked = path.replaceAll(/\{\w+\}/g, '01990000-0000-7000-8000-000000000000');
      const answer = await service.call(method, asked, { ...caller, ...(body ? { body: {} } : {}) });
      answers.add(`${answer.status} ${answer.body?.code}`);
    }
  }
  expect([...answers]).toEqual(['503 database_unavailable']);
  // A cached key, and a folder that is not cached.
  expect((await presignBy(used.key, '01990000-0000-7000-8000-000000000000')).status).toBe(503);
  await service.close();
});
