import { createHash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, send, startTestService, type TestService, withObjects } from '../../../test/service.ts';
import { createApp } from '../../http/app.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import { createS3Store } from '../../store/s3-store.ts';
import { purgeTrash } from '../trash/purge-trash.ts';

const bytes = Buffer.from('hello');
const hour = 3_600_000;

let service: TestService;
let ada: Awaited<ReturnType<TestService['signUp']>>;
let projectId: string;
let otherProjectId: string;
let key: string;
let keyId: string;

beforeAll(async () => {
  service = await startTestService({ settings: { MAX_FILE_SIZE_BYTES: '1000000' } });
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  otherProjectId = await service.createProject(ada, 'Another project');
  ({ id: keyId, key } = await service.createKey(ada, projectId));
});
afterAll(() => service.close());

type Recording = Awaited<ReturnType<TestService['upload']>>;

function upload(facts: Partial<Recording> = {}): Promise<Recording> {
  return service.upload({ key }, projectId, bytes, facts);
}

function record(body: object): Promise<Answer> {
  return service.call('POST', '/api/storage/record', { key, body });
}

async function createFolder(project = projectId): Promise<string> {
  const body = { projectId: project, name: randomUUID(), parentId: null };
  return (await service.call('POST', '/api/storage/folders', { as: ada, body })).body.id;
}

async function rowsOf(storeKey: string): Promise<Record<string, unknown>[]> {
  return (await service.deps.db.pool.query('select * from files where store_key = $1', [storeKey])).rows;
}

async function countRows(): Promise<number> {
  return (await service.deps.db.pool.query('select count(*) as count from files')).rows[0].count;
}

async function expectNothingWritten(recording: object, status: number, code: string): Promise<Answer> {
  const before = await countRows();
  const answer = await record(recording);
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
  expect(await countRows()).toBe(before);
  return answer;
}

describe('success', () => {
  test('answers the file as it is recorded, with the ETag of the store', async () => {
    const folderId = await createFolder();
    const recording = await upload({ fileName: 'Ä "b".txt', mimeType: 'text/plain; charset="utf-8"', folderId });
    const before = Date.now();

    const { status, body } = await record(recording);

    expect(status).toBe(200);
    expect(body).toEqual({
      ...recording,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      etag: createHash('md5').update(bytes).digest('hex'),
      detectedMimeType: null,
      contentCheck: 'unknown',
      sha256: null,
      sha256State: null,
      ticketId: null,
      image: null,
      metadata: {},
      externalId: null,
      createdBy: { apiKeyId: expect.any(String) },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
    });
    expect(Date.parse(body.createdAt)).toBeGreaterThanOrEqual(before);
    const listing = await service.call('GET', `/api/storage/list?projectId=${projectId}&folderId=${folderId}`, { key });
    expect(listing.body.files).toEqual([body]);
  });

  test('a name other than the presigned one is accepted: names live in rows, and the storeKey keeps the first', async () => {
    const recording = await upload({ fileName: 'before.txt' });
    const { status, body } = await record({ ...recording, fileName: 'after.txt' });
    expect({ status, fileName: body.fileName }).toEqual({ status: 200, fileName: 'after.txt' });
    expect(body.storeKey.endsWith('-before.txt')).toBe(true);
  });

  test('ids in upper case are the same ids', async () => {
    const folderId = await createFolder();
    const recording = await upload({ folderId });
    const upper = { ...recording, projectId: projectId.toUpperCase(), folderId: folderId.toUpperCase() };
    const { status, body } = await record(upper);
    expect({ status, projectId: body.projectId, folderId: body.folderId }).toEqual({
      status: 200,
      projectId,
      folderId,
    });
    expect((await record(recording)).body).toEqual(body);
  });

  test('the row says who recorded: the key, or the user', async () => {
    const byKey = await upload();
    await record(byKey);
    expect(await rowsOf(byKey.storeKey)).toMatchObject([{ created_by_key: keyId, created_by_user: null }]);

    const bySession = await upload();
    await service.call('POST', '/api/storage/record', { as: ada, body: bySession });
    expect(await rowsOf(bySession.storeKey)).toMatchObject([{ created_by_key: null, created_by_user: ada.id }]);
  });

  test('who recorded comes from the credential alone: unknown fields are ignored', async () => {
    const recording = await upload();
    const id = randomUUID();
    const { status, body } = await record({ ...recording, id, etag: 'mine', createdByUser: id, createdAt: 0 });
    expect(status).toBe(200);
    expect(body.id).not.toBe(id);
    expect(body.etag).not.toBe('mine');
    expect(await rowsOf(recording.storeKey)).toMatchObject([{ created_by_key: keyId, created_by_user: null }]);
  });
});

describe('the store is believed, not the client (checklist 38, T5, T6)', () => {
  test('what was never uploaded is 409 upload_missing, and can be recorded once it is there', async () => {
    const request = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: bytes.length, folderId: null };
    const { body } = await service.call('POST', '/api/storage/presign', { key, body: request });
    const recording = { ...request, storeKey: body.storeKey };
    await expectNothingWritten(recording, 409, 'upload_missing');
    expect((await send('PUT', body.presignedUrl, bytes)).status).toBe(200);
    expect((await record(recording)).status).toBe(200);
  });

  test.each([0, bytes.length - 1, bytes.length + 1, 999_999])('the size %d of 5 bytes is 409', async (fileSize) => {
    const recording = await upload();
    const { body } = await expectNothingWritten({ ...recording, fileSize }, 409, 'upload_size_mismatch');
    expect(body.detail).toContain('5 bytes');
    expect((await record(recording)).status).toBe(200);
  });

  test('a size over the limit is 413', async () => {
    const recording = await upload();
    await expectNothingWritten({ ...recording, fileSize: 1_000_001 }, 413, 'file_too_large');
  });
});

describe('again (checklist 38, T7)', () => {
  test('the same facts answer the same 200', async () => {
    const recording = await upload();
    const first = await record(recording);
    const second = await record(recording);
    expect(second.status).toBe(200);
    expect(second.text).toBe(first.text);
    expect(await rowsOf(recording.storeKey)).toHaveLength(1);
  });

  test('other bytes of the same size under the address change nothing that is recorded (checklist 41, T14)', async () => {
    const request = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: bytes.length, folderId: null };
    const { body } = await service.call('POST', '/api/storage/presign', { key, body: request });
    await send('PUT', body.presignedUrl, bytes);
    const recording = { ...request, storeKey: body.storeKey };
    const first = await record(recording);
    const second = await send('PUT', body.presignedUrl, Buffer.from('HELLO'));
    expect((await record(recording)).text).toBe(first.text);
    // The embedded store accepts only one PUT for each URL; on any other store, the ETag of the row shows that the
    // object was replaced.
    expect(second.status).toBe(process.env.TEST_S3_ENDPOINT ? 200 : 412);
    expect((await send('PUT', body.presignedUrl, bytes)).status).toBe(200);
  });

  test('other facts are 409 already_recorded, which names them', async () => {
    const recording = await upload();
    const first = await record(recording);
    const other = {
      fileName: 'other.jpg',
      fileSize: recording.fileSize + 1,
      mimeType: 'image/png',
      folderId: await createFolder(),
    };
    const names = Object.keys(other) as (keyof typeof other)[];
    for (const name of names) {
      const { body } = await expectNothingWritten({ ...recording, [name]: other[name] }, 409, 'already_recorded');
      expect(names.filter((mentioned) => body.detail.includes(mentioned))).toEqual([name]);
    }
    const { body } = await expectNothingWritten({ ...recording, ...other }, 409, 'already_recorded');
    expect(names.filter((mentioned) => body.detail.includes(mentioned))).toEqual(names);
    expect((await record(recording)).text).toBe(first.text);
  });

  test('the same request answers the file as it is after it was renamed, moved and given other metadata', async () => {
    const recording = { ...(await upload()), metadata: { album: 'a' }, externalId: 'first' };
    const { id } = (await record(recording)).body;
    const change = { fileName: 'new.jpg', folderId: await createFolder(), metadata: { album: 'b' }, externalId: null };
    const changed = await service.call('PATCH', `/api/storage/files/${id}`, { as: ada, body: change });
    expect(changed.status).toBe(200);
    const again = await record(recording);
    expect([again.status, again.body]).toEqual([200, changed.body]);
    const { body } = await expectNothingWritten({ ...recording, mimeType: 'image/png' }, 409, 'already_recorded');
    expect(body.detail).toBe('The storeKey was recorded before with another mimeType.');
  });

  describe('when the file is not there any more', () => {
    const asAda = async (method: string, path: string, body?: unknown) => {
      const answer = await service.call(method, path, { as: ada, body });
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.body;
    };

    test('409 file_deleted while it is in the trash, and the same 200 once it is restored', async () => {
      const recording = await upload();
      const { id } = (await record(recording)).body;
      const { restorableUntil } = await asAda('DELETE', `/api/storage/files/${id}`);
      const { body } = await expectNothingWritten(recording, 409, 'file_deleted');
      expect(body.fileId).toBe(id);
      expect(body.detail).toContain(`can be restored until ${restorableUntil}`);
      await expectNothingWritten({ ...recording, mimeType: 'image/png' }, 409, 'already_recorded');
      await asAda('POST', `/api/storage/files/${id}/restore`);
      expect((await record(recording)).body.id).toBe(id);
    });

    test('409 file_deleted when it went with its folder', async () => {
      const outer = await createFolder();
      const inner = (await asAda('POST', '/api/storage/folders', { projectId, name: 'inner', parentId: outer })).id;
      const recording = await upload({ folderId: inner });
      const { id } = (await record(recording)).body;
      await asAda('DELETE', `/api/storage/folders/${outer}?recursive=true`);
      const { body } = await expectNothingWritten(recording, 409, 'file_deleted');
      expect([body.fileId, body.detail]).toEqual([id, expect.stringContaining('with its folder')]);
      // If nothing was recorded, the answer mentions only the folder.
      const other = await service.upload({ key }, projectId, bytes);
      await expectNothingWritten({ ...other, folderId: inner }, 404, 'folder_not_found');
      await asAda('POST', `/api/storage/folders/${outer}/restore`);
      expect((await record(recording)).body.id).toBe(id);
    });

    test('409 file_deleted when the trash was emptied, and 409 upload_missing when it is purged', async () => {
      const recording = await upload();
      const { id } = (await record(recording)).body;
      await asAda('DELETE', `/api/storage/files/${id}`);
      await asAda('DELETE', `/api/storage/trash?projectId=${projectId}`);
      const { body } = await expectNothingWritten(recording, 409, 'file_deleted');
      expect([body.fileId, body.detail]).toEqual([id, expect.stringContaining('can no longer be restored')]);
      while ((await purgeTrash(service.deps, 1000)).files > 0);
      await expectNothingWritten(recording, 409, 'upload_missing');
    });

    test('409 file_quarantined while it is held, and the same 200 once it is given back', async () => {
      const suspect = await service.createKey(ada, projectId);
      const recording = await service.upload({ key: suspect.key }, projectId, bytes);
      const again = () => service.call('POST', '/api/storage/record', { key: suspect.key, body: recording });
      const { id } = (await again()).body;
      const quarantines = `/api/projects/${projectId}/quarantines`;
      const held = await asAda('POST', quarantines, { apiKeyId: suspect.id, since: '2000-01-01T00:00:00Z' });
      const { status, body } = await again();
      expect([status, body.code, body.fileId]).toEqual([409, 'file_quarantined', id]);
      await asAda('POST', `${quarantines}/${held.id}/release`, {});
      expect((await again()).body.id).toBe(id);
    });
  });

  test('fifty at once make one row and fifty equal answers', async () => {
    const recording = await upload();
    const answers = await Promise.all(Array.from({ length: 50 }, () => record(recording)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await rowsOf(recording.storeKey)).toHaveLength(1);
  });

  test('of different files at once share statements, are counted once each, and have their own answers', async () => {
    const project = await service.createProject(ada);
    const gone = (
      await service.call('POST', '/api/storage/folders', {
        as: ada,
        body: { projectId: project, name: 'gone', parentId: null },
      })
    ).body.id;
    const facts = (n: number) => (n % 10 === 3 ? { folderId: gone } : n % 10 === 7 ? { mimeType: 'image/png' } : {});
    const recordings = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        service.upload({ as: ada }, project, bytes, { mimeType: 'text/plain', ...facts(n) }),
      ),
    );
    // The caches do not know of it yet.
    const { pool } = service.deps.db;
    await pool.query('delete from folders where id = $1', [gone]);
    await pool.query("update projects set allowed_mime_types = '{text/*}' where id = $1", [project]);

    const answers = await Promise.all(
      recordings.map((body) => service.call('POST', '/api/storage/record', { as: ada, body })),
    );

    const outcomes = answers.map(({ status, body }) => (status === 200 ? body.storeKey : body.code));
    const expected = recordings.map(({ storeKey }, n) =>
      n % 10 === 3 ? 'folder_not_found' : n % 10 === 7 ? 'mime_type_not_allowed' : storeKey,
    );
    expect(outcomes).toEqual(expected);
    const { rows } = await pool.query('select store_key, xmin::text as statement from files where project_id = $1', [
      project,
    ]);
    const stored = expected.filter((outcome) => outcome.startsWith(project));
    expect(rows.map((row) => row.store_key).sort()).toEqual(stored.sort());
    expect(new Set(rows.map(({ statement }) => statement)).size).toBeLessThan(stored.length / 2);
    const usage = await service.call('GET', `/api/storage/usage?projectId=${project}`, { as: ada });
    expect(usage.body).toMatchObject({ fileCount: 48, totalBytes: 48 * bytes.length });
  });

  test('fifty at once with two names make one row: those of its name get it, the others 409', async () => {
    const recording = await upload();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => record({ ...recording, fileName: n % 2 ? 'odd' : 'even' })),
    );
    const [row] = await rowsOf(recording.storeKey);
    const winner = row?.file_name === 'odd' ? 1 : 0;
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, n) => (n % 2 === winner ? 200 : 409)));
  });
});

describe('storeKeys that presign did not give to this project (checklist 37, T4)', () => {
  const digitsAt = (milliseconds: number) => `${String(Math.floor(milliseconds)).padStart(13, '0')}123456`;
  const facts = { fileName: 'a.txt', mimeType: 'text/plain', fileSize: 5, folderId: null };

  test("another project's storeKey, though its object is there", async () => {
    const theirs = await service.upload({ as: ada }, otherProjectId, bytes);
    const stolen = { ...theirs, projectId };
    await expectNothingWritten(stolen, 400, 'invalid_store_key');
    const bound = await record(theirs);
    expect({ status: bound.status, code: bound.body.code }).toEqual({ status: 403, code: 'project_not_allowed' });
    expect(await rowsOf(theirs.storeKey)).toEqual([]);
  });

  test.each<[string, (digits: string) => string]>([
    ['no project', (digits) => `${digits}-a.txt`],
    ['a project that does not exist', (digits) => `${'0'.repeat(36)}/${digits}-a.txt`],
    ['the project in upper case', (digits) => `${projectId.toUpperCase()}/${digits}-a.txt`],
    ['a leading slash', (digits) => `/${projectId}/${digits}-a.txt`],
    ['two slashes', (digits) => `${projectId}//${digits}-a.txt`],
    ['a way up', (digits) => `${projectId}/../${otherProjectId}/${digits}-a.txt`],
    ['a way up behind the digits', (digits) => `${projectId}/${digits}-../../${otherProjectId}`],
    ['an encoded slash as project separator', (digits) => `${projectId}%2F${digits}-a.txt`],
    ['a name of two dots', (digits) => `${projectId}/${digits}-..`],
    ['no name', (digits) => `${projectId}/${digits}-`],
    ['no dash', (digits) => `${projectId}/${digits}`],
    ['18 digits', (digits) => `${projectId}/${digits.slice(1)}-a.txt`],
    ['20 digits', (digits) => `${projectId}/${digits}0-a.txt`],
    ['digits of another script', (digits) => `${projectId}/${digits.replaceAll('1', '١')}-a.txt`],
    ['a sign', (digits) => `${projectId}/-${digits.slice(1)}-a.txt`],
    ['a folder in the name', (digits) => `${projectId}/${digits}-a/b`],
    ['a backslash', (digits) => `${projectId}/${digits}-a\\b`],
    ['NUL', (digits) => `${projectId}/${digits}-a\0`],
    ['a line feed at the end', (digits) => `${projectId}/${digits}-a.txt\n`],
    ['half a surrogate pair', (digits) => `${projectId}/${digits}-\ud800`],
    ['a name of 256 bytes', (digits) => `${projectId}/${digits}-${'x'.repeat(256)}`],
    ['a space in front', (digits) => ` ${projectId}/${digits}-a.txt`],
    ['only the project', () => projectId],
    ['one dot', () => '.'],
    ['year 1970', () => `${projectId}/${digitsAt(0)}-a.txt`],
    ['a day and an hour ago', () => `${projectId}/${digitsAt(Date.now() - 25 * hour)}-a.txt`],
    ['an hour ahead', () => `${projectId}/${digitsAt(Date.now() + hour)}-a.txt`],
    ['year 2286', () => `${projectId}/${digitsAt(9_999_999_999_999)}-a.txt`],
  ])('%s', async (_what, make) => {
    const storeKey = make(digitsAt(Date.now()));
    await expectNothingWritten({ ...facts, projectId, storeKey }, 400, 'invalid_store_key');
  });

  test.each(['', 'x'.repeat(1025), 7, null, ['a'], { a: 1 }])('%j is no storeKey at all', async (storeKey) => {
    const { body } = await expectNothingWritten({ ...facts, projectId, storeKey }, 400, 'invalid_request');
    expect(body.issues[0].path).toBe('storeKey');
  });

  test('one that could have been issued, and was not, has no object', async () => {
    const storeKey = `${projectId}/${digitsAt(Date.now())}-a.txt`;
    await expectNothingWritten({ ...facts, projectId, storeKey }, 409, 'upload_missing');
  });

  test('a clock that runs ten minutes ahead on another replica is tolerated', async () => {
    const storeKey = `${projectId}/${digitsAt(Date.now() + 600_000)}-a.txt`;
    await expectNothingWritten({ ...facts, projectId, storeKey }, 409, 'upload_missing');
  });

  test('one that was issued before the clock was set back is recorded if its object is there', async () => {
    service.advance(2 * hour);
    const recording = await upload();
    service.advance(-2 * hour);
    expect(await record(recording)).toMatchObject({ status: 200, body: { storeKey: recording.storeKey } });
  });

  test('no alteration of a good storeKey gets a row', async () => {
    const { storeKey } = await upload({ fileName: 'a.txt' });
    const before = await countRows();
    const pieces = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom('/', '..', '%2e', '\0', '0', '-'),
    );
    const position = fc.nat({ max: storeKey.length });
    await fc.assert(
      fc.asyncProperty(position, position, pieces, async (from, to, piece) => {
        const altered = storeKey.slice(0, Math.min(from, to)) + piece + storeKey.slice(Math.max(from, to));
        fc.pre(altered !== storeKey);
        const { status, body } = await record({ ...facts, projectId, storeKey: altered });
        const isMissing = status === 409 && body.code === 'upload_missing';
        expect(isMissing || status === 400).toBe(true);
      }),
      { numRuns: 200 },
    );
    expect(await countRows()).toBe(before);
  });
});

describe('bad input', () => {
  test.each([
    ['fileName', 'a/b'],
    ['fileName', '..'],
    ['fileName', 'a\0'],
    ['fileName', '\udc00'],
    ['fileName', '👍'.repeat(64)],
    ['fileSize', -1],
    ['fileSize', 1.5],
    ['fileSize', '5'],
    ['mimeType', 'image'],
    ['projectId', 'no-uuid'],
    ['folderId', 'root'],
  ])('%s %j is refused', async (field, value) => {
    const recording = await upload();
    const { body } = await expectNothingWritten({ ...recording, [field]: value }, 400, 'invalid_request');
    expect(body.issues).toMatchObject([{ path: field }]);
  });
});

describe('folders', () => {
  test('one that is not there, or is of another project, is 404', async () => {
    const recording = await upload();
    const absent = await expectNothingWritten({ ...recording, folderId: randomUUID() }, 404, 'folder_not_found');
    const foreignId = await createFolder(otherProjectId);
    const foreign = await expectNothingWritten({ ...recording, folderId: foreignId }, 404, 'folder_not_found');
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
  });

  test('one that went between presign and record is 404, though it is still in the cache', async () => {
    const folderId = await createFolder();
    const recording = await upload({ folderId });
    await service.deps.db.pool.query('delete from folders where id = $1', [folderId]);
    await expectNothingWritten(recording, 404, 'folder_not_found');
    expect((await record({ ...recording, folderId: null })).status).toBe(200);
  });

  test('the database itself refuses a row in the folder of another project', async () => {
    const foreignId = await createFolder(otherProjectId);
    const insert = `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
                    values ($1, $2, 'k', 'n', 'N', 1, 'a/b', $3, 'e')`;
    await expect(service.deps.db.pool.query(insert, [projectId, randomUUID(), foreignId])).rejects.toMatchObject({
      constraint: 'files_folder_fkey',
    });
  });
});

describe('an object store that does not serve', () => {
  async function recordThrough(objects: ObjectStore, recording: Recording): Promise<Response> {
    return createApp({ ...service.deps, objects }).fetch(
      new Request('http://localhost/api/storage/record', {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(recording),
      }),
    );
  }

  async function expectUnavailable(endpoint: string): Promise<void> {
    const recording = await upload();
    const objects = createS3Store(
      {
        endpoint,
        publicEndpoint: endpoint,
        region: 'us-east-1',
        bucket: process.env.TEST_S3_ENDPOINT ? (process.env.TEST_S3_BUCKET ?? 'cadiz-test') : 'cadiz',
        accessKeyId: 'NOBODY',
        secretAccessKey: 'a secret that is wrong',
        presignTtlSeconds: 900,
      },
      Date.now,
    );
    const response = await recordThrough(objects, recording);
    objects.close();
    const text = await response.text();
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toBe('5');
    expect(JSON.parse(text).code).toBe('store_unavailable');
    expect(text).not.toContain('a secret that is wrong');
    expect(await rowsOf(recording.storeKey)).toEqual([]);
    expect((await record(recording)).status).toBe(200);
  }

  test('a closed port is 503 store_unavailable, and nothing is written', () => expectUnavailable('http://127.0.0.1:1'));

  test('a store that answers 403 is 503 store_unavailable, and nothing is written', async () => {
    const { presignedUrl } = (
      await service.call('POST', '/api/storage/presign', {
        key,
        body: { projectId, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null },
      })
    ).body;
    await expectUnavailable(new URL(presignedUrl).origin);
  });
});

// Last, because the clock cannot be set back.
describe('the recording deadline', () => {
  test('past it, what is recorded is answered still, and nothing else is recorded', async () => {
    const recorded = await upload();
    const late = await upload();
    const first = await record(recorded);

    service.advance(24 * hour - 60_000);
    const justInTime = await record(late);
    expect(justInTime.status).toBe(200);

    const neverRecorded = { ...recorded, storeKey: recorded.storeKey.replace('photo.jpg', 'photo.png') };
    service.advance(120_000);
    expect((await record(recorded)).text).toBe(first.text);
    const { body } = await expectNothingWritten({ ...recorded, mimeType: 'image/png' }, 409, 'already_recorded');
    expect(body.detail).toContain('mimeType');
    await expectNothingWritten(neverRecorded, 400, 'invalid_store_key');
  });

  test('an upload that came in time and is recorded too late is 400', async () => {
    const recording = await upload();
    service.advance(24 * hour + 1000);
    await expectNothingWritten(recording, 400, 'invalid_store_key');
  });
});

describe('after the store has taken long', () => {
  /** Records by a key that is revoked before the store answers. */
  async function recordRevoked(path: string, toBody: (recording: Recording) => object): Promise<Answer> {
    const recording = await upload();
    const { id, key: brief } = await service.createKey(ada, projectId);
    const { objects } = service.deps;
    const peek: typeof objects.peek = async (...asked) => {
      const object = await objects.peek(...asked);
      await service.call('DELETE', `/api/api-keys/${id}`, { as: ada });
      return object;
    };
    const answer = await withObjects(service, { peek }, () =>
      service.call('POST', path, { key: brief, body: toBody(recording) }),
    );
    expect(await rowsOf(recording.storeKey)).toEqual([]);
    return answer;
  }

  test.each<[string, string, (recording: Recording) => object]>([
    ['one', '/api/storage/record', (recording) => recording],
    ['a batch', '/api/storage/record/batch', (recording) => ({ projectId, files: [recording] })],
    ['all or none', '/api/storage/record/batch', (recording) => ({ projectId, files: [recording], atomic: true })],
  ])('nothing is recorded with a key that was revoked meanwhile: %s', async (_what, path, toBody) => {
    const { status, body } = await recordRevoked(path, toBody);
    expect([status, body.code]).toEqual([401, 'invalid_api_key']);
  });
});
