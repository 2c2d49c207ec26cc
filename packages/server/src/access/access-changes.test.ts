import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testableKinds } from '../../test/database.ts';
import { type Person, startTestService, type TestService } from '../../test/service.ts';

/** Two services with caches of their own on one database, like two replicas. */
describe.skipIf(!testableKinds.includes('postgres'))('two replicas on one PostgreSQL', () => {
  let one: TestService;
  let other: TestService;
  let ada: Person;
  let projectId: string;

  beforeAll(async () => {
    one = await startTestService();
    // Its clock stands still, so nothing in its caches expires: only a message can make it forget.
    const started = Date.now();
    other = await startTestService({ beside: one, clock: () => started });
    ada = await one.signUp('Ada');
    projectId = await one.createProject(ada);
  });
  afterAll(async () => {
    await other.close();
    await one.close();
  });

  async function use(service: TestService, key: string): Promise<number> {
    const { status } = await service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
    return status;
  }

  const untilDead = (service: TestService, key: string) => expect.poll(() => use(service, key)).toBe(401);

  const listeners = async () => {
    const { rows } = await one.deps.db.pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'cadiz listen' and query = 'listen cadiz_access' and datname = current_database()`,
    );
    return rows.map(({ pid }) => pid);
  };

  async function untilListening(): Promise<number[]> {
    for (;;) {
      const pids = await listeners();
      if (pids.length === 2) return pids;
      await sleep(50);
    }
  }

  test('a key revoked on one replica is dead on the other, which had cached it (checklist 28)', async () => {
    await untilListening();
    const { id, key } = await one.createKey(ada, projectId);
    expect(await use(other, key)).toBe(200);
    await one.call('DELETE', `/api/api-keys/${id}`, { as: ada });
    expect(await use(one, key)).toBe(401);
    await untilDead(other, key);
  });

  describe.each(['itself', 'its key'])('a ticket that is revoked with %s on one replica', (what) => {
    async function prepare() {
      await untilListening();
      const { id, key } = await one.createKey(ada, projectId);
      const body = { projectId, folderId: null, maxFiles: 1000, maxBytes: 1000 };
      const made = (await one.call('POST', '/api/storage/tickets', { key, body })).body;
      expect((await presign(other, made.ticket, null)).status).toBe(200);
      const path = what === 'itself' ? `/api/storage/tickets/${made.id}` : `/api/api-keys/${id}`;
      return { ticket: made.ticket as string, revoke: () => one.call('DELETE', path, { as: ada }) };
    }

    test('is dead on the other, which had cached it (checklist 28)', async () => {
      const { ticket, revoke } = await prepare();
      await revoke();
      expect((await presign(one, ticket, null)).body.code).toBe('invalid_ticket');
      await expect.poll(async () => (await presign(other, ticket, null)).body.code).toBe('invalid_ticket');
    });
  });

  test('every replica is told before a revocation is answered (checklist 28)', async () => {
    const { id } = await one.createKey(ada, projectId);
    const listener = await one.deps.db.pool.connect();
    try {
      const heard: (string | undefined)[] = [];
      listener.on('notification', ({ payload }) => heard.push(payload));
      await listener.query('listen cadiz_access');
      await one.call('DELETE', `/api/api-keys/${id}`, { as: ada });
      // PostgreSQL delivers pending notifications before it reports that it is ready for the next query.
      await listener.query('select 1');
      expect(heard).toContain(`apiKey ${id}`);
    } finally {
      listener.release(true);
    }
  });

  test('a project deleted on one replica is gone on the other', async () => {
    const removed = await one.createProject(ada);
    const { key } = await one.createKey(ada, null);
    // Presigning sends no query once the membership is cached.
    const body = { projectId: removed, fileName: 'a', mimeType: 'image/png', fileSize: 1, folderId: null };
    const presign = () => other.call('POST', '/api/storage/presign', { key, body });
    expect((await presign()).status).toBe(200);
    await one.call('DELETE', `/api/projects/${removed}`, { as: ada });
    await expect.poll(async () => (await presign()).status).toBe(404);
  });

  const presign = (service: TestService, key: string, folderId: string | null) => {
    const body = { projectId, fileName: 'a', mimeType: 'image/png', fileSize: 1, folderId };
    return service.call('POST', '/api/storage/presign', { key, body });
  };

  async function untilRefused(service: TestService, key: string, folderId: string | null): Promise<unknown> {
    await expect.poll(async () => (await presign(service, key, folderId)).status).not.toBe(200);
    return (await presign(service, key, folderId)).body.code;
  }

  const elsewhere = { disabled: 'a disabled', removed: 'a removed', demoted: 'a demoted' };
  test.each(Object.entries(elsewhere))(
    'the keys of %s member are dead on the other replica (checklist 7, 28)',
    async (how) => {
      await untilListening();
      const eve = await one.join(ada, projectId, 'editor');
      const tied = await one.createKey(eve, projectId);
      const untied = await one.createKey(eve, null);
      for (const { key } of [tied, untied]) expect((await presign(other, key, null)).status).toBe(200);
      const path = `/api/projects/${projectId}/members/${eve.id}`;
      if (how === 'removed') await one.call('DELETE', path, { as: ada });
      if (how === 'demoted') await one.call('PATCH', path, { as: ada, body: { role: 'viewer' } });
      if (how === 'disabled') {
        await one.deps.db.pool.query('update users set disabled_at = now() where id = $1', [eve.id]);
        await one.deps.accessChanges.publish({ kind: 'user', id: eve.id });
      }
      const codes = {
        disabled: ['invalid_api_key', 'invalid_api_key'],
        removed: ['invalid_api_key', 'project_not_found'],
        demoted: ['role_missing', 'role_missing'],
      }[how];
      expect([await untilRefused(other, tied.key, null), await untilRefused(other, untied.key, null)]).toEqual(codes);
    },
  );

  test('folders that a key can no longer reach are gone for it on the other replica', async () => {
    await untilListening();
    const makeFolder = async (parentId: string | null, name: string) =>
      (await one.call('POST', '/api/storage/folders', { as: ada, body: { projectId, name, parentId } })).body.id;
    const own = await makeFolder(null, 'own');
    const inner = await makeFolder(own, 'inner');
    const { key } = await one.createKey(ada, projectId, { folderId: own });
    for (const folderId of [own, inner]) expect((await presign(other, key, folderId)).status).toBe(200);
    await one.call('PATCH', `/api/storage/folders/${inner}`, { as: ada, body: { parentId: null } });
    expect(await untilRefused(other, key, inner)).toBe('folder_not_found');
    expect((await presign(other, key, own)).status).toBe(200);
    await one.call('DELETE', `/api/storage/folders/${own}`, { as: ada });
    expect(await untilRefused(other, key, own)).toBe('project_not_found');
  });

  test('a replica that reconnects forgets whatever it may have missed', async () => {
    const { id, key } = await one.createKey(ada, projectId);
    const before = await untilListening();
    expect(await use(other, key)).toBe(200);
    await one.deps.db.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [before]);
    // The first replica sends no message, as if it had been lost on the way.
    await one.deps.db.pool.query('update api_keys set revoked_at = now() where id = $1', [id]);
    expect(await use(other, key)).toBe(200);
    const after = await untilListening();
    expect(after.some((pid) => before.includes(pid))).toBe(false);
    await untilDead(other, key);
  });

  test('with the connection cut for good, the cache expires on its own (checklist 28)', async () => {
    const { id, key } = await one.createKey(ada, projectId);
    const body = { projectId, folderId: null, maxFiles: 1, maxBytes: 1 };
    const made = (await one.call('POST', '/api/storage/tickets', { as: ada, body })).body;
    const current = (service: TestService, ticket: string) =>
      service.call('GET', '/api/storage/tickets/current', { key: ticket });
    expect((await current(other, made.ticket)).status).toBe(200);
    expect(await use(other, key)).toBe(200);
    await other.deps.accessChanges.close();
    await one.call('DELETE', `/api/api-keys/${id}`, { as: ada });
    await sleep(100);
    expect(await use(other, key)).toBe(200);
    await one.call('DELETE', `/api/storage/tickets/${made.id}`, { as: ada });
    expect((await current(other, made.ticket)).status).toBe(200);
    other.advance(10_001);
    expect(await use(other, key)).toBe(401);
    expect((await current(other, made.ticket)).body.code).toBe('invalid_ticket');
  });
});

test('a key revoked in the only process is dead at once (checklist 28)', async () => {
  const service = await startTestService();
  const ada = await service.signUp('Ada');
  const projectId = await service.createProject(ada);
  const { id, key } = await service.createKey(ada, projectId);
  const use = () => service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
  expect((await use()).status).toBe(200);
  await service.call('DELETE', `/api/api-keys/${id}`, { as: ada });
  expect((await use()).status).toBe(401);
  await service.close();
});
