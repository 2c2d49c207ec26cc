import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../../../../../scripts/series.mjs';
import { requireDrained } from '../../../test/drain-work.ts';
import {
  type Answer,
  type Person,
  send,
  startTestService,
  type TestService,
  withObjects,
} from '../../../test/service.ts';
import { createS3Store } from '../../store/s3-store.ts';
import { uploadWork } from './abort-overdue-upload.ts';

const mebibyte = 1024 ** 2;
const partSize = 16 * mebibyte;
const hour = 3_600_000;
const day = 24 * hour;
/** Three parts, of which the last is as short as possible. */
const large = randomBytes(2 * partSize + 1);

let service: TestService;
let ada: Person;
let projectId: string;
let key: string;
let keyId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  ({ id: keyId, key } = await service.createKey(ada, projectId));
});
afterAll(() => service.close());

interface Begun {
  uploadId: string;
  storeKey: string;
  partSize: number;
  partCount: number;
  expiresAt: string;
}

interface Part {
  partNumber: number;
  etag: string;
}

const uploadsPath = '/api/storage/uploads';
const pathOf = ({ uploadId }: { uploadId: string }, rest = '') => `${uploadsPath}/${uploadId}${rest}`;
const ask = (method: string, path: string, body?: unknown, of = service) => of.call(method, path, { key, body });

async function begin(fileSize: number, facts: object = {}, of = service): Promise<Begun> {
  const body = { projectId, fileName: 'Ä b.bin', mimeType: 'video/mp4', fileSize, folderId: null, ...facts };
  const answer = await ask('POST', uploadsPath, body, of);
  expect(answer.text).toContain('uploadId');
  return answer.body;
}

/** PUTs some parts of these bytes; returns them in the form that complete expects. */
async function putParts(upload: Begun, bytes: Uint8Array, partNumbers: number[]): Promise<Part[]> {
  const { body } = await ask('POST', pathOf(upload, '/parts'), { partNumbers });
  const parts: Part[] = [];
  for (const { partNumber, presignedUrl } of body.parts) {
    const start = (partNumber - 1) * upload.partSize;
    const { status, headers } = await send('PUT', presignedUrl, bytes.subarray(start, start + upload.partSize));
    expect(status).toBe(200);
    parts.push({ partNumber, etag: headers.etag ?? '' });
  }
  return parts;
}

const complete = (upload: Begun, body: object = {}, of = service) => ask('POST', pathOf(upload, '/complete'), body, of);

/** An upload of five bytes that have arrived. */
async function arrive(facts: object = {}, of = service): Promise<Begun & { parts: Part[] }> {
  const upload = await begin(5, facts, of);
  return { ...upload, parts: await putParts(upload, Buffer.from('hello'), [1]) };
}

async function filesOf({ storeKey }: Begun): Promise<Record<string, unknown>[]> {
  return (await service.deps.db.pool.query('select * from files where store_key = $1', [storeKey])).rows;
}

async function rowsOf({ uploadId }: Begun): Promise<Record<string, unknown>[]> {
  return (await service.deps.db.pool.query('select * from uploads where id = $1', [uploadId])).rows;
}

/** Whether the store holds anything of the upload: parts, or an object. */
async function holds({ storeKey }: Begun): Promise<boolean> {
  const { objects } = service.deps;
  return (await objects.listMultiparts(storeKey)).uploads.length > 0 || (await objects.head(storeKey)) !== undefined;
}

const told = ({ status, body }: Answer) => `${status} ${body.code}`;

/** Joins the parts in the store, like a completion that dies before recording. */
async function joinInStore(upload: Begun): Promise<void> {
  const [row] = await rowsOf(upload);
  const storeUploadId = String(row?.store_upload_id);
  const parts = await service.deps.objects.listParts(upload.storeKey, storeUploadId);
  expect(await service.deps.objects.completeMultipart(upload.storeKey, storeUploadId, parts ?? [])).toBe('completed');
}

describe('a large file', () => {
  test('goes up in parts and comes down whole', async () => {
    const upload = await begin(large.length);
    expect(upload).toEqual({
      uploadId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      storeKey: expect.stringMatching(new RegExp(`^${projectId}/\\d{19}-Ä b\\.bin$`)),
      partSize,
      partCount: 3,
      expiresAt: expect.any(String),
    });
    expect(Math.abs(Date.parse(upload.expiresAt) - Date.now() - 7 * day)).toBeLessThan(60_000);
    const parts = await putParts(upload, large, [3, 1, 2]);

    const { status, body } = await complete(upload, { parts });

    expect(status).toBe(200);
    expect(body).toMatchObject({
      projectId,
      storeKey: upload.storeKey,
      fileName: 'Ä b.bin',
      fileSize: large.length,
      mimeType: 'video/mp4',
      folderId: null,
      etag: expect.stringMatching(/^[0-9a-f]{32}-3$/),
    });
    const options = { expiresInSeconds: 60, contentType: 'video/mp4', contentDisposition: 'inline' };
    const stored = await fetch(service.deps.objects.presignGet(upload.storeKey, options));
    expect(Buffer.from(await stored.arrayBuffer()).equals(large)).toBe(true);
    const listing = await ask('GET', `/api/storage/list?projectId=${projectId}`);
    expect(listing.body.files).toContainEqual(body);
    expect(await filesOf(upload)).toMatchObject([{ id: body.id, created_by_key: keyId, created_by_user: null }]);
    expect((await service.deps.objects.listMultiparts(upload.storeKey)).uploads).toEqual([]);
  });

  test('goes on where it was broken off', async () => {
    const upload = await begin(large.length, { mimeType: 'a/b' });
    await putParts(upload, large, [2]);
    const before = (await ask('GET', pathOf(upload))).body;
    expect(before).toEqual({
      uploadId: upload.uploadId,
      projectId,
      storeKey: upload.storeKey,
      fileName: 'Ä b.bin',
      fileSize: large.length,
      mimeType: 'a/b',
      folderId: null,
      partSize,
      partCount: 3,
      createdAt: expect.any(String),
      expiresAt: upload.expiresAt,
      status: 'open',
      fileId: null,
      parts: [
        {
          partNumber: 2,
          etag: createHash('md5')
            .update(large.subarray(partSize, 2 * partSize))
            .digest('hex'),
          size: partSize,
        },
      ],
    });
    await putParts(upload, large, [1, 3]);
    const { parts } = (await ask('GET', pathOf(upload))).body;
    expect(parts.map(({ partNumber }: Part) => partNumber)).toEqual([1, 2, 3]);
    const { status, body } = await complete(upload, { parts });
    expect(status).toBe(200);
    expect((await ask('GET', pathOf(upload))).body).toMatchObject({ status: 'completed', fileId: body.id, parts: [] });
  });

  test.each([1, 5])('may be as small as %d bytes', async (size) => {
    const upload = await begin(size);
    expect(upload.partCount).toBe(1);
    const parts = await putParts(upload, randomBytes(size), [1]);
    const { status, body } = await complete(upload, { parts });
    expect({ status, fileSize: body.fileSize }).toEqual({ status: 200, fileSize: size });
  });

  test('goes into its folder, and is counted', async () => {
    const folder = await service.call('POST', '/api/storage/folders', {
      as: ada,
      body: { projectId, name: randomUUID(), parentId: null },
    });
    const usage = async () =>
      (
        await service.deps.db.pool.query(
          'select sum(file_count)::int as files, sum(total_bytes)::int as bytes from project_usage where project_id = $1',
          [projectId],
        )
      ).rows[0];
    const before = await usage();
    const upload = await arrive({ folderId: folder.body.id });
    expect((await complete(upload)).body.folderId).toBe(folder.body.id);
    await complete(upload);
    expect(await usage()).toEqual({ files: before.files + 1, bytes: before.bytes + 5 });
  });
});

describe('begin', () => {
  test('takes what a single PUT does not, up to the largest object that S3 has', async () => {
    const upload = await begin(5 * 1024 ** 4);
    expect(upload).toMatchObject({ partSize: 525 * mebibyte, partCount: 9987 });
    const body = { projectId, fileName: 'a', mimeType: 'a/b', fileSize: 5 * 1024 ** 4 + 1, folderId: null };
    expect(told(await ask('POST', uploadsPath, body))).toBe('413 file_too_large');
    const put = await ask('POST', '/api/storage/presign', { ...body, fileSize: 5 * 1024 ** 3 + 1 });
    expect(told(put)).toBe('413 file_too_large');
  });

  test('takes parts of the size that the client wants', async () => {
    const upload = await begin(11 * mebibyte, { partSize: 5 * mebibyte });
    expect(upload).toMatchObject({ partSize: 5 * mebibyte, partCount: 3 });
    const bytes = large.subarray(0, 11 * mebibyte);
    const file = await complete(upload, { parts: await putParts(upload, bytes, [1, 2, 3]) });
    expect(file.body).toMatchObject({ fileSize: bytes.length });
    expect(await begin(1, { partSize: 5 * 1024 ** 3 })).toMatchObject({ partCount: 1 });
  });

  test('obeys MAX_FILE_SIZE_BYTES where it is set, below and above what a single PUT takes', async () => {
    for (const limit of [1000, 6 * 1024 ** 3]) {
      const settings = { MAX_FILE_SIZE_BYTES: `${limit}` };
      const limited = await startTestService({ settings, beside: service });
      const { uploadId } = await begin(limit, {}, limited);
      expect(uploadId).toBeTruthy();
      const body = { projectId, fileName: 'a', mimeType: 'a/b', fileSize: limit + 1, folderId: null };
      expect(told(await ask('POST', uploadsPath, body, limited))).toBe('413 file_too_large');
      expect(told(await ask('POST', '/api/storage/presign', body, limited))).toBe('413 file_too_large');
      await limited.close();
    }
  });

  test.each([
    ['fileName', { fileName: 'a/b' }],
    ['mimeType', { mimeType: 'x' }],
    ['fileSize', { fileSize: -1 }],
    ['fileSize', { fileSize: 0.5 }],
    ['fileSize', { fileSize: 0 }],
    ['partSize', { partSize: 5 * mebibyte - 1 }],
    ['partSize', { partSize: 5 * 1024 ** 3 + 1 }],
    ['partSize', { fileSize: 50_001 * mebibyte, partSize: 5 * mebibyte }],
    ['folderId', { folderId: 'x' }],
    ['projectId', { projectId: 'x' }],
  ])('with a wrong %s is refused, and begins nothing', async (path, wrong) => {
    const before = await service.deps.objects.listMultiparts(`${projectId}/`);
    const body = { projectId, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null, ...wrong };
    const answer = await ask('POST', uploadsPath, body);
    expect(told(answer)).toBe('400 invalid_request');
    expect(answer.body.issues[0].path).toBe(path);
    expect(await service.deps.objects.listMultiparts(`${projectId}/`)).toEqual(before);
  });

  test('leaves nothing in the store when its row cannot be written', async () => {
    const project = await service.createProject(ada);
    const { key: itsKey } = await service.createKey(ada, null);
    const body = { projectId: project, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null };
    await service.call('POST', uploadsPath, { key: itsKey, body });
    // Another replica deletes the project, which this one still has in its cache.
    const replica = await startTestService({ beside: service });
    expect((await service.call('POST', '/api/storage/presign', { key: itsKey, body })).status).toBe(200);
    await service.deps.db.pool.query('delete from uploads where project_id = $1', [project]);
    await service.deps.db.pool.query('delete from project_members where project_id = $1', [project]);
    await service.deps.db.pool.query('delete from projects where id = $1', [project]);
    const before = (await service.deps.objects.listMultiparts(`${project}/`)).uploads;
    expect(told(await service.call('POST', uploadsPath, { key: itsKey, body }))).toBe('404 project_not_found');
    expect((await service.deps.objects.listMultiparts(`${project}/`)).uploads).toEqual(before);
    await replica.close();
  });

  test('by a session says who it was', async () => {
    const body = { projectId, fileName: 'a', mimeType: 'a/b', fileSize: 1, folderId: null };
    const answer = await service.call('POST', uploadsPath, { as: ada, body });
    expect(await rowsOf(answer.body)).toMatchObject([{ created_by_user: ada.id, created_by_key: null }]);
  });
});

describe('addresses of parts', () => {
  test('take exactly the bytes of their part, and nothing else', async () => {
    const upload = await begin(partSize + 10);
    const { body } = await ask('POST', pathOf(upload, '/parts'), { partNumbers: [2] });
    const [{ presignedUrl }] = body.parts;
    expect(presignedUrl).toContain('X-Amz-Signature');
    for (const size of [0, 9, 11]) expect((await send('PUT', presignedUrl, randomBytes(size))).status).toBe(403);
    expect((await send('PUT', presignedUrl.replace('partNumber=2', 'partNumber=1'), randomBytes(10))).status).toBe(403);
    expect((await send('DELETE', presignedUrl)).status).toBe(403);
    expect((await ask('GET', pathOf(upload))).body.parts).toEqual([]);
    expect((await send('PUT', presignedUrl, randomBytes(10))).status).toBe(200);
  });

  test('come a thousand at a time, and nothing is asked of the store for them', async () => {
    const upload = await begin(5 * 1024 ** 4);
    const partNumbers = Array.from({ length: 1000 }, (_, index) => index + 1);
    const { body } = await ask('POST', pathOf(upload, '/parts'), { partNumbers });
    expect(body.parts.map(({ partNumber }: Part) => partNumber)).toEqual(partNumbers);
    expect(new Set(body.parts.map((part: { presignedUrl: string }) => part.presignedUrl)).size).toBe(1000);
    const tooMany = await ask('POST', pathOf(upload, '/parts'), { partNumbers: [...partNumbers, 1001] });
    expect(told(tooMany)).toBe('400 invalid_request');
  });

  test.each<[unknown, string]>([
    [[], 'partNumbers'],
    [[0], 'partNumbers.0'],
    [[1, 2], 'partNumbers.1'],
    [[10_001], 'partNumbers.0'],
    [[1, 1], 'partNumbers.1'],
    [['1'], 'partNumbers.0'],
    [[1.5], 'partNumbers.0'],
    ['1', 'partNumbers'],
    [undefined, 'partNumbers'],
  ])('of %j are refused', async (partNumbers, path) => {
    const upload = await begin(5);
    const answer = await ask('POST', pathOf(upload, '/parts'), { partNumbers });
    expect(told(answer)).toBe('400 invalid_request');
    expect(answer.body.issues[0].path).toBe(path);
  });

  test('a part may be sent again until the upload is completed, and the last one counts', async () => {
    const upload = await arrive();
    const [again] = await putParts(upload, Buffer.from('HELLO'), [1]);
    expect(told(await complete(upload, { parts: upload.parts }))).toBe('409 upload_incomplete');
    const { body } = await complete(upload, { parts: [again] });
    expect(body.etag).toBe(`${createHash('md5').update(createHash('md5').update('HELLO').digest()).digest('hex')}-1`);
  });
});

describe('the limits of the project', () => {
  async function openLimited(settings: object): Promise<{ limited: string; change(settings: object): Promise<void> }> {
    const limited = (await service.call('POST', '/api/projects', { as: ada, body: { name: 'Limited', ...settings } }))
      .body.id;
    const change = async (body: object) => {
      expect((await service.call('PATCH', `/api/projects/${limited}`, { as: ada, body })).status).toBe(200);
    };
    return { limited, change };
  }
  const facts = { fileName: 'a', mimeType: 'video/mp4', fileSize: 5, folderId: null };
  const asAda = (method: string, path: string, body: object) => service.call(method, path, { as: ada, body });

  test.each([
    ['409 quota_exceeded', { quotaBytes: 4 }],
    ['413 file_too_large', { maxFileSizeBytes: 4 }],
    ['422 mime_type_not_allowed', { allowedMimeTypes: ['image/*'] }],
  ])('are asked before it begins: %s', async (outcome, settings) => {
    const { limited } = await openLimited(settings);
    const answer = await asAda('POST', uploadsPath, { ...facts, projectId: limited });
    expect(told(answer)).toBe(outcome);
    expect((await service.deps.objects.listMultiparts(`${limited}/`)).uploads).toEqual([]);
  });

  test('are asked exactly when it is completed, and it can be completed once there is room', async () => {
    const { limited, change } = await openLimited({ quotaBytes: 10 });
    const uploads: Begun[] = [];
    for (const bytes of ['first', 'other']) {
      const upload: Begun = (await asAda('POST', uploadsPath, { ...facts, projectId: limited })).body;
      const { body } = await asAda('POST', pathOf(upload, '/parts'), { partNumbers: [1] });
      await send('PUT', body.parts[0].presignedUrl, Buffer.from(bytes));
      uploads.push(upload);
    }
    await change({ quotaBytes: 9 });
    const answers = await Promise.all(uploads.map((upload) => asAda('POST', pathOf(upload, '/complete'), {})));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const refused = uploads[answers.findIndex(({ status }) => status === 409)];
    if (!refused) throw new Error('one is refused');
    expect(told(await asAda('POST', pathOf(refused, '/complete'), {}))).toBe('409 quota_exceeded');
    await change({ quotaBytes: 10 });
    expect((await asAda('POST', pathOf(refused, '/complete'), {})).status).toBe(200);
  });
});

describe('completion', () => {
  test('twice gives the same file, whatever the second one says of the parts', async () => {
    const upload = await arrive();
    const { body } = await complete(upload, { parts: upload.parts });
    expect((await complete(upload, { parts: upload.parts })).body).toEqual(body);
    expect((await complete(upload)).body).toEqual(body);
    expect((await complete(upload, { parts: [] })).body).toEqual(body);
    expect(await filesOf(upload)).toHaveLength(1);
  });

  test('ten times at once, by two replicas, gives one file and the same answer', async () => {
    const replica = await startTestService({ beside: service });
    for (let round = 0; round < 5; round += 1) {
      const upload = await arrive();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => complete(upload, { parts: upload.parts }, n % 2 ? service : replica)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(await filesOf(upload)).toHaveLength(1);
    }
    await replica.close();
  });

  test('after the store had joined the parts and the service died records them', async () => {
    const upload = await arrive();
    await joinInStore(upload);
    expect((await ask('GET', pathOf(upload))).body).toMatchObject({ status: 'stored', parts: [], fileId: null });
    const { status, body } = await complete(upload, { parts: upload.parts });
    expect({ status, fileSize: body.fileSize }).toEqual({ status: 200, fileSize: 5 });
    expect((await complete(upload)).body).toEqual(body);
  });

  test('by record, which somebody may try, is a completion as well', async () => {
    const upload = await arrive();
    await joinInStore(upload);
    const facts = { projectId, fileName: 'Ä b.bin', mimeType: 'video/mp4', fileSize: 5, folderId: null };
    const recorded = await ask('POST', '/api/storage/record', { ...facts, storeKey: upload.storeKey });
    expect(recorded.status).toBe(200);
    expect((await complete(upload)).body).toEqual(recorded.body);
    expect((await ask('GET', pathOf(upload))).body).toMatchObject({ status: 'completed', fileId: recorded.body.id });
    expect(told(await ask('DELETE', pathOf(upload)))).toBe('409 upload_completed');
  });

  test('cannot replace what is recorded', async () => {
    const upload = await arrive();
    const { body: signed } = await ask('POST', pathOf(upload, '/parts'), { partNumbers: [1] });
    const { body } = await complete(upload);
    expect((await send('PUT', signed.parts[0].presignedUrl, Buffer.from('HELLO'))).status).toBe(404);
    expect(told(await ask('POST', pathOf(upload, '/parts'), { partNumbers: [1] }))).toBe('409 upload_completed');
    expect((await service.deps.objects.head(upload.storeKey))?.etag).toBe(body.etag);
  });

  test('with missing parts names them, and can be repeated when they are there', async () => {
    const upload = await begin(large.length);
    const [two] = await putParts(upload, large, [2]);
    for (const body of [{}, { parts: [two] }]) {
      const answer = await complete(upload, body);
      expect(told(answer)).toBe('409 upload_incomplete');
      expect(answer.body.detail).toBe('Part 1 has not arrived (and 1 more).');
      expect(answer.body.issues).toEqual([
        { path: 'parts.1', message: 'has not arrived' },
        { path: 'parts.3', message: 'has not arrived' },
      ]);
    }
    expect(await filesOf(upload)).toEqual([]);
    const others = await putParts(upload, large, [1, 3]);
    const unnamed = await complete(upload, { parts: others });
    expect(unnamed.body.issues).toEqual([{ path: 'parts.2', message: 'is not named in the request' }]);
    expect((await complete(upload, { parts: [...others, two] })).status).toBe(200);
  });

  test('with ETags that a proxy has marked as weak', async () => {
    const upload = await begin(large.length);
    const parts = await putParts(upload, large, [1, 2, 3]);
    const weak = parts.map(({ partNumber, etag }) => ({ partNumber, etag: `W/${etag}` }));
    expect((await complete(upload, { parts: weak })).status).toBe(200);
  });

  test('with another ETag names the part', async () => {
    const upload = await arrive();
    const answer = await complete(upload, { parts: [{ partNumber: 1, etag: '"0123456789abcdef0123456789abcdef"' }] });
    expect(told(answer)).toBe('409 upload_incomplete');
    expect(answer.body.issues).toEqual([
      { path: 'parts.1', message: 'has another ETag in the store: 5d41402abc4b2a76b9719d911017c592' },
    ]);
    expect(await filesOf(upload)).toEqual([]);
  });

  test('with a part of another size names it', async () => {
    // The holder of the store's credentials can send bytes that no presigned URL permits.
    const upload = await begin(5);
    const uploadId = String((await rowsOf(upload))[0]?.store_upload_id);
    const address = service.deps.objects.presignPart(upload.storeKey, { uploadId, partNumber: 1, sizeBytes: 6 });
    expect((await send('PUT', address, Buffer.from('hello!'))).status).toBe(200);
    const answer = await complete(upload);
    expect(told(answer)).toBe('409 upload_incomplete');
    expect(answer.body.issues).toEqual([{ path: 'parts.1', message: 'has 6 bytes, and must have 5' }]);
  });

  test('of an object of another size is refused', async () => {
    const upload = await begin(5);
    const uploadId = String((await rowsOf(upload))[0]?.store_upload_id);
    const address = service.deps.objects.presignPart(upload.storeKey, { uploadId, partNumber: 1, sizeBytes: 6 });
    await send('PUT', address, Buffer.from('hello!'));
    await joinInStore(upload);
    expect(told(await complete(upload))).toBe('409 upload_size_mismatch');
    expect(await filesOf(upload)).toEqual([]);
  });

  test('of what the store has lost says so', async () => {
    const upload = await arrive();
    await service.deps.objects.abortMultipart(upload.storeKey, String((await rowsOf(upload))[0]?.store_upload_id));
    for (const answer of [await complete(upload), await ask('GET', pathOf(upload))]) {
      expect(told(answer)).toBe('404 upload_not_found');
      expect(answer.body.detail).toContain('does not know the upload any more');
    }
  });

  test('into a folder that has gone is refused, and goes well when it is back', async () => {
    const folder = await service.call('POST', '/api/storage/folders', {
      as: ada,
      body: { projectId, name: randomUUID(), parentId: null },
    });
    const upload = await arrive({ folderId: folder.body.id });
    const trash = 'update folders set trash_id = $2, trashed_at = $3 where id = $1';
    await service.deps.db.pool.query(trash, [folder.body.id, folder.body.id, new Date()]);
    expect(told(await complete(upload))).toBe('404 folder_not_found');
    expect((await ask('GET', pathOf(upload))).body.status).toBe('stored');
    await service.deps.db.pool.query(trash, [folder.body.id, null, null]);
    expect((await complete(upload)).status).toBe(200);
  });

  test('again, when the file is in the trash or in quarantine, says so', async () => {
    const upload = await arrive();
    const { body: file } = await complete(upload);
    const trash = 'update files set trash_id = $2, trashed_at = $3 where id = $1';
    await service.deps.db.pool.query(trash, [file.id, file.id, new Date()]);
    const deleted = await complete(upload);
    expect([told(deleted), deleted.body.fileId]).toEqual(['409 file_deleted', file.id]);
    await service.deps.db.pool.query(trash, [file.id, randomUUID(), new Date()]);
    expect(told(await complete(upload))).toBe('409 file_quarantined');
    await service.deps.db.pool.query(trash, [file.id, null, null]);
    expect((await complete(upload)).body).toEqual(file);
  });

  test('whose file is gone for good says so', async () => {
    const upload = await arrive();
    const { body } = await complete(upload);
    await service.deps.db.pool.query('delete from files where id = $1', [body.id]);
    expect(told(await complete(upload))).toBe('409 upload_completed');
  });

  test.each<[unknown, string]>([
    [{ parts: [{ partNumber: 2, etag: 'a' }] }, 'parts.0.partNumber'],
    [{ parts: [{ partNumber: 0, etag: 'a' }] }, 'parts.0.partNumber'],
    [{ parts: [{ partNumber: 1 }] }, 'parts.0.etag'],
    [{ parts: [{ partNumber: 1, etag: '' }] }, 'parts.0.etag'],
    [{ parts: [{ partNumber: 1, etag: 'x'.repeat(257) }] }, 'parts.0.etag'],
    [{ parts: 'all' }, 'parts'],
    [
      {
        parts: [
          { partNumber: 1, etag: 'a' },
          { partNumber: 1, etag: 'a' },
        ],
      },
      'parts.1.partNumber',
    ],
    [{ parts: Array.from({ length: 10_001 }, () => ({ partNumber: 1, etag: 'a' })) }, 'parts'],
  ])('of %j is refused', async (body, path) => {
    const upload = await arrive();
    const answer = await ask('POST', pathOf(upload, '/complete'), body);
    expect(told(answer)).toBe('400 invalid_request');
    expect(answer.body.issues[0].path).toBe(path);
    expect(await filesOf(upload)).toEqual([]);
  });

  test('takes the list of 10,000 parts, and no body over 1 MiB', async () => {
    const upload = await begin(5 * 1024 ** 4);
    const etag = `"${'f'.repeat(32)}"`;
    const parts = Array.from({ length: upload.partCount }, (_, index) => ({ partNumber: index + 1, etag }));
    const list = JSON.stringify({ parts });
    expect(list.length).toBeGreaterThan(600_000);
    const headers = { 'Content-Length': `${list.length}` };
    const answer = await service.call('POST', pathOf(upload, '/complete'), { key, body: list, headers });
    expect(told(answer)).toBe('409 upload_incomplete');
    expect(answer.body.detail).toBe('Part 1 has not arrived (and 9986 more).');
    expect(answer.body.issues).toHaveLength(1000);
    const body = `{"a":"${'x'.repeat(1024 * 1024)}"}`;
    expect(told(await ask('POST', pathOf(upload, '/complete'), body))).toBe('413 body_too_large');
    const elsewhere = await service.call('POST', pathOf(upload, '/parts'), {
      key,
      body: `{"a":"${'x'.repeat(64 * 1024)}"}`,
      headers: { 'Content-Length': '65544' },
    });
    expect(told(elsewhere)).toBe('413 body_too_large');
  });
});

describe('a completion during which the caller loses access', () => {
  /** Completes, and does something when the store has joined the parts. */
  async function completeWhile(upload: Begun, by: string, act: () => Promise<unknown>): Promise<Answer> {
    const { objects } = service.deps;
    const completeMultipart: typeof objects.completeMultipart = async (...asked) => {
      const outcome = await objects.completeMultipart(...asked);
      await act();
      return outcome;
    };
    return withObjects(service, { completeMultipart }, () =>
      service.call('POST', pathOf(upload, '/complete'), { key: by, body: {} }),
    );
  }

  const remove = async (path: string) =>
    expect((await service.call('DELETE', path, { as: ada })).status, path).toBe(200);

  test('records no file, and can be repeated by somebody else', async () => {
    const brief = await service.createKey(ada, projectId);
    const upload = await arrive();
    const answer = await completeWhile(upload, brief.key, () => remove(`/api/api-keys/${brief.id}`));
    expect(told(answer)).toBe('401 invalid_api_key');
    expect(await filesOf(upload)).toEqual([]);
    expect((await complete(upload)).status).toBe(200);
  });

  test.each(['ticket', 'key'])('records no file for a ticket if the %s is revoked', async (which) => {
    const maker = await service.createKey(ada, projectId);
    const facts = { projectId, folderId: null, maxFiles: 1, maxBytes: 5 };
    const { body: made } = await service.call('POST', '/api/storage/tickets', { key: maker.key, body: facts });
    const file = { projectId, fileName: 'a.bin', mimeType: 'video/mp4', fileSize: 5, folderId: null };
    const { body: upload } = await service.call('POST', uploadsPath, { key: made.ticket, body: file });
    await putParts(upload, Buffer.from('hello'), [1]);
    const path = which === 'ticket' ? `/api/storage/tickets/${made.id}` : `/api/api-keys/${maker.id}`;
    expect(told(await completeWhile(upload, made.ticket, () => remove(path)))).toBe('401 invalid_ticket');
    expect(await filesOf(upload)).toEqual([]);
  });
});

describe('abort', () => {
  test('leaves nothing in the store, and twice is the same', async () => {
    const upload = await begin(large.length);
    await putParts(upload, large, [1, 2]);
    expect(await holds(upload)).toBe(true);
    const first = await ask('DELETE', pathOf(upload));
    expect({ status: first.status, body: first.body }).toEqual({
      status: 200,
      body: { uploadId: upload.uploadId, aborted: true },
    });
    expect(await holds(upload)).toBe(false);
    expect((await ask('DELETE', pathOf(upload))).text).toBe(first.text);
    for (const answer of [
      await ask('GET', pathOf(upload)),
      await ask('POST', pathOf(upload, '/parts'), { partNumbers: [1] }),
      await complete(upload),
    ]) {
      expect(told(answer)).toBe('404 upload_not_found');
      expect(answer.body.detail).toMatch(/^The upload was aborted at /);
    }
    expect(await filesOf(upload)).toEqual([]);
  });

  test('removes what the store had joined already, and record cannot have it', async () => {
    const upload = await arrive();
    await joinInStore(upload);
    expect((await ask('DELETE', pathOf(upload))).status).toBe(200);
    expect(await holds(upload)).toBe(false);
    // The object reappears, as if a completion had been under way in the store.
    await send('PUT', service.deps.objects.presignPut(upload.storeKey, 5), Buffer.from('hello'));
    const facts = { projectId, fileName: 'Ä b.bin', mimeType: 'video/mp4', fileSize: 5, folderId: null };
    const recorded = await ask('POST', '/api/storage/record', { ...facts, storeKey: upload.storeKey });
    expect(recorded.status).toBe(404);
    expect(await filesOf(upload)).toEqual([]);
  });

  test('of a completed upload is refused, and the file stays', async () => {
    const upload = await arrive();
    await complete(upload);
    expect(told(await ask('DELETE', pathOf(upload)))).toBe('409 upload_completed');
    expect(await holds(upload)).toBe(true);
  });

  test('and completion at the same moment: one of them wins, and the store has what the rows say', async () => {
    for (let round = 0; round < series({ full: 30, ci: 15, short: 10 }); round += 1) {
      const upload = await arrive();
      const completing = complete(upload);
      await new Promise((resolve) => setTimeout(resolve, round % 10));
      const [completed, aborted] = await Promise.all([completing, ask('DELETE', pathOf(upload))]);
      const files = await filesOf(upload);
      if (aborted.status === 200) {
        expect(files).toEqual([]);
        expect(completed.status).toBe(404);
        expect(await holds(upload)).toBe(false);
      } else {
        expect(told(aborted)).toBe('409 upload_completed');
        expect(files).toMatchObject([{ id: completed.body.id }]);
        expect(await service.deps.objects.head(upload.storeKey)).toMatchObject({ sizeBytes: 5 });
      }
    }
  });
});

describe('an upload whose time is over', () => {
  /** Handles up to this many due uploads, as the queue does. */
  async function abandonUploads(clock: TestService, limit: number, deps = clock.deps) {
    const runs = await requireDrained(clock, [uploadWork], { deps, limit });
    const aborted = runs.filter(({ removed }) => removed.upload === 1).length;
    return { aborted, dropped: runs.filter(({ outcome }) => outcome === 'done').length };
  }

  /** A replica with a clock of its own, whose uploads last a minute and which has none yet. */
  async function openClock(settings: Record<string, string> = {}): Promise<TestService> {
    await service.deps.db.pool.query('delete from uploads');
    await service.deps.db.pool.query('delete from work');
    return startTestService({ beside: service, settings: { UPLOAD_DEADLINE_SECONDS: '60', ...settings } });
  }

  test('cannot go on, and is abandoned an hour later, with all that the store has of it', async () => {
    const clock = await openClock();
    const open = await arrive({}, clock);
    const joined = await arrive({}, clock);
    await joinInStore(joined);
    const completed = await arrive({}, clock);
    const { body: file } = await complete(completed, {}, clock);

    clock.advance(60_000);
    for (const answer of [
      await complete(open, {}, clock),
      await complete(joined, {}, clock),
      await ask('GET', pathOf(open), undefined, clock),
      await ask('POST', pathOf(open, '/parts'), { partNumbers: [1] }, clock),
    ]) {
      expect(told(answer)).toBe('404 upload_not_found');
      expect(answer.body.detail).toMatch(/^The time to complete the upload was over at /);
    }
    expect((await complete(completed, {}, clock)).body).toEqual(file);

    clock.advance(hour - 30_000);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 0, dropped: 0 });
    expect([await holds(open), await holds(joined)]).toEqual([true, true]);

    clock.advance(31_000);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 2, dropped: 1 });
    expect([await holds(open), await holds(joined), await holds(completed)]).toEqual([false, false, true]);
    expect([await rowsOf(completed), (await rowsOf(open)).length]).toEqual([[], 1]);
    expect(await filesOf(completed)).toHaveLength(1);
    // A part that is under way when an upload is aborted may still arrive.
    await send('PUT', service.deps.objects.presignPut(joined.storeKey, 5), Buffer.from('hello'));
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 0, dropped: 0 });

    clock.advance(hour + 1000);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 0, dropped: 2 });
    expect([await rowsOf(open), await rowsOf(joined)]).toEqual([[], []]);
    expect(await holds(joined)).toBe(false);
    expect(told(await complete(open, {}, clock))).toBe('404 upload_not_found');
    await clock.close();
  });

  test('may still be aborted, and forgotten an hour after', async () => {
    const clock = await openClock();
    const upload = await arrive({}, clock);
    clock.advance(120_000);
    expect((await ask('DELETE', pathOf(upload), undefined, clock)).status).toBe(200);
    expect(await holds(upload)).toBe(false);
    clock.advance(hour + 1000);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 0, dropped: 1 });
    expect(told(await ask('DELETE', pathOf(upload), undefined, clock))).toBe('404 upload_not_found');
    await clock.close();
  });

  test('is left alone for the margin of the janitor, since the database may be older than the object store', async () => {
    const clock = await openClock({ JANITOR_MARGIN_SECONDS: String((30 * day) / 1000) });
    const joined = await arrive({}, clock);
    await joinInStore(joined);
    clock.advance(29 * day);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 0, dropped: 0 });
    expect(await holds(joined)).toBe(true);
    clock.advance(day + 1000);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 1, dropped: 0 });
    expect(await holds(joined)).toBe(false);
    await clock.close();
  });

  test('is abandoned once, by however many processes, so many at a time', async () => {
    const clock = await openClock();
    for (let n = 0; n < 7; n += 1) await arrive({}, clock);
    clock.advance(60_000 + hour + 1000);
    expect((await abandonUploads(clock, 3)).aborted).toBe(3);
    const counts = await Promise.all(Array.from({ length: 4 }, () => abandonUploads(clock, 100)));
    expect(counts.reduce((sum, { aborted }) => sum + aborted, 0)).toBe(4);
    clock.advance(hour + 1000);
    const dropped = await Promise.all(Array.from({ length: 4 }, () => abandonUploads(clock, 100)));
    expect(dropped.reduce((sum, count) => sum + count.dropped, 0)).toBe(7);
    await clock.close();
  });

  test('stays as it is while the store does not answer', async () => {
    const clock = await openClock();
    const upload = await arrive({}, clock);
    clock.advance(60_000 + hour + 1000);
    const endpoint = 'http://127.0.0.1:1';
    const credentials = { accessKeyId: 'A', secretAccessKey: 'B', region: 'us-east-1', bucket: 'b' };
    const down = createS3Store({ ...credentials, endpoint, publicEndpoint: endpoint, presignTtlSeconds: 60 }, Date.now);
    await expect(abandonUploads(clock, 100, { ...clock.deps, objects: down })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    down.close();
    expect(await rowsOf(upload)).toMatchObject([{ completed_at: null }]);
    expect(await holds(upload)).toBe(true);
    clock.advance(hour + 1000);
    expect(await abandonUploads(clock, 100)).toEqual({ aborted: 0, dropped: 1 });
    expect(await holds(upload)).toBe(false);
    await clock.close();
  });
});

describe('the list of open uploads', () => {
  let reader: { key: string };
  beforeAll(async () => {
    // A session would not last as long as an upload.
    reader = { key: (await service.createKey(ada, null)).key };
  });
  const list = (project: string, query = '') =>
    service.call('GET', `${uploadsPath}?projectId=${project}${query}`, reader);
  const idsOf = ({ body }: Answer) => body.uploads.map(({ uploadId }: { uploadId: string }) => uploadId);

  test('has what can still be completed, newest first, in pages', async () => {
    const project = await service.createProject(ada);
    const of = { projectId: project };
    const start = async () =>
      (
        await service.call('POST', uploadsPath, {
          as: ada,
          body: { ...of, fileName: 'a', mimeType: 'video/mp4', fileSize: 5, folderId: null },
        })
      ).body.uploadId;
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.unshift(await start());
      service.advance(1);
    }
    const [, aborted, , completed] = ids;
    await service.call('DELETE', `${uploadsPath}/${aborted}`, { as: ada });
    const path = `${uploadsPath}/${completed}`;
    const signed = await service.call('POST', `${path}/parts`, { as: ada, body: { partNumbers: [1] } });
    await send('PUT', signed.body.parts[0].presignedUrl, Buffer.from('hello'));
    expect((await service.call('POST', `${path}/complete`, { as: ada, body: {} })).status).toBe(200);
    const open = ids.filter((id) => id !== aborted && id !== completed);

    const whole = await list(project);
    expect([whole.status, idsOf(whole), whole.body.nextCursor]).toEqual([200, open, null]);
    const one = (await service.call('GET', `${uploadsPath}/${open[0]}`, { as: ada })).body;
    const { status: _, fileId: __, parts: ___, ...facts } = one;
    expect(whole.body.uploads[0]).toEqual(facts);

    const first = await list(project, '&limit=2');
    expect(idsOf(first)).toEqual(open.slice(0, 2));
    const rest = await list(project, `&limit=2&cursor=${first.body.nextCursor}`);
    expect([idsOf(rest), rest.body.nextCursor]).toEqual([open.slice(2), null]);
    expect((await list(projectId, `&cursor=${first.body.nextCursor}`)).body.issues).toEqual([
      { path: 'cursor', message: 'is not a nextCursor for the uploads of this project' },
    ]);

    service.advance(8 * day);
    expect(idsOf(await list(project))).toEqual([]);
  });
});
