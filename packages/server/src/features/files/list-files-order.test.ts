import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { toNameKey } from '../../tree/name-key.ts';

const sorts = ['name', 'createdAt', 'fileSize'] as const;
const orders = ['asc', 'desc'] as const;
const searches = [undefined, 'a', 'ab', 'ABÉ'];

let service: TestService;
let ada: Person;
let key: string;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  ({ key } = await service.createKey(ada, null));
});
afterAll(() => service.close());

interface Row {
  id: string;
  name: string;
  size: number;
  folderId: string | null;
  isFolder: boolean;
}

/** A project that is kept twice: in the database and as a list. */
class Model {
  readonly projectId: string;
  rows: Row[] = [];
  readonly #random: () => number;

  constructor(projectId: string, random: () => number) {
    this.projectId = projectId;
    this.#random = random;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }

  name(): string {
    const length = 1 + Math.floor(this.#random() * 5);
    return `${Array.from({ length }, () => this.pick(['a', 'A', 'b', 'é', 'e\u0301', 'z', '写', '👧', '_', ' '])).join('')}n`;
  }

  async addFolder(): Promise<void> {
    const folders = this.rows.filter(({ isFolder }) => isFolder);
    const parentId = this.pick([null, ...folders.map(({ id }) => id)]);
    const name = `${this.name()} ${this.rows.length}`;
    const body = { projectId: this.projectId, name, parentId };
    const answer = await service.call('POST', '/api/storage/folders', { key, body });
    expect(answer.status).toBe(200);
    this.rows.push({ id: answer.body.id, name, size: 0, folderId: parentId, isFolder: true });
  }

  async addFiles(count: number): Promise<void> {
    const folders = this.rows.filter(({ isFolder }) => isFolder).map(({ id }) => id);
    const rows = Array.from({ length: count }, () => ({
      id: uuidv7(),
      name: this.name(),
      size: Math.floor(this.#random() * 6) ** 12,
      folderId: this.pick([null, ...folders]),
      isFolder: false,
    }));
    await service.deps.db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
       select $1::uuid, id, $1::text || '/' || id, name, name_key, size, 'a/b', folder_id, 'e'
       from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::uuid[]) as rows (id, name, name_key, size, folder_id)`,
      [
        this.projectId,
        rows.map(({ id }) => id),
        rows.map(({ name }) => name),
        rows.map(({ name }) => toNameKey(name)),
        rows.map(({ size }) => size),
        rows.map(({ folderId }) => folderId),
      ],
    );
    this.rows.push(...rows);
  }

  /** Renames, resizes, moves and deletes some files; returns the ids of the others. */
  async disturb(): Promise<void> {
    const { pool } = service.deps.db;
    const files = this.rows.filter(({ isFolder }) => !isFolder);
    for (let n = 0; n < 5; n += 1) {
      const file = this.pick(files);
      const own = 'where project_id = $1 and id = $2';
      const action = this.pick(['rename', 'resize', 'trash'] as const);
      if (action === 'rename') {
        file.name = this.name();
        const values = [this.projectId, file.id, file.name, toNameKey(file.name)];
        await pool.query(`update files set file_name = $3, name_key = $4 ${own}`, values);
      }
      if (action === 'resize') {
        file.size = Math.floor(this.#random() * 1000);
        await pool.query(`update files set file_size = $3 ${own}`, [this.projectId, file.id, file.size]);
      }
      if (action === 'trash') {
        this.rows = this.rows.filter((row) => row !== file);
        await pool.query(`update files set trash_id = id, trashed_at = now() ${own}`, [this.projectId, file.id]);
      }
      this.touched.add(file.id);
    }
    await this.addFiles(3);
  }

  readonly touched = new Set<string>();

  /** The expected listing, sorted in memory. */
  expected(query: Query): string[] {
    const { sort, order, search, folderId } = query;
    const part = search === undefined ? '' : toNameKey(search);
    const rows = this.rows.filter(
      (row) =>
        (folderId === undefined || row.folderId === (folderId === 'root' ? null : folderId)) &&
        toNameKey(row.name).includes(part),
    );
    const sign = order === 'asc' ? 1 : -1;
    const compare = (a: Row, b: Row) => sign * (bySort(a, b, sort) || (a.id < b.id ? -1 : 1));
    const of = (isFolder: boolean) => rows.filter((row) => row.isFolder === isFolder).sort(compare);
    return [...of(true), ...of(false)].map(({ id }) => id);
  }
}

interface Query {
  sort: (typeof sorts)[number];
  order: (typeof orders)[number];
  search: string | undefined;
  folderId: string | undefined;
}

function bySort(a: Row, b: Row, sort: Query['sort']): number {
  if (sort === 'createdAt') return 0;
  if (sort === 'fileSize' && !a.isFolder) return a.size - b.size;
  return Buffer.compare(Buffer.from(toNameKey(a.name)), Buffer.from(toNameKey(b.name)));
}

const idsOf = ({ body }: Answer): string[] => [...body.folders, ...body.files].map(({ id }: { id: string }) => id);

async function list(model: Model, query: Query, more: Record<string, string> = {}): Promise<Answer> {
  const set = Object.entries({ ...query, ...more }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text = new URLSearchParams([['projectId', model.projectId], ...set]);
  const answer = await service.call('GET', `/api/storage/list?${text}`, { key });
  expect(answer.status).toBe(200);
  return answer;
}

async function walk(model: Model, query: Query, limit: number, between?: () => Promise<void>): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const answer: Answer = await list(model, query, { limit: `${limit}`, ...(cursor ? { cursor } : {}) });
    cursor = answer.body.nextCursor;
    if (cursor) expect(idsOf(answer)).toHaveLength(limit);
    ids.push(...idsOf(answer));
    if (cursor) await between?.();
  } while (cursor);
  return ids;
}

/** Numbers that look random and are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

async function makeModel(seed: number): Promise<Model> {
  const model = new Model(await service.createProject(ada, 'Model'), seeded(seed));
  for (let n = 0; n < 12; n += 1) await model.addFolder();
  await model.addFiles(300);
  return model;
}

const variants = sorts.flatMap((sort) =>
  orders.flatMap((order) => searches.map((search) => ({ sort, order, search }))),
);

describe.each([1, 2])('a project of random names and sizes (%d)', (seed) => {
  let model: Model;
  beforeAll(async () => {
    model = await makeModel(seed);
  });

  test.each(variants)(
    'listed by $sort, $order, with "$search" in the name, equals the sorted list',
    async (variant) => {
      const [folder] = model.rows;
      for (const folderId of [undefined, 'root', folder?.id]) {
        const query = { ...variant, folderId };
        const expected = model.expected(query);
        expect(idsOf(await list(model, query))).toEqual(expected);
        for (const limit of [3, 50]) expect(await walk(model, query, limit)).toEqual(expected);
      }
    },
  );

  test.each(variants)(
    'by $sort, $order, with "$search", while files come, go and change: all others once, in order',
    async (variant) => {
      const query = { ...variant, folderId: undefined };
      const before = model.expected(query);
      model.touched.clear();
      const ids = await walk(model, query, 60, () => model.disturb());
      const isUntouched = (id: string) => before.includes(id) && !model.touched.has(id);
      expect(ids.filter(isUntouched)).toEqual(before.filter(isUntouched));
      const fresh = ids.filter((id) => !model.touched.has(id));
      expect(new Set(fresh).size).toBe(fresh.length);
    },
  );
});

test.each([
  ['sort', 'size'],
  ['sort', ''],
  ['sort', 'NAME'],
  ['order', 'up'],
  ['order', 'DESC'],
])('%s=%s is refused', async (field, value) => {
  const projectId = await service.createProject(ada, 'Refused');
  const answer = await service.call('GET', `/api/storage/list?projectId=${projectId}&${field}=${value}`, { key });
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: 'invalid_request' });
  expect(answer.body.issues).toMatchObject([{ path: field }]);
});

describe('an entry of the trash', () => {
  let projectId: string;
  let kept: string;
  let gone: string;
  let below: string;

  beforeAll(async () => {
    const { pool } = service.deps.db;
    projectId = await service.createProject(ada, 'Trash');
    const folder = async (name: string, parentId: string | null): Promise<string> =>
      (await service.call('POST', '/api/storage/folders', { key, body: { projectId, name, parentId } })).body.id;
    kept = await folder('name kept', null);
    gone = await folder('name gone', kept);
    below = await folder('name below', gone);
    for (const [name, folderId] of [
      ['name in root', null],
      ['name in kept', kept],
      ['name in gone', gone],
      ['name in below', below],
      ['name deleted', null],
      ['name deleted in kept', kept],
    ]) {
      await pool.query(
        `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
         values ($1, $2, $3, $4, upper($4), 1, 'a/b', $5, 'e')`,
        [projectId, uuidv7(), name, name, folderId],
      );
    }
    await pool.query('update folders set trash_id = $1, trashed_at = now() where id = any($2)', [gone, [gone, below]]);
    await pool.query(
      `update files set trash_id = id, trashed_at = now() where project_id = $1 and file_name like '%deleted%'`,
      [projectId],
    );
  });

  test.each(
    sorts.flatMap((sort) =>
      orders.flatMap((order) => ['', '&search=n', '&search=name'].map((search) => ({ sort, order, search }))),
    ),
  )('is nowhere in the listing by $sort, $order$search', async ({ sort, order, search }) => {
    for (const page of ['', '&limit=1', '&limit=100']) {
      const seen = async (where: string) => {
        const names: string[] = [];
        let cursor = '';
        do {
          const path = `/api/storage/list?projectId=${projectId}&sort=${sort}&order=${order}${search}${page}${where}${cursor}`;
          const { body } = await service.call('GET', path, { key });
          names.push(...body.folders.map(({ name }: { name: string }) => name));
          names.push(...body.files.map(({ fileName }: { fileName: string }) => fileName));
          cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
        } while (cursor);
        return names.sort();
      };
      expect(await seen('')).toEqual(['name in kept', 'name in root', 'name kept']);
      expect(await seen('&folderId=root')).toEqual(['name in root', 'name kept']);
      expect(await seen(`&folderId=${kept}`)).toEqual(['name in kept']);
    }
  });

  test('cannot be listed, as if it had never existed', async () => {
    const path = `/api/storage/list?projectId=${projectId}&folderId=`;
    const absent = await service.call('GET', path + uuidv7(), { key });
    for (const folderId of [gone, below]) {
      const { status, body } = await service.call('GET', path + folderId, { key });
      expect(status).toBe(404);
      expect({ ...body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
    }
  });
});

test.each(sorts.flatMap((sort) => orders.map((order) => ({ sort, order }))))(
  'the pages of a key tied to a folder are in order, too: by $sort, $order',
  async ({ sort, order }) => {
    const projectId = await service.createProject(ada);
    const folder = async (name: string, parentId: string | null) =>
      (await service.call('POST', '/api/storage/folders', { key, body: { projectId, name, parentId } })).body.id;
    const own = await folder('own', null);
    const inside = [own];
    for (let n = 0; n < 4; n++) inside.push(await folder(`inside ${n}`, own));
    const count = 40;
    await service.deps.db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
       select $1::uuid, gen_random_uuid(), $1::text || n, n::text, lpad(n::text, 3, '0'), n, 'a/b', ($2::uuid[])[1 + n * 7 % 5], 'e'
       from generate_series(1, $3::int) n`,
      [projectId, inside, count],
    );
    const tied = await service.createKey(ada, projectId, { folderId: own });
    const rows: Answer['body'][] = [];
    let cursor: string | null = null;
    do {
      const query = new URLSearchParams({ projectId, sort, order, limit: '7', ...(cursor && { cursor }) });
      const { body } = await service.call('GET', `/api/storage/list?${query}`, { key: tied.key });
      rows.push(...body.files);
      cursor = body.nextCursor;
    } while (cursor);
    const keys = rows.map(({ id, fileSize }) => (sort === 'createdAt' ? id : fileSize));
    const sorted = keys.toSorted((a, b) => (a < b ? -1 : 1));
    expect(keys).toEqual(order === 'asc' ? sorted : sorted.reverse());
    expect(keys).toHaveLength(count);
  },
);
