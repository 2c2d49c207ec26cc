import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary, startLibrary } from '../../../test/library.ts';
import type { Answer } from '../../../test/service.ts';

let library: Library;
let folderId: string;
const names = ['Amsterdam.jpg', 'Berlin.jpg', 'Córdoba.jpg', 'Damascus.jpg', 'Edinburgh.jpg', 'Faro.jpg', 'Ghent.jpg'];

interface Expected {
  id: string;
  fileName: string;
  folderId: string | null;
  metadata: Record<string, unknown>;
}
const files: Expected[] = [];

beforeAll(async () => {
  library = await startLibrary();
  folderId = await library.folder('Photos');
  for (const [n, fileName] of [...names, ...names, ...names].entries()) {
    const metadata = { n, third: n % 3, odd: n % 2 === 1, text: `${n % 3}`, city: fileName.toLowerCase() };
    files.push(
      await record({ fileName, folderId: n % 4 === 0 ? folderId : null }, { metadata, externalId: `id ${n}` }),
    );
  }
  await record({ fileName: 'Plain.jpg', folderId: null }, {});
});
afterAll(() => library.service.close());

async function record(facts: { fileName: string; folderId: string | null }, extras: object, to = library) {
  const recording = await to.service.upload({ key: to.key }, to.projectId, Buffer.from('bytes'), facts);
  const { status, body, text } = await to.call('POST', '/api/storage/record', { ...recording, ...extras });
  expect(status, text).toBe(200);
  return body;
}

function list(query: Record<string, string>, from = library): Promise<Answer> {
  return from.call('GET', `/api/storage/list?${new URLSearchParams({ projectId: from.projectId, ...query })}`);
}

const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

/** All pages, of two entries each. */
async function pages(query: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const { body, status, text } = await list({ ...query, limit: '2', ...(cursor === null ? {} : { cursor }) });
    expect(status, text).toBe(200);
    expect(body.folders).toEqual([]);
    ids.push(...idsOf(body.files));
    cursor = body.nextCursor;
  } while (cursor !== null);
  return ids;
}

const filters: [Record<string, string>, (file: Expected) => boolean][] = [
  [{ 'metadata.n': '7' }, ({ metadata }) => metadata.n === 7],
  [{ 'metadata.third': '1' }, ({ metadata }) => metadata.third === 1],
  [{ 'metadata.text': '1' }, ({ metadata }) => metadata.text === '1'],
  [{ 'metadata.odd': 'true' }, ({ metadata }) => metadata.odd === true],
  [{ 'metadata.city': 'córdoba.jpg' }, ({ metadata }) => metadata.city === 'córdoba.jpg'],
  [{ 'metadata.third': '1', 'metadata.odd': 'false' }, ({ metadata: m }) => m.third === 1 && m.odd === false],
  [
    { 'metadata.third': '1', 'metadata.odd': 'false', 'metadata.text': '1' },
    ({ metadata: m }) => m.third === 1 && m.odd === false,
  ],
  [{ 'metadata.third': '1', search: 'R' }, ({ metadata, fileName }) => metadata.third === 1 && /r/i.test(fileName)],
  [{ 'metadata.none': '' }, () => false],
];
const places: [Record<string, string>, (file: Expected) => boolean][] = [
  [{}, () => true],
  [{ folderId: 'root' }, (file) => file.folderId === null],
  [{ folderId: 'the folder' }, (file) => file.folderId === folderId],
];
const sorts: [string, (a: Expected, b: Expected) => number][] = [
  ['createdAt', (a, b) => (a.id < b.id ? -1 : 1)],
  ['name', (a, b) => (`${a.fileName} ${a.id}` < `${b.fileName} ${b.id}` ? -1 : 1)],
  ['fileSize', (a, b) => (a.id < b.id ? -1 : 1)],
];
const cases = filters.flatMap(([query, matches]) =>
  places.flatMap(([place, isThere]) =>
    sorts.map(([sort, compare]) => ({ query, matches, place, isThere, sort, compare })),
  ),
);

test.each(cases)(
  'a listing by $query in $place, by $sort',
  async ({ query, matches, place, isThere, sort, compare }) => {
    const expected = files.filter((file) => matches(file) && isThere(file)).sort(compare);
    const asked = { ...query, sort, ...(place.folderId === 'the folder' ? { folderId } : place) };
    expect(await pages(asked)).toEqual(idsOf(expected));
    expect(await pages({ ...asked, order: 'desc' })).toEqual(idsOf(expected).reverse());
    const { body } = await list(asked);
    expect({ files: idsOf(body.files), folders: body.folders }).toEqual({ files: idsOf(expected), folders: [] });
  },
);

test('a listing by externalId has the one file that has it', async () => {
  const [, second] = files;
  for (const more of [{}, { limit: '5' }, { folderId: 'root' }, { search: 'berlin' }, { 'metadata.n': '1' }]) {
    const { body } = await list({ externalId: 'id 1', ...more });
    expect(
      { files: idsOf(body.files), folders: body.folders, nextCursor: body.nextCursor },
      JSON.stringify(more),
    ).toEqual({
      files: [second?.id],
      folders: [],
      nextCursor: null,
    });
  }
  for (const more of [{ folderId }, { search: 'paris' }, { 'metadata.n': '2' }]) {
    expect((await list({ externalId: 'id 1', ...more })).body.files).toEqual([]);
  }
  expect((await list({ externalId: 'nobody' })).body.files).toEqual([]);
});

test('a number is compared as answers show it', async () => {
  const own = await openLibrary(library.service);
  const { id } = await record({ fileName: 'a', folderId: null }, { metadata: { big: 1e21, half: 0.5, none: -0 } }, own);
  for (const query of [{ 'metadata.big': '1e+21' }, { 'metadata.half': '0.5' }, { 'metadata.none': '0' }]) {
    expect(idsOf((await list(query as Record<string, string>, own)).body.files)).toEqual([id]);
  }
  expect((await list({ 'metadata.half': '.5' }, own)).body.files).toEqual([]);
});

test('what is hidden or changed is not found, and nothing of another project', async () => {
  const own = await openLibrary(library.service);
  const place = await own.folder();
  const extras = { metadata: { mark: 'here' }, externalId: 'here' };
  const { id } = await record({ fileName: 'a', folderId: place }, extras, own);
  const found = async () => [
    ...idsOf((await list({ 'metadata.mark': 'here' }, own)).body.files),
    ...idsOf((await list({ externalId: 'here' }, own)).body.files),
  ];
  expect(await found()).toEqual([id, id]);
  expect((await list({ 'metadata.mark': 'here' })).body.files).toEqual([]);
  expect((await list({ externalId: 'here' })).body.files).toEqual([]);
  await own.call('DELETE', `/api/storage/folders/${place}?recursive=true`);
  expect(await found()).toEqual([]);
  await own.call('POST', `/api/storage/folders/${place}/restore`);
  expect(await found()).toEqual([id, id]);
  await own.call('PATCH', `/api/storage/files/${id}`, { metadata: { mark: 'gone' }, externalId: 'gone' });
  expect(await found()).toEqual([]);
});

test('a key of a folder finds only what is in it', async () => {
  const { service, ada, projectId } = library;
  const { key } = await service.createKey(ada, projectId, { folderId });
  const query = new URLSearchParams({ projectId, 'metadata.third': '1' });
  const { body } = await library.call('GET', `/api/storage/list?${query}`, undefined, { key });
  const inside = files.filter((file) => file.folderId === folderId && file.metadata.third === 1);
  expect(idsOf(body.files).sort()).toEqual(idsOf(inside).sort());
  const outside = new URLSearchParams({ projectId, externalId: 'id 1' });
  expect((await library.call('GET', `/api/storage/list?${outside}`, undefined, { key })).body.files).toEqual([]);
});

describe('refused', () => {
  test.each([
    [{ 'metadata.': 'x' }],
    [{ 'metadata.a b': 'x' }],
    [{ 'metadata.__proto__': 'x' }],
    [{ 'metadata.a': 'x\0' }],
    [{ 'metadata.a': '1', 'metadata.b': '1', 'metadata.c': '1', 'metadata.d': '1' }],
    [{ externalId: '' }],
  ])('%j', async (query) => {
    const { body } = await expectProblem(list(query as Record<string, string>), 400, 'invalid_request');
    expect(body.issues[0].path).toMatch(/^(metadata\.|externalId)/);
  });

  test('a cursor of a listing with other filters', async () => {
    const { body } = await list({ 'metadata.third': '1', limit: '1' });
    for (const query of [{}, { 'metadata.third': '2' }, { 'metadata.third': '1', externalId: 'id 1' }]) {
      const asked = list({ ...query, cursor: body.nextCursor, limit: '1' } as Record<string, string>);
      await expectProblem(asked, 400, 'invalid_request');
    }
  });
});
