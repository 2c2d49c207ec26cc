import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { version } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { countLinkedSignals } from '../../../test/linked-signals.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { numberEvents } from '../../events/number-events.ts';
import { tellExpired } from '../tickets/tell-expired.ts';
import { purgeTrash } from '../trash/purge-trash.ts';
import { purgeFeed } from './purge-feed.ts';

let service: TestService;
let owner: Person;
let ada: Person;
let projectId: string;
let key: { id: string; key: string };

beforeAll(async () => {
  service = await startTestService({ feed: { collectMilliseconds: 10, pollMilliseconds: 1000 } });
  owner = await service.signUp('Owner');
});

afterAll(() => service.close());

beforeEach(async () => {
  // The clock advances, and sessions end.
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  key = await service.createKey(ada, projectId);
});

const outcome = ({ status, body }: Answer) => `${status} ${body.code}`;

// biome-ignore lint/suspicious/noExplicitAny: answers are checked against the contract
type Body = any;

async function ok(method: string, path: string, body?: object, as: object = { key: key.key }): Promise<Body> {
  const answer = await service.call(method, path, { ...as, ...(body && { body }) });
  if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.text}`);
  return answer.body;
}

const read = (query = '', as: object = { as: ada }): Promise<Answer> =>
  service.call('GET', `/api/storage/events?projectId=${projectId}${query}`, as);

/** The events after a cursor, once everything that was committed has its number. */
async function after(cursor?: string, as?: object): Promise<Body> {
  while ((await numberEvents(service.deps.db)) > 0);
  const { status, body, text } = await read(cursor === undefined ? '' : `&after=${cursor}`, as);
  if (status !== 200) throw new Error(text);
  for (const { type, id, at } of body.events) {
    expect([type, version(id), timeOf(id)]).toEqual([type, 7, Date.parse(at)]);
  }
  return body;
}

/** When a UUID of version 7 was made, in Unix milliseconds. */
const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

/** What has happened since the project was created. */
async function told(as?: object): Promise<Body[]> {
  const { events } = await after(undefined, as);
  return events.filter(({ type }: Body) => !['project.created', 'api_key.created'].includes(type));
}

const plain = { fileName: 'a.txt', mimeType: 'text/plain' };

async function record(folderId: string | null = null, more: object = {}): Promise<Body> {
  const { projectId: id, ...facts } = await service.upload({ key: key.key }, projectId, Buffer.from('bytes'), {
    ...plain,
    folderId,
  });
  return ok('POST', '/api/storage/record', { projectId: id, ...facts, ...more });
}

const createFolder = (name: string, parentId: string | null = null) =>
  ok('POST', '/api/storage/folders', { projectId, name, parentId });

describe('every change tells of itself once', () => {
  test('files, from recording to the end of the trash', async () => {
    const file = await record();
    const folder = await createFolder('Holidays');
    const path = `/api/storage/files/${file.id}`;
    const renamed = await ok('PATCH', path, { fileName: 'b.jpg', folderId: folder.id });
    const noted = await ok('PATCH', path, { metadata: { stars: 3 } });
    await ok('DELETE', path);
    const { restored: _, ...back } = await ok('POST', `${path}/restore`);
    const newer = await record(null, { replaces: file.id });
    const copy = await ok('POST', `/api/storage/files/${newer.id}/copy`, { folderId: null });
    await ok('DELETE', `/api/storage/trash?projectId=${projectId}`, undefined, { as: ada });
    service.advance(3601_000);
    await purgeTrash(service.deps, 100);
    const byKey = { actor: { apiKeyId: key.id }, projectId };
    const { id, storeKey, fileSize } = file;
    expect(await told()).toMatchObject([
      { type: 'file.created', ...byKey, data: file },
      { type: 'folder.created', ...byKey, data: folder },
      { type: 'file.updated', ...byKey, data: { ...renamed, changed: ['fileName', 'folderId'] } },
      { type: 'file.updated', ...byKey, data: { ...noted, changed: ['metadata'] } },
      { type: 'file.deleted', ...byKey, data: { id, fileName: 'b.jpg', metadata: { stars: 3 } } },
      { type: 'file.restored', ...byKey, data: back },
      { type: 'file.created', ...byKey, data: newer },
      { type: 'file.replaced', ...byKey, data: { ...newer, replacedFileId: id } },
      { type: 'file.created', ...byKey, data: copy },
      { type: 'trash.emptied', actor: { userId: ada.id }, data: { files: 1, folders: 0, bytes: 5 } },
      {
        type: 'file.purged',
        actor: null,
        data: { id, projectId, storeKey, fileSize, fileName: 'b.jpg', folderId: folder.id },
      },
    ]);
  });

  test('a tree is one event, however much is in it', async () => {
    const outer = await createFolder('outer');
    const [inner] = (await ok('POST', '/api/storage/folders/ensure', { projectId, parentId: outer.id, paths: ['a/b'] }))
      .folders;
    await record(inner.id);
    const start = (await after()).cursor;
    const path = `/api/storage/folders/${outer.id}`;
    const moved = await ok('PATCH', path, { name: 'other' });
    await ok('DELETE', `${path}?recursive=true`);
    await ok('POST', `${path}/restore`);
    await ok('DELETE', `${path}?recursive=true`);
    await ok('DELETE', `/api/storage/trash?projectId=${projectId}`, undefined, { as: ada });
    service.advance(3601_000);
    await purgeTrash(service.deps, 100);
    const { events } = await after(start);
    const counts = { files: 1, folders: 3, bytes: 5 };
    expect(events).toMatchObject([
      { type: 'folder.updated', data: { ...moved, changed: ['name'] } },
      { type: 'folder.deleted', data: { id: outer.id, name: 'other', ...counts } },
      { type: 'folder.restored', data: { id: outer.id } },
      { type: 'folder.deleted' },
      { type: 'trash.emptied', data: counts },
      { type: 'folder.purged', actor: null, data: { id: outer.id, projectId } },
    ]);
  });

  test('folders that were ensured, each that is new', async () => {
    const ensure = (paths: string[]) => ok('POST', '/api/storage/folders/ensure', { projectId, parentId: null, paths });
    await ensure(['a/b', 'a/c']);
    await ensure(['a/b', 'a/d']);
    expect((await told()).map(({ type, data }) => [type, data.name])).toEqual(
      ['a', 'b', 'c', 'd'].map((name) => ['folder.created', name]),
    );
  });

  test('many at once, with what was asked for', async () => {
    const fileIds = [(await record()).id, (await record()).id];
    const folder = await createFolder('target');
    const start = (await after()).cursor;
    const bulk = (body: object) => ok('POST', '/api/storage/bulk', { projectId, ...body });
    await bulk({ action: 'move', fileIds, folderId: folder.id });
    await bulk({ action: 'move', fileIds, folderId: null, dryRun: true });
    await bulk({ action: 'delete', select: { folderId: folder.id } });
    await bulk({ action: 'restore', fileIds });
    const counts = { files: 2, folders: 0, bytes: 10 };
    expect((await after(start)).events).toMatchObject([
      { type: 'bulk.moved', data: { ...counts, fileIds, folderIds: [], folderId: folder.id } },
      { type: 'bulk.deleted', data: { ...counts, select: { folderId: folder.id } } },
      { type: 'bulk.restored', data: { ...counts, fileIds } },
    ]);
  });

  test('bytes that are not what was declared', async () => {
    const upload = await service.upload({ key: key.key }, projectId, Buffer.from('%PDF-1.7 and so on'), {
      mimeType: 'image/png',
    });
    const file = await ok('POST', '/api/storage/record', upload);
    expect(await told()).toMatchObject([
      { type: 'file.created', data: file },
      { type: 'file.content_mismatch', data: { ...file, mismatch: 'type', detectedMimeType: 'application/pdf' } },
    ]);
  });

  test('an upload in parts that ends without a file', async () => {
    const facts = { projectId, fileName: 'a.bin', mimeType: 'application/octet-stream', fileSize: 10, folderId: null };
    const { uploadId, storeKey } = await ok('POST', '/api/storage/uploads', facts);
    for (let n = 0; n < 2; n++) await ok('DELETE', `/api/storage/uploads/${uploadId}`);
    expect(await told()).toMatchObject([{ type: 'upload.aborted', data: { id: uploadId, storeKey, ticketId: null } }]);
  });

  test('tickets: used up, revoked, over', async () => {
    const body = { projectId, folderId: null, maxFiles: 2, maxBytes: 100 };
    const ticket = await ok('POST', '/api/storage/tickets', body);
    const presign = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: 1, folderId: null };
    const as = { key: ticket.ticket };
    const { storeKey } = await ok('POST', '/api/storage/presign', presign, as);
    await ok('POST', '/api/storage/presign', presign, as);
    const put = await service.deps.objects.head(storeKey);
    expect(put).toBeUndefined();
    const other = await ok('POST', '/api/storage/tickets', body);
    await ok('DELETE', `/api/storage/tickets/${other.id}`);
    service.advance(1000_000);
    for (let n = 0; n < 2; n++) await tellExpired(service.deps, new AbortController().signal);
    expect(await told()).toMatchObject([
      { type: 'ticket.created', data: { ticketId: ticket.id, maxFiles: 2 } },
      {
        type: 'ticket.exhausted',
        actor: { ticketId: ticket.id },
        data: { ticketId: ticket.id, maxFiles: 2, maxBytes: 100 },
      },
      { type: 'ticket.created', data: { ticketId: other.id } },
      { type: 'ticket.revoked', data: { ticketId: other.id } },
      { type: 'ticket.expired', actor: null, data: { ticketId: ticket.id } },
    ]);
  });

  test('what a ticket uploads is its own', async () => {
    const ticket = await ok('POST', '/api/storage/tickets', { projectId, folderId: null, maxFiles: 2, maxBytes: 100 });
    const upload = await service.upload({ key: ticket.ticket }, projectId, Buffer.from('x'), plain);
    const file = await ok('POST', '/api/storage/record', upload, { key: ticket.ticket });
    expect((await told()).slice(1)).toMatchObject([
      { type: 'file.created', actor: { ticketId: ticket.id }, data: file },
    ]);
  });

  test('the marks of the quota, when they are reached', async () => {
    await ok('PATCH', `/api/projects/${projectId}`, { quotaBytes: 10 }, { as: ada });
    await record();
    await record();
    expect((await told()).filter(({ type }) => type === 'quota.reached')).toMatchObject([
      { data: { percent: 80, storedBytes: 10, quotaBytes: 10 } },
      { data: { percent: 100, storedBytes: 10, quotaBytes: 10 } },
    ]);
  });

  test('nothing of what was refused', async () => {
    const folder = await createFolder('a');
    await createFolder('b', folder.id);
    const start = (await after()).cursor;
    expect(outcome(await service.call('DELETE', `/api/storage/folders/${folder.id}`, { key: key.key }))).toBe(
      '409 folder_not_empty',
    );
    const again = { projectId, name: 'A', parentId: null };
    expect(outcome(await service.call('POST', '/api/storage/folders', { key: key.key, body: again }))).toBe(
      '409 folder_exists',
    );
    expect((await after(start)).events).toEqual([]);
  });

  test('a change is undone if its event cannot be written', async () => {
    const file = await record();
    const { pool } = service.deps.db;
    await pool.query(`alter table new_events add constraint refuse check (type <> 'file.updated') not valid`);
    const changed = await service.call('PATCH', `/api/storage/files/${file.id}`, {
      key: key.key,
      body: { fileName: 'x' },
    });
    await pool.query('alter table new_events drop constraint refuse');
    expect(changed.status).toBe(500);
    expect(await ok('GET', `/api/storage/files/${file.id}`)).toEqual(file);
  });

  test('the audit log and the feed show the same event', async () => {
    const file = await record();
    await ok('DELETE', `/api/storage/files/${file.id}`);
    const { events } = await ok('GET', `/api/projects/${projectId}/audit`, undefined, { as: ada });
    const all = (await after()).events;
    expect(events.map(({ id, type }: Body) => [id, type]).reverse()).toEqual(
      all.filter(({ type }: Body) => type !== 'file.created').map(({ id, type }: Body) => [id, type]),
    );
  });
});

describe('reading', () => {
  test('goes on where it left off, with numbers without a gap, in each project', async () => {
    const other = await service.createProject(ada);
    const start = (await after()).cursor;
    for (let n = 0; n < 7; n++) {
      await createFolder(`f${n}`);
      await ok('POST', '/api/storage/folders', { projectId: other, name: `f${n}`, parentId: null }, { as: ada });
    }
    await after();
    const seen: Body[] = [];
    let cursor = start;
    for (let pages = 0; pages < 4; pages++) {
      const { body } = await read(`&after=${cursor}&limit=3`);
      seen.push(...body.events);
      cursor = body.cursor;
    }
    expect(seen.map(({ data }) => data.name)).toEqual(Array.from({ length: 7 }, (_, n) => `f${n}`));
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, n) => Number(start) + 1 + n));
    expect((await read(`&after=${cursor}`)).body).toEqual({ events: [], cursor });
    expect((await read('&after=latest')).body).toEqual({ events: [], cursor });
  });

  test('a change that was answered is in the next page, and before `latest`, however seldom events are numbered', async () => {
    const rarely = await startTestService();
    try {
      const owner = await rarely.signUp('Owner');
      const id = await rarely.createProject(owner);
      const folders = ['a', 'b', 'c'].map((name) => ({ projectId: id, name, parentId: null }));
      const page = async (after: string) =>
        (await rarely.call('GET', `/api/storage/events?projectId=${id}&after=${after}`, { as: owner })).body as Body;
      await rarely.call('POST', '/api/storage/folders', { as: owner, body: folders[0] });
      const { cursor } = await page('latest');
      for (const body of folders.slice(1)) await rarely.call('POST', '/api/storage/folders', { as: owner, body });
      const pages = await Promise.all([page(cursor), page(cursor), page(cursor)]);
      for (const { events } of pages) expect(events.map(({ data }: Body) => data.name)).toEqual(['b', 'c']);
    } finally {
      await rarely.close();
    }
  });

  test('a page ends early where events are long, and the next one goes on there', async () => {
    const facts = await service.upload({ as: ada }, projectId, Buffer.from('x'));
    const { id } = await ok('POST', '/api/storage/record', facts);
    const { cursor } = (await read('&after=latest')).body;
    const move = { projectId, action: 'move', fileIds: Array(1000).fill(id), folderId: null };
    for (let time = 0; time < 40; time += 1) await ok('POST', '/api/storage/bulk', move);

    const first = (await read(`&after=${cursor}&limit=1000`)).body;
    expect(first.events.length).toBeGreaterThan(20);
    expect(first.events.length).toBeLessThan(40);
    expect(first.cursor).toBe(String(first.events.at(-1).seq));
    const rest = (await read(`&after=${first.cursor}&limit=1000`)).body;
    const seqs = [...first.events, ...rest.events].map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: 40 }, (_, index) => Number(cursor) + 1 + index));
  });

  test('only of some types', async () => {
    await createFolder('a');
    await record();
    await after();
    const { body } = await read('&types=file.created,file.deleted');
    expect(body.events.map(({ type }: Body) => type)).toEqual(['file.created']);
    expect((await read(`&after=${body.cursor}`)).body.events).toEqual([]);
    expect(outcome(await read('&types=file.created,nonsense'))).toBe('400 invalid_request');
    expect(outcome(await read('&types=webhook.test'))).toBe('400 invalid_request');
  });

  test('shows access to owners only', async () => {
    const viewer = await service.join(ada, projectId, 'viewer');
    const folder = await createFolder('a');
    const ofOwner = (await after()).events.map(({ type }: Body) => type);
    expect(ofOwner).toEqual([
      'project.created',
      'api_key.created',
      'invitation.created',
      'member.added',
      'folder.created',
    ]);
    for (const as of [{ as: viewer }, { key: key.key }]) {
      expect((await after(undefined, as)).events).toMatchObject([{ type: 'folder.created', data: folder }]);
      expect((await read('&types=member.added', as)).body.events).toEqual([]);
    }
    const { headers } = await read('&types=member.added,folder.created', { key: key.key });
    expect(headers.get('cadiz-warning')).toBe(
      'Left out, since events about access are for signed-in owners: member.added.',
    );
    expect((await read('&types=folder.created', { key: key.key })).headers.get('cadiz-warning')).toBeNull();
  });

  test('not for strangers, keys without the scope, and keys of a folder', async () => {
    const bob = await service.signUp('Bob');
    const folder = await createFolder('a');
    const ofFolder = await service.createKey(ada, projectId, { folderId: folder.id });
    const writer = await service.createKey(ada, projectId, { scopes: ['files:write'] });
    expect(outcome(await read('', { as: bob }))).toBe('404 project_not_found');
    expect(outcome(await read('', { key: ofFolder.key }))).toBe('403 scope_missing');
    expect(outcome(await read('', { key: writer.key }))).toBe('403 scope_missing');
    expect(outcome(await read('', {}))).toBe('401 invalid_api_key');
  });

  test.each(['x', '-1', '1.5', '99999999', '9'.repeat(16), ''])('refuses %j as a cursor', async (cursor) => {
    expect(outcome(await read(`&after=${cursor}`))).toBe('400 invalid_request');
  });

  test('waits for an event, and no longer than asked', async () => {
    const { cursor } = await after();
    const waiting = read(`&after=${cursor}&wait=20`);
    await delay(100);
    const folder = await createFolder('later');
    expect((await waiting).body.events).toMatchObject([{ type: 'folder.created', data: folder }]);
    expect((await read('&after=latest&wait=1')).body.events).toEqual([]);
    // What this caller does not see wakes nobody.
    const ofKey = read('&after=latest&wait=1', { key: key.key });
    await delay(100);
    await service.createKey(ada, projectId);
    expect((await ofKey).body.events).toEqual([]);
    expect(outcome(await read('&wait=31'))).toBe('400 invalid_request');
  });

  test('does not show, after waiting, what the caller may no longer see', async () => {
    const bob = await service.join(ada, projectId, 'owner');
    const { cursor } = await after();
    const waiting = read(`&after=${cursor}&wait=2`, { as: bob });
    await delay(100);
    await ok('PATCH', `/api/projects/${projectId}/members/${bob.id}`, { role: 'viewer' }, { as: ada });
    expect((await waiting).body).toEqual({ events: [], cursor: String(Number(cursor) + 1) });
  });

  const byAda = (method: string, path: string, body?: object) => ok(method, path, body, { as: ada });

  test.each<[string, string, 'key' | 'session', (bob: Person, keyId: string) => unknown]>([
    ['the key is revoked', '401 invalid_api_key', 'key', (_bob, id) => byAda('DELETE', `/api/api-keys/${id}`)],
    ['the key expires', '401 invalid_api_key', 'key', () => service.advance(5000)],
    [
      'the role is taken away',
      '404 project_not_found',
      'session',
      ({ id }) => byAda('DELETE', `/api/projects/${projectId}/members/${id}`),
    ],
    [
      'the session ends',
      '401 session_required',
      'session',
      (bob) => ok('POST', '/api/auth/sign-out', undefined, { as: bob }),
    ],
  ])('waits no longer once %s', async (_what, expected, by, end) => {
    const bob = await service.join(ada, projectId, 'viewer');
    const expiresAt = new Date(service.deps.now() + 5000).toISOString();
    const brief = await service.createKey(ada, projectId, { expiresAt });
    const waiting = read('&after=latest&wait=30', by === 'key' ? { key: brief.key } : { as: bob });
    await delay(100);
    await end(bob, brief.id);
    expect(outcome(await waiting)).toBe(expected);
  });

  test('no longer finds events older than EVENT_RETENTION_DAYS, and says where to go on', async () => {
    for (const name of ['a', 'b']) await createFolder(name);
    const { cursor } = await after();
    service.advance(31 * 24 * 3600_000);
    const later = await createFolder('later');
    while ((await numberEvents(service.deps.db)) > 0);
    while ((await purgeFeed(service.deps, 3)) === 3);
    const as = { key: key.key };
    const expired = await read('&after=0', as);
    expect(outcome(expired)).toBe('410 cursor_expired');
    expect(expired.body.cursor).toBe(cursor);
    for (const from of [`&after=${cursor}`, '']) {
      expect((await read(from, as)).body.events).toMatchObject([{ data: later, seq: Number(cursor) + 1 }]);
    }
  });

  test('goes on with the next number once all events have ended, until the project is gone', async () => {
    const { pool } = service.deps.db;
    const purge = async () => {
      while ((await numberEvents(service.deps.db)) > 0);
      while ((await purgeFeed(service.deps, 100)) > 0);
      return (await pool.query('select from event_heads where project_id = $1', [projectId])).rowCount;
    };
    await createFolder('before');
    const { cursor } = await after();
    service.advance(31 * 24 * 3600_000);
    expect(await purge()).toBe(1);
    const folder = await createFolder('later');
    expect((await after(cursor, { key: key.key })).events).toMatchObject([{ data: folder, seq: Number(cursor) + 1 }]);
    await pool.query('delete from folders where project_id = $1', [projectId]);
    await pool.query('delete from projects where id = $1', [projectId]);
    expect(await purge()).toBe(1);
    service.advance(31 * 24 * 3600_000);
    expect(await purge()).toBe(0);
  });

  test('ends also for those that a clock has dated in the future, with those that follow them', async () => {
    const day = 24 * 3600_000;
    const purge = async () => {
      while ((await numberEvents(service.deps.db)) > 0);
      while ((await purgeFeed(service.deps, 3)) > 0);
    };
    await createFolder('before');
    service.advance(1000 * day);
    for (const name of ['a', 'b', 'c', 'd']) await createFolder(name);
    service.advance(-1000 * day);
    service.advance(31 * day);
    await purge();
    // Nothing yet says how old these are.
    const as = { key: key.key };
    const left = (await read('', as)).body.events;
    expect(left.map(({ data }: Body) => data.name)).toEqual(['a', 'b', 'c', 'd']);
    const after = await createFolder('after');
    await purge();
    expect((await read('', as)).body.events).toHaveLength(5);
    service.advance(31 * day);
    const last = await createFolder('last');
    await purge();
    expect((await read('', as)).body.events).toMatchObject([{ data: last }]);
    expect(after).not.toEqual(last);
  });
});

describe('the stream', () => {
  /** Reads a stream until something is in it. */
  async function open(query = '', headers: Record<string, string> = {}, as?: Person) {
    const gone = new AbortController();
    const credential = as ? { Cookie: as.cookie } : { Authorization: `Bearer ${key.key}` };
    const request = new Request(`${service.deps.config.publicUrl}/api/storage/events?projectId=${projectId}${query}`, {
      headers: { Accept: 'text/event-stream', ...credential, ...headers },
      signal: gone.signal,
    });
    const response = await service.fetch(request);
    const reader = response.body?.getReader();
    let text = '';
    return {
      response,
      async until(wanted: string) {
        while (!text.includes(wanted)) {
          const next = await reader?.read();
          if (!next || next.done) return `${text}<end>`;
          text += Buffer.from(next.value).toString();
        }
        return text;
      },
      close: () => reader?.cancel(),
    };
  }

  test('sends what is there and what comes, each once, with ids to go on from', async () => {
    const first = await createFolder('first');
    const { events } = await after();
    const stream = await open();
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    const start = await stream.until('first');
    expect(start.startsWith('retry: 3000\nid: 0\n\n')).toBe(true);
    const event = events.find(({ data }: Body) => data.id === first.id);
    expect(start).toContain(`id: ${event.seq}\nevent: folder.created\ndata: ${JSON.stringify(event)}\n\n`);
    for (let n = 0; n < 20; n++) await createFolder(`later ${n}`);
    const all = await stream.until('later 19');
    expect([...all.matchAll(/^id: (\d+)\nevent/gm)].map(([, seq]) => Number(seq))).toEqual(
      Array.from({ length: 21 }, (_, n) => event.seq + n),
    );
    await stream.close();
    const again = await open('&after=0', { Accept: 'Text/Event-Stream', 'Last-Event-ID': String(event.seq + 19) });
    expect([...(await again.until('later 19')).matchAll(/^id: (\d+)\nevent/gm)]).toHaveLength(1);
    await again.close();
  });

  test('says how far it has looked before anything happens, so that a client that reconnects misses nothing', async () => {
    const { cursor } = await after();
    const stream = await open('&after=latest');
    expect(await stream.until('\n\n')).toBe(`retry: 3000\nid: ${cursor}\n\n`);
    await stream.close();
    const missed = await createFolder('missed');
    await after();
    const again = await open('&after=latest', { 'Last-Event-ID': cursor });
    expect(await again.until('event:')).toContain(missed.id);
    await again.close();
  });

  test('does not show what the caller may no longer see, and goes on after it', async () => {
    const bob = await service.join(ada, projectId, 'owner');
    const { cursor } = await after();
    const stream = await open('&after=latest', {}, bob);
    await stream.until(`id: ${cursor}\n\n`);
    const waiting = stream.until(`id: ${Number(cursor) + 1}\n`);
    await delay(100);
    await ok('PATCH', `/api/projects/${projectId}/members/${bob.id}`, { role: 'viewer' }, { as: ada });
    await waiting;
    const folder = await createFolder('for all');
    const text = await stream.until('event:');
    expect(text).not.toContain('member.changed');
    expect(text).toContain(folder.id);
    await stream.close();
  });

  test.each([
    ['the key is revoked', undefined, () => `/api/api-keys/${key.id}`],
    ['the member is removed', 'viewer', (id?: string) => `/api/projects/${projectId}/members/${id}`],
  ] as const)('ends before the next event when %s', async (_what, role, toPath) => {
    const bob = role && (await service.join(ada, projectId, role));
    const [stream, other] = [await open('', {}, bob), await open('', {}, ada)];
    for (const each of [stream, other]) await each.until('retry');
    await ok('DELETE', toPath(bob?.id), undefined, { as: ada });
    const { id } = await createFolder2('x');
    expect(await stream.until(id)).toMatch(/<end>$/);
    expect(await other.until(id)).toContain('folder.created');
    await other.close();
  });

  test('ends before the next event when its key has expired', async () => {
    const expiresAt = new Date(service.deps.now() + 5000).toISOString();
    const brief = await service.createKey(ada, projectId, { expiresAt });
    const stream = await open('', { Authorization: `Bearer ${brief.key}` });
    await stream.until('retry');
    service.advance(5000);
    const { id } = await createFolder2('x');
    expect(await stream.until(id)).toMatch(/<end>$/);
  });

  test.each([
    ['signs out', (bob: Person) => ok('POST', '/api/auth/sign-out', undefined, { as: bob })],
    ['ends the session from another', (_bob: Person, other: Person, id: string) => end(other, `/${id}`)],
    ['ends all other sessions', (_bob: Person, other: Person) => end(other)],
    ['sets another password', (_bob: Person, other: Person) => setPassword(other)],
    ['is signed out by the owner', ({ id }: Person) => signOutAs(owner, id)],
  ] as const)('ends before the next event when whoever reads it %s', async (_what, act) => {
    const bob = await service.join(ada, projectId, 'viewer');
    const other = await signInAgain(bob);
    const { sessions } = await ok('GET', '/api/account/sessions', undefined, { as: bob });
    const stream = await open('', {}, bob);
    await stream.until('retry');
    await act(bob, other, sessions.find(({ current }: Body) => current).id);
    const { id } = await createFolder2('x');
    expect(await stream.until(id)).toMatch(/<end>$/);
  });

  const password = 'correct horse battery';
  const end = (as: Person, path = '') => ok('DELETE', `/api/account/sessions${path}`, undefined, { as });
  const setPassword = (as: Person) =>
    ok('POST', '/api/account/password', { currentPassword: password, newPassword: 'nanoseconds are short' }, { as });

  async function signOutAs(person: Person, id: string): Promise<void> {
    await ok('DELETE', `/api/users/${id}/sessions`, undefined, { as: await signInAgain(person) });
  }

  async function signInAgain(person: Person): Promise<Person> {
    const body = { email: person.email, password };
    const { headers } = await service.call('POST', '/api/auth/sign-in/email', { body });
    return {
      ...person,
      cookie: headers
        .getSetCookie()
        .map((line) => line.split(';')[0])
        .join('; '),
    };
  }

  const createFolder2 = (name: string) =>
    ok('POST', '/api/storage/folders', { projectId, name, parentId: null }, { as: ada });

  test('refuses like every other request', async () => {
    const stream = await open('', { Authorization: 'Bearer cz_live_nonsense' });
    expect(stream.response.status).toBe(401);
    await stream.close();
  });

  test('of a client that leaves before it begins is not kept', async () => {
    const { feed } = service.deps;
    let listening = 0;
    service.deps.feed = {
      ...feed,
      async subscribe(...given) {
        const unsubscribe = await feed.subscribe(...given);
        listening += 1;
        return () => {
          listening -= 1;
          unsubscribe();
        };
      },
    };
    const stream = await open();
    expect(listening).toBe(1);
    await stream.close();
    expect(listening).toBe(0);
    service.deps.feed = feed;
  });

  test('and a page that waited leave nothing behind for as long as the service lives', async () => {
    const { ending } = service.deps.feed;
    const { cursor } = await after();
    const stream = await open();
    await stream.until('retry');
    await stream.close();
    expect((await read(`&after=${cursor}&wait=1`)).body).toEqual({ events: [], cursor });
    expect(countLinkedSignals(ending)).toBe(0);
    expect(getEventListeners(ending, 'abort')).toEqual([]);
  });

  test('is cut off when its client reads nothing, and goes on with the id that it has', async () => {
    const stream = await open();
    await stream.until('retry');
    const { pool } = service.deps.db;
    for (let round = 0; round < 4; round++) {
      await pool.query(
        `insert into new_events (project_id, id, type, at, data)
         select $1::uuid, gen_random_uuid(), 'folder.purged', now(), json_build_object('id', $2::text, 'projectId', $1::uuid, 'padding', repeat('x', 1000))
         from generate_series(1, 400)`,
        [projectId, randomUUID()],
      );
      while ((await numberEvents(service.deps.db)) > 0);
      service.deps.feed.wake();
      await createFolder(`wake ${round}`);
      await delay(150);
    }
    expect(await stream.until('wake 3')).toMatch(/<end>$/);
  });
});
