import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary, startLibrary } from '../../../test/library.ts';
import { type Answer, send, startTestService } from '../../../test/service.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

interface Facts {
  fileName: string;
  mimeType: string;
  folderId: string | null;
}

async function record(facts: Partial<Facts> = {}, extras: object = {}, bytes = 'bytes'): Promise<Answer['body']> {
  const { service, key, projectId } = library;
  const named = { fileName: 'photo.png', mimeType: 'image/png', ...facts };
  const recording = await service.upload({ key }, projectId, Buffer.from(bytes), named);
  const { status, body, text } = await library.call('POST', '/api/storage/record', { ...recording, ...extras });
  expect(status, text).toBe(200);
  return body;
}

async function link(fileId: string, more: object = {}): Promise<Answer['body']> {
  const { status, body, text } = await library.call('POST', '/api/storage/links', { fileId, ...more });
  expect(status, text).toBe(200);
  return body;
}

const pathOf = (url: string) => new URL(url).pathname;
const open = (url: string, method = 'GET') => library.service.call(method, pathOf(url));
const list = async (query: string) => (await library.call('GET', `/api/storage/links?${query}`)).body.links;

/** The bytes at the address that a link redirects to. */
async function follow(url: string): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  const { status, headers } = await open(url);
  expect(status).toBe(302);
  return send('GET', headers.get('location') ?? '');
}

describe('a link', () => {
  test('serves the file to anybody, shown if it is safe to show', async () => {
    const { id } = await record({ fileName: 'Ä b%.png' });
    const created = await link(id);
    expect(created).toMatchObject({ fileId: id, projectId: library.projectId, state: 'active', expiresAt: null });
    expect(created.url).toMatch(/^http:\/\/localhost:4000\/l\/[\w-]{43}\/%C3%84%20b%25\.png$/);
    const { status, text, headers } = await follow(created.url);
    expect({ status, text }).toEqual({ status: 200, text: 'bytes' });
    expect(headers).toMatchObject({ 'content-type': 'image/png', 'cache-control': 'public, max-age=600' });
    expect(headers['content-disposition']).toMatch(/^inline; filename="_ b_.png"/);
  });

  test('leads on, although its file is replaced while it is made', async () => {
    for (let round = 0; round < 12; round++) {
      const { id } = await record();
      const { service, key, projectId } = library;
      const named = { fileName: 'photo.png', mimeType: 'image/png' };
      const next = await service.upload({ key }, projectId, Buffer.from('newer'), named);
      const [made, replaced] = await Promise.all([
        library.call('POST', '/api/storage/links', { fileId: id }),
        library.call('POST', '/api/storage/record', { ...next, replaces: id }),
      ]);
      expect(replaced.status, replaced.text).toBe(200);
      if (made.status === 200) expect((await follow(made.body.url)).text).toBe('newer');
      else expect(made.body.code).toBe('file_not_found');
    }
  });

  test('serves the file also where a site has added to its query', async () => {
    const { id } = await record();
    expect((await follow(`${(await link(id)).url}?fbclid=x&utm_source=y`)).text).toBe('bytes');
  });

  test.each([
    ['image/svg+xml', {}],
    ['text/html', {}],
    ['application/pdf', {}],
    ['image/png', { disposition: 'attachment' }],
  ])('is never shown: %s %j', async (mimeType, more) => {
    const { id } = await record({ mimeType });
    const { headers } = await follow((await link(id, more)).url);
    expect(headers['content-disposition']).toMatch(/^attachment/);
    expect(headers['content-type']).not.toMatch(/html/);
  });

  test('redirects to one address for several minutes, and says for how long that may be kept', async () => {
    const { id } = await record();
    const { url } = await link(id);
    const { headers } = await open(url);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const address = new URL(headers.get('location') ?? '');
    const signed = address.searchParams.get('X-Amz-Date') ?? '';
    const at = Date.parse(signed.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    expect(at % 300_000).toBe(0);
    const left = at + Number(address.searchParams.get('X-Amz-Expires')) * 1000 - library.service.deps.now();
    expect(left).toBeGreaterThan(295_000);
    // To the end of the five minutes, the address is the same.
    const rest = at + 300_000 - library.service.deps.now();
    library.service.advance(rest - 5000);
    expect((await open(url)).headers.get('location')).toBe(address.href);
    library.service.advance(10_000);
    expect((await open(url)).headers.get('location')).not.toBe(address.href);
  });

  test('can be asked for with HEAD, and follows to an address for HEAD', async () => {
    const { id } = await record();
    const { status, headers } = await open((await link(id)).url, 'HEAD');
    expect(status).toBe(302);
    expect((await send('HEAD', headers.get('location') ?? '')).status).toBe(200);
  });

  test('works under any name, and keeps working when the file is renamed and moved', async () => {
    const { id } = await record();
    const { url } = await link(id);
    const folderId = await library.folder();
    await library.call('PATCH', `/api/storage/files/${id}`, { fileName: 'renamed.png', folderId });
    expect((await follow(url.replace('photo.png', 'anything'))).headers['content-disposition']).toContain(
      'renamed.png',
    );
    const [listed] = await list(`fileId=${id}`);
    expect(listed.url).toBe(url.replace('photo.png', 'renamed.png'));
  });

  test('is dead at once when it is deleted, in every process', async () => {
    const { service } = library;
    const other = await startTestService({ beside: service, secret: service.secret });
    try {
      const { id } = await record();
      const [first, second] = [await link(id), await link(id)];
      expect((await other.call('GET', pathOf(first.url))).status).toBe(302);
      const { body } = await library.call('DELETE', `/api/storage/links/${first.id}`);
      expect(body).toEqual({ id: first.id, deleted: true });
      await expectProblem(other.call('GET', pathOf(first.url)), 404, 'link_not_found');
      await expectProblem(open(first.url), 404, 'link_not_found');
      await expectProblem(library.call('DELETE', `/api/storage/links/${first.id}`), 404, 'link_not_found');
      expect((await open(second.url)).status).toBe(302);
    } finally {
      await other.close();
    }
  });

  test('ends with its file in the trash, and revives with it', async () => {
    const folderId = await library.folder();
    const { id } = await record({ folderId });
    const { url, id: linkId } = await link(id);
    for (const [remove, restore] of [
      [`/api/storage/files/${id}`, `/api/storage/files/${id}/restore`],
      [`/api/storage/folders/${folderId}?recursive=true`, `/api/storage/folders/${folderId}/restore`],
    ] as const) {
      expect((await library.call('DELETE', remove)).status).toBe(200);
      await expectProblem(open(url), 404, 'link_not_found');
      const links = await list(`projectId=${library.projectId}`);
      expect(links.find((one: { id: string }) => one.id === linkId).state).toBe('hidden');
      expect((await library.call('POST', restore)).status).toBe(200);
      expect((await open(url)).status).toBe(302);
    }
  });

  test('ends with its file in quarantine, and revives when it is released', async () => {
    const { service, ada, projectId } = library;
    const { id: apiKeyId, key } = await service.createKey(ada, projectId);
    const since = new Date(service.deps.now() - 1000).toISOString();
    const body = await service.upload({ key }, projectId, Buffer.from('bytes'));
    const file = await service.call('POST', '/api/storage/record', { key, body });
    const { url } = await link(file.body.id);
    const path = `/api/projects/${projectId}/quarantines`;
    const quarantine = await service.call('POST', path, { as: ada, body: { apiKeyId, since } });
    await expectProblem(open(url), 404, 'link_not_found');
    await service.call('POST', `${path}/${quarantine.body.id}/release`, { as: ada, body: {} });
    expect((await open(url)).status).toBe(302);
  });

  test('follows the file that replaces its own', async () => {
    const before = await record({}, {}, 'old bytes');
    const { url, id } = await link(before.id);
    const after = await record({}, { replaces: before.id }, 'new bytes');
    expect((await follow(url)).text).toBe('new bytes');
    expect(await list(`fileId=${after.id}`)).toMatchObject([{ id, url, fileId: after.id }]);
    await library.call('POST', `/api/storage/files/${before.id}/restore`);
    expect(await list(`fileId=${before.id}`)).toEqual([]);
  });

  test('expires, and so do the address and the redirect', async () => {
    const { id } = await record();
    const { service } = library;
    const inPast = new Date(service.deps.now() - 1000).toISOString();
    const body = { fileId: id, expiresAt: inPast };
    await expectProblem(library.call('POST', '/api/storage/links', body), 400, 'invalid_request');
    const expiresAt = new Date(Math.ceil(service.deps.now() / 1000) * 1000 + 30_000).toISOString();
    const { url, expiresAt: answered } = await link(id, { expiresAt });
    expect(answered).toBe(expiresAt);
    const { headers } = await open(url);
    const maxAge = Number(/max-age=(\d+)/.exec(headers.get('cache-control') ?? '')?.[1]);
    expect(maxAge).toBeLessThanOrEqual(30);
    const { searchParams } = new URL(headers.get('location') ?? '');
    const signed = searchParams.get('X-Amz-Date')?.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
    const end = Date.parse(signed ?? '') + Number(searchParams.get('X-Amz-Expires')) * 1000;
    expect(new Date(end).toISOString()).toBe(expiresAt);
    service.advance(31_000);
    await expectProblem(open(url), 404, 'link_not_found');
    expect((await list(`fileId=${id}`))[0].state).toBe('expired');
  });

  test('with a made-up token asks the database nothing', async () => {
    const { id } = await record();
    const { url } = await link(id);
    const { pool } = library.service.deps.db;
    const { query } = pool;
    let asked = 0;
    Object.assign(pool, {
      query: (...all: Parameters<typeof query>) => {
        asked += 1;
        return Reflect.apply(query, pool, all);
      },
    });
    try {
      const [, , token = ''] = pathOf(url).split('/');
      for (const made of ['x', 'A'.repeat(43), token.toLowerCase(), token.slice(1), `${token}=`]) {
        await expectProblem(library.service.call('GET', `/l/${made}/photo.png`), 404, 'link_not_found');
      }
      expect(asked).toBe(0);
      await open(url);
      expect(asked).toBe(1);
    } finally {
      Object.assign(pool, { query });
    }
  });

  test('leaves its token neither in the database nor in the log', async () => {
    const { id } = await record();
    const { url } = await link(id);
    await open(url);
    const [, , token = ''] = pathOf(url).split('/');
    const { rows } = await library.service.deps.db.pool.query(`
      select links::text as text from links union all select audit_events::text from audit_events`);
    expect(rows.filter(({ text }) => text.includes(token))).toEqual([]);
    expect(library.service.logged()).not.toContain(token);
  });

  test('is counted by address', async () => {
    const limited = await startTestService({
      beside: library.service,
      secret: library.service.secret,
      settings: { RATE_LIMITS: 'on', RATE_LIMIT_ADDRESS: '3' },
    });
    try {
      const { id } = await record();
      const path = pathOf((await link(id)).url);
      const statuses = [];
      for (let n = 0; n < 4; n += 1) statuses.push((await limited.call('GET', path, { address: '192.0.2.1' })).status);
      expect(statuses).toEqual([302, 302, 302, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('links', () => {
  test('are listed in pages, of a project or of a file', async () => {
    const own = await openLibrary(library.service);
    const [one, other] = [await own.file(), await own.file()];
    const ids: string[] = [];
    for (const { id } of [one, one, other]) {
      ids.unshift((await own.call('POST', '/api/storage/links', { fileId: id })).body.id);
    }
    const found: string[] = [];
    let cursor = '';
    do {
      const { body } = await own.call('GET', `/api/storage/links?projectId=${own.projectId}&limit=2${cursor}`);
      found.push(...body.links.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
      if (cursor) {
        const wrong = own.call('GET', `/api/storage/links?fileId=${one.id}${cursor}`);
        await expectProblem(wrong, 400, 'invalid_request');
      }
    } while (cursor);
    expect(found).toEqual(ids);
    const { body } = await own.call('GET', `/api/storage/links?fileId=${one.id}`);
    expect(body.links.map(({ id }: { id: string }) => id)).toEqual(ids.slice(1));
    for (const query of ['', `projectId=${own.projectId}&fileId=${one.id}`, 'fileId=x']) {
      await expectProblem(own.call('GET', `/api/storage/links?${query}`), 400, 'invalid_request');
    }
    const { detail } = (await own.call('GET', '/api/storage/links')).body;
    expect(detail).toBe('The query must have either projectId or fileId.');
  });

  test('are created by keys that may both read and write', async () => {
    const { service, ada, projectId } = library;
    const { id } = await record();
    for (const scopes of [['files:write', 'files:delete'], ['files:read']]) {
      const { key } = await service.createKey(ada, projectId, { scopes });
      const asked = service.call('POST', '/api/storage/links', { key, body: { fileId: id } });
      await expectProblem(asked, 403, 'scope_missing');
    }
    const both = await service.createKey(ada, projectId, { scopes: ['files:read', 'files:write'] });
    const created = await service.call('POST', '/api/storage/links', { key: both.key, body: { fileId: id } });
    expect(created.body.createdBy).toEqual({ apiKeyId: both.id });
    const byAda = await service.call('POST', '/api/storage/links', { as: ada, body: { fileId: id } });
    expect(byAda.body.createdBy).toEqual({ userId: ada.id });
  });

  test('of another project are absent', async () => {
    const theirs = await openLibrary(library.service);
    const { id } = await theirs.file();
    const created = await theirs.call('POST', '/api/storage/links', { fileId: id });
    await expectProblem(library.call('POST', '/api/storage/links', { fileId: id }), 404, 'file_not_found');
    await expectProblem(library.call('GET', `/api/storage/links?fileId=${id}`), 404, 'file_not_found');
    for (const linkId of [created.body.id, randomUUID()]) {
      await expectProblem(library.call('DELETE', `/api/storage/links/${linkId}`), 404, 'link_not_found');
    }
    expect((await open(created.body.url)).status).toBe(302);
  });

  test('are audit events, and go with their file for good', async () => {
    const own = await openLibrary(library.service);
    const { id } = await own.file();
    const { body } = await own.call('POST', '/api/storage/links', { fileId: id });
    await own.call('DELETE', `/api/storage/links/${body.id}`);
    await own.call('POST', '/api/storage/links', { fileId: id });
    const { ada, projectId, service } = own;
    const { events } = (await service.call('GET', `/api/projects/${projectId}/audit`, { as: ada })).body;
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'link.created' },
      { type: 'link.deleted', subject: { linkId: body.id, fileId: id } },
      { type: 'link.created', subject: { linkId: body.id, fileId: id, expiresAt: null } },
    ]);
    const removed = await service.call('DELETE', `/api/projects/${projectId}?force=true`, { as: ada });
    expect(removed.status, removed.text).toBe(200);
    const { rows } = await service.deps.db.pool.query('select 1 from links where project_id = $1', [projectId]);
    expect(rows).toEqual([]);
  });
});
