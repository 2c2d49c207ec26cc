import { randomUUID } from 'node:crypto';
import { parse } from 'content-disposition';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CallOptions,
  type Facts,
  type Person,
  send,
  startTestService,
  type TestService,
} from '../../../test/service.ts';

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

async function createFile(content: string, facts: Partial<Facts> = {}): Promise<string> {
  const body = await service.upload({ as: ada }, projectId, Buffer.from(content), facts);
  return (await service.call('POST', '/api/storage/record', { as: ada, body })).body.id;
}

const ask = (id: string, body: unknown = {}, caller: CallOptions = { as: ada }) =>
  service.call('POST', `/api/storage/files/${id}/url`, { ...caller, body });

const get = (url: string) => send('GET', url);

describe('POST /api/storage/files/{id}/url', () => {
  test('200: an address that serves the bytes, the type and the name, as an attachment for an hour', async () => {
    const id = await createFile('bytes', { fileName: 'photo "1" 写真 👍.png', mimeType: 'image/png' });
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { status, body } = await ask(id);
    expect(status).toBe(200);
    expect(Date.parse(body.expiresAt)).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(Date.parse(body.expiresAt)).toBeLessThanOrEqual(Date.now() + 3_900_000);
    const { searchParams } = new URL(body.url);
    const signed = searchParams.get('X-Amz-Date')?.replace(/^(.{4})(..)(..T..)(..)/, '$1-$2-$3:$4:') ?? '';
    const lives = Number(searchParams.get('X-Amz-Expires'));
    expect(Date.parse(signed) + lives * 1000).toBe(Date.parse(body.expiresAt));

    const file = await get(body.url);
    expect([file.status, file.text]).toEqual([200, 'bytes']);
    expect(file.headers['content-type']).toBe('image/png');
    expect(file.headers['content-disposition']).toBe(
      `attachment; filename="photo _1_ __ _.png"; filename*=UTF-8''photo%20%221%22%20%E5%86%99%E7%9C%9F%20%F0%9F%91%8D.png`,
    );
  });

  test.each([
    'a"; filename="evil.html',
    `a"; filename*=UTF-8''evil.html`,
    'a%22; filename=evil.html',
    'a%0d%0aSet-Cookie: a=b',
    'a\u2028Content-Type: text%2Fhtml',
  ])('200: %j arrives as the name of the file and nothing else (checklist 43)', async (fileName) => {
    const { body } = await ask(await createFile('x', { fileName }));
    const { headers } = await get(body.url);
    const { type, parameters } = parse(headers['content-disposition'] ?? '');
    expect([type, parameters.filename]).toEqual(['attachment', fileName]);
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['content-type']).toBe('image/jpeg');
  });

  test('200: inline if requested and safe, whatever the object was stored with', async () => {
    for (const [mimeType, disposition, contentType] of [
      ['image/png', 'inline', 'image/png'],
      ['text/plain', 'inline', 'text/plain; charset=utf-8'],
      ['image/svg+xml', 'attachment', 'image/svg+xml'],
      ['text/html', 'attachment', 'application/octet-stream'],
    ] as const) {
      const { body } = await ask(await createFile('x', { mimeType }), { disposition: 'inline' });
      const { headers } = await get(body.url);
      expect(headers['content-disposition']).toMatch(new RegExp(`^${disposition};`));
      expect(headers['content-type']).toBe(contentType);
    }
  });

  test('an address expires on time, and an altered one serves nothing', async () => {
    const id = await createFile('bytes');
    const { body } = await ask(id, { expiresIn: 1 });
    const altered = (await ask(id)).body.url.replace('image%2Fjpeg', 'text%2Fhtml');
    expect((await get(altered)).status).toBe(403);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(body.expiresAt) - Date.now() + 1500));
    expect((await get(body.url)).status).toBe(403);
  });

  test('seven days is the maximum', async () => {
    const { body } = await ask(await createFile('x'), { expiresIn: 604_800 });
    expect((await get(body.url)).status).toBe(200);
  });

  test.each([
    [{ expiresIn: 0 }, 'expiresIn'],
    [{ expiresIn: 604_801 }, 'expiresIn'],
    [{ expiresIn: 1.5 }, 'expiresIn'],
    [{ expiresIn: '60' }, 'expiresIn'],
    [{ expiresIn: null }, 'expiresIn'],
    [{ disposition: 'INLINE' }, 'disposition'],
    [{ disposition: 'inline; filename="x"' }, 'disposition'],
  ])('400 %j', async (body, path) => {
    const answer = await ask(await createFile('x'), body);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
  });

  test('404 for a missing file, or one in the trash', async () => {
    expect((await ask(randomUUID())).body.code).toBe('file_not_found');
    const id = await createFile('x');
    await service.deps.db.pool.query('update files set trash_id = id, trashed_at = now() where id = $1', [id]);
    expect((await ask(id)).body.code).toBe('file_not_found');
  });

  test('addresses are never logged', async () => {
    const { body } = await ask(await createFile('x'));
    expect(service.logged()).not.toContain(new URL(body.url).searchParams.get('X-Amz-Signature'));
  });
});

describe('GET /api/storage/files/{id}/content', () => {
  test('302 to an address that serves the file for 15 minutes, and must be neither cached nor sent as a referrer', async () => {
    const id = await createFile('bytes', { mimeType: 'image/png' });
    const answer = await service.call('GET', `/api/storage/files/${id}/content`, { as: ada });
    expect(answer.status).toBe(302);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const location = answer.headers.get('location') ?? '';
    expect(new URL(location).searchParams.get('X-Amz-Expires')).toBe('1125');
    const file = await get(location);
    expect(file.text).toBe('bytes');
    expect(file.headers['content-disposition']).toBe('attachment; filename="photo.jpg"');
  });

  test('disposition works as in an address', async () => {
    for (const [mimeType, disposition] of [
      ['image/png', 'inline'],
      ['image/svg+xml', 'attachment'],
    ] as const) {
      const id = await createFile('x', { mimeType });
      const path = `/api/storage/files/${id}/content?disposition=inline`;
      const { headers } = await service.call('GET', path, { as: ada });
      expect((await get(headers.get('location') ?? '')).headers['content-disposition']).toMatch(disposition);
    }
  });

  test('400 for another disposition, 401 without a credential, 404 for a missing file', async () => {
    const path = `/api/storage/files/${await createFile('x')}/content`;
    expect((await service.call('GET', `${path}?disposition=x`, { as: ada })).body.code).toBe('invalid_request');
    expect((await service.call('GET', path)).body.code).toBe('invalid_api_key');
    const absent = `/api/storage/files/${randomUUID()}/content`;
    expect((await service.call('GET', absent, { as: ada })).body.code).toBe('file_not_found');
  });

  test('HEAD leads to an address for HEAD', async () => {
    const path = `/api/storage/files/${await createFile('bytes')}/content`;
    const { status, headers } = await service.call('HEAD', path, { as: ada });
    expect(status).toBe(302);
    const file = await send('HEAD', headers.get('location') ?? '');
    expect([file.status, file.headers['content-length']]).toEqual([200, '5']);
  });
});
