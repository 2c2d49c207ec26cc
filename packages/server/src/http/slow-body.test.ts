import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
let ada: Person;
let eve: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
});
beforeEach(async () => {
  projectId = await service.createProject(ada);
  eve = await service.join(ada, projectId, 'editor');
});
afterAll(() => service.close());

/**
 * Sends the head and half of the body, does something, waits until the body can no longer count as sent at once, and
 * sends the rest.
 */
async function sendAround(
  path: string,
  headers: Record<string, string>,
  body: object,
  between: () => Promise<unknown>,
): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(body));
  async function* slowly() {
    yield bytes.subarray(0, 10);
    await between();
    await new Promise((resolve) => setTimeout(resolve, 300));
    yield bytes.subarray(10);
  }
  const request = new Request(service.deps.config.publicUrl + path, {
    ...{ method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } },
    ...{ body: ReadableStream.from(slowly()), duplex: 'half' as const },
  });
  const response = await service.fetch(request);
  const answer = (await response.json()) as { code?: string };
  return `${response.status} ${answer.code ?? ''}`.trim();
}

const photo = () => ({ projectId, fileName: 'a.png', mimeType: 'image/png', fileSize: 5, folderId: null });
const byAda = async (method: string, path: string, body?: unknown) =>
  expect((await service.call(method, path, { as: ada, body })).status).toBe(200);

test('a caller who is still allowed once the body has arrived is served', async () => {
  const { key } = await service.createKey(eve, projectId);
  const nothing = async () => undefined;
  const headers = { Authorization: `Bearer ${key}` };
  expect(await sendAround('/api/storage/presign', headers, photo(), nothing)).toBe('200');
  expect(await sendAround('/api/storage/presign', { Cookie: eve.cookie }, photo(), nothing)).toBe('200');
  expect(await sendAround('/api/projects', { Cookie: eve.cookie }, { name: 'P' }, nothing)).toBe('200');
});

test('a key that is revoked while its body is under way is dead (checklist 28)', async () => {
  const { id, key } = await service.createKey(eve, projectId);
  const upload = await service.upload({ key }, projectId, Buffer.from('bytes'));
  const revoke = () => byAda('DELETE', `/api/api-keys/${id}`);
  const headers = { Authorization: `Bearer ${key}` };
  expect(await sendAround('/api/storage/record', headers, upload, revoke)).toBe('401 invalid_api_key');
});

test('a key whose creator is demoted while its body is under way does no more than they may by then', async () => {
  const { key } = await service.createKey(eve, projectId);
  const demote = () => byAda('PATCH', `/api/projects/${projectId}/members/${eve.id}`, { role: 'viewer' });
  const headers = { Authorization: `Bearer ${key}` };
  expect(await sendAround('/api/storage/presign', headers, photo(), demote)).toBe('403 role_missing');
});

test('a session that ends while its body is under way is over', async () => {
  const disable = () => byAda('PATCH', `/api/users/${eve.id}`, { disabled: true });
  expect(await sendAround('/api/projects', { Cookie: eve.cookie }, { name: 'P' }, disable)).toBe(
    '401 session_required',
  );
});
