import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type OperationId, type Route, routes } from '@cadiz/contract';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';
import { operationWork } from '../src/features/bulk/operation.ts';
import { reconciliationWork } from '../src/features/janitor/advance-reconciliation.ts';
import { planReconciliations } from '../src/features/janitor/plan-reconciliations.ts';
import { quarantineWork } from '../src/features/quarantines/advance-quarantine.ts';
import { lookAtReservations, type Recorder } from '../src/features/tickets/look-at-reservations.ts';
import { purgeTrash } from '../src/features/trash/purge-trash.ts';
import { recordReserved } from '../src/features/uploads/record-reserved.ts';
import { closeDays } from '../src/features/usage/close-days.ts';
import { findRoute } from '../src/http/router.ts';
import { noteArrived } from '../src/tickets/note-arrived.ts';
import { dropReservations, giveBack } from '../src/tickets/reservations.ts';
import { countWaiting, createServerDatabase, testableKinds } from './database.ts';
import { requireDrained } from './drain-work.ts';
import { createRandom } from './hostile/random.ts';
import { insertOperation } from './operations.ts';
import { type Answer, type Person, send, startTestService, type TestService } from './service.ts';

const isTestable = testableKinds.includes('postgres');
if (!isTestable) {
  console.warn('LEFT OUT: TEST_DATABASE_URL is not set, so races of two processes on one PostgreSQL were not tested.');
}

/** The same choices in each run; another HOSTILE_SEED gives others. */
const seed = Number(process.env.HOSTILE_SEED ?? 1);
const timesEach = Number(process.env.HOSTILE_RACES ?? 1);
const atOnce = 6;
const spreadMilliseconds = 15;
const password = 'correct horse battery';

/** A project with one of everything, made by an owner who stays and by one who may be deleted. */
interface Scene {
  projectId: string;
  ben: Person;
  invited: string;
  invitationId: string;
  folders: { full: string; empty: string; other: string };
  files: string[];
  trashed: { folder: string; file: string };
  keys: { ofFolder: string; ofProject: string; raw: string };
  photo: object;
  ticket: { id: string; raw: string; photo: { storeKey: string }; uploadId: string };
  /** One that goes on, and one that is held. */
  quarantineId: string;
  heldId: string;
  uploadId: string;
  /** An upload in parts whose only part has arrived. */
  wholeId: string;
  linkId: string;
  webhookId: string;
  operationId: string;
}

let database: Awaited<ReturnType<typeof createServerDatabase>>;
let databases: Database[];
/** Like two processes: they share the database and the object store. */
let services: TestService[];
let ada: Person;
let cleo: Person;

async function prepareScene(service: TestService, round: number): Promise<Scene> {
  const ask = async (as: Person, method: string, path: string, body?: unknown): Promise<Answer['body']> => {
    const answer = await service.call(method, path, { as, body });
    if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  const ben = await service.signUp('Ben');
  const quotaBytes = round % 2 === 0 ? 1_000_000 : null;
  const { id: projectId } = await ask(ada, 'POST', '/api/projects', { name: 'P', quotaBytes });
  await service.join(ada, projectId, 'owner', ben);
  const makeFolder = async (name: string): Promise<string> =>
    (await ask(ben, 'POST', '/api/storage/folders', { projectId, name, parentId: null })).id;
  const [full, empty, other, gone, tied] = [
    await makeFolder('full'),
    await makeFolder('empty'),
    await makeFolder('other'),
    await makeFolder('gone'),
    await makeFolder('tied'),
  ];
  const ofProject = await service.createKey(ben, projectId);
  const ofFolder = await service.createKey(ben, projectId, { folderId: full });
  // Purging it takes the key along.
  await service.createKey(ben, projectId, { folderId: tied });
  const presigned = (folderId: string | null) =>
    service.upload({ key: ofProject.key }, projectId, Buffer.from('bytes'), { folderId });
  const record = async (folderId: string | null): Promise<string> => {
    const body = await presigned(folderId);
    return (await service.call('POST', '/api/storage/record', { key: ofProject.key, body })).body.id;
  };
  const files = [await record(full), await record(full), await record(null), await record(other)];
  const [file] = [await record(null), await record(gone), await record(tied)];
  for (const folder of [gone, tied]) await ask(ada, 'DELETE', `/api/storage/folders/${folder}?recursive=true`);
  await ask(ada, 'DELETE', `/api/storage/files/${file}`);
  const invitation = await ask(ben, 'POST', `/api/projects/${projectId}/invitations`, {
    email: cleo.email,
    role: 'editor',
  });
  const wanted = { projectId, folderId: full, maxFiles: 10, maxBytes: 1000 };
  const { id: ticketId, ticket } = (
    await service.call('POST', '/api/storage/tickets', { key: ofProject.key, body: wanted })
  ).body;
  const photoOfTicket = await service.upload({ key: ticket }, projectId, Buffer.from('bytes'), { folderId: full });
  const begun = { key: ticket, body: { ...photoOfTicket, storeKey: undefined } };
  const { uploadId: uploadOfTicket } = (await service.call('POST', '/api/storage/uploads', begun)).body;
  const quarantineKey = async (apiKeyId: string): Promise<string> =>
    (await ask(ada, 'POST', `/api/projects/${projectId}/quarantines`, { apiKeyId, since: new Date(0).toISOString() }))
      .id;
  const heldId = await quarantineKey((await service.createKey(ben, projectId)).id);
  await requireDrained(service, [quarantineWork]);
  const begin = async (): Promise<string> => {
    const facts = { ...(await presigned(full)), storeKey: undefined };
    return (await ask(ben, 'POST', '/api/storage/uploads', facts)).uploadId;
  };
  const wholeId = await begin();
  const { parts } = await ask(ben, 'POST', `/api/storage/uploads/${wholeId}/parts`, { partNumbers: [1] });
  await send('PUT', parts[0].presignedUrl, Buffer.from('bytes'));
  return {
    projectId,
    ben,
    invited: invitation.url.split('#')[1],
    invitationId: invitation.id,
    folders: { full, empty, other },
    files,
    trashed: { folder: gone, file },
    keys: { ofFolder: ofFolder.id, ofProject: ofProject.id, raw: ofProject.key },
    photo: await presigned(full),
    ticket: { id: ticketId, raw: ticket, photo: photoOfTicket, uploadId: uploadOfTicket },
    quarantineId: await quarantineKey(ofFolder.id),
    heldId,
    uploadId: await begin(),
    wholeId,
    operationId: await insertOperation(service, projectId, full, ben.id),
    webhookId: (await ask(ben, 'POST', `/api/projects/${projectId}/webhooks`, { url: 'https://a.example.com/' })).id,
    linkId: (await ask(ada, 'POST', '/api/storage/links', { fileId: files[0] })).id,
  };
}

type Keys = Parameters<typeof dropReservations>[1];

const refuse: Recorder = () => Promise.reject(new Error('nothing is to be recorded here'));

type Contestant = (service: TestService, scene: Scene) => Promise<Answer | unknown>;

const as = (who: 'ada' | 'ben' | 'cleo', { ben }: Scene) => ({ as: { ada, ben, cleo }[who] });
const one =
  (
    who: 'ada' | 'ben' | 'cleo',
    method: string,
    path: (scene: Scene) => string,
    body?: (scene: Scene) => object,
  ): Contestant =>
  (service, scene) =>
    service.call(method, path(scene), { ...as(who, scene), ...(body ? { body: body(scene) } : {}) });
const byTicket =
  (method: string, path: (scene: Scene) => string, body?: (scene: Scene) => object): Contestant =>
  (service, scene) =>
    service.call(method, path(scene), { key: scene.ticket.raw, ...(body ? { body: body(scene) } : {}) });
const webhookPath =
  (rest: string) =>
  ({ projectId, webhookId }: Scene) =>
    `/api/projects/${projectId}/webhooks/${webhookId}${rest}`;
const projectPath =
  (rest = '') =>
  ({ projectId }: Scene) =>
    `/api/projects/${projectId}${rest}`;
const keyPath =
  (key: 'ofFolder' | 'ofProject', rest = '') =>
  ({ keys }: Scene) =>
    `/api/api-keys/${keys[key]}${rest}`;
const bulk = (action: string, more: (scene: Scene) => object): Contestant =>
  one(
    'ada',
    'POST',
    () => '/api/storage/bulk',
    (scene) => ({ projectId: scene.projectId, action, ...more(scene) }),
  );

/** Operations that delete what all others work on. */
const deletions: Record<string, Contestant> = {
  'delete the project': one('ada', 'DELETE', projectPath('?force=true')),
  'delete an owner': one('ada', 'DELETE', ({ ben }) => `/api/users/${ben.id}`),
  'delete nothing': async () => undefined,
};

const contestants: Record<string, Contestant> = {
  accept: one(
    'cleo',
    'POST',
    () => '/api/invitations/accept',
    ({ invited }) => ({ token: invited }),
  ),
  invite: one('ben', 'POST', projectPath('/invitations'), () => ({
    email: `${randomUUID()}@example.com`,
    role: 'viewer',
  })),
  'withdraw an invitation': one(
    'ada',
    'DELETE',
    ({ projectId, invitationId }) => `/api/projects/${projectId}/invitations/${invitationId}`,
  ),
  'change a member': one(
    'ada',
    'PATCH',
    ({ projectId, ben }) => `/api/projects/${projectId}/members/${ben.id}`,
    () => ({
      role: 'editor',
    }),
  ),
  'remove a member': one('ada', 'DELETE', ({ projectId, ben }) => `/api/projects/${projectId}/members/${ben.id}`),
  leave: one('ben', 'DELETE', ({ projectId, ben }) => `/api/projects/${projectId}/members/${ben.id}`),
  'create a key': one(
    'ben',
    'POST',
    () => '/api/api-keys',
    ({ projectId, folders }) => ({
      projectId,
      name: 'K',
      folderId: folders.full,
    }),
  ),
  'rotate a key of a folder': one('ben', 'POST', keyPath('ofFolder', '/rotate'), () => ({ overlapSeconds: 60 })),
  'revoke a key': one('ada', 'DELETE', keyPath('ofProject')),
  'use a key': (service, { projectId, keys }) =>
    service.call('GET', `/api/storage/usage?projectId=${projectId}`, { key: keys.raw }),
  'write down the use of keys': ({ deps }) => deps.apiKeys.flushLastUsed(),
  'revoke all keys with the password': one(
    'ben',
    'POST',
    () => '/api/account/password',
    () => ({
      currentPassword: password,
      newPassword: 'battery horse correct',
      revokeApiKeys: true,
    }),
  ),
  'create a project': one(
    'ben',
    'POST',
    () => '/api/projects',
    () => ({ name: 'Another' }),
  ),
  'sign out': one('ben', 'POST', () => '/api/auth/sign-out'),
  'end other sessions': one('ben', 'DELETE', () => '/api/account/sessions'),
  'disable a user': one(
    'ada',
    'PATCH',
    ({ ben }) => `/api/users/${ben.id}`,
    () => ({ disabled: true }),
  ),
  'end the sessions of a user': one('ada', 'DELETE', ({ ben }) => `/api/users/${ben.id}/sessions`),
  'sign in': (service, { ben }) =>
    service.call('POST', '/api/auth/sign-in/email', { body: { email: ben.email, password } }),
  'change the project': one('ada', 'PATCH', projectPath(), () => ({ quotaBytes: 500_000 })),
  record: one(
    'ada',
    'POST',
    () => '/api/storage/record',
    ({ photo }) => photo,
  ),
  'record many': one(
    'ada',
    'POST',
    () => '/api/storage/record/batch',
    ({ projectId, photo }) => ({ projectId, files: [{ ...photo, projectId: undefined }], atomic: true }),
  ),
  'copy a file': one(
    'ben',
    'POST',
    ({ files }) => `/api/storage/files/${files[0]}/copy`,
    ({ folders }) => ({ folderId: folders.empty }),
  ),
  'complete an upload': one(
    'ben',
    'POST',
    ({ wholeId }) => `/api/storage/uploads/${wholeId}/complete`,
    () => ({}),
  ),
  'note what has arrived': ({ deps }, { ticket }) => noteArrived(deps, [ticket.photo.storeKey]),
  'begin an upload': one(
    'ben',
    'POST',
    () => '/api/storage/uploads',
    ({ photo }) => ({ ...photo, storeKey: undefined }),
  ),
  'abort an upload': one('ada', 'DELETE', ({ uploadId }) => `/api/storage/uploads/${uploadId}`),
  'create a ticket': (service, { projectId, folders, keys }) =>
    service.call('POST', '/api/storage/tickets', {
      key: keys.raw,
      body: { projectId, folderId: folders.full, maxFiles: 1, maxBytes: 1 },
    }),
  'revoke a ticket': one('ada', 'DELETE', ({ ticket }) => `/api/storage/tickets/${ticket.id}`),
  'presign with a ticket': byTicket(
    'POST',
    () => '/api/storage/presign',
    ({ ticket }) => ticket.photo,
  ),
  'record with a ticket': byTicket(
    'POST',
    () => '/api/storage/record',
    ({ ticket }) => ticket.photo,
  ),
  'begin an upload with a ticket': byTicket(
    'POST',
    () => '/api/storage/uploads',
    ({ ticket }) => ticket.photo,
  ),
  'abort an upload with a ticket': byTicket('DELETE', ({ ticket }) => `/api/storage/uploads/${ticket.uploadId}`),
  'make folders with a ticket': byTicket(
    'POST',
    () => '/api/storage/folders/ensure',
    ({ projectId, folders }) => ({
      projectId,
      parentId: folders.full,
      paths: ['a/b'],
    }),
  ),
  'look at reservations': (service) => {
    const { deps } = service;
    const later = { ...deps, now: () => deps.now() + 7200_000 };
    const record: Recorder = (reservation, facts) => recordReserved(later, reservation, facts);
    return lookAtReservations(later, new AbortController().signal, () => undefined, record);
  },
  'close the day': ({ deps: { db, now } }) =>
    closeDays({ db, now: () => now() + 86_400_000 }, new AbortController().signal),
  'create a folder': one(
    'ben',
    'POST',
    () => '/api/storage/folders',
    ({ projectId, folders }) => ({
      projectId,
      name: randomUUID(),
      parentId: folders.full,
    }),
  ),
  'move a folder': one(
    'ada',
    'PATCH',
    ({ folders }) => `/api/storage/folders/${folders.other}`,
    ({ folders }) => ({
      parentId: folders.full,
    }),
  ),
  'delete an empty folder': one('ada', 'DELETE', ({ folders }) => `/api/storage/folders/${folders.empty}`),
  'delete a full folder': one('ada', 'DELETE', ({ folders }) => `/api/storage/folders/${folders.full}?recursive=true`),
  'move a file': one(
    'ada',
    'PATCH',
    ({ files }) => `/api/storage/files/${files[0]}`,
    ({ folders }) => ({
      folderId: folders.empty,
    }),
  ),
  'restore a file': one('ada', 'POST', ({ trashed }) => `/api/storage/files/${trashed.file}/restore`),
  'restore a folder': one('ada', 'POST', ({ trashed }) => `/api/storage/folders/${trashed.folder}/restore`),
  'delete a file': one('ada', 'DELETE', ({ files }) => `/api/storage/files/${files[1]}`),
  'change metadata and externalId': one(
    'ada',
    'PATCH',
    ({ files }) => `/api/storage/files/${files[0]}`,
    ({ folders }) => ({ folderId: folders.empty, metadata: { a: 1 }, externalId: 'raced' }),
  ),
  'record with an externalId': one(
    'ada',
    'POST',
    () => '/api/storage/record',
    ({ photo }) => ({ ...photo, externalId: 'raced' }),
  ),
  'replace a file': one(
    'ada',
    'POST',
    () => '/api/storage/record',
    ({ photo, files }) => ({ ...photo, replaces: files[1] }),
  ),
  'create a link': one(
    'ada',
    'POST',
    () => '/api/storage/links',
    ({ files }) => ({ fileId: files[0] }),
  ),
  'delete a link': one('ada', 'DELETE', ({ linkId }) => `/api/storage/links/${linkId}`),
  'create a webhook': one('ben', 'POST', projectPath('/webhooks'), () => ({ url: 'https://b.example.com/' })),
  'change a webhook': one('ben', 'PATCH', webhookPath(''), () => ({ url: 'https://c.example.com/', ordered: true })),
  'rotate a webhook': one('ben', 'POST', webhookPath('/rotate'), () => ({})),
  'test a webhook': one('ben', 'POST', webhookPath('/test')),
  'replay events': one('ada', 'POST', webhookPath('/replay'), () => ({ from: new Date(0).toISOString() })),
  'delete a webhook': one('ada', 'DELETE', webhookPath('')),
  'move many': bulk('move', ({ files, folders }) => ({
    fileIds: files,
    folderIds: [folders.other],
    folderId: folders.empty,
  })),
  'delete many': bulk('delete', ({ files }) => ({ fileIds: files.toReversed(), folderIds: [] })),
  'restore many': bulk('restore', ({ trashed }) => ({ fileIds: [trashed.file], folderIds: [trashed.folder] })),
  'delete a selection': bulk('delete', ({ folders }) => ({ select: { folderId: folders.full } })),
  'carry an operation on': (service) => requireDrained(service, [operationWork]),
  'cancel an operation': one('ada', 'DELETE', ({ operationId }) => `/api/storage/operations/${operationId}`),
  'empty the trash and purge it': async (service, scene) => {
    const answer = await service.call('DELETE', `/api/storage/trash?projectId=${scene.projectId}`, as('ada', scene));
    await Promise.all(services.map(({ deps }) => purgeTrash(deps, 100)));
    return answer;
  },
  quarantine: one('ada', 'POST', projectPath('/quarantines'), ({ keys }) => ({
    apiKeyId: keys.ofProject,
    since: new Date(0).toISOString(),
  })),
  'release a quarantine': one(
    'ada',
    'POST',
    ({ projectId, quarantineId }) => `/api/projects/${projectId}/quarantines/${quarantineId}/release`,
    () => ({}),
  ),
  'trash a quarantine': one(
    'ada',
    'POST',
    ({ projectId, heldId }) => `/api/projects/${projectId}/quarantines/${heldId}/trash`,
    () => ({}),
  ),
  'go on with quarantines': (service) => requireDrained(service, [quarantineWork]),
  reconcile: async (service, scene) => {
    const answer = await service.call('POST', projectPath('/reconcile')(scene), {
      ...as('ada', scene),
      body: { dryRun: false },
    });
    await Promise.all(services.map(({ deps }) => planReconciliations(deps)));
    await Promise.all(services.map((one) => requireDrained(one, [reconciliationWork])));
    return answer;
  },
};

/** Operations that are not sent, although they are no GET, and why. */
const notSent: Partial<Record<OperationId, string>> = {
  ...because('signs URLs, and writes nothing', [
    'presignBatch',
    'signParts',
    'createDownloadUrl',
    'createDownloadUrls',
    'createArchiveUrl',
  ]),
  ...because('is what the others are raced with', ['deleteProject', 'removeUser']),
  ...because('asks the object store only', ['runDoctor']),
  ...because('calls noteArrived, which is a contestant', ['storeEvents']),
  ...because('locks the row of an account first, if at all, and then only rows of that account', [
    'signUp',
    'signInWithOidc',
    'linkOidc',
    'requestPasswordReset',
    'resetPassword',
    'sendEmailVerification',
    'verifyEmail',
    'endSession',
    'enableSecondFactor',
    'verifyTotp',
    'verifyBackupCode',
    'renewBackupCodes',
    'disableSecondFactor',
    'registerPasskey',
    'signInWithPasskey',
    'renamePasskey',
    'deletePasskey',
  ]),
};

function because(why: string, operations: OperationId[]): Partial<Record<OperationId, string>> {
  return Object.fromEntries(operations.map((operation) => [operation, why]));
}

/** The operations that were sent. */
const sent = new Set<OperationId>();

/** The service, which notes what is sent. */
function noting(service: TestService): TestService {
  const call: TestService['call'] = (method, path, options) => {
    const route = findRoute(method, path.split('?')[0] ?? '');
    if (route) sent.add(route.operation);
    return service.call(method, path, options);
  };
  return { ...service, call };
}

/** The tables whose rows are deleted with a user, and with a project. */
const ofUser = [
  ['project_members', 'user_id'],
  ['api_keys', 'created_by'],
  ['tickets', 'created_by'],
  ['invitations', 'created_by'],
  ['sessions', 'user_id'],
  ['accounts', 'user_id'],
  ['password_resets', 'user_id'],
] as const;
const ofProject = [
  'project_members',
  'api_keys',
  'invitations',
  'folders',
  'files',
  'links',
  'uploads',
  'tickets',
  'ticket_reservations',
  'project_usage',
  'project_days',
  'webhook_endpoints',
  'webhook_deliveries',
  'quarantines',
  'operations',
  'reconciliations',
  'reconciliation_findings',
  'project_sweeps',
  'work',
];

/** Locks a row as its deletion does first. */
async function hold(table: 'users' | 'projects' | 'api_keys', id: string) {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`begin; select from ${table} where id = '${id}' for update; savepoint held`);
  let isReleased = false;
  return {
    isReleased: () => isReleased,
    async isAwaited(): Promise<boolean> {
      if (isReleased) return false;
      // Not `pg_stat_activity`: within a transaction it stays as it first was, without connections that were opened since.
      const { rowCount } = await client.query(
        'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))',
      );
      return rowCount !== 0;
    },
    /** Reports locked rows that the deletion is about to delete. */
    async findLocked(of: string, column: string): Promise<string[]> {
      try {
        await client.query(`select from ${of} where ${column} = $1 for update nowait`, [id]);
        return [];
      } catch (error) {
        if (!(error instanceof pg.DatabaseError) || error.code !== '55P03') throw error;
        await client.query('rollback to held');
        return [`it has locked ${of}, and waits for ${table}`];
      }
    },
    async release(): Promise<void> {
      if (!isReleased) await client.end();
      isReleased = true;
    },
  };
}

describe.runIf(isTestable)('conflicting requests on two processes', () => {
  beforeAll(async () => {
    database = await createServerDatabase();
    const open = () => openDatabase({ kind: 'postgres', url: database.url, maxConnections: 12 });
    databases = [await open(), await open()];
    const [one, other] = databases as [Database, Database];
    await migrate(one.pool);
    const first = await startTestService({ db: one });
    services = [first, await startTestService({ beside: first, db: other, secret: first.secret })];
    ada = await first.signUp();
    cleo = await first.signUp('Cleo');
  });
  afterAll(async () => {
    await closeAll();
    await database.drop();
  });

  async function closeAll(): Promise<void> {
    for (const service of services.toReversed()) await service.close();
    await databases[1]?.close();
    services = [];
  }

  test.each(Object.entries(contestants))(
    '%s: holds no lock that a deletion needs while waiting for it',
    async (_, contest) => {
      const scene = await prepareScene(services[0] as TestService, 0);
      const { ben, projectId } = scene;
      const user = await hold('users', ben.id);
      const project = await hold('projects', projectId);
      let isOver = false;
      const outcome = contest(noting(services[1] as TestService), scene).finally(() => {
        isOver = true;
      });
      outcome.catch(() => undefined);
      const faults: string[] = [];
      while (!isOver) {
        if (await user.isAwaited()) {
          if (project.isReleased()) faults.push('it has locked the project, and waits for the user');
          for (const [table, column] of ofUser) faults.push(...(await user.findLocked(table, column)));
          await user.release();
        } else if (await project.isAwaited()) {
          for (const table of ofProject) faults.push(...(await project.findLocked(table, 'project_id')));
          await project.release();
        }
        await delay(5);
      }
      await Promise.all([user.release(), project.release()]);
      expect(faults).toEqual([]);
      const { status = 200, text } = ((await outcome) ?? {}) as Partial<Answer>;
      expect(status, text).toBe(200);
    },
  );

  test('they are all that change something', () => {
    const all = Object.entries(routes) as [OperationId, Route][];
    const changing = all.filter(([, { method }]) => method !== 'GET').map(([operation]) => operation);
    const expected = changing.filter((operation) => !(operation in notSent));
    expect(changing.filter((operation) => sent.has(operation)).sort()).toEqual(expected.sort());
  });

  test('the use of a locked key is recorded the next time', async () => {
    const [service] = services as [TestService];
    const scene = await prepareScene(service, 0);
    const flush = () => service.deps.apiKeys.flushLastUsed();
    const findUse = async () =>
      (await databases[0]?.pool.query('select last_used_at from api_keys where id = $1', [scene.keys.ofProject]))
        ?.rows[0];
    await flush();
    const before = await findUse();
    service.advance(1000);
    await contestants['use a key']?.(service, scene);
    const held = await hold('api_keys', scene.keys.ofProject);
    await flush();
    expect(await findUse()).toEqual(before);
    await held.release();
    await flush();
    expect((await findUse()).last_used_at.getTime()).toBeGreaterThan(before.last_used_at.getTime());
  });

  test('what has arrived is noted once, however often and in whatever order the store tells it', async () => {
    const [service, other] = services as [TestService, TestService];
    const projectId = await service.createProject(ada);
    const { key } = await service.createKey(ada, projectId);
    const wanted = { projectId, folderId: null, maxFiles: 500, maxBytes: 500, autoRecord: true };
    const { ticket } = (await service.call('POST', '/api/storage/tickets', { key, body: wanted })).body;
    const storeKeys: string[] = [];
    for (let batch = 0; batch < 5; batch++) {
      const facts = { mimeType: 'text/plain', fileSize: 1, folderId: null };
      const files = Array.from({ length: 100 }, (_, index) => ({ ...facts, fileName: `${batch}-${index}.txt` }));
      const body = { projectId, files };
      const { results } = (await service.call('POST', '/api/storage/presign/batch', { key: ticket, body })).body;
      storeKeys.push(...results.map(({ upload }: { upload: { storeKey: string } }) => upload.storeKey));
    }
    const noted = await Promise.all([
      noteArrived(service.deps, storeKeys),
      noteArrived(other.deps, storeKeys.toReversed()),
    ]);
    expect(noted.toSorted()).toEqual([0, 500]);
  });

  /** Where PostgreSQL reads the reservations from the start of their table, it meets the second before the first. */
  test.each<[string, (deps: TestService['deps'], keys: Keys) => Promise<void>]>([
    ['forgotten', ({ db }, keys) => dropReservations(db.kysely, keys)],
    ['looked at later', (deps) => lookAtReservations(deps, new AbortController().signal, () => undefined, refuse)],
  ])('reservations that are %s wait for those who give them back, who never wait for them', async (_, change) => {
    const [service] = services as [TestService];
    const { pool, kysely } = service.deps.db;
    const projectId = await service.createProject(ada);
    const { key } = await service.createKey(ada, projectId);
    const wanted = { projectId, folderId: null, maxFiles: 2, maxBytes: 2 };
    const { id, ticket } = (await service.call('POST', '/api/storage/tickets', { key, body: wanted })).body;
    for (const fileName of ['a', 'b']) {
      const body = { projectId, fileName, mimeType: 'text/plain', fileSize: 1, folderId: null };
      expect((await service.call('POST', '/api/storage/uploads', { key: ticket, body })).status).toBe(200);
    }
    const { rows: keys } = await pool.query<Keys[number]>(
      'select project_id, ticket_id, store_key from ticket_reservations where ticket_id = $1 order by store_key',
      [id],
    );
    await pool.query('update ticket_reservations set look_at = now() where ticket_id = $1', [id]);
    await pool.query('update ticket_reservations set look_at = now() where store_key = $1', [keys[0]?.store_key]);
    const url = `${database.url}?options=${encodeURIComponent('-c enable_indexscan=off -c enable_bitmapscan=off')}`;
    const withoutIndexes = await openDatabase({ kind: 'postgres', url, maxConnections: 2 });
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('select from ticket_reservations where store_key = $1 for update', [keys[0]?.store_key]);
    const changes = [giveBack(kysely, keys, 'released', new Date())];
    await expect.poll(() => countWaiting(service.deps.db)).toBe(1);
    changes.push(change({ ...service.deps, db: withoutIndexes }, keys));
    await expect.poll(() => countWaiting(service.deps.db)).toBe(2);
    await holder.query('rollback');
    holder.release();
    await Promise.all(changes);
    await withoutIndexes.close();
  });

  /** Each contestant meets each deletion this many times, each time with others around them. */
  const random = createRandom(seed);
  const rounds = Object.keys(deletions).flatMap((deletion) =>
    Array.from({ length: timesEach }, () => shuffle(Object.keys(contestants))).flatMap((names) =>
      Array.from({ length: Math.ceil(names.length / atOnce) }, (_, index) => ({
        deletion,
        names: names.slice(index * atOnce, (index + 1) * atOnce),
      })),
    ),
  );

  function shuffle(names: string[]): string[] {
    return names
      .map((name) => ({ name, at: random.integer(2 ** 31) }))
      .sort((a, b) => a.at - b.at)
      .map(({ name }) => name);
  }

  test(`no request fails, in ${rounds.length} rounds`, async () => {
    const faults: string[] = [];
    for (const [round, { deletion, names }] of rounds.entries()) {
      const scene = await prepareScene(services[0] as TestService, round);
      await Promise.all(
        [deletion, ...names].map(async (name, index) => {
          const contest = deletions[name] ?? contestants[name];
          await delay(random.integer(spreadMilliseconds));
          try {
            const answer = await contest?.(services[index % 2] as TestService, scene);
            const { status = 200, text = '' } = (answer ?? {}) as Partial<Answer>;
            if (status >= 500) faults.push(`${name}: ${status} ${text}`);
          } catch (error) {
            faults.push(`${name}: ${error}`);
          }
        }),
      );
    }
    expect(faults.join('\n')).toBe('');
  });

  test('PostgreSQL resolved no deadlock', async () => {
    await closeAll();
    const name = new URL(database.url).pathname.slice(1);
    const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
    await admin.connect();
    // A session reports its statistics when it ends.
    await expect
      .poll(async () => (await admin.query('select from pg_stat_activity where datname = $1', [name])).rowCount)
      .toBe(0);
    const { rows } = await admin.query('select deadlocks from pg_stat_database where datname = $1', [name]);
    await admin.end();
    expect(rows).toEqual([{ deadlocks: '0' }]);
  });
});
