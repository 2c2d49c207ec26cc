import { randomUUID } from 'node:crypto';
import type { EventType } from '@cadiz/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { recordEvent } from '../../events/record-event.ts';
import { createApp } from '../../http/app.ts';
import { purgeEvents } from './purge-events.ts';

let service: TestService;
let ada: Person;
let projectId: string;
let key: { id: string; key: string };

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
beforeEach(async () => {
  projectId = await service.createProject(ada);
  key = await service.createKey(ada, projectId);
});
afterAll(() => service.close());

interface Event {
  id: string;
  type: EventType;
  at: string;
  userId: string | null;
  apiKeyId: string | null;
  ip: string | null;
  requestId?: string;
  subject: Record<string, unknown>;
}

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const audit = (query = '', as = ada) => service.call('GET', `/api/projects/${projectId}/audit${query}`, { as });

/** The project's events since it and its key were created, the earliest first. */
async function events(): Promise<Event[]> {
  return (await audit()).body.events.reverse().slice(2);
}

async function ok(method: string, path: string, options: object) {
  const answer = await service.call(method, path, options);
  expect(outcome(answer)).toBe(200);
  return answer.body;
}

const byAda = () => ({ userId: ada.id, apiKeyId: null });
const byKey = () => ({ userId: null, apiKeyId: key.id });

async function record(folderId: string | null = null): Promise<string> {
  const body = await service.upload({ key: key.key }, projectId, Buffer.from('bytes'), { folderId });
  return (await ok('POST', '/api/storage/record', { key: key.key, body })).id;
}

async function createFolder(parentId: string | null = null): Promise<string> {
  const body = { projectId, name: randomUUID(), parentId };
  return (await ok('POST', '/api/storage/folders', { key: key.key, body })).id;
}

describe('every change of access is recorded: who, what, when (checklist 47)', () => {
  test('of the project and its keys', async () => {
    const body = { name: 'Renamed', quotaBytes: 1000 };
    await ok('PATCH', `/api/projects/${projectId}`, { as: ada, body });
    const rotated = await ok('POST', `/api/api-keys/${key.id}/rotate`, { as: ada, body: { overlapSeconds: 60 } });
    await ok('DELETE', `/api/api-keys/${key.id}`, { as: ada });
    await ok('DELETE', `/api/api-keys/${key.id}`, { as: ada });

    const all: Event[] = (await audit()).body.events.reverse();
    expect(all).toMatchObject([
      { type: 'project.created', ...byAda(), subject: { name: 'A project' } },
      { type: 'api_key.created', ...byAda(), subject: { apiKeyId: key.id, name: 'A key' } },
      { type: 'project.updated', ...byAda(), subject: body },
      { type: 'api_key.rotated', ...byAda(), subject: { apiKeyId: key.id, newApiKeyId: rotated.id } },
      { type: 'api_key.revoked', ...byAda(), subject: { apiKeyId: key.id } },
    ]);
    expect(JSON.stringify(all)).not.toMatch(/cz_live_|sha256/);
    for (const { at } of all) expect(Math.abs(Date.parse(at) - service.deps.now())).toBeLessThan(60_000);
  });

  test('with the id of the request that did it, by whomever', async () => {
    const call = (method: string, path: string, options: object) => service.call(method, path, options);
    const made = [
      await call('PATCH', `/api/projects/${projectId}`, { as: ada, body: { name: 'Renamed' } }),
      await call('DELETE', `/api/storage/files/${await record()}`, { key: key.key }),
    ].map(({ headers }) => headers.get('X-Request-Id'));
    expect((await events()).map(({ requestId }) => requestId)).toEqual(made);
    const refused = await call('POST', '/api/auth/sign-in/email', {
      body: { email: ada.email, password: 'not this one' },
    });
    expect(outcome(refused)).toBe('401 invalid_email_or_password');
    const { rows } = await service.deps.db.pool.query('select type from audit_events where request_id = $1', [
      refused.headers.get('X-Request-Id'),
    ]);
    expect(rows).toEqual([{ type: 'sign_in.failed' }]);
  });

  test('of members and invitations, without the token', async () => {
    const eve = await service.join(ada, projectId, 'viewer');
    const path = `/api/projects/${projectId}`;
    await ok('PATCH', `${path}/members/${eve.id}`, { as: ada, body: { role: 'editor' } });
    await ok('DELETE', `${path}/members/${eve.id}`, { as: eve });
    const body = { email: 'grace@example.com', role: 'owner' };
    const { id, url } = await ok('POST', `${path}/invitations`, { as: ada, body });
    await ok('DELETE', `${path}/invitations/${id}`, { as: ada });

    const all = await events();
    expect(all).toMatchObject([
      { type: 'invitation.created', ...byAda(), subject: { email: eve.email, role: 'viewer' } },
      { type: 'member.added', userId: eve.id, subject: { userId: eve.id, role: 'viewer' } },
      { type: 'member.changed', ...byAda(), subject: { userId: eve.id, role: 'editor' } },
      { type: 'member.removed', userId: eve.id, subject: { userId: eve.id } },
      { type: 'invitation.created', ...byAda(), subject: { invitationId: id, ...body } },
      { type: 'invitation.removed', ...byAda(), subject: { invitationId: id } },
    ]);
    expect(JSON.stringify(all)).not.toContain(url.split('#')[1]);
  });

  test('of the project’s deletion, which outlives it', async () => {
    await ok('DELETE', `/api/projects/${projectId}`, { as: ada });
    expect(outcome(await audit())).toBe('404 project_not_found');
    const { rows } = await service.deps.db.pool.query(
      'select type, user_id, subject from audit_events where project_id = $1 order by id desc limit 1',
      [projectId],
    );
    expect(rows).toEqual([{ type: 'project.deleted', user_id: ada.id, subject: { name: 'A project' } }]);
  });

  test('of a member whose account is deleted, in each of their projects', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    await service.createKey(eve, projectId);
    const first = projectId;
    projectId = await service.createProject(ada);
    await service.join(ada, projectId, 'viewer', eve);
    await service.createProject(ada);
    await ok('DELETE', `/api/users/${eve.id}`, { as: ada });

    expect((await events()).at(-1)).toMatchObject({
      type: 'member.removed',
      ...byAda(),
      subject: { userId: eve.id, revokedKeys: 0 },
    });
    projectId = first;
    expect((await events()).at(-1)).toMatchObject({
      type: 'member.removed',
      ...byAda(),
      subject: { userId: eve.id, revokedKeys: 1 },
    });
    const { rows } = await service.deps.db.pool.query(
      `select project_id from audit_events where type = 'member.removed' and subject->>'userId' = $1`,
      [eve.id],
    );
    expect(rows).toHaveLength(2);
  });

  test('of keys and tickets that end with a password', async () => {
    const eve = await service.join(ada, projectId, 'editor');
    const { id: apiKeyId, key: ofEve } = await service.createKey(eve, projectId, { name: 'Form' });
    await service.createKey(eve, null);
    const body = { projectId, folderId: null, maxFiles: 1, maxBytes: 10 };
    const { id: ticketId } = await ok('POST', '/api/storage/tickets', { as: eve, body });
    await ok('POST', '/api/storage/tickets', { key: ofEve, body });
    const before = (await events()).length;
    const passwords = { currentPassword: 'correct horse battery', newPassword: 'nanoseconds are short' };
    const answer = await ok('POST', '/api/account/password', { as: eve, body: { ...passwords, revokeApiKeys: true } });
    expect(answer.revokedApiKeys).toBe(2);
    const byEve = { userId: eve.id, apiKeyId: null };
    expect((await events()).slice(before)).toMatchObject([
      { type: 'api_key.revoked', ...byEve, subject: { apiKeyId, name: 'Form' } },
      { type: 'ticket.revoked', ...byEve, subject: { ticketId } },
    ]);
  });

  test('of a sign-out, once', async () => {
    const eve = await service.signUp('Eve');
    for (let n = 0; n < 2; n++) await ok('POST', '/api/auth/sign-out', { as: eve });
    const { rows } = await service.deps.db.pool.query(
      `select project_id, api_key_id, ip from audit_events where type = 'sign_out' and user_id = $1`,
      [eve.id],
    );
    expect(rows).toEqual([{ project_id: null, api_key_id: null, ip: expect.stringMatching(/^2001:db8:/) }]);
  });

  test('of an untied key, in no project', async () => {
    const { id } = await service.createKey(ada, null);
    expect(await events()).toEqual([]);
    const { rows } = await service.deps.db.pool.query(
      `select type, user_id from audit_events where project_id is null and subject->>'apiKeyId' = $1`,
      [id],
    );
    expect(rows).toEqual([{ type: 'api_key.created', user_id: ada.id }]);
  });
});

describe('the address of an event', () => {
  const deleteFrom = async (address: string | undefined, options: { key?: string; cookie?: string }) => {
    const request = new Request(`${service.deps.config.publicUrl}/api/storage/files/${await record()}`, {
      method: 'DELETE',
      headers: {
        'X-Forwarded-For': '203.0.113.99',
        ...(options.key ? { Authorization: `Bearer ${options.key}` } : {}),
        ...(options.cookie ? { Cookie: options.cookie } : {}),
      },
    });
    expect((await createApp(service.deps).fetch(request, address)).status).toBe(200);
    return (await events()).at(-1)?.ip;
  };

  test('is the address of the connection, whatever the request claims (checklist 47)', async () => {
    expect(await deleteFrom('192.0.2.9', { key: key.key })).toBe('192.0.2.9');
    expect(await deleteFrom('::ffff:192.0.2.10', { cookie: ada.cookie })).toBe('192.0.2.10');
    expect(await deleteFrom('2001:db8::7', { key: key.key })).toBe('2001:db8::7');
    expect(await deleteFrom(undefined, { key: key.key })).toBe('unknown');
  });
});

describe('every deletion is recorded once, with its subject', () => {
  test('of a file and of a folder, and their restoration', async () => {
    const folderId = await createFolder();
    const fileId = await record(folderId);
    await ok('DELETE', `/api/storage/files/${fileId}`, { key: key.key });
    await ok('POST', `/api/storage/files/${fileId}/restore`, { as: ada });
    await ok('POST', `/api/storage/files/${fileId}/restore`, { as: ada });
    await ok('DELETE', `/api/storage/folders/${folderId}?recursive=true`, { key: key.key });
    await ok('POST', `/api/storage/folders/${folderId}/restore`, { key: key.key });
    expect(await events()).toMatchObject([
      { type: 'file.deleted', ...byKey(), subject: { fileId, fileName: 'photo.jpg', bytes: 5 } },
      { type: 'file.restored', ...byAda(), subject: { fileId } },
      { type: 'folder.deleted', ...byKey(), subject: { folderId, files: 1, folders: 1, bytes: 5 } },
      { type: 'folder.restored', ...byKey(), subject: { folderId } },
    ]);
  });

  test('of many at once and of an emptied trash, but not of a dry run or a move', async () => {
    const fileIds = [await record(), await record()];
    const bulk = (body: object) => ok('POST', '/api/storage/bulk', { key: key.key, body: { projectId, ...body } });
    await bulk({ action: 'delete', fileIds, dryRun: true });
    await bulk({ action: 'move', fileIds, folderId: null });
    await bulk({ action: 'delete', fileIds });
    await bulk({ action: 'restore', fileIds: fileIds.slice(1) });
    await ok('DELETE', `/api/storage/trash?projectId=${projectId}`, { as: ada });
    expect(await events()).toMatchObject([
      { type: 'bulk.deleted', ...byKey(), subject: { files: 2, folders: 0, bytes: 10 } },
      { type: 'bulk.restored', ...byKey(), subject: { files: 1, folders: 0, bytes: 5 } },
      { type: 'trash.emptied', ...byAda(), subject: { files: 1, folders: 0, bytes: 5 } },
    ]);
  });

  test('but not if it was refused', async () => {
    const folderId = await createFolder();
    await createFolder(folderId);
    const refused = await service.call('DELETE', `/api/storage/folders/${folderId}`, { key: key.key });
    expect(outcome(refused)).toBe('409 folder_not_empty');
    await service.call('DELETE', `/api/storage/files/${randomUUID()}`, { key: key.key });
    await service.call('DELETE', `/api/projects/${projectId}/members/${ada.id}`, { as: ada });
    expect(await events()).toEqual([]);
  });

  test('or is undone if its event cannot be written', async () => {
    const fileId = await record();
    const { pool } = service.deps.db;
    await pool.query(`alter table audit_events add constraint refuse check (type <> 'file.deleted') not valid`);
    const deleted = await service.call('DELETE', `/api/storage/files/${fileId}`, { key: key.key });
    await pool.query('alter table audit_events drop constraint refuse');
    expect(deleted.status).toBe(500);
    await ok('GET', `/api/storage/files/${fileId}`, { key: key.key });
  });
});

describe('reading the events', () => {
  test('works in pages, each event once, the latest first', async () => {
    const at = service.deps.now();
    for (let n = 0; n < 250; n++) {
      const by = { kind: 'session', userId: ada.id, address: '192.0.2.7' } as const;
      await recordEvent(service.deps.db.kysely, at, { type: 'file.deleted', projectId, by, subject: { n } });
    }
    const seen: Event[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await audit(cursor === null ? '' : `?cursor=${cursor}`);
      seen.push(...body.events);
      cursor = body.nextCursor;
    } while (cursor !== null);
    expect(seen.map(({ subject }) => subject.n).slice(0, 250)).toEqual(Array.from({ length: 250 }, (_, n) => 249 - n));
    expect(seen[0]).toMatchObject({ ip: '192.0.2.7' });
    expect(seen).toHaveLength(252);
  });

  test('refuses a cursor of another project, a cursor of another listing, and nonsense', async () => {
    const other = await service.createProject(ada);
    const at = service.deps.now();
    const by = { kind: 'session', userId: ada.id } as const;
    for (let n = 0; n < 101; n++) {
      await recordEvent(service.deps.db.kysely, at, { type: 'sign_out', projectId: other, by, subject: {} });
    }
    const { body } = await service.call('GET', `/api/projects/${other}/audit`, { as: ada });
    expect(body.nextCursor).not.toBeNull();
    const trash = Buffer.from(JSON.stringify(['trash', projectId, 1, randomUUID()])).toString('base64url');
    for (const cursor of [body.nextCursor, trash, 'x', '', 'W10', 'x'.repeat(600)]) {
      expect(outcome(await audit(`?cursor=${cursor}`))).toBe('400 invalid_request');
    }
  });

  test('is for owners only', async () => {
    const editor = await service.join(ada, projectId, 'editor');
    const stranger = await service.signUp('Bob');
    expect(outcome(await audit('', editor))).toBe('403 role_missing');
    expect(outcome(await audit('', stranger))).toBe('404 project_not_found');
  });
});

test('no longer finds events older than AUDIT_RETENTION_DAYS', async () => {
  const { kysely } = service.deps.db;
  const by = { kind: 'nobody', address: '192.0.2.7' } as const;
  const day = 24 * 3600_000;
  for (const days of [401, 402, 399]) {
    const event = { type: 'sign_in.failed', projectId, by, subject: { days } } as const;
    await recordEvent(kysely, service.deps.now() - days * day, event);
  }
  expect(await purgeEvents(service.deps, 1)).toBe(1);
  expect(await purgeEvents(service.deps, 10)).toBe(1);
  expect(await purgeEvents(service.deps, 10)).toBe(0);
  const { rows } = await service.deps.db.pool.query(
    `select subject->'days' as days from audit_events where project_id = $1 and type = 'sign_in.failed'`,
    [projectId],
  );
  expect(rows).toEqual([{ days: 399 }]);
});
