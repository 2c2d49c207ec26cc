import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let bob: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, ('0199f3a0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1::text || '/' || n,
            'file ' || n, 'FILE ' || n, 5, 'image/jpeg', null, 'e'
     from generate_series(1, 2500) n`,
    [projectId],
  );
});
afterAll(() => service.close());

/** Reads the beginning of the whole project, calls `between`, and reads the rest. Returns how many files there were. */
async function readAround(headers: Record<string, string>, between: () => Promise<unknown>): Promise<number> {
  const url = `${service.deps.config.publicUrl}/api/storage/list?projectId=${projectId}`;
  const reader = (await service.fetch(new Request(url, { headers }))).body?.getReader();
  let text = '';
  const decoder = new TextDecoder();
  for (let n = 0; ; n += 1) {
    const piece = await reader?.read();
    if (!piece || piece.done) return JSON.parse(text).files.length;
    text += decoder.decode(piece.value, { stream: true });
    if (n === 0) await between();
  }
}

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const by = async (as: Person, method: string, path: string, body?: unknown) =>
  expect((await service.call(method, path, { as, body })).status).toBe(200);
const byAda = (method: string, path: string, body?: unknown) => by(ada, method, path, body);
const byBob = (method: string, path: string) => by(bob, method, path);
const later = () => service.advance(10_001);

test('a slow reader who still has access reads to the end', async () => {
  const { key } = await service.createKey(ada, projectId);
  for (const headers of [bearer(key), { Cookie: ada.cookie }]) {
    expect(await readAround(headers, async () => later())).toBe(2500);
  }
});

test('a listing ends if its key is revoked on the way (checklist 28)', async () => {
  const { id, key } = await service.createKey(ada, projectId);
  const revoke = () => byAda('DELETE', `/api/api-keys/${id}`);
  await expect(readAround(bearer(key), revoke)).rejects.toMatchObject({ code: 'invalid_api_key' });
});

test('a listing by a key tied to a folder ends if that is moved to the trash on the way', async () => {
  const { body: folder } = await service.call('POST', '/api/storage/folders', {
    as: ada,
    body: { projectId, name: 'Tied', parentId: null },
  });
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, gen_random_uuid(), $1::text || '/tied ' || n, 'file ' || n, 'FILE ' || n, 5, 'image/jpeg', $2, 'e'
     from generate_series(1, 2500) n`,
    [projectId, folder.id],
  );
  const { key } = await service.createKey(ada, projectId, { folderId: folder.id });
  const trash = () => byAda('DELETE', `/api/storage/folders/${folder.id}?recursive=true`);
  await expect(readAround(bearer(key), trash)).rejects.toMatchObject({ code: 'project_not_found' });
});

test('a listing ends when its key expires on the way (checklist 29)', async () => {
  const expiresAt = new Date(service.deps.now() + 5000).toISOString();
  const { key } = await service.createKey(ada, projectId, { expiresAt });
  const expire = async () => service.advance(5000);
  await expect(readAround(bearer(key), expire)).rejects.toMatchObject({ code: 'invalid_api_key' });
});

describe.each([1, 2])('before its statement %i is read', (last) => {
  test.each([
    [
      'a revoked key',
      401,
      'invalid_api_key',
      async () => {
        const { id, key } = await service.createKey(ada, projectId);
        return { headers: bearer(key), end: () => byAda('DELETE', `/api/api-keys/${id}`) };
      },
    ],
    [
      'a session that has ended',
      401,
      'session_required',
      async () => {
        bob = await service.join(ada, projectId, 'viewer');
        return { headers: { Cookie: bob.cookie }, end: () => byBob('POST', '/api/auth/sign-out') };
      },
    ],
    [
      'a member who is removed',
      404,
      'project_not_found',
      async () => {
        bob = await service.join(ada, projectId, 'viewer');
        const end = () => byAda('DELETE', `/api/projects/${projectId}/members/${bob.id}`);
        return { headers: { Cookie: bob.cookie }, end };
      },
    ],
  ])('a listing of which nothing is sent yet says that of %s', async (_who, status, code, make) => {
    const { headers, end } = await make();
    const { deps } = service;
    const { listing } = deps.db;
    let pages = 0;
    // Ends the access while the place or the first page is read.
    const query: typeof listing.query = async (statement, reading) => {
      pages += 1;
      if (pages === last) await end();
      return listing.query(statement, reading);
    };
    const slow = { ...deps, db: Object.assign(Object.create(deps.db), { listing: { ...listing, query } }) };
    const { createApp } = await import('../../http/app.ts');
    const url = `${deps.config.publicUrl}/api/storage/list?projectId=${projectId}&search=file`;
    const response = await createApp(slow).fetch(new Request(url, { headers }));
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
  });
});

test.each([
  ['is disabled', 'session_required', (id: string) => byAda('PATCH', `/api/users/${id}`, { disabled: true })],
  ['signs out', 'session_required', () => byBob('POST', '/api/auth/sign-out')],
  [
    'is removed from the project',
    'project_not_found',
    (id: string) => byAda('DELETE', `/api/projects/${projectId}/members/${id}`),
  ],
])('a listing ends if the user who asked for it %s', async (_what, code, end) => {
  bob = await service.join(ada, projectId, 'viewer');
  await expect(readAround({ Cookie: bob.cookie }, () => end(bob.id))).rejects.toMatchObject({ code });
});
