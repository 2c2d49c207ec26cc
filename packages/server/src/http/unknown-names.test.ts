import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
let ada: Person;
let projectId: string;
let key: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  ({ key } = await service.createKey(ada, projectId));
});
afterAll(() => service.close());

const photo = { fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 5, folderId: null };
const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.call(method, `/api/storage${path}`, { key, body, headers });
const presign = (body: object, query = '') => ask('POST', `/presign${query}`, { projectId, ...photo, ...body });
const warningOf = ({ headers }: Answer) => headers.get('cadiz-warning');

describe('what a route does not know is ignored, and named', () => {
  test('nothing is named where all is known', async () => {
    const sha256 = 'a'.repeat(64);
    const answers = [
      await presign({ sha256 }),
      await ask('POST', '/presign/batch', { projectId, files: [photo, { ...photo, sha256 }], atomic: false }),
      await ask('GET', `/list?projectId=${projectId}&folderId=root&limit=3&sort=name&order=desc&search=a`),
      await ask('POST', '/folders/ensure', { projectId, parentId: null, paths: ['a/b'] }),
      await ask('GET', `/folders?projectId=${projectId}&path=a/b`),
      await ask('GET', '/key'),
    ];
    for (const answer of answers) expect([answer.status, warningOf(answer)]).toEqual([200, null]);
  });

  test('fields of a body, with the place of nested ones and each once', async () => {
    const answer = await presign({ colour: 'red', fileNmae: 'x' });
    expect([answer.status, warningOf(answer)]).toEqual([200, 'Unknown, and ignored: colour, fileNmae.']);
    const files = [{ ...photo, foo: 1 }, photo, { ...photo, foo: 2, bar: { deep: 1 } }];
    const batch = await ask('POST', '/presign/batch', { projectId, files, atomik: true });
    expect(warningOf(batch)).toBe('Unknown, and ignored: files[].foo, files[].bar, atomik.');
  });

  test('a value of a query that is not UTF-8 is refused, unless nobody reads it', async () => {
    const list = (query: string) => ask('GET', `/list?projectId=${projectId}&limit=5${query}`);
    const refused = await list('&search=caf%E9&sort=name');
    expect([refused.status, refused.body.code, refused.body.issues]).toEqual([
      400,
      'invalid_request',
      [{ path: 'search', message: 'must be UTF-8 before it is percent-encoded' }],
    ]);
    for (const query of [
      '&search=caf%C3%A9',
      '&search=%EF%BF%BD',
      '&search=100%',
      '&search=%zz',
      '&search=%EF%BF%BD&from=caf%E9',
    ]) {
      expect([query, (await list(query)).status]).toEqual([query, 200]);
    }
    expect((await list('&metadata.colour=caf%E9')).body.issues[0].path).toBe('metadata.colour');
  });

  test('names of a query, also on a route that takes none, and in a streamed answer', async () => {
    expect(warningOf(await ask('GET', `/usage?projectId=${projectId}&folder=x`))).toBe('Unknown, and ignored: folder.');
    expect(warningOf(await presign({}, '?projectID=x&y'))).toBe('Unknown, and ignored: projectID, y.');
    expect(warningOf(await ask('GET', `/list?projectId=${projectId}&page=2`))).toBe('Unknown, and ignored: page.');
    expect(warningOf(await ask('GET', '/key?x=1'))).toBe('Unknown, and ignored: x.');
  });

  test('what a query repeats, of which the first counts', async () => {
    const answer = await ask('GET', `/list?projectId=${projectId}&limit=3&limit=2000&projectId=x&limit=7`);
    expect([answer.status, warningOf(answer)]).toEqual([200, 'Repeated, and only the first counts: limit, projectId.']);
    const both = await ask('GET', `/usage?projectId=${projectId}&x=1&x=2`);
    expect(warningOf(both)).toBe('Repeated, and only the first counts: x. Unknown, and ignored: x.');
  });

  test('in a refused request, where it may be why', async () => {
    const { fileName, ...rest } = photo;
    const answer = await ask('POST', '/presign', { projectId, ...rest, filename: fileName });
    expect(answer.body.issues).toEqual([{ path: 'fileName', message: 'is missing' }]);
    expect(warningOf(answer)).toBe('Unknown, and ignored: filename.');
    expect(warningOf(await presign({ folderId: projectId, x: 1 }))).toBe('Unknown, and ignored: x.');
    const listing = await ask('GET', `/list?projectId=${projectId}&metadata.colour=red&limit=0&page=2`);
    expect([listing.status, warningOf(listing)]).toEqual([400, 'Unknown, and ignored: page.']);
    const array = await ask('POST', '/presign', [1]);
    expect([array.status, warningOf(array)]).toEqual([400, null]);
    const files = [{ ...photo, foo: { deep: 1 } }, { ...rest, filename: fileName, toString: 1 }, photo];
    const batch = await ask('POST', '/presign/batch', { projectId, files, atomik: true });
    expect(batch.body.results[1].problem.issues).toEqual([{ path: 'fileName', message: 'is missing' }]);
    expect(warningOf(batch)).toBe('Unknown, and ignored: files[].foo, files[].filename, files[].toString, atomik.');
  });

  test('names that objects have anyway are names like others', async () => {
    const body = `{"projectId":"${projectId}",${JSON.stringify(photo).slice(1, -1)},"__proto__":1,"constructor":2,"toString":3}`;
    expect(warningOf(await ask('POST', '/presign', body))).toBe(
      'Unknown, and ignored: __proto__, constructor, toString.',
    );
  });

  test('the header stays short and safe, whatever the names are', async () => {
    const hostile = { 'a\r\nSet-Cookie: x=1': 1, ключ: 2, 'a, b': 3, ['x'.repeat(5000)]: 4 };
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`n${n}`, 1]));
    const answer = await presign({ ...hostile, ...many });
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null]);
    const warning = warningOf(answer) ?? '';
    expect(warning).toMatch(
      /^Unknown, and ignored: a\?\?Set-Cookie\?\?x\?1, \?{4}, a\?\?b, x{100}, n0, n1, n2, n3, n4, n5 and more\.$/,
    );
  });

  test('together with the warning about a key in a browser', async () => {
    const body = { projectId, ...photo, x: 1 };
    for (const answer of [
      await ask('POST', '/presign', body, { Origin: 'https://example.com' }),
      await ask('GET', `/list?projectId=${projectId}&x=1`, undefined, { Origin: 'https://example.com' }),
    ]) {
      expect(warningOf(answer)).toBe(
        'An API key was sent by a browser: everybody who opens that page can take it. Unknown, and ignored: x.',
      );
    }
  });
});
