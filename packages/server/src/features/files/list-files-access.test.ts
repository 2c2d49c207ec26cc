import { afterAll, beforeAll, expect, test } from 'vitest';
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
  await expect(readAround(bearer(key), revoke)).rejects.toThrow('has lost access');
});

test.each([
  ['is disabled', (id: string) => byAda('PATCH', `/api/users/${id}`, { disabled: true })],
  ['signs out', () => byBob('POST', '/api/auth/sign-out')],
  ['is removed from the project', (id: string) => byAda('DELETE', `/api/projects/${projectId}/members/${id}`)],
])('a listing ends if the user who asked for it %s', async (_what, end) => {
  bob = await service.join(ada, projectId, 'viewer');
  await expect(readAround({ Cookie: bob.cookie }, () => end(bob.id))).rejects.toThrow('has lost access');
});
