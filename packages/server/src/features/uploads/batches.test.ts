import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, send, startTestService, type TestService } from '../../../test/service.ts';

const bytes = Buffer.from('hello');

let service: TestService;
let ada: Person;
let projectId: string;
let folderId: string;

beforeAll(async () => {
  service = await startTestService({ settings: { MAX_FILE_SIZE_BYTES: '1000000' } });
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  folderId = (await call('/api/storage/folders', { projectId, name: 'Pictures', parentId: null })).body.id;
});
afterAll(() => service.close());

const call = (path: string, body: object) => service.call('POST', path, { as: ada, body });
const presign = (body: object) => call('/api/storage/presign/batch', { projectId, ...body });
const record = (body: object) => call('/api/storage/record/batch', { projectId, ...body });

const photo = (more: object = {}) => ({
  fileName: 'photo.jpg',
  mimeType: 'image/jpeg',
  fileSize: bytes.length,
  folderId: null,
  ...more,
});
const bad = () => photo({ fileName: 'a/b' });
const badName = 'must not contain / or \\';
const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Each entry: `ok`, or the code of its problem. */
function outcomes({ body }: Answer): string[] {
  return body.results.map(({ problem }: { problem?: { code: string } }) => problem?.code ?? 'ok');
}

/** Presigns and PUTs as many files; returns what record needs of each. */
async function upload(count: number, project = projectId, more: object = {}) {
  const files = many(count, (n) => photo({ fileName: `photo ${n}.jpg`, ...more }));
  const { body } = await call('/api/storage/presign/batch', { projectId: project, files });
  const uploads: { presignedUrl: string; storeKey: string }[] = body.results.map(
    (result: { upload: object }) => result.upload,
  );
  for (const { presignedUrl } of uploads) expect((await send('PUT', presignedUrl, bytes)).status).toBe(200);
  return files.map((file, n) => ({ ...file, storeKey: uploads[n]?.storeKey ?? '' }));
}

async function rowsOf(project = projectId): Promise<{ store_key: string; file_size: number }[]> {
  return (await service.deps.db.pool.query('select * from files where project_id = $1', [project])).rows;
}

async function countedIn(project: string) {
  const { rows } = await service.deps.db.pool.query(
    `select sum(file_count)::int as files, sum(total_bytes)::int as bytes from project_usage where project_id = $1`,
    [project],
  );
  return rows[0];
}

describe('presigning a batch', () => {
  test('gives each file an address of its own, in the order of the request', async () => {
    const files = many(100, (n) => photo({ fileName: `photo ${n}.jpg`, folderId: n % 2 ? folderId : null }));
    const { status, body } = await presign({ files });
    expect([status, body.results.length]).toEqual([200, 100]);
    const storeKeys = body.results.map(({ upload }: { upload: { storeKey: string } }) => upload.storeKey);
    expect(new Set(storeKeys).size).toBe(100);
    expect(storeKeys.map((storeKey: string) => storeKey.replace(/^.*\/\d{19}-/, ''))).toEqual(
      files.map(({ fileName }) => fileName),
    );
    const { presignedUrl } = body.results[41].upload;
    expect((await send('PUT', presignedUrl, bytes)).status).toBe(200);
    expect((await send('PUT', body.results[42].upload.presignedUrl, Buffer.from('longer'))).status).toBe(403);
  });

  test('a problem of one is that of the single request, and the others have their addresses', async () => {
    const bad = photo({ fileSize: 1_000_001 });
    const absent = photo({ folderId: '0199f3a0-0000-7000-8000-000000000000' });
    const answer = await presign({ files: [photo(), bad, absent, photo()] });
    expect(answer.status).toBe(200);
    expect(outcomes(answer)).toEqual(['ok', 'file_too_large', 'folder_not_found', 'ok']);
    const single = await call('/api/storage/presign', { projectId, ...bad });
    const { requestId } = answer.body.results[1].problem;
    expect(answer.body.results[1].problem).toEqual({ ...single.body, requestId });
    expect(requestId).toBe(answer.headers.get('x-request-id'));
  });

  test('atomic: the first problem is the answer, and names its entry', async () => {
    const files = [photo(), photo({ fileSize: 1_000_001 }), photo({ folderId: projectId })];
    const { status, body } = await presign({ files, atomic: true });
    expect([status, body.code]).toEqual([413, 'file_too_large']);
    expect(body.issues).toEqual([{ path: 'files.1', message: body.detail }]);
    expect(outcomes(await presign({ files: [photo(), photo()], atomic: true }))).toEqual(['ok', 'ok']);
  });

  test('counts outstanding addresses against the quota, and those of a refused atomic batch not', async () => {
    const limited = (await call('/api/projects', { name: 'Limited', quotaBytes: 10 })).body.id;
    const files = many(3, () => photo());
    const refused = await presign({ projectId: limited, files, atomic: true });
    expect([refused.status, refused.body.code, refused.body.issues[0].path]).toEqual([
      409,
      'quota_exceeded',
      'files.2',
    ]);
    expect(outcomes(await presign({ projectId: limited, files }))).toEqual(['ok', 'ok', 'quota_exceeded']);
  });

  test.each([
    ['no files', { files: [] }, 'files', 'must have at least one file'],
    ['101 files', { files: many(101, () => photo()) }, 'files', 'must have at most 100 files'],
    ['101 files, one of them invalid', { files: many(101, bad) }, 'files', 'must have at most 100 files'],
    ['no list', { files: photo() }, 'files', 'must be an array'],
    ['no project', { projectId: 'x', files: [photo(), bad()] }, 'projectId', 'must be a UUID'],
    ['an atomic that is a string', { files: [bad()], atomic: 'true' }, 'atomic', 'must be a boolean'],
    ['an entry that is a string', { files: [bad(), 'photo.jpg'] }, 'files.1', 'must be an object'],
    ['an entry that is a list', { files: [[photo()]] }, 'files.0', 'must be an object'],
    ['an entry that is null', { files: [photo(), null] }, 'files.1', 'must be an object'],
    ['atomic, and a bad name in one', { files: [photo(), bad()], atomic: true }, 'files.1.fileName', badName],
  ])('%s: 400 for the whole request', async (_, body, path, message) => {
    const answer = await presign(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.issues).toContainEqual({ path, message });
  });

  test.each([
    ['a name', { fileName: 'a/b' }],
    ['a size', { fileSize: -1 }],
    ['a missing type', { mimeType: undefined }],
    ['several fields', { fileName: '', fileSize: '5', folderId: 'x', sha256: 'y' }],
  ])('%s that is invalid fails alone, as in the single request', async (_, wrong) => {
    const upper = photo({ folderId: folderId.toUpperCase() });
    const answer = await presign({ files: [photo(wrong), upper, photo(wrong), photo()] });
    expect(answer.status).toBe(200);
    expect(outcomes(answer)).toEqual(['invalid_request', 'ok', 'invalid_request', 'ok']);
    const single = await call('/api/storage/presign', { projectId, ...photo(wrong) });
    expect(single.status).toBe(400);
    const requestId = answer.headers.get('x-request-id');
    for (const n of [0, 2]) expect(answer.body.results[n].problem).toEqual({ ...single.body, requestId });
  });

  test('only invalid entries: each is told, and access is checked as for valid ones', async () => {
    const files = many(100, bad);
    expect(outcomes(await presign({ files }))).toEqual(many(100, () => 'invalid_request'));
    const absent = await presign({ projectId: '0199f3a0-0000-7000-8000-000000000000', files });
    expect([absent.status, absent.body.code]).toEqual([404, 'project_not_found']);
  });

  test('takes a hundred of the longest names in the longest spelling', async () => {
    const longest = 'é'.repeat(127);
    const files = many(100, () =>
      photo({ fileName: longest, mimeType: `image/${'x'.repeat(249)}`, sha256: 'a'.repeat(64) }),
    );
    const body = JSON.stringify({ projectId, files }).replaceAll('é', '\\u00e9');
    expect(body.length).toBeGreaterThan(64 * 1024);
    const answer = await service.call('POST', '/api/storage/presign/batch', { as: ada, body });
    expect(outcomes(answer)).toEqual(many(100, () => 'ok'));
  });
});

describe('recording a batch', () => {
  test('records each, as a single request would, with one count of usage', async () => {
    const project = await service.createProject(ada);
    const files = await upload(100, project);
    const answer = await record({ projectId: project, files });
    expect(outcomes(answer)).toEqual(many(100, () => 'ok'));
    expect(answer.body.results.map(({ file }: { file: { storeKey: string } }) => file.storeKey)).toEqual(
      files.map(({ storeKey }) => storeKey),
    );
    expect(await countedIn(project)).toEqual({ files: 100, bytes: 500 });
    const [first] = answer.body.results;
    const alone = await call('/api/storage/record', { projectId: project, ...files[0] });
    expect(alone.body).toEqual(first.file);
    const again = await record({ projectId: project, files });
    expect(again.body).toEqual(answer.body);
    expect(await countedIn(project)).toEqual({ files: 100, bytes: 500 });
  });

  test('inserts them all with one statement', async () => {
    const files = await upload(10);
    const statements: string[] = [];
    const { inserts } = service.deps;
    service.deps.inserts = (project, rows) => {
      statements.push(`${rows.length}`);
      return inserts(project, rows);
    };
    try {
      expect(outcomes(await record({ files }))).toEqual(many(10, () => 'ok'));
    } finally {
      service.deps.inserts = inserts;
    }
    expect(statements).toEqual(['10']);
  });

  test('a problem of one is that of the single request, and the others are recorded', async () => {
    const [good, wrongSize, repeated, last] = await upload(4);
    await call('/api/storage/record', { projectId, ...repeated });
    const files = [
      good,
      { ...wrongSize, fileSize: 6 },
      { ...repeated, fileName: 'other.jpg' },
      { ...good, storeKey: (good?.storeKey ?? '').replace(/\d{6}-/, '000000-') },
      { ...good, storeKey: 'nonsense' },
      { ...last, folderId: '0199f3a0-0000-7000-8000-000000000000' },
      last,
    ];
    const singles = [];
    for (const index of [1, 2, 3, 4, 5])
      singles.push((await call('/api/storage/record', { projectId, ...files[index] })).body);
    const answer = await record({ files });
    expect(outcomes(answer)).toEqual([
      'ok',
      'upload_size_mismatch',
      'already_recorded',
      'upload_missing',
      'invalid_store_key',
      'folder_not_found',
      'ok',
    ]);
    const { requestId } = answer.body.results[1].problem;
    const problems = answer.body.results.slice(1, 6).map(({ problem }: { problem: object }) => problem);
    expect(problems).toEqual(singles.map((single) => ({ ...single, requestId })));
  });

  test('the same storeKey twice: the same facts are one file, others are already recorded', async () => {
    const [one, two] = await upload(2);
    const answer = await record({ files: [one, two, one, { ...two, fileName: 'other.jpg' }, { ...one, fileSize: 6 }] });
    expect(outcomes(answer)).toEqual(['ok', 'ok', 'ok', 'already_recorded', 'upload_size_mismatch']);
    expect(answer.body.results[2].file).toEqual(answer.body.results[0].file);
    // The first of them is wrong: the second counts.
    const [three] = await upload(1);
    expect(outcomes(await record({ files: [{ ...three, fileSize: 6 }, three] }))).toEqual([
      'upload_size_mismatch',
      'ok',
    ]);
  });

  test('batches that race for the same files record each once, and all answer the same', async () => {
    const project = await service.createProject(ada);
    const files = await upload(20, project);
    const answers = await Promise.all(
      [files, files.toReversed(), files].map((some) => record({ projectId: project, files: some })),
    );
    for (const answer of answers) expect(outcomes(answer)).toEqual(many(20, () => 'ok'));
    expect(answers[1]?.body.results.toReversed()).toEqual(answers[0]?.body.results);
    expect(await countedIn(project)).toEqual({ files: 20, bytes: 100 });
  });

  test('a quota is exact within a batch and among racing ones', async () => {
    const project = (await call('/api/projects', { name: 'Limited', quotaBytes: 1000 })).body.id;
    const batches = [await upload(10, project), await upload(10, project), await upload(10, project)];
    const quota = `update projects set quota_bytes = $2 where id = $1`;
    await service.deps.db.pool.query(quota, [project, 57]);
    const answers = await Promise.all(batches.map((files) => record({ projectId: project, files })));
    const all = answers.flatMap(outcomes);
    expect(all.filter((outcome) => outcome === 'ok')).toHaveLength(11);
    expect(all.filter((outcome) => outcome === 'quota_exceeded')).toHaveLength(19);
    expect(await countedIn(project)).toEqual({ files: 11, bytes: 55 });
  });

  test('the first entry gets what only one can have, whatever the order of the storeKeys', async () => {
    const descending = async (project: string, count: number) =>
      (await upload(count, project)).sort((a, b) => (a.storeKey < b.storeKey ? 1 : -1));
    const roomy = (await call('/api/projects', { name: 'One externalId' })).body.id;
    const old = (await call('/api/storage/record', { projectId: roomy, ...(await upload(1, roomy))[0] })).body.id;
    const named = (await descending(roomy, 3)).map((file) => ({ ...file, externalId: 'one' }));
    const taken = ['ok', 'external_id_taken', 'external_id_taken'];
    expect(outcomes(await record({ projectId: roomy, files: named }))).toEqual(taken);
    const replacing = (await descending(roomy, 2)).map((file) => ({ ...file, externalId: 'two' }));
    const files = replacing.map((file, n) => (n === 0 ? { ...file, replaces: old } : file));
    expect(outcomes(await record({ projectId: roomy, files }))).toEqual(taken.slice(0, 2));

    const full = (await call('/api/projects', { name: 'Room for two' })).body.id;
    const [first, ...others] = await descending(full, 3);
    await service.call('PATCH', `/api/projects/${full}`, { as: ada, body: { quotaBytes: 10 } });
    const answer = await record({ projectId: full, files: [{ ...first, externalId: 'first' }, ...others] });
    expect(outcomes(answer)).toEqual(['ok', 'ok', 'quota_exceeded']);
  });

  test('an invalid entry fails alone, as in the single request, and the others are recorded', async () => {
    const project = await service.createProject(ada);
    const [one, two, three] = await upload(3, project);
    const files = [{ ...one, metadata: { 'no key': 1 } }, two, { ...one, externalId: '' }, { fileName: 'a/b' }, three];
    const answer = await record({ projectId: project, files });
    expect(answer.status).toBe(200);
    const invalid = 'invalid_request';
    expect(outcomes(answer)).toEqual([invalid, 'ok', invalid, invalid, 'ok']);
    const { requestId } = answer.body.results[0].problem;
    for (const n of [0, 2, 3]) {
      const single = await call('/api/storage/record', { projectId: project, ...files[n] });
      expect(answer.body.results[n].problem).toEqual({ ...single.body, requestId });
    }
    const keys = (await rowsOf(project)).map(({ store_key }) => store_key).sort();
    expect(keys).toEqual([two?.storeKey, three?.storeKey].sort());
    expect(outcomes(await record({ projectId: project, files: [{}] }))).toEqual([invalid]);
  });

  test('a refused type refuses its entry only', async () => {
    const project = (await call('/api/projects', { name: 'Strict', contentMismatch: 'refuse' })).body.id;
    const [one, two] = await upload(2, project, { mimeType: 'text/plain' });
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    const file = photo({ fileSize: png.length });
    const { presignedUrl, storeKey } = (await call('/api/storage/presign', { projectId: project, ...file })).body;
    await send('PUT', presignedUrl, png);
    const answer = await record({ projectId: project, files: [one, { ...file, storeKey }, two] });
    expect(outcomes(answer)).toEqual(['ok', 'content_mismatch', 'ok']);
  });
});

describe('recording a batch, all or none', () => {
  const atomic = true;

  test('records all, also those that were recorded before', async () => {
    const files = await upload(5);
    await call('/api/storage/record', { projectId, ...files[3] });
    const answer = await record({ files: [...files, files[0]], atomic });
    expect(outcomes(answer)).toEqual(many(6, () => 'ok'));
    expect(answer.body.results[5]).toEqual(answer.body.results[0]);
    expect((await record({ files, atomic })).body.results).toEqual(answer.body.results.slice(0, 5));
  });

  test.each([
    ['an absent object', 'upload_missing', { storeKey: 'absent' }],
    ['a wrong size', 'upload_size_mismatch', { fileSize: 6 }],
    ['an absent folder', 'folder_not_found', { folderId: '0199f3a0-0000-7000-8000-000000000000' }],
  ])('%s: nothing is recorded', async (_, code, wrong) => {
    const project = await service.createProject(ada);
    const files = await upload(3, project);
    const storeKey = files[1]?.storeKey ?? '';
    const bad = {
      ...files[1],
      ...wrong,
      ...('storeKey' in wrong && { storeKey: storeKey.replace(/\d{6}-/, '000000-') }),
    };
    const answer = await record({ projectId: project, files: [files[0], bad, files[2]], atomic });
    expect([answer.status >= 400, answer.body.code, answer.body.issues]).toEqual([
      true,
      code,
      [{ path: 'files.1', message: answer.body.detail }],
    ]);
    expect(await rowsOf(project)).toEqual([]);
  });

  test('an invalid entry: nothing is recorded, and the paths name the entry', async () => {
    const project = await service.createProject(ada);
    const [one, two] = await upload(2, project);
    const answer = await record({ projectId: project, files: [one, { ...two, fileSize: -1 }], atomic });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.issues.map(({ path }: { path: string }) => path)).toEqual(['files.1.fileSize']);
    expect(await rowsOf(project)).toEqual([]);
  });

  test('one storeKey as two different files: nothing is recorded', async () => {
    const project = await service.createProject(ada);
    const [one] = await upload(1, project);
    const answer = await record({ projectId: project, files: [one, { ...one, fileName: 'other.jpg' }], atomic });
    expect([answer.body.code, answer.body.issues[0].path]).toEqual(['already_recorded', 'files.1']);
    expect(await rowsOf(project)).toEqual([]);
  });

  test('what only the insert notices rolls back the others: a folder that went, a quota', async () => {
    const project = (await call('/api/projects', { name: 'Limited', quotaBytes: 1000 })).body.id;
    const folder = (await call('/api/storage/folders', { projectId: project, name: 'a', parentId: null })).body.id;
    const files = await upload(3, project);
    const inFolder = files.map((file, n) => (n === 2 ? { ...file, folderId: folder } : file));
    // As another process would: this one's caches do not notice.
    const { pool } = service.deps.db;
    await call('/api/storage/presign', { projectId: project, ...photo({ folderId: folder }) });
    await pool.query('update folders set trash_id = id, trashed_at = now() where id = $1', [folder]);
    const gone = await record({ projectId: project, files: inFolder, atomic });
    expect([gone.body.code, gone.body.issues[0].path]).toEqual(['folder_not_found', 'files.2']);
    await pool.query('update projects set quota_bytes = 12 where id = $1', [project]);
    const full = await record({ projectId: project, files, atomic });
    expect([full.body.code, full.body.issues[0].path]).toEqual(['quota_exceeded', 'files.2']);
    expect(await rowsOf(project)).toEqual([]);
    expect(await countedIn(project)).toEqual({ files: null, bytes: null });
    expect(outcomes(await record({ projectId: project, files }))).toEqual(['ok', 'ok', 'quota_exceeded']);
  });

  test('of racing batches that overlap, each is recorded whole', async () => {
    const project = await service.createProject(ada);
    const files = await upload(12, project);
    const batches = [files.slice(0, 8), files.slice(4).toReversed(), files];
    const answers = await Promise.all(batches.map((some) => record({ projectId: project, files: some, atomic })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await countedIn(project)).toEqual({ files: 12, bytes: 60 });
  });
});
