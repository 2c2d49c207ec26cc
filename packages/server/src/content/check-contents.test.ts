import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drainWork } from '../../test/drain-work.ts';
import { type Answer, type Person, send, startTestService, type TestService } from '../../test/service.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { createS3Store } from '../store/s3-store.ts';
import type { Mismatch } from '../telemetry/observed.ts';
import { enqueue } from '../work/enqueue.ts';
import { startWork } from '../work/run-work.ts';
import type { Task } from '../work/work.ts';
import { createContentChecks, sha256Check, typeCheck } from './check-contents.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154', 'hex');
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex');
const html = Buffer.from('<!DOCTYPE html><script>alert(document.cookie)</script>');
const isEmbedded = !process.env.TEST_S3_ENDPOINT;

let service: TestService;
let ada: Person;
let projectId: string;
let recorded: Task[] = [];
let mismatches: Mismatch[] = [];
/** What was asked of the object store. */
let asked: string[] = [];

beforeAll(async () => {
  service = await startTestService({ checkContent: (file) => recorded.push(file) });
  service.deps.onMismatch = (kind) => void mismatches.push(kind);
  service.deps.objects = noting(service.deps.objects);
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

/** The same store, which notes in `asked` what it is asked for. */
function noting(objects: ObjectStore): ObjectStore {
  const note = (what: string) => void asked.push(what);
  return {
    ...objects,
    head(...args) {
      note('HEAD');
      return objects.head(...args);
    },
    peek(...args) {
      note('GET of the first bytes');
      return objects.peek(...args);
    },
    read(...args) {
      note('GET');
      return objects.read(...args);
    },
  };
}

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);
const call = (method: string, path: string, body?: unknown) => service.call(method, path, { as: ada, body });
const record = (body: object) => call('POST', '/api/storage/record', body);
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

function upload(bytes: Buffer, mimeType: string, project = projectId) {
  return service.upload({ as: ada }, project, bytes, { mimeType, fileName: 'a' });
}

async function recordBytes(bytes: Buffer, mimeType: string, more: object = {}): Promise<Record<string, unknown>> {
  const answer = await record({ ...(await upload(bytes, mimeType)), ...more });
  expect(outcome(answer)).toBe(200);
  return answer.body;
}

/** The file as the listing shows it now. */
async function shown(id: unknown): Promise<Record<string, unknown>> {
  const { body } = await call('GET', `/api/storage/list?projectId=${projectId}`);
  return body.files.find((file: { id: string }) => file.id === id);
}

/**
 * A process that checks contents: either those handed over to it, until it is closed, or once everything that is due.
 */
function open(objects = service.deps.objects) {
  const deps = { ...service.deps, objects };
  let running: ReturnType<typeof startWork> | undefined;
  return {
    enqueue(task: Task) {
      running ??= startWork({ db: deps.db, log: deps.log }, createContentChecks(deps));
      running.take(task);
    },
    async checkDue(limit: number) {
      const runs = await drainWork(service, [typeCheck, sha256Check], { deps, limit });
      return runs.filter(({ kind, outcome }) => kind === typeCheck && outcome === 'done').length;
    },
    close: async () => running?.close(),
  };
}

/** Checks everything recorded so far, as the service's queue does. */
async function checkRecorded(): Promise<void> {
  const checks = open();
  for (const file of recorded) checks.enqueue(file);
  recorded = [];
  await expect.poll(async () => (await unchecked()).length).toBe(0);
  await checks.close();
}

/** Records as versions before did: what the first bytes show is left for later. */
async function recordUnchecked(bytes: Buffer, mimeType: string): Promise<Record<string, unknown>> {
  const file = await recordBytes(bytes, mimeType);
  const { db } = service.deps;
  await db.pool.query("update files set detected_mime_type = null, content_check = 'pending' where id = $1", [file.id]);
  await enqueue(db.kysely, typeCheck, { projectId, id: file.id as string });
  return file;
}

async function unchecked(): Promise<{ id: string }[]> {
  const sql = "select subject as id from work where project_id = $1 and kind in ('content', 'sha256')";
  return (await service.deps.db.pool.query(sql, [projectId])).rows;
}

describe('the first bytes', () => {
  test('are compared while recording, with one request to the store, and nothing is left to be done', async () => {
    mismatches = [];
    recorded = [];
    const cases = [
      [png, 'image/png', 'image/png', 'match'],
      [jpeg, 'image/png', 'image/jpeg', 'mismatch'],
      [html, 'image/png', 'text/html', 'mismatch'],
      [html, 'application/octet-stream', 'text/html', 'match'],
      [Buffer.from('no picture'), 'image/png', null, 'mismatch'],
      [Buffer.from('some text'), 'text/plain', null, 'unknown'],
      [Buffer.alloc(0), 'image/png', null, 'unknown'],
      [Buffer.concat([png, randomBytes(100_000)]), 'image/png', 'image/png', 'match'],
    ] as const;
    const files = [];
    asked = [];
    for (const [bytes, mimeType] of cases) files.push(await recordBytes(bytes, mimeType));
    expect(asked).toEqual(cases.map(([bytes]) => (bytes.length === 0 ? 'HEAD' : 'GET of the first bytes')));
    expect(recorded).toEqual([]);
    expect(await unchecked()).toEqual([]);
    for (const [n, [, , detectedMimeType, contentCheck]] of cases.entries()) {
      expect(files[n]).toMatchObject({ detectedMimeType, contentCheck });
      expect(await shown(files[n]?.id)).toEqual(files[n]);
    }
    expect(mismatches).toEqual(['type', 'type', 'type']);
    expect(service.logged()).toContain('A file is not of its declared type');
  });

  test('that do not match are reported once, however often the recording is repeated', async () => {
    mismatches = [];
    const recording = await upload(html, 'image/png');
    const { text } = await record(recording);
    expect((await record(recording)).text).toBe(text);
    expect(mismatches).toEqual(['type']);
  });

  test('of an upload in parts are compared, too', async () => {
    mismatches = [];
    const facts = { projectId, fileName: 'a', mimeType: 'image/png', fileSize: html.length, folderId: null };
    const { uploadId } = (await call('POST', '/api/storage/uploads', facts)).body;
    const parts = `/api/storage/uploads/${uploadId}/parts`;
    const [part] = (await call('POST', parts, { partNumbers: [1] })).body.parts;
    expect((await send('PUT', part.presignedUrl, html)).status).toBe(200);
    const { body } = await call('POST', `/api/storage/uploads/${uploadId}/complete`, {});
    expect(body).toMatchObject({ detectedMimeType: 'text/html', contentCheck: 'mismatch' });
    expect(mismatches).toEqual(['type']);
  });
});

describe('first bytes that a version before has left unchecked', () => {
  test('are compared by one of the processes, once', async () => {
    const file = await recordUnchecked(png, 'image/png');
    const checks = open();
    // Two processes share the work at the same time.
    const [one, other] = await Promise.all([checks.checkDue(100), open().checkDue(100)]);
    expect(one + other).toBe(1);
    expect(await shown(file.id)).toMatchObject({ contentCheck: 'match' });
    expect(await unchecked()).toEqual([]);
  });

  test('of a store that is down stay unchecked, and are looked at again later', async () => {
    const files = [];
    for (let n = 0; n < 5; n++) files.push(await recordUnchecked(png, 'image/png'));
    const settings = {
      region: 'us-east-1',
      bucket: 'cadiz',
      accessKeyId: 'a',
      secretAccessKey: 'b',
      presignTtlSeconds: 1,
    };
    const down = createS3Store(
      { ...settings, endpoint: 'http://127.0.0.1:1', publicEndpoint: 'http://127.0.0.1:1' },
      Date.now,
    );
    expect(await open(down).checkDue(100)).toBe(0);
    expect(await unchecked()).toHaveLength(5);
    expect(await shown(files[0]?.id)).toMatchObject({ contentCheck: 'pending' });
    expect(await open().checkDue(100)).toBe(0);
    service.advance(5 * 60_000 + 1);
    expect(await open().checkDue(100)).toBe(5);
    for (const { id } of files) expect(await shown(id)).toMatchObject({ contentCheck: 'match' });
    down.close();
  });

  test('of an object that is gone show nothing', async () => {
    const file = await recordUnchecked(png, 'image/png');
    await service.deps.objects.remove([file.storeKey as string]);
    expect(await open().checkDue(100)).toBe(1);
    expect(await shown(file.id)).toMatchObject({ contentCheck: 'unknown', detectedMimeType: null });
  });

  test('of a file that is gone meanwhile are nobody’s concern', async () => {
    const file = await recordUnchecked(png, 'image/png');
    await service.deps.db.pool.query('delete from files where id = $1', [file.id]);
    expect(await open().checkDue(100)).toBe(1);
    expect(await unchecked()).toEqual([]);
  });
});

describe('a project that refuses', () => {
  let strict: string;
  beforeAll(async () => {
    const body = { name: 'Strict', contentMismatch: 'refuse' };
    strict = (await call('POST', '/api/projects', body)).body.id;
  });

  async function countRows(): Promise<number> {
    return (await service.deps.db.pool.query('select from files where project_id = $1', [strict])).rowCount ?? 0;
  }

  test('records what matches, with what was found, and has nothing left to check', async () => {
    recorded = [];
    const { body } = await record(await upload(png, 'image/png', strict));
    expect(body).toMatchObject({ contentCheck: 'match', detectedMimeType: 'image/png' });
    expect(recorded).toEqual([]);
  });

  test('records what shows nothing', async () => {
    const { body } = await record(await upload(Buffer.from('a,b'), 'text/csv', strict));
    expect(body).toMatchObject({ contentCheck: 'unknown', detectedMimeType: null });
  });

  test.each<[string, Buffer, string, string]>([
    ['HTML as a picture', html, 'image/png', 'text/html'],
    ['an SVG as a picture of another kind', Buffer.from('<svg onload="alert(1)"/>'), 'image/jpeg', 'image/svg+xml'],
    ['another picture', jpeg, 'image/png', 'image/jpeg'],
    ['text as a picture', Buffer.from('no picture'), 'image/png', 'do not begin'],
  ])('refuses %s, and can record it as what it is', async (_what, bytes, mimeType, detail) => {
    const recording = await upload(bytes, mimeType, strict);
    const before = await countRows();
    const refused = await record(recording);
    expect(outcome(refused)).toBe('409 content_mismatch');
    expect(refused.body.detail).toContain(detail);
    expect(await countRows()).toBe(before);
    expect(outcome(await record({ ...recording, mimeType: 'application/octet-stream' }))).toBe(200);
  });

  test('answers what was recorded before it refused', async () => {
    const project = await service.createProject(ada);
    const recording = await upload(html, 'image/png', project);
    const first = await record(recording);
    await call('PATCH', `/api/projects/${project}`, { contentMismatch: 'refuse' });
    expect((await record(recording)).text).toBe(first.text);
  });
});

describe('SHA-256', () => {
  const digest = sha256Of(png);

  function presign(more: object): Promise<Answer> {
    const facts = { projectId, fileName: 'a', mimeType: 'image/png', fileSize: png.length, folderId: null };
    return call('POST', '/api/storage/presign', { ...facts, ...more });
  }

  async function uploadDeclared(sha256: string, bytes = png) {
    const { body } = await presign({ sha256 });
    const put = await send('PUT', body.presignedUrl, bytes);
    const facts = { projectId, fileName: 'a', mimeType: 'image/png', fileSize: png.length, folderId: null, sha256 };
    return { put, recording: { ...facts, storeKey: body.storeKey } };
  }

  test.each(['', 'abc', `${digest}0`, 'g'.repeat(64), 7, null])('%j is refused', async (sha256) => {
    for (const answer of [await presign({ sha256 }), await record({ ...(await upload(png, 'image/png')), sha256 })]) {
      expect(outcome(answer)).toBe('400 invalid_request');
      expect(answer.body.issues).toMatchObject([{ path: 'sha256' }]);
    }
  });

  test('declared at presign and record, it is verified by the store, or else by a reading', async () => {
    const { put, recording } = await uploadDeclared(digest.toUpperCase());
    expect(put.status).toBe(200);
    const { body } = await record(recording);
    expect(body).toMatchObject({ sha256: digest, sha256State: isEmbedded ? 'verified' : 'declared' });
    await checkRecorded();
    expect(await shown(body.id)).toMatchObject({ sha256: digest, sha256State: 'verified', contentCheck: 'match' });
  });

  test('declared at record alone, it is verified by a reading', async () => {
    const file = await recordBytes(png, 'image/png', { sha256: digest });
    expect(file).toMatchObject({ sha256: digest, sha256State: 'declared' });
    await checkRecorded();
    expect(await shown(file.id)).toMatchObject({ sha256State: 'verified' });
  });

  test('that the bytes do not have is reported, and the file stays', async () => {
    mismatches = [];
    const file = await recordBytes(png, 'image/png', { sha256: sha256Of(jpeg) });
    await checkRecorded();
    expect(await shown(file.id)).toMatchObject({ sha256State: 'mismatch', contentCheck: 'match' });
    expect(mismatches).toEqual(['sha256']);
    expect(service.logged()).toContain('does not have the SHA-256');
    expect(await service.deps.objects.head(file.storeKey as string)).toBeDefined();
  });

  test.runIf(isEmbedded)('declared at presign, other bytes are refused by the store itself', async () => {
    const other = Buffer.from(png).fill(1, 20);
    const { put, recording } = await uploadDeclared(digest, other);
    expect(put.status).toBe(400);
    expect(put.text).toContain('BadDigest');
    expect(outcome(await record(recording))).toBe('409 upload_missing');
  });

  test.runIf(isEmbedded)('that the store knows better is refused at record', async () => {
    const { recording } = await uploadDeclared(digest);
    expect(outcome(await record({ ...recording, sha256: sha256Of(jpeg) }))).toBe('409 upload_checksum_mismatch');
    expect(outcome(await record(recording))).toBe(200);
  });

  test('is a fact of the recording: another one is 409, none is the same', async () => {
    const recording = { ...(await upload(png, 'image/png')), sha256: digest };
    const first = await record(recording);
    expect((await record(recording)).text).toBe(first.text);
    const { sha256: _, ...without } = recording;
    expect((await record(without)).text).toBe(first.text);
    const other = await record({ ...recording, sha256: sha256Of(jpeg) });
    expect(outcome(other)).toBe('409 already_recorded');
    expect(other.body.detail).toContain('sha256');
  });

  test('of a large object is read without holding it, and given up when the process ends', async () => {
    const bytes = randomBytes(30_000_000);
    const file = await recordBytes(bytes, 'application/octet-stream', { sha256: sha256Of(bytes) });
    asked = [];
    const checks = open();
    for (const task of recorded.filter(({ id }) => id === file.id)) checks.enqueue(task);
    await expect.poll(() => asked, { interval: 1 }).toContain('GET');
    await checks.close();
    await checkRecorded().catch(() => undefined);
    service.advance(13 * 3_600_000);
    const next = open();
    await next.checkDue(10);
    await expect.poll(async () => (await shown(file.id)).sha256State).toBe('verified');
    await next.close();
  });
});
