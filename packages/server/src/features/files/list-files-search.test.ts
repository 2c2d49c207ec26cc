import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { toNameKey } from '../../tree/name-key.ts';

let service: TestService;
let ada: Person;
let key: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
});
afterAll(() => service.close());

function list(query: Record<string, string>): Promise<Answer> {
  return service.call('GET', `/api/storage/list?${new URLSearchParams(query)}`, { key });
}

async function createFolder(projectId: string, name: string, parentId: string | null = null): Promise<string> {
  const answer = await service.call('POST', '/api/storage/folders', { key, body: { projectId, name, parentId } });
  expect(answer.status).toBe(200);
  return answer.body.id;
}

async function addFiles(projectId: string, names: string[], folderId: string | null = null): Promise<void> {
  await service.deps.db.pool.query(
    `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
     select $1::uuid, id, $1::text || '/' || id, name, name_key, 1, 'a/b', $2, 'e'
     from unnest($3::uuid[], $4::text[], $5::text[]) as rows (id, name, name_key)`,
    [projectId, folderId, names.map(() => uuidv7()), names, names.map(toNameKey)],
  );
}

const namesOf = (answer: Answer): string[] => [
  ...answer.body.folders.map(({ name }: { name: string }) => name),
  ...answer.body.files.map(({ fileName }: { fileName: string }) => fileName),
];

const names = [
  'Ferien am Meer.jpg',
  'STRASSE.txt',
  'Straße 12.pdf',
  'caf\u00e9.png',
  'cafe\u0301 crème.png',
  'cafe.png',
  '100%.csv',
  '100 percent.csv',
  'snake_case.md',
  'snakeXcase.md',
  "it's.txt",
  'a:b & c | !d <-> e.txt',
  '"quoted" (x).txt',
  'two  blanks .txt',
  '写真.heic',
  '東京の写真 2026.heic',
  '京都.heic',
  'видео.mp4',
  'ΟΔΥΣΣΕΥΣ.txt',
  'οδυσσευς 2.txt',
  '👩‍👩‍👧 family.jpg',
  '👧.jpg',
  'हिन्दी.txt',
  'العربية.txt',
  'İstanbul.jpg',
  'x',
  'z'.repeat(255),
];

/** What the search must find, computed without an index. */
const expected = (search: string) => names.filter((name) => toNameKey(name).includes(toNameKey(search)));

// Both ways of finding: in the order of the listing, and, in a project with thousands of other files first, through the
// name index.
describe.each(['few', 'many'])('in a project of %s files', (size) => {
  let projectId: string;
  let folderId: string;

  beforeAll(async () => {
    projectId = await service.createProject(ada, 'Search');
    folderId = await createFolder(projectId, '#');
    if (size === 'many')
      await addFiles(
        projectId,
        Array.from({ length: 5200 }, (_, n) => `${n}`),
      );
    await addFiles(projectId, names, folderId);
    const other = await service.createProject(ada, 'Other');
    await addFiles(other, names);
  });

  test.each<[search: string, found: number | null]>([
    ['meer', 1],
    ['MEER', 1],
    ['ien am', 1],
    ['Ferien am Meer.jpg', 1],
    ['Ferien am Meer.jpgx', 0],
    ['strasse', 2],
    ['straße', 2],
    ['ẞ', 2],
    ['caf\u00e9', 2],
    ['CAFE\u0301', 2],
    ['cafe', 1],
    ['crème', 1],
    ['100%', 1],
    ['%', 1],
    ['_', 1],
    ['snake_', 1],
    ['snake%', 0],
    ['\\', 0],
    ['\\%', 0],
    ["'", 1],
    ["'s", 1],
    ["' or ''='", 0],
    [' & c | !d <-> ', 1],
    ['!d', 1],
    [':b', 1],
    [':*', 0],
    ['"quoted" (', 1],
    ['two  b', 1],
    ['two b', 0],
    ['ks .', 1],
    ['写', 2],
    ['写真', 2],
    ['の写真', 1],
    ['京', 2],
    ['東京の写真 2026.heic', 1],
    ['真写', 0],
    ['ВИДЕО', 1],
    ['де', 1],
    ['σ', 2],
    ['ς', 2],
    ['οδυσσευς', 2],
    ['👧', 2],
    ['👩‍👩', 1],
    ['\u200d', 1],
    ['हिन्', 1],
    ['عرب', 1],
    ['i\u0307s', 1],
    ['x', null],
    ['X', null],
    ['zz', 1],
    ['z'.repeat(255), 1],
    ['.', null],
    ['heic', 3],
    ['ic', null],
    ['nothing like it', 0],
  ])('%j', async (search, found) => {
    const wanted = new Set(expected(search));
    if (found !== null) expect(wanted.size).toBe(found);
    for (const more of [{}, { limit: '100' }, { folderId }, { folderId, limit: '100', sort: 'name', order: 'desc' }]) {
      const answer = await list({ projectId, search, ...more });
      expect(answer.status).toBe(200);
      expect(new Set(namesOf(answer))).toEqual(wanted);
      expect(answer.body.nextCursor).toBeNull();
    }
    const elsewhere = await list({ projectId, search, folderId: 'root' });
    expect(namesOf(elsewhere).filter((name) => names.includes(name))).toEqual([]);
  });

  test('pages of any length contain what one answer contains', async () => {
    for (const limit of ['1', '2', '7']) {
      for (const sort of ['name', 'createdAt', 'fileSize']) {
        const found: string[] = [];
        let cursor: string | null = null;
        do {
          const { body }: Answer = await list({ projectId, search: 'c', sort, limit, ...(cursor ? { cursor } : {}) });
          expect(body.files.length).toBeGreaterThan(0);
          found.push(...body.files.map(({ fileName }: { fileName: string }) => fileName));
          cursor = body.nextCursor;
        } while (cursor);
        expect(found).toHaveLength(expected('c').length);
        expect(new Set(found)).toEqual(new Set(expected('c')));
      }
    }
  });
});

test('folders are found like files, in the project and in one folder', async () => {
  const projectId = await service.createProject(ada, 'Folders');
  const photos = await createFolder(projectId, 'Fotos 写真');
  const year = await createFolder(projectId, '2026 photos', photos);
  await createFolder(projectId, 'Else', year);
  await addFiles(projectId, ['photo.jpg']);
  expect(namesOf(await list({ projectId, search: 'PHOTO' }))).toEqual(['2026 photos', 'photo.jpg']);
  expect(namesOf(await list({ projectId, search: '写' }))).toEqual(['Fotos 写真']);
  expect(namesOf(await list({ projectId, search: 'photo', folderId: photos }))).toEqual(['2026 photos']);
  expect(namesOf(await list({ projectId, search: 'photo', folderId: 'root' }))).toEqual(['photo.jpg']);
  const first = await list({ projectId, search: 'o', limit: '2' });
  expect(namesOf(first)).toEqual(['Fotos 写真', '2026 photos']);
  const second = await list({ projectId, search: 'o', limit: '2', cursor: first.body.nextCursor });
  expect(namesOf(second)).toEqual(['photo.jpg']);
});

test('a renamed file is found by its new name only', async () => {
  const projectId = await service.createProject(ada, 'Renamed');
  await addFiles(projectId, ['before.jpg']);
  await service.deps.db.pool.query(
    `update files set file_name = 'after.jpg', name_key = 'AFTER.JPG' where project_id = $1`,
    [projectId],
  );
  expect(namesOf(await list({ projectId, search: 'before' }))).toEqual([]);
  expect(namesOf(await list({ projectId, search: 'after' }))).toEqual(['after.jpg']);
});

test('finds each name once if more match than the name index is asked for', async () => {
  const projectId = await service.createProject(ada, 'Frequent');
  await addFiles(
    projectId,
    Array.from({ length: 5200 }, (_, n) => `a ${n}`),
  );
  await addFiles(
    projectId,
    Array.from({ length: 10_300 }, (_, n) => `b word ${n}`),
  );
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const query = { projectId, search: 'word', sort: 'name', limit: '1000', ...(cursor ? { cursor } : {}) };
    const answer: Answer = await list(query);
    found.push(...namesOf(answer));
    cursor = answer.body.nextCursor;
  } while (cursor);
  expect(found).toEqual(Array.from({ length: 10_300 }, (_, n) => `b word ${n}`).sort());
  expect(namesOf(await list({ projectId, search: 'word' }))).toHaveLength(10_300);
});

// After thousands of other names, so that the name index and the order's index have to find them.
describe.each(['asc', 'desc'] as const)('a word that many names begin with, by name, %s', (order) => {
  let projectId: string;
  let hidden: string;
  const beginning = Array.from({ length: 10_300 }, (_, n) => `m word ${n}`);
  const inside = ['a m word in a name', 'm word m word', 'z m word', '\u{10FFFF}m word', 'm wo', 'm wor d'];
  const last = `m word ${'\u{10FFFF}'.repeat(40)}`;

  beforeAll(async () => {
    projectId = await service.createProject(ada, 'Beginning');
    hidden = await createFolder(projectId, 'Hidden');
    for (const before of ['b', 'y']) {
      await addFiles(
        projectId,
        Array.from({ length: 5200 }, (_, n) => `${before} ${n}`),
      );
    }
    await addFiles(projectId, [...inside, last, ...beginning]);
    const beforeAndBehind = (n: number) => [`m word  ${n}`, `m word x${n}`];
    await addFiles(
      projectId,
      ['a m word', ...Array.from({ length: 2100 }, (_, n) => beforeAndBehind(n)).flat()],
      hidden,
    );
    const deleted = await service.call('DELETE', `/api/storage/folders/${hidden}?recursive=true`, { as: ada });
    expect(deleted.status).toBe(200);
  });

  // The last page of so many has only a few names, some of which begin with it.
  test.each(['m word', 'm', 'm '])('%j finds all of them in order, each once', async (search) => {
    const bytes = (name: string) => Buffer.from(toNameKey(name));
    const wanted = [...beginning, ...inside, last]
      .filter((name) => toNameKey(name).includes(toNameKey(search)))
      .sort((a, b) => Buffer.compare(bytes(a), bytes(b)) * (order === 'asc' ? 1 : -1));
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const query = { projectId, search, sort: 'name', order, limit: '429', ...(cursor ? { cursor } : {}) };
      const answer: Answer = await list(query);
      expect(answer, answer.text).toMatchObject({ status: 200 });
      found.push(...namesOf(answer));
      cursor = answer.body.nextCursor;
    } while (cursor);
    expect(found).toEqual(wanted);
  });
});

test.each(['', '\0', 'a\nb', 'x'.repeat(256), '写'.repeat(86)])('%j is refused', async (search) => {
  const projectId = await service.createProject(ada, 'Refused');
  const { status, body } = await list({ projectId, search });
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_request' });
  expect(body.issues).toMatchObject([{ path: 'search' }]);
});
