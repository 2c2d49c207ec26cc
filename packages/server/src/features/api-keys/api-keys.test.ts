import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { apiKeyTokens } from '../../access/api-key-token.ts';

let service: TestService;
let ada: Person;
let bob: Person;
let projectId: string;
/** The moment at which the clock stands still, if it is stopped. */
let stoppedAt: number | undefined;

beforeAll(async () => {
  service = await startTestService({ clock: () => stoppedAt ?? Date.now() });
  ada = await service.signUp('Ada');
  bob = await service.signUp('Bob');
});
beforeEach(async () => {
  stoppedAt = undefined;
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const list = (key: string, id = projectId) => service.call('GET', `/api/storage/list?projectId=${id}`, { key });
const presign = (key: string, id = projectId) => {
  const body = { projectId: id, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null };
  return service.call('POST', '/api/storage/presign', { key, body });
};
const create = (as: Person, body: unknown) => service.call('POST', '/api/api-keys', { as, body });
const revoke = (as: Person, id: string) => service.call('DELETE', `/api/api-keys/${id}`, { as });

interface View {
  id: string;
  [field: string]: unknown;
}

async function listed(as: Person, id = projectId): Promise<View[]> {
  return (await service.call('GET', `/api/api-keys?projectId=${id}`, { as })).body.apiKeys;
}

describe('a key asked what it is', () => {
  const getOwn = (key: string) => service.call('GET', '/api/storage/key', { key });

  test('says its name, what it is tied to, its scopes and its expiry', async () => {
    const folder = { projectId, name: 'Inbox', parentId: null };
    const { body: inbox } = await service.call('POST', '/api/storage/folders', { as: ada, body: folder });
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const facts = { name: 'Camera', projectId, folderId: inbox.id, scopes: ['files:write'], expiresAt };
    const { body: made } = await create(ada, facts);
    expect(await getOwn(made.key)).toMatchObject({ status: 200, body: { id: made.id, ...facts } });
  });

  test('needs no certain scope, and may be tied to nothing', async () => {
    const { body: made } = await create(ada, { name: 'CI', projectId: null, scopes: ['files:delete'] });
    expect((await getOwn(made.key)).body).toEqual({
      id: made.id,
      name: 'CI',
      projectId: null,
      folderId: null,
      scopes: ['files:delete'],
      expiresAt: null,
    });
  });

  test('is refused when it is revoked, as a session is', async () => {
    const { body: made } = await create(ada, { name: 'CI', projectId });
    await revoke(ada, made.id);
    expect(outcome(await getOwn(made.key))).toBe('401 invalid_api_key');
    expect(outcome(await service.call('GET', '/api/storage/key', { as: ada }))).toBe('401 invalid_api_key');
  });
});

describe('creating a key', () => {
  test('returns the raw key once, and lists everything else about it', async () => {
    const { body } = await create(ada, { name: 'CI', projectId });
    expect(Object.keys(body)).toEqual(['id', 'name', 'key', 'projectId', 'createdAt']);
    expect(body).toMatchObject({ name: 'CI', projectId, key: expect.stringMatching(/^cz_live_[0-9A-Za-z]{49}$/) });
    expect(await listed(ada)).toEqual([
      {
        id: body.id,
        name: 'CI',
        projectId,
        folderId: null,
        scopes: ['files:read', 'files:write', 'files:delete'],
        last4: body.key.slice(-4),
        keyHash: `sha256:${createHash('sha256').update(body.key).digest('hex')}`,
        createdBy: { userId: ada.id },
        createdAt: body.createdAt,
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      },
    ]);
  });

  test.each([
    ['no name', { name: undefined }, ['name']],
    ['an empty name', { name: '' }, ['name']],
    ['a name with NUL', { name: 'a\0b' }, ['name']],
    ['a name with half of a surrogate pair', { name: '\udfff' }, ['name']],
    ['a name of 201 bytes', { name: 'x'.repeat(201) }, ['name']],
    ['no projectId', { projectId: undefined }, ['projectId']],
    ['a projectId that is not a UUID', { projectId: 'x' }, ['projectId']],
    ['an unknown scope', { scopes: ['files:read', 'admin'] }, ['scopes.1']],
    ['no scope at all', { scopes: [] }, ['scopes']],
    ['scopes as a string', { scopes: 'files:read' }, ['scopes']],
    ['null scopes', { scopes: null }, ['scopes']],
    ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00Z' }, ['expiresAt']],
    ['an expiry without a time zone', { expiresAt: '2099-01-01T00:00:00' }, ['expiresAt']],
    ['an expiry that is not a time', { expiresAt: '2099-02-30T00:00:00Z' }, ['expiresAt']],
    ['an expiry past the year 9999', { expiresAt: '9999-12-31T23:59:59-12:00' }, ['expiresAt']],
    ['an expiry as a number', { expiresAt: 4_000_000_000 }, ['expiresAt']],
  ])('%s: 400', async (_what, wrong, paths) => {
    const answer = await create(ada, { name: 'K', projectId, ...wrong });
    expect(outcome(answer)).toBe('400 invalid_request');
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toEqual(paths);
    expect(await listed(ada)).toEqual([]);
  });

  test('is listed while it works, and of those that do not work any more, the newest thousand are', async () => {
    const [first, ended] = [
      await create(ada, { name: 'First', projectId }),
      await create(ada, { name: 'Ended', projectId }),
    ];
    await revoke(ada, ended.body.id);
    await service.deps.db.pool.query(
      `insert into api_keys (id, hash, name, project_id, created_by, last4, scopes, created_at, revoked_at, expires_at)
       select ('01ffffff-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, sha256((n || id::text)::bytea), 'Copy', project_id, created_by,
              last4, scopes, created_at, case when n % 2 = 0 then created_at end, created_at
       from api_keys cross join generate_series(1, 1000) n where id = $1`,
      [ended.body.id],
    );
    const shown = await listed(ada);
    expect(shown.map(({ name }) => name)).toEqual(['First', ...Array.from({ length: 1000 }, () => 'Copy')]);
    expect(shown[0]?.id).toBe(first.body.id);
  });

  test('ignores unknown fields', async () => {
    const id = randomUUID();
    const { body } = await create(ada, {
      name: 'K',
      projectId,
      id,
      key: apiKeyTokens.mint(),
      hash: 'x',
      createdBy: bob.id,
      created_by: bob.id,
      last4: 'xxxx',
      revokedAt: null,
      lastUsedAt: '2020-01-01T00:00:00.000Z',
    });
    const [key] = await listed(ada);
    expect(key?.id).toBe(body.id);
    expect(body.id).not.toBe(id);
    expect(key?.lastUsedAt).toBeNull();
    const { rows } = await service.deps.db.pool.query('select created_by from api_keys where id = $1', [body.id]);
    expect(rows[0].created_by).toBe(ada.id);
  });

  test('needs the project, and an existing folder', async () => {
    expect(outcome(await create(bob, { name: 'K', projectId }))).toBe('404 project_not_found');
    const viewer = await service.join(ada, projectId, 'viewer');
    expect(outcome(await create(viewer, { name: 'K', projectId }))).toBe('403 role_missing');
    const folder = { projectId, name: 'F', parentId: null };
    const folderId = (await service.call('POST', '/api/storage/folders', { as: ada, body: folder })).body.id;
    const otherId = await service.createProject(ada);
    expect(outcome(await create(ada, { name: 'K', projectId: otherId, folderId }))).toBe('404 folder_not_found');
    expect(outcome(await create(ada, { name: 'K', projectId, folderId }))).toBe(200);
    await service.call('DELETE', `/api/storage/folders/${folderId}`, { as: ada });
    expect(outcome(await create(ada, { name: 'K', projectId, folderId }))).toBe('404 folder_not_found');
  });

  test('accepts an expiry between now and the last second of 9999', async () => {
    const now = new Date(service.deps.now()).toISOString();
    const late = await create(ada, { name: 'K', projectId, expiresAt: now });
    expect(late.body).toMatchObject({
      detail: 'expiresAt must be in the future.',
      issues: [{ path: 'expiresAt', message: 'must be in the future' }],
    });
    const expiresAt = '9999-12-31T23:59:59.000Z';
    expect(outcome(await create(ada, { name: 'K', projectId, expiresAt }))).toBe(200);
    expect((await listed(ada)).map((key) => key.expiresAt)).toEqual([expiresAt]);
  });

  test('counts a repeated scope once', async () => {
    await create(ada, { name: 'K', projectId, scopes: ['files:read', 'files:read'] });
    expect((await listed(ada))[0]?.scopes).toEqual(['files:read']);
  });
});

describe('the rights of a key', () => {
  test('include no more than its scopes', async () => {
    const reader = (await service.createKey(ada, projectId, { scopes: ['files:read'] })).key;
    const writer = (await service.createKey(ada, projectId, { scopes: ['files:write'] })).key;
    const remover = (await service.createKey(ada, projectId, { scopes: ['files:delete'] })).key;
    expect([outcome(await list(reader)), outcome(await presign(reader))]).toEqual([200, '403 scope_missing']);
    expect([outcome(await list(writer)), outcome(await presign(writer))]).toEqual(['403 scope_missing', 200]);
    expect([outcome(await list(remover)), outcome(await presign(remover))]).toEqual([
      '403 scope_missing',
      '403 scope_missing',
    ]);
  });

  test('let an untied key (checklist 32) reach what its creator can reach at that moment', async () => {
    const { key } = await service.createKey(ada, null);
    const later = await service.createProject(ada);
    const foreign = await service.createProject(bob);
    expect(outcome(await list(key))).toBe(200);
    expect(outcome(await list(key, later))).toBe(200);
    expect(outcome(await list(key, foreign))).toBe('404 project_not_found');

    await service.deps.db.pool.query(
      "insert into project_members (project_id, user_id, role) values ($1, $2, 'editor')",
      [foreign, ada.id],
    );
    expect(outcome(await list(key, foreign))).toBe(200);
    expect(outcome(await presign(key, foreign))).toBe(200);

    await service.deps.db.pool.query('delete from project_members where project_id = $1 and user_id = $2', [
      foreign,
      ada.id,
    ]);
    service.advance(10_001);
    expect(outcome(await list(key, foreign))).toBe('404 project_not_found');
    expect(outcome(await presign(key, foreign))).toBe('404 project_not_found');
    expect(outcome(await list(key))).toBe(200);
  });

  test('end for good when the creator of a tied key is removed from the project, and return with an untied one’s creator', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const tied = await service.createKey(eve, projectId);
    const untied = await service.createKey(eve, null);
    const own = await service.createProject(eve);
    for (const { key } of [tied, untied]) expect(outcome(await presign(key))).toBe(200);
    await service.call('DELETE', `/api/projects/${projectId}/members/${eve.id}`, { as: ada });
    expect(outcome(await presign(tied.key))).toBe('401 invalid_api_key');
    expect(outcome(await presign(untied.key))).toBe('404 project_not_found');
    expect(outcome(await presign(untied.key, own))).toBe(200);
    expect((await listed(ada)).map(({ revokedAt }) => revokedAt)).toEqual([expect.any(String)]);
    await service.join(ada, projectId, 'viewer', eve);
    expect(outcome(await list(tied.key))).toBe('401 invalid_api_key');
    expect(outcome(await list(untied.key))).toBe(200);
    expect(outcome(await presign(untied.key))).toBe('403 role_missing');
  });

  test('let a tied key do no more than its creator may at that moment', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const tied = await service.createKey(eve, projectId);
    expect(outcome(await presign(tied.key))).toBe(200);
    const path = `/api/projects/${projectId}/members/${eve.id}`;
    await service.call('PATCH', path, { as: ada, body: { role: 'viewer' } });
    expect(outcome(await presign(tied.key))).toBe('403 role_missing');
    expect(outcome(await list(tied.key))).toBe(200);
    await service.call('PATCH', path, { as: ada, body: { role: 'editor' } });
    expect(outcome(await presign(tied.key))).toBe(200);
  });

  test('end at once when the account is disabled, tied or not, and return when it is enabled (checklist 7)', async () => {
    const eve = await service.signUp('Eve');
    const project = await service.createProject(eve);
    const all = [await service.createKey(eve, project), await service.createKey(eve, null)];
    const archive = await service.call('POST', '/api/storage/archives', {
      key: all[0]?.key,
      body: { projectId: project },
    });
    const outcomes = async () => Promise.all(all.map(async ({ key }) => outcome(await presign(key, project))));
    const disable = async (at: Date | null) => {
      await service.deps.db.pool.query('update users set disabled_at = $2 where id = $1', [eve.id, at]);
      await service.deps.accessChanges.publish({ kind: 'user', id: eve.id });
    };
    expect(await outcomes()).toEqual([200, 200]);
    await disable(new Date());
    expect(await outcomes()).toEqual(['401 invalid_api_key', '401 invalid_api_key']);
    expect((await service.fetch(new Request(archive.body.url))).status).toBe(404);
    await disable(null);
    expect(await outcomes()).toEqual([200, 200]);
  });

  test('end within ten seconds of the deletion of the account', async () => {
    const eve = await service.signUp('Eve');
    const { key } = await service.createKey(eve, await service.createProject(eve));
    await service.deps.db.pool.query('delete from users where id = $1', [eve.id]);
    service.advance(10_001);
    expect(outcome(await list(key))).toBe('401 invalid_api_key');
  });

  test('end at once when the project is deleted, even for keys in use', async () => {
    const { key } = await service.createKey(ada, projectId);
    const untied = await service.createKey(ada, null);
    expect([outcome(await list(key)), outcome(await presign(untied.key))]).toEqual([200, 200]);
    await service.call('DELETE', `/api/projects/${projectId}`, { as: ada });
    expect(outcome(await list(key))).toBe('401 invalid_api_key');
    expect(outcome(await presign(key))).toBe('401 invalid_api_key');
    expect(outcome(await presign(untied.key))).toBe('404 project_not_found');
  });

  test('end at the moment of expiry, cached or not (checklist 29)', async () => {
    const expiresAt = new Date(service.deps.now() + 5000).toISOString();
    const used = await service.createKey(ada, projectId, { expiresAt });
    const unused = await service.createKey(ada, projectId, { expiresAt });
    expect(outcome(await list(used.key))).toBe(200);
    service.advance(5000);
    expect(outcome(await list(used.key))).toBe('401 invalid_api_key');
    expect(outcome(await list(unused.key))).toBe('401 invalid_api_key');
  });

  test.each(['used', 'not used'])(
    'stay ended when the clock is set back, even after a restart, for an expired key that was %s in the meantime',
    async (use) => {
      const { id, key } = await service.createKey(ada, projectId);
      const { pool } = service.deps.db;
      // Uses the database's clock, which no test can move.
      await pool.query(`update api_keys set expires_at = now() + interval '1 second' where id = $1`, [id]);
      const running = await startTestService({ beside: service });
      const path = `/api/storage/list?projectId=${projectId}`;
      await expect
        .poll(async () => {
          if (use === 'used') await running.call('GET', path, { key });
          else await running.deps.apiKeys.endExpired();
          const { rows } = await pool.query('select expired_at from api_keys where id = $1', [id]);
          return rows[0].expired_at;
        })
        .not.toBeNull();
      const restarted = await startTestService({ beside: service });
      restarted.advance(-86_400_000);
      expect(outcome(await restarted.call('GET', path, { key }))).toBe('401 invalid_api_key');
      await running.close();
      await restarted.close();
    },
  );

  test('are not cached for longer when the clock is set back', async () => {
    const { id, key } = await service.createKey(ada, projectId);
    const process = await startTestService({ beside: service });
    const use = () => process.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
    expect(outcome(await use())).toBe(200);
    // As another process would whose message is lost.
    await service.deps.db.pool.query('update api_keys set revoked_at = now() where id = $1', [id]);
    process.advance(-3_600_000);
    expect(outcome(await use())).toBe('401 invalid_api_key');
    await process.close();
  });

  test('are none for a well-formed key that was never issued', async () => {
    expect(outcome(await list(apiKeyTokens.mint()))).toBe('401 invalid_api_key');
  });
});

describe('revoking a key', () => {
  test('ends it at once, and again gives the same answer', async () => {
    const { id, key } = await service.createKey(ada, projectId);
    expect(outcome(await list(key))).toBe(200);
    const first = await revoke(ada, id);
    expect(first.body.revokedAt).not.toBeNull();
    expect(outcome(await list(key))).toBe('401 invalid_api_key');
    service.advance(60_000);
    expect((await revoke(ada, id)).body).toEqual(first.body);
    expect(outcome(await list(key))).toBe('401 invalid_api_key');
  });

  test('leaves other keys alone', async () => {
    const kept = await service.createKey(ada, projectId);
    const { id } = await service.createKey(ada, projectId);
    await revoke(ada, id);
    expect(outcome(await list(kept.key))).toBe(200);
  });

  test('wins against racing look-ups: none revives the key', async () => {
    for (let round = 0; round < 20; round++) {
      const { id, key } = await service.createKey(ada, projectId);
      const lookUps = Array.from({ length: 4 }, () => service.deps.apiKeys.find(key));
      await Promise.all([revoke(ada, id), ...lookUps, service.deps.apiKeys.find(key)]);
      expect(await service.deps.apiKeys.find(key)).toBeUndefined();
    }
  });

  test('also wins against a look-up whose answer is still on its way', async () => {
    const { id, key } = await service.createKey(ada, projectId);
    const lookUp = service.deps.apiKeys.find(key);
    service.deps.apiKeys.forget(id);
    await lookUp;
    await service.deps.db.pool.query('update api_keys set revoked_at = now() where id = $1', [id]);
    expect(await service.deps.apiKeys.find(key)).toBeUndefined();
  });

  test('reaches other processes within ten seconds', async () => {
    const { id, key } = await service.createKey(ada, projectId);
    expect(outcome(await list(key))).toBe(200);
    // As another replica would: this process gets no message.
    await service.deps.db.pool.query('update api_keys set revoked_at = now() where id = $1', [id]);
    service.advance(10_001);
    expect(outcome(await list(key))).toBe('401 invalid_api_key');
  });

  test('is possible for a member who may manage the keys, and for nobody else', async () => {
    const { id } = await service.createKey(ada, projectId);
    const own = await service.createKey(ada, null);
    expect(outcome(await revoke(bob, id))).toBe('404 api_key_not_found');
    await service.deps.db.pool.query(
      "insert into project_members (project_id, user_id, role) values ($1, $2, 'owner')",
      [projectId, bob.id],
    );
    expect((await listed(bob)).map((key) => key.id)).toEqual([id]);
    expect(outcome(await revoke(bob, own.id))).toBe('404 api_key_not_found');
    expect(outcome(await revoke(bob, id))).toBe(200);
  });

  test.each(['owner', 'editor', 'viewer'] as const)('%s: which keys of a project they see and revoke', async (role) => {
    const [member, elsewhere] = [await service.join(ada, projectId, role), await service.createProject(ada)];
    const [first, second] = [await service.createKey(ada, projectId), await service.createKey(ada, projectId)];
    await service.createKey(ada, elsewhere);
    await service.join(ada, elsewhere, 'viewer', member);
    const may = role !== 'viewer';
    const seen = async () =>
      (await service.call('GET', '/api/api-keys', { as: member })).body.apiKeys.map(({ id }: { id: string }) => id);
    expect(await seen()).toEqual(may ? [first.id, second.id] : []);
    expect(outcome(await revoke(member, first.id))).toBe(may ? 200 : '404 api_key_not_found');
    expect(outcome(await list(second.key))).toBe(200);
    const ofProject = await service.call('GET', `/api/api-keys?projectId=${projectId}`, { as: ada });
    expect(ofProject.body.apiKeys.map(({ id }: { id: string }) => id)).toEqual([first.id, second.id]);
    // Everybody keeps seeing their own keys, whatever their role.
    const own = await service.createKey(member, null);
    expect(await seen()).toContain(own.id);
  });

  test('answers 400 for an id that is not a UUID, and 404 for an unknown one', async () => {
    expect(outcome(await revoke(ada, 'x'))).toBe('400 invalid_request');
    expect(outcome(await revoke(ada, randomUUID()))).toBe('404 api_key_not_found');
  });
});

describe('lastUsedAt', () => {
  const lastUsedAt = async () => (await listed(ada))[0]?.lastUsedAt;

  test('is written only by the flush: a thousand calls write nothing (checklist 36)', async () => {
    const { key } = await service.createKey(ada, projectId);
    // However long a thousand calls take here, no cache entry expires.
    stoppedAt = Date.now();
    await presign(key);
    const thousand = await statementsDuring(async () => {
      for (let n = 0; n < 1000; n++) {
        if ((await presign(key)).status !== 200) throw new Error('the key is alive');
      }
    });
    expect(thousand).toEqual([]);
    expect(await lastUsedAt()).toBeNull();
    const flush = await statementsDuring(async () => {
      await service.deps.apiKeys.flushLastUsed();
      await service.deps.apiKeys.flushLastUsed();
    });
    expect(flush).toEqual(['flush-last-used']);
    expect(await lastUsedAt()).not.toBeNull();
  });

  test('is the time of the last use', async () => {
    const { key } = await service.createKey(ada, projectId);
    await list(key);
    expect(await lastUsedAt()).toBeNull();
    const before = service.deps.now();
    await service.deps.apiKeys.flushLastUsed();
    const written = Date.parse(String(await lastUsedAt()));
    expect(written).toBeLessThanOrEqual(before);

    await service.deps.apiKeys.flushLastUsed();
    expect(Date.parse(String(await lastUsedAt()))).toBe(written);
    service.advance(1000);
    await list(key);
    await service.deps.apiKeys.flushLastUsed();
    expect(Date.parse(String(await lastUsedAt()))).toBeGreaterThan(written);
  });

  test('is flushed even if another key was deleted in between', async () => {
    const gone = await service.createProject(ada);
    const { key } = await service.createKey(ada, gone);
    await list(key, gone);
    await service.call('DELETE', `/api/projects/${gone}`, { as: ada });
    await expect(service.deps.apiKeys.flushLastUsed()).resolves.toBeUndefined();
  });
});

describe('a malformed key (checklist 26)', () => {
  test('is refused without a query, while a well-formed one takes a query', async () => {
    const { key } = await service.createKey(ada, projectId);
    const wrong = [
      ...Array.from({ length: 57 }, (_, at) => key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1)),
      key.slice(0, -1),
      `${key}0`,
      key.toUpperCase(),
      key.replace('cz_live_', 'cz_test_'),
      '',
      'x'.repeat(5000),
    ];
    const statements = await statementsDuring(async () => {
      for (const text of wrong) expect(outcome(await list(text))).toBe('401 invalid_api_key');
    });
    expect(statements).toEqual([]);
    expect(await statementsDuring(() => list(apiKeyTokens.mint()))).toEqual(['find-api-key']);
  });
});

describe('the raw key (checklist 27)', () => {
  test('appears in no row, no log line and no later answer', async () => {
    const tied = await service.createKey(ada, projectId);
    const untied = await service.createKey(ada, null);
    const answers: Answer[] = [];
    for (const { key } of [tied, untied]) {
      answers.push(await list(key), await presign(key), await list(key, randomUUID()), await list(`${key}x`));
      const upload = await service.upload({ key }, projectId, Buffer.from('bytes'));
      answers.push(await service.call('POST', '/api/storage/record', { key, body: upload }));
      answers.push(await service.call('POST', '/api/storage/record', { key, body: '{' }));
      answers.push(await service.call('GET', `/api/nothing?key=${key}`, { key }));
    }
    answers.push(await service.call('GET', '/api/api-keys', { as: ada }));
    answers.push(await revoke(ada, tied.id), await list(tied.key));
    await service.deps.apiKeys.flushLastUsed();

    const everything = [...answers.map(({ text }) => text), service.logged(), await dump()].join('\n');
    expect(everything).not.toMatch(/cz_live_[0-9A-Za-z]{49}/);
    for (const { key } of [tied, untied]) {
      // Nor do parts of it: without the prefix, or its random part in hexadecimal, as a dump shows bytea.
      expect(everything).not.toContain(key.slice(8));
      expect(everything).not.toContain(Buffer.from(key).toString('hex'));
      expect(everything).not.toContain(key.slice(8, 51));
    }
    expect(service.logged()).not.toMatch(/[Ss]ignature=[0-9a-f]{64}/);
    expect(service.logged()).toContain('"operation":"presign"');
  });
});

/**
 * The names of the statements that reach the database during `work`; `connection` for a connection taken out of the
 * pool.
 */
async function statementsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const { pool } = service.deps.db;
  const { query, connect } = pool;
  const statements: string[] = [];
  let isOwn = false;
  Object.assign(pool, {
    query: (...all: unknown[]) => {
      const [statement] = all as [{ name?: string } | string];
      statements.push(typeof statement === 'string' ? statement : (statement.name ?? 'unnamed'));
      // A query takes a connection out on its own before it returns.
      isOwn = true;
      const answer: unknown = Reflect.apply(query, pool, all);
      isOwn = false;
      return answer;
    },
    connect: (...all: unknown[]) => {
      if (!isOwn) statements.push('connection');
      return Reflect.apply(connect, pool, all);
    },
  });
  try {
    await work();
  } finally {
    Object.assign(pool, { query, connect });
  }
  // The embedded database looks every few seconds whether it needs a checkpoint.
  return statements.filter((name) => name !== 'checkpoint-due');
}

/** Every row of every table, as a dump would have it. */
async function dump(): Promise<string> {
  const { pool } = service.deps.db;
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  expect(tables.map(({ name }) => name)).toContain('public.api_keys');
  const texts = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...rows.map(({ row }) => row));
  }
  return texts.join('\n');
}
