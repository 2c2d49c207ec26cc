import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, send, startTestService, type TestService } from '../../../test/service.ts';
import { createApp } from '../../http/app.ts';
import { createS3Store } from '../../store/s3-store.ts';
import { presignUpload } from './presign-upload.ts';

const bucket = process.env.TEST_S3_ENDPOINT ? (process.env.TEST_S3_BUCKET ?? 'cadiz-test') : 'cadiz';
const limitBytes = 1_000_000;

let service: TestService;
let userId: string;
let projectId: string;
let key: string;
let folderId: string;
let foreignFolderId: string;

beforeAll(async () => {
  service = await startTestService({ settings: { MAX_FILE_SIZE_BYTES: String(limitBytes) } });
  const ada = await service.signUp();
  userId = ada.id;
  projectId = await service.createProject(ada);
  ({ key } = await service.createKey(ada, projectId));
  const folder = async (project: string) =>
    (
      await service.call('POST', '/api/storage/folders', {
        as: ada,
        body: { projectId: project, name: 'A folder', parentId: null },
      })
    ).body.id;
  folderId = await folder(projectId);
  foreignFolderId = await folder(await service.createProject(ada, 'Another project'));
});
afterAll(() => service.close());

/** A valid request with some of its fields replaced. */
function requestWith(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { projectId, fileName: 'photo.jpg', mimeType: 'image/jpeg', fileSize: 5, folderId: null, ...fields };
}

function presign(fields: Record<string, unknown> = {}): Promise<Answer> {
  return service.call('POST', '/api/storage/presign', { key, body: requestWith(fields) });
}

async function expectRefused(field: string, fields: Record<string, unknown>): Promise<void> {
  const { status, body } = await presign(fields);
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
  expect(new Set(body.issues.map((issue: { path: string }) => issue.path))).toEqual(new Set([field]));
}

async function countFiles(): Promise<number> {
  const { rows } = await service.deps.db.pool.query('select count(*) as count from files');
  return rows[0].count;
}

/** The key in the path of a presigned URL, as any client's URL parser reads it. */
function keyInPath(presignedUrl: string): string {
  const url = new URL(presignedUrl);
  expect(url.href).toBe(presignedUrl);
  const start = `/${bucket}/`;
  const path = decodeURIComponent(url.pathname);
  expect(path.startsWith(start)).toBe(true);
  return path.slice(start.length);
}

describe('the answer', () => {
  test('is an address that takes the bytes, and nothing else', async () => {
    const fileName = 'Übersicht 100% + #1 👩‍👩‍👧.txt';

    const { status, body } = await presign({ fileName });

    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['presignedUrl', 'storeKey']);
    expect(body.storeKey).toMatch(new RegExp(`^${projectId}/\\d{19}-`));
    expect(body.storeKey.slice(projectId.length + 1 + 19 + 1)).toBe(fileName);
    const { searchParams } = new URL(body.presignedUrl);
    expect(searchParams.get('X-Amz-Expires')).toBe('900');
    expect(searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;host');
    expect((await send('PUT', body.presignedUrl, Buffer.from('hello!'))).status).toBe(403);
    expect((await send('PUT', body.presignedUrl, Buffer.from('hell'))).status).toBe(403);
    expect((await send('PUT', body.presignedUrl, Buffer.from('hello'))).status).toBe(200);
  });

  test('bears the time of its issue, to the millisecond', async () => {
    const before = Date.now();
    const { body } = await presign();
    const issuedAt = Number(body.storeKey.slice(projectId.length + 1, projectId.length + 14));
    expect(issuedAt).toBeGreaterThanOrEqual(before);
    expect(issuedAt).toBeLessThanOrEqual(Date.now());
  });

  test('takes no other method, key or bytes than those that were signed', async () => {
    const { body } = await presign();
    const elsewhere = body.presignedUrl.replace('photo.jpg', 'photo.png');
    expect((await send('PUT', elsewhere, Buffer.from('hello'))).status).toBe(403);
    expect((await send('DELETE', body.presignedUrl)).status).toBe(403);
    expect((await send('GET', body.presignedUrl)).status).toBe(403);
  });

  test('writes no row, not even when the bytes have come', async () => {
    const before = await countFiles();
    const { body } = await presign();
    await send('PUT', body.presignedUrl, Buffer.from('hello'));
    expect(await countFiles()).toBe(before);
  });

  test('says who is asking only by the credential: unknown fields are ignored', async () => {
    const { status, body } = await presign({
      storeKey: 'mine',
      expiresIn: 1,
      bucket: 'other',
      ...JSON.parse('{"__proto__":{"fileSize":1}}'),
    });
    expect(status).toBe(200);
    expect(keyInPath(body.presignedUrl)).toBe(body.storeKey);
  });

  test('is the same for an id in upper case: storeKeys are always in lower case', async () => {
    const { status, body } = await presign({
      projectId: projectId.toUpperCase(),
      folderId: folderId.toUpperCase(),
    });
    expect(status).toBe(200);
    expect(body.storeKey.startsWith(`${projectId}/`)).toBe(true);
  });

  test('is another storeKey each time: 10,000 of one name are all distinct (checklist 39, T11)', async () => {
    const request = { projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null };
    const storeKeys = new Set<string>();
    for (let n = 0; n < 10_000; n += 1) {
      storeKeys.add((await presignUpload(service.deps, { kind: 'session', userId }, request)).storeKey);
    }
    expect(storeKeys.size).toBe(10_000);
  });
});

/** What API.md says about names, in other words than the code. */
function isAcceptable(name: string): boolean {
  const bytes = Buffer.byteLength(name);
  const hasRefused = /[\p{Cc}\p{Cs}/\\]/u.test(name);
  return bytes >= 1 && bytes <= 255 && !hasRefused && name !== '.' && name !== '..';
}

const hostilePieces = [
  ...[
    '%',
    '%2F',
    '%2f..',
    '%00',
    '%252e',
    '+',
    ' ',
    '#',
    '?',
    '&',
    '=',
    ';',
    ':',
    '@',
    '*',
    '~',
    '!',
    '(',
    ')',
    "'",
    '"',
  ],
  ...[
    '.',
    '..',
    '...',
    '-',
    '<b>',
    '{}',
    '[',
    '|',
    '^',
    '`',
    '$',
    ',',
    '\u00a0',
    '\ufeff',
    '\u202e',
    '\u2028',
    'é',
    'e\u0301',
  ],
  ...['日本語', 'עברית', 'ไทย', '👩‍👩‍👧', '\u{10ffff}', 'ß', 'İ', '/', '\\', '\u0000', '\n', '\u0085', '\ud800'],
];
const anyName = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.array(fc.constantFrom(...hostilePieces), { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join('')),
);

const remarkableNames = [
  'plain.txt',
  'with spaces  and  more .txt',
  ' leading and trailing ',
  '100%.txt',
  '%2e%2e%2fetc',
  'a+b=c&d?e#f;g:h@i.txt',
  '"quoted" and \'quoted\'.txt',
  '<script>alert(1)<script>.svg',
  '...',
  '.hidden',
  '-rf *',
  '~',
  'Ünïcödé.txt',
  'cafe\u0301.txt',
  'caf\u00e9.txt',
  '日本語のファイル.txt',
  'قائمة.txt',
  'עברית \u202e txt.exe',
  'हिन्दी.txt',
  'ไทย.txt',
  '👩‍👩‍👧‍👦🏳️‍🌈.png',
  '\u{10ffff}',
  '\ufeffbom.txt',
  'line\u2028separator.txt',
  'con.txt',
  'x'.repeat(255),
  '👍'.repeat(63),
];

describe('names (checklist 39; T8, T9, T10)', () => {
  test('every name that the contract accepts is kept verbatim, and every other one refused', async () => {
    await fc.assert(
      fc.asyncProperty(anyName, async (fileName) => {
        const { status, body } = await presign({ fileName });
        expect(status).toBe(isAcceptable(fileName) ? 200 : 400);
        if (status !== 200) return;
        expect(body.storeKey.slice(projectId.length + 21)).toBe(fileName);
        expect(keyInPath(body.presignedUrl)).toBe(body.storeKey);
      }),
      { numRuns: 400, examples: remarkableNames.map((name): [string] => [name]) },
    );
  });

  test('come back exactly by presign, PUT, record and list', async () => {
    const sampled = fc.sample(anyName.filter(isAcceptable), { numRuns: 12, seed: 1 });
    const recorded = new Map<string, string>();
    for (const fileName of [...remarkableNames, ...sampled]) {
      const upload = await service.upload({ key }, projectId, Buffer.from(fileName), { fileName });
      const { status, body } = await service.call('POST', '/api/storage/record', { key, body: upload });
      expect({ status, fileName: body.fileName, storeKey: body.storeKey }).toEqual({
        status: 200,
        fileName,
        storeKey: upload.storeKey,
      });
      recorded.set(upload.storeKey, fileName);
    }
    const { body } = await service.call('GET', `/api/storage/list?projectId=${projectId}`, { key });
    const listed: { storeKey: string; fileName: string }[] = body.files;
    expect(new Map(listed.map((file) => [file.storeKey, file.fileName]))).toEqual(recorded);
  });

  test.each([
    ['nothing', ''],
    ['NUL', 'a\0b'],
    ['a line feed', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['a tab', 'a\tb'],
    ['escape', '\x1b[31m'],
    ['DEL', 'a\x7fb'],
    ['the first C1 control', 'a\x80b'],
    ['next line (C1)', 'a\x85b'],
    ['the last C1 control', 'a\x9fb'],
    ['a slash', 'a/b'],
    ['a way up', '../b'],
    ['a backslash', 'a\\b'],
    ['a dot', '.'],
    ['two dots', '..'],
    ['a high surrogate alone', 'a\ud83db'],
    ['a low surrogate alone', '\udc4d'],
    ['surrogates the wrong way round', '\udc4d\ud83d'],
    ['256 bytes of ASCII', 'x'.repeat(256)],
    ['256 bytes in characters of four', '👍'.repeat(64)],
    ['256 bytes in characters of two', 'é'.repeat(128)],
    ['60,000 bytes', 'x'.repeat(60_000)],
    ['a number', 7],
    ['null', null],
    ['a list', ['a']],
  ])('%s is no name', (_what, fileName) => expectRefused('fileName', { fileName }));

  test.each([
    ['255 bytes of ASCII', 'x'.repeat(255)],
    ['255 bytes with characters of four', `${'👍'.repeat(63)}xyz`],
    ['a no-break space after the controls', '\u00a0'],
  ])('%s is a name', async (_what, fileName) => {
    expect((await presign({ fileName })).status).toBe(200);
  });
});

describe('media types', () => {
  test.each([
    'image/png',
    'IMAGE/PNG',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'image/svg+xml',
    'text/plain;charset=utf-8',
    'text/plain; charset="utf-8"',
    'multipart/mixed; boundary="a b;c"; x=y',
    'x-world/x-3dmf',
    `application/${'x'.repeat(243)}`,
  ])('%s is one', async (mimeType) => {
    expect((await presign({ mimeType })).status).toBe(200);
  });

  test.each([
    '',
    'image',
    'image/',
    '/png',
    'image/png/x',
    'image png',
    ' image/png',
    'image/png ',
    'image/png;',
    'image/png; charset',
    'image/png; charset="open',
    'text/html\r\nX-Evil: 1',
    'text/html\n',
    'text/\0',
    'téxt/plain',
    '*/*;q=é',
    `application/${'x'.repeat(244)}`,
    7,
    null,
  ])('%j is not a media type', (mimeType) => expectRefused('mimeType', { mimeType }));

  // A pattern with exponential backtracking would exceed the test's timeout.
  test.each([
    `a/b${';a=a'.repeat(62)}"`,
    `a/b${' ;'.repeat(125)}`,
    `a/b${' '.repeat(250)}`,
    `a/b;a="${' '.repeat(240)}`,
    `a/b${';a=""'.repeat(50)};`,
    `${'a'.repeat(255)}`,
    `a/b;${'\t '.repeat(120)}a`,
  ])('adversarial text is refused without delay: %j', (mimeType) => expectRefused('mimeType', { mimeType }));
});

describe('sizes (T12)', () => {
  test.each([-1, -0.5, 1.5, 2 ** 53, 1e300, '5', '', true, null, [5], { bytes: 5 }])('%j is no size', (fileSize) =>
    expectRefused('fileSize', { fileSize }),
  );

  test('NaN, which JSON has no word for, is not JSON', async () => {
    const text = JSON.stringify(requestWith({ fileSize: 5 })).replace('"fileSize":5', '"fileSize":NaN');
    const { status, body } = await service.call('POST', '/api/storage/presign', { key, body: text });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
  });

  test('a number too large for a number is no size', async () => {
    const text = JSON.stringify(requestWith()).replace('"fileSize":5', '"fileSize":1e999');
    const { status, body } = await service.call('POST', '/api/storage/presign', { key, body: text });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
  });

  test('the limit is accepted, and a byte more is 413', async () => {
    expect((await presign({ fileSize: limitBytes })).status).toBe(200);
    const { status, body } = await presign({ fileSize: limitBytes + 1 });
    expect({ status, code: body.code }).toEqual({ status: 413, code: 'file_too_large' });
    expect(body.detail).toContain(String(limitBytes));
  });

  test.each(['0', '-0', '0.0'])('%s is an empty file, which goes the whole way', async (zero) => {
    const text = JSON.stringify(requestWith({ fileName: 'empty' })).replace('"fileSize":5', `"fileSize":${zero}`);
    const { body } = await service.call('POST', '/api/storage/presign', { key, body: text });
    expect((await send('PUT', body.presignedUrl, Buffer.from('x'))).status).toBe(403);
    expect((await send('PUT', body.presignedUrl, new Uint8Array())).status).toBe(200);
    const recording = { ...requestWith({ fileName: 'empty', fileSize: 0 }), storeKey: body.storeKey };
    const recorded = await service.call('POST', '/api/storage/record', { key, body: recording });
    expect({ status: recorded.status, fileSize: recorded.body.fileSize }).toEqual({ status: 200, fileSize: 0 });
  });
});

describe('projects and folders', () => {
  test.each([
    '',
    'root',
    'no-uuid',
    `${randomUUID()}0`,
    `{${randomUUID()}}`,
    randomUUID().replaceAll('-', ''),
    7,
    null,
  ])('projectId %j is no UUID', (id) => expectRefused('projectId', { projectId: id }));

  test.each(['', 'root', 'no-uuid', 7, false])('folderId %j is neither a UUID nor null', (id) =>
    expectRefused('folderId', { folderId: id }),
  );

  test('every field that is missing is named, all at once', async () => {
    const { status, body } = await service.call('POST', '/api/storage/presign', { key, body: {} });
    expect(status).toBe(400);
    expect(body.issues.map((issue: { path: string }) => issue.path)).toEqual([
      'projectId',
      'fileName',
      'mimeType',
      'fileSize',
      'folderId',
    ]);
  });

  test("another project's folder is answered as one that does not exist", async () => {
    const foreign = await presign({ folderId: foreignFolderId });
    const absent = await presign({ folderId: randomUUID() });
    expect({ status: foreign.status, code: foreign.body.code }).toEqual({ status: 404, code: 'folder_not_found' });
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
  });

  test('a folder of the project is accepted, and leaves no trace in the storeKey', async () => {
    const { status, body } = await presign({ folderId });
    expect(status).toBe(200);
    expect(body.storeKey).not.toContain(folderId);
  });
});

describe('the promise', () => {
  test('once key, project and folder are cached, presign asks neither the database nor the object store', async () => {
    const unreachable = createS3Store(
      {
        endpoint: 'http://127.0.0.1:1',
        publicEndpoint: 'http://127.0.0.1:1',
        region: 'us-east-1',
        bucket,
        accessKeyId: 'a',
        secretAccessKey: 'b',
        presignTtlSeconds: 900,
      },
      Date.now,
    );
    const app = createApp({ ...service.deps, objects: unreachable });
    const ask = () =>
      app.fetch(
        new Request('http://localhost/api/storage/presign', {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
          body: JSON.stringify(requestWith({ folderId })),
        }),
      );
    await ask();
    let queries = 0;
    const count = () => {
      queries += 1;
    };
    service.deps.db.pool.on('acquire', count);
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await ask()).status));
    // The service looks for events, and renews what it has cached, a few times meanwhile at most.
    expect(queries).toBeLessThan(10);
    // Proves that the counter counts: these folders are not cached.
    const before = queries;
    for (let asked = 0; asked < 20; asked += 1) await presign({ folderId: randomUUID() });
    expect(queries - before).toBeGreaterThanOrEqual(20);
    service.deps.db.pool.off('acquire', count);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

// Last, because the clock cannot be set back. A store that is not ours has its own clock, which cannot be moved.
describe.skipIf(process.env.TEST_S3_ENDPOINT)('the life of the address', () => {
  test('is PRESIGN_TTL_SECONDS: alive just before, dead just after', async () => {
    const { body } = await presign();
    service.advance(895_000);
    expect((await send('PUT', body.presignedUrl, Buffer.from('hello'))).status).toBe(200);
    service.advance(6_000);
    const late = await send('PUT', body.presignedUrl, Buffer.from('hello'));
    expect(late.status).toBe(403);
    expect(late.text).toContain('expired');
  });
});
