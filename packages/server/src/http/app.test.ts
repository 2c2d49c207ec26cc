import { errorCatalogue, errorCodes } from '@cadiz/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
});
afterAll(() => service.close());

const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body?.code}`);
const presignBody = () => ({ projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null });
const createProject = (body: unknown, headers = {}) =>
  service.call('POST', '/api/projects', { as: ada, body, headers });

async function countProjects(): Promise<number> {
  return (await service.call('GET', '/api/projects', { as: ada })).body.projects.length;
}

/** Sends a body of raw bytes, which `call` cannot do. */
async function sendBytes(
  body: Buffer | ReadableStream,
  headers: Record<string, string> = {},
): Promise<{ status: number; code: string }> {
  const response = await service.fetch(
    new Request(`${service.deps.config.publicUrl}/api/projects`, {
      method: 'POST',
      body,
      headers: { Cookie: ada.cookie, 'Content-Type': 'application/json', ...headers },
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    } as RequestInit),
  );
  const { status } = response;
  return { status, code: ((await response.json()) as { code: string }).code };
}

describe('a body that is not what it should be', () => {
  test.each([
    ['nothing', ''],
    ['not JSON', 'name=P'],
    ['half of JSON', '{"name":'],
    ['JSON and more', '{"name":"P"} x'],
    ['a trailing comma', '{"name":"P",}'],
    ['single quotes', "{'name':'P'}"],
    ['a byte order mark', '\ufeff{"name":"P"}'],
    ['a list', '[]'],
    ['a text', '"name"'],
    ['a number', '1'],
    ['null', 'null'],
    ['a boolean', 'true'],
    ['an empty object', '{}'],
    ['NUL', '\0'],
    ['brackets 30,000 deep', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['brackets that do not close', '['.repeat(60_000)],
    ['objects 10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['a name that is 10,000 deep', `{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['a name in __proto__', '{"__proto__":{"name":"P"}}'],
    ['a name in constructor', '{"constructor":{"prototype":{"name":"P"}}}'],
  ])('%s: 400, and nothing is made', async (_what, body) => {
    const before = await countProjects();
    const answer = await createProject(body);
    expect(outcome(answer)).toBe('400 invalid_request');
    expect(answer.body.issues.length).toBeGreaterThan(0);
    expect(await countProjects()).toBe(before);
    expect(({} as { name?: string }).name).toBeUndefined();
  });

  test.each([
    ['a lone continuation byte', [0x80]],
    ['a letter in Latin-1', [0xe9]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a character that breaks off', [0xf0, 0x9f, 0x98]],
    ['half of a surrogate pair (CESU-8)', [0xed, 0xa0, 0x80]],
    ['a byte that UTF-8 does not have', [0xff]],
    ['a code point beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ])('%s is refused, and not stored as U+FFFD', async (_what, bytes) => {
    const before = await countProjects();
    const body = Buffer.concat([Buffer.from('{"name":"P'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(await sendBytes(body)).toEqual({ status: 400, code: 'invalid_request' });
    expect(await countProjects()).toBe(before);
  });

  test('U+FFFD itself is a character like any other', async () => {
    const { body } = await createProject({ name: 'a\ufffdb' });
    expect(body.name).toBe('a\ufffdb');
  });

  test('the last of duplicate keys counts, as in JSON.parse, and is checked', async () => {
    expect((await createProject('{"name":5,"name":"P"}')).body.name).toBe('P');
    expect(outcome(await createProject('{"name":"P","name":5}'))).toBe('400 invalid_request');
  });

  test('keys that every object has are unknown fields like others', async () => {
    const answer = await createProject('{"name":"P","__proto__":{"admin":true},"constructor":1,"toString":null}');
    expect(answer.body).not.toHaveProperty('admin');
    expect(Object.keys(answer.body)).not.toContain('constructor');
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test.each([
    ['missing', {}, 'is missing'],
    ['null', { name: null }, 'must be a string'],
    ['a number', { name: 5 }, 'must be a string'],
    ['a list', { name: [] }, 'must be a string'],
  ])('a field that is %s is told as that', async (_what, body, message) => {
    expect((await createProject(body)).body.issues).toEqual([{ path: 'name', message }]);
  });

  test('what is missing is told as that, whatever the schema says of wrong values', async () => {
    const told = async (path: string, body: object) => {
      const { issues } = (await service.call('POST', path, { as: ada, body })).body;
      return issues.map((issue: { path: string; message: string }) => `${issue.path} ${issue.message}`);
    };
    expect(await told('/api/storage/tickets', { projectId, folderId: null })).toEqual([
      'maxFiles is missing',
      'maxBytes is missing',
    ]);
    const { fileSize: _, ...unsized } = presignBody();
    expect(await told('/api/storage/presign', unsized)).toEqual(['fileSize is missing']);
    expect(await told('/api/storage/presign', { ...unsized, fileSize: null })).toEqual([
      'fileSize must be a whole number of bytes',
    ]);
    expect(await told('/api/storage/presign/batch', { projectId, atomic: true, files: [unsized] })).toEqual([
      'files.0.fileSize is missing',
    ]);
    const batch = { as: ada, body: { projectId, files: [presignBody(), unsized] } };
    const { results } = (await service.call('POST', '/api/storage/presign/batch', batch)).body;
    expect(results[1].problem.issues).toEqual([{ path: 'fileSize', message: 'is missing' }]);
  });

  test('a length is told in plain words, also where the schema has none', async () => {
    const list = await service.call('GET', `/api/storage/list?projectId=${projectId}&cursor=`, { as: ada });
    expect(list.body.detail).toBe('cursor must not be empty.');
    const body = { projectId, fileIds: Array.from({ length: 300 }, () => projectId) };
    const archive = await service.call('POST', '/api/storage/archives', { as: ada, body });
    expect(archive.body.detail).toBe('fileIds must have at most 250 entries.');
    const presets = await createProject({ name: 'P', imagePresets: { 'no name': { w: 1 } } });
    expect(presets.body.detail).toMatch(/^imagePresets\.no name is a name that must /);
  });

  test('a type of event that does not exist is told by its place, with an example', async () => {
    const query = `projectId=${projectId}&types=file.created,file.made`;
    const issues = [{ path: 'types.1', message: 'must be a type of event such as file.created' }];
    expect((await service.call('GET', `/api/storage/events?${query}`, { as: ada })).body.issues).toEqual(issues);
    const body = { url: 'https://app.example.com/', types: ['file.created', 'file.made'] };
    const webhook = await service.call('POST', `/api/projects/${projectId}/webhooks`, { as: ada, body });
    expect(webhook.body.issues).toEqual(issues);
  });

  test('the type of a field is told in the words of JSON', async () => {
    const body = { projectId: 1, atomic: 'yes', files: { 0: 'a' } };
    const batch = await service.call('POST', '/api/storage/record/batch', { as: ada, body });
    const issues: { path: string; message: string }[] = batch.body.issues;
    const told = Object.fromEntries(issues.map(({ path, message }) => [path, message]));
    expect(told).toEqual({
      projectId: 'must be a string',
      atomic: 'must be a boolean',
      files: 'must be an array',
    });
    const file = { projectId: '0', storeKey: 'k', fileName: 'a', mimeType: 'a/b', folderId: null };
    const record = await service.call('POST', '/api/storage/record', {
      as: ada,
      body: { ...file, fileSize: 1, metadata: 'none' },
    });
    expect(record.body.issues).toContainEqual({ path: 'metadata', message: 'must be an object' });
    const list = await service.call('POST', '/api/storage/record', { as: ada, body: [] });
    expect(list.body.detail).toBe('The body must be an object.');
  });

  test('every wrong field is told at once', async () => {
    const body = { projectId: 1, fileName: '', mimeType: 'x', fileSize: -1 };
    const answer = await service.call('POST', '/api/storage/presign', { as: ada, body });
    expect(answer.body.issues.map(({ path }: { path: string }) => path).sort()).toEqual([
      'fileName',
      'fileSize',
      'folderId',
      'mimeType',
      'projectId',
    ]);
    expect(answer.body.detail).toMatch(/and 4 more/);
  });

  test('a refused value is not repeated', async () => {
    const secret = 'sEcReT';
    const answer = await service.call('POST', '/api/auth/sign-up/email', {
      body: { name: 'Ada', email: secret, password: secret },
    });
    expect(answer.text).not.toContain(secret);
  });
});

describe('the size of a body', () => {
  const ofSize = (bytes: number) => {
    const empty = '{"name":"P","x":""}';
    return Buffer.from(empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`));
  };
  const inPieces = (body: Buffer, pieceBytes = 1000) =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.length; at += pieceBytes) controller.enqueue(body.subarray(at, at + pieceBytes));
        controller.close();
      },
    });

  test('64 KiB is taken, one byte more is 413: by its declared length', async () => {
    expect((await sendBytes(ofSize(65_536), { 'Content-Length': '65536' })).status).toBe(200);
    expect(await sendBytes(ofSize(65_537), { 'Content-Length': '65537' })).toEqual({
      status: 413,
      code: 'body_too_large',
    });
  });

  test('and by its bytes where no length is declared', async () => {
    expect((await sendBytes(inPieces(ofSize(65_536)))).status).toBe(200);
    expect(await sendBytes(inPieces(ofSize(65_537)))).toEqual({ status: 413, code: 'body_too_large' });
    expect(await sendBytes(inPieces(ofSize(65_537)), { 'Transfer-Encoding': 'chunked' })).toEqual({
      status: 413,
      code: 'body_too_large',
    });
    expect(await sendBytes(ofSize(1_000_000))).toEqual({ status: 413, code: 'body_too_large' });
  });

  test('comes before the credential', async () => {
    for (const path of ['/api/projects', '/api/storage/presign', '/api/auth/sign-in/email', '/nothing']) {
      const answer = await service.call('POST', path, { body: {}, headers: { 'Content-Length': '65537' } });
      expect([path, answer.status]).toEqual([path, 413]);
    }
  });
});

describe('the type of a body', () => {
  test.each([
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
    'application/jsonx',
    'application/problem+json',
    'x application/json',
  ])('%s: 415', async (type) => {
    const answer = await createProject('{"name":"P"}', { 'Content-Type': type });
    expect(outcome(answer)).toBe('415 unsupported_media_type');
  });

  test('it may be left out with the body, where every field may be', async () => {
    const { id } = (await service.call('POST', '/api/api-keys', { as: ada, body: { name: 'K', projectId: null } }))
      .body;
    const rotate = (options: object = {}) =>
      service.call('POST', `/api/api-keys/${id}/rotate`, { as: ada, ...options });
    expect((await rotate()).status).toBe(200);
    expect(outcome(await rotate({ body: '{}', headers: { 'Content-Type': 'text/plain' } }))).toBe(
      '415 unsupported_media_type',
    );
    expect(outcome(await service.call('POST', '/api/projects', { as: ada }))).toBe('415 unsupported_media_type');
  });

  test('the answer says which Content-Type was sent, and which limit a body is over', async () => {
    const form = await createProject('name=P', { 'Content-Type': 'application/x-www-form-urlencoded' });
    expect(form.body.detail).toBe(
      'Content-Type must be application/json, and the request has application/x-www-form-urlencoded.',
    );
    const long = await createProject({ name: 'P', x: 'x'.repeat(70_000) });
    expect(long.body.detail).toBe('The body has more than the 65536 bytes that this route takes.');
  });

  test('a compressed body is refused for its coding, and not for what its bytes look like', async () => {
    const gzip = await createProject('{"name":"P"}', { 'Content-Encoding': 'gzip' });
    expect(outcome(gzip)).toBe('415 unsupported_media_type');
    expect(gzip.body.detail).toBe('The body must not be encoded, and Content-Encoding says gzip.');
    expect((await createProject('{"name":"P"}', { 'Content-Encoding': 'identity' })).status).toBe(200);
  });

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
    'application/json ;x=y',
  ])('%s is JSON', async (type) => {
    expect(outcome(await createProject('{"name":"P"}', { 'Content-Type': type }))).toBe(200);
  });
});

describe('the address', () => {
  test.each([
    ['/api/projects/%', '400 invalid_request'],
    ['/api/projects/%ff', '400 invalid_request'],
    ['/api/projects/%00', '400 invalid_request'],
    ['/api/projects/a%2fb', '400 invalid_request'],
    ['/api/projects/', '404 not_found'],
    ['/api//projects', '404 not_found'],
    ['/API/projects', '404 not_found'],
    ['/api/projects/x/y', '404 not_found'],
    ['/%', '404 not_found'],
    ['/%ff%fe', '404 not_found'],
    ['/constructor', '404 not_found'],
    ['/errors/constructor', '404 not_found'],
    ['/errors/__proto__', '404 not_found'],
    ['/errors/%', '404 not_found'],
    ['/errors/%3Cscript%3E', '404 not_found'],
    [`/${'x'.repeat(8000)}`, '404 not_found'],
    ['/api/storage/list', '400 invalid_request'],
    ['/api/storage/list?projectId=%ff', '400 invalid_request'],
    ['/api/storage/list?projectId=%', '400 invalid_request'],
    ['/api/storage/list?projectId', '400 invalid_request'],
    ['/api/storage/list?projectId=', '400 invalid_request'],
    ['/api/storage/list?projectId[]=x', '400 invalid_request'],
    ['/api/storage/list?__proto__=x&constructor=y', '400 invalid_request'],
    ['/api/storage/list?&&&===', '400 invalid_request'],
    ['/api/storage/list?projectId=%00', '400 invalid_request'],
  ])('GET %s: %s', async (path, wanted) => {
    const answer = await service.call('GET', path, { as: ada });
    expect(outcome(answer)).toBe(wanted);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  test('of a query parameter that is given twice, the first counts', async () => {
    const absent = '01990000-0000-7000-8000-000000000000';
    const list = (first: string, second: string) =>
      service.call('GET', `/api/storage/list?projectId=${first}&projectId=${second}`, { as: ada });
    expect(outcome(await list(projectId, absent))).toBe(200);
    expect(outcome(await list(absent, projectId))).toBe('404 project_not_found');
  });

  test.each([
    ['PUT', '/api/projects', 'GET, POST, HEAD'],
    ['DELETE', '/api/projects', 'GET, POST, HEAD'],
    ['POST', '/api/projects/x', 'GET, PATCH, DELETE, HEAD'],
    ['GET', '/api/storage/presign', 'POST'],
    ['HEAD', '/api/storage/presign', 'POST'],
    ['OPTIONS', '/api/storage/presign', 'POST'],
    ['POST', '/livez', 'GET, HEAD'],
    ['PROPFIND', '/', 'GET, HEAD'],
    ['get', '/api/storage/record', 'POST'],
  ])('%s %s: 405 with what is allowed', async (method, path, allowed) => {
    const answer = await service.call(method, path, { as: ada });
    expect(answer.status).toBe(405);
    const sorted = (list: string | null) => list?.split(', ').sort();
    expect(sorted(answer.headers.get('allow'))).toEqual(sorted(allowed));
  });

  test('HEAD answers as GET does, without a body', async () => {
    for (const path of [
      '/',
      '/livez',
      '/readyz',
      '/healthz',
      '/openapi.json',
      '/api/projects',
      `/api/storage/list?projectId=${projectId}`,
    ]) {
      const head = await service.call('HEAD', path, { as: ada });
      expect([path, head.status, head.text]).toEqual([path, 200, '']);
      expect(head.headers.get('content-type')).toBe('application/json');
    }
    expect((await service.call('HEAD', '/api/projects')).status).toBe(401);
  });
});

describe('every answer', () => {
  const all: [string, string, () => Parameters<TestService['call']>[2]][] = [
    ['GET', '/', () => ({})],
    ['GET', '/livez', () => ({})],
    ['GET', '/openapi.json', () => ({})],
    ['GET', '/errors/not_found', () => ({})],
    ['GET', '/api/auth/get-session', () => ({ as: ada })],
    ['GET', '/api/projects', () => ({ as: ada })],
    ['GET', '/api/projects', () => ({})],
    ['POST', '/api/projects', () => ({ as: ada, body: '{' })],
    ['POST', '/api/storage/presign', () => ({ as: ada, body: presignBody() })],
    ['POST', '/api/storage/presign', () => ({ body: presignBody() })],
    ['PUT', '/api/projects', () => ({})],
    ['GET', '/nothing', () => ({})],
    ['POST', '/api/projects', () => ({ body: {}, headers: { 'Content-Length': '99999999' } })],
  ];

  test.each(all)('%s %s bears an id of its own and is neither stored nor guessed at', async (method, path, options) => {
    const answers = [await service.call(method, path, options()), await service.call(method, path, options())];
    for (const { headers } of answers) {
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.has('x-powered-by') || headers.has('server')).toBe(false);
    }
    expect(answers[0]?.headers.get('x-request-id')).not.toBe(answers[1]?.headers.get('x-request-id'));
  });

  test('a request id that a client sends is not taken over', async () => {
    const answer = await service.call('GET', '/livez', { headers: { 'X-Request-Id': 'mine' } });
    expect(answer.headers.get('x-request-id')).not.toBe('mine');
  });

  test.each(all)('%s %s, if it is a failure, is a problem document of the catalogue', async (method, path, options) => {
    const answer = await service.call(method, path, options());
    if (answer.status === 200) return;
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const { type, title, status, code, requestId } = answer.body;
    const entry = errorCatalogue[code as keyof typeof errorCatalogue];
    expect({ title, status, answered: answer.status }).toEqual({
      title: entry.title,
      status: entry.status,
      answered: entry.status,
    });
    expect(requestId).toBe(answer.headers.get('x-request-id'));
    const page = await service.call('GET', new URL(type).pathname);
    expect(page.status).toBe(200);
    expect(page.text).toContain(code);
  });
});

describe('GET /errors/{code}', () => {
  test.each(errorCodes)('%s has a page that says what happened and how to mend it', async (code) => {
    const page = await service.call('GET', `/errors/${code}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const part of [code, String(errorCatalogue[code].status), 'What happened', 'How to fix it']) {
      expect(page.text).toContain(part);
    }
  });
});

describe('an error that nobody foresaw', () => {
  test('says nothing of itself to the caller, and everything to the log', async () => {
    const broken = await startTestService({ beside: service });
    broken.deps.access.roles.find = () => {
      throw new Error('select secret from somewhere');
    };
    const cookie = (await broken.signUp()).cookie;
    const answer = await broken.call('GET', `/api/projects/${projectId}`, { headers: { Cookie: cookie } });
    expect(outcome(answer)).toBe('500 internal_error');
    expect(answer.text).not.toMatch(/select|secret| at /);
    const logged = broken.logged();
    expect(logged).toContain('select secret from somewhere');
    expect(logged).toContain(answer.body.requestId);
  });
});
