import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { countHandled, planOf } from '../../../test/explain.ts';
import { measureBuffers } from '../../../test/memory.ts';
import { type CallOptions, type Person, send, startTestService, type TestService } from '../../../test/service.ts';
import { extractZip, hasZipTools, readZip, testZip } from '../../../test/zip-tools.ts';
import { createApp } from '../../http/app.ts';
import { listen } from '../../http/listen.ts';
import { createStreamSlots } from '../../serving/stream-slots.ts';
import { toNameKey } from '../../tree/name-key.ts';
import { treeStatement } from './archive-tree.ts';

let service: TestService;
let ada: Person;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  ({ objects, archiveSlots } = service.deps);
  ada = await service.signUp('Ada');
});
beforeEach(async () => {
  projectId = await service.createProject(ada, 'Ada/Photos');
});
afterAll(() => service.close());

const path = join(tmpdir(), `cadiz-archive-test-${process.pid}.zip`);
let objects: TestService['deps']['objects'];
let archiveSlots: TestService['deps']['archiveSlots'];
afterEach(async () => {
  service.deps.objects = objects;
  service.deps.archiveSlots = archiveSlots;
  await rm(path, { force: true });
});

async function createFolder(name: string, parentId: string | null = null): Promise<string> {
  const body = { projectId, name, parentId };
  return (await service.call('POST', '/api/storage/folders', { as: ada, body })).body.id;
}

async function createFile(
  fileName: string,
  content: string | Buffer,
  folderId: string | null = null,
): Promise<{ id: string; storeKey: string }> {
  const body = await service.upload({ as: ada }, projectId, Buffer.from(content as string), { fileName, folderId });
  return (await service.call('POST', '/api/storage/record', { as: ada, body })).body;
}

const order = (body: object = {}, caller: CallOptions = { as: ada }) =>
  service.call('POST', '/api/storage/archives', { ...caller, body: { projectId, ...body } });

async function linkTo(body: object = {}, caller: CallOptions = { as: ada }): Promise<string> {
  const answer = await order(body, caller);
  expect(answer.status).toBe(200);
  return new URL(answer.body.url).pathname;
}

/** The answer itself, whose body is produced as it is read. */
const follow = (link: string, method = 'GET') =>
  service.fetch(new Request(service.deps.config.publicUrl + link, { method }));

/** The contents of the archive, read by Python and tested by Info-ZIP. */
async function contentsOf(link: string): Promise<Record<string, string>> {
  const response = await follow(link);
  expect(response.status).toBe(200);
  await writeFile(path, Buffer.from(await response.arrayBuffer()));
  if (!hasZipTools) return {};
  await testZip(path);
  const entries = await readZip(path);
  const contents = Object.fromEntries(
    entries.map(({ name, content }) => [name, Buffer.from(content, 'hex').toString()]),
  );
  expect(Object.keys(contents)).toHaveLength(entries.length);
  return contents;
}

const readBack = test.skipIf(!hasZipTools);

describe('the contents of an archive', () => {
  readBack('a folder and everything below it: paths, names in every script, empty folders and files', async () => {
    const holiday = await createFolder('Urlaub 👍');
    const deeper = await createFolder('写真', holiday);
    await createFolder('leer', holiday);
    await createFile('elsewhere.txt', 'not in it');
    await createFile('Grüße %41 "1".txt', 'hello', holiday);
    await createFile('猫.png', 'cat', deeper);
    await createFile('empty', '', deeper);
    expect(await contentsOf(await linkTo({ folderIds: [holiday] }))).toEqual({
      'Urlaub 👍/': '',
      'Urlaub 👍/Grüße %41 _1_.txt': 'hello',
      'Urlaub 👍/leer/': '',
      'Urlaub 👍/写真/': '',
      'Urlaub 👍/写真/empty': '',
      'Urlaub 👍/写真/猫.png': 'cat',
    });
  });

  readBack('the whole project', async () => {
    const folder = await createFolder('a');
    await createFile('root.txt', 'root');
    await createFile('in.txt', 'in', folder);
    expect(await contentsOf(await linkTo())).toEqual({ 'root.txt': 'root', 'a/': '', 'a/in.txt': 'in' });
  });

  readBack('a folder and one inside it, each with all of its contents', async () => {
    const outer = await createFolder('outer');
    const inner = await createFolder('inner', outer);
    await createFile('in.txt', 'in', await createFolder('deep', inner));
    expect(await contentsOf(await linkTo({ folderIds: [outer, inner] }))).toEqual({
      'inner/': '',
      'inner/deep/': '',
      'inner/deep/in.txt': 'in',
      'outer/': '',
      'outer/inner/': '',
      'outer/inner/deep/': '',
      'outer/inner/deep/in.txt': 'in',
    });
  });

  test('each folder is looked up once, however many there are', async () => {
    const deepest = Array.from({ length: 16 }, (_, level) => `${level}`).join('/');
    const paths = Array.from({ length: 84 }, (_, n) => `${deepest}/${n}`);
    const ensure = await service.call('POST', '/api/storage/folders/ensure', {
      as: ada,
      body: { projectId, parentId: null, paths },
    });
    expect(ensure.status).toBe(200);
    await service.deps.db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, created_at, updated_at)
       select $1, gen_random_uuid(), n::text, 'a', 'a', 1, 'text/plain', $2, 'e', now(), now() from generate_series(1, 1000) n`,
      [projectId, ensure.body.folders[0].id],
    );
    for (const mode of ['custom', 'generic'] as const) {
      const plan = await planOf(service.deps.db.pool, treeStatement(projectId, undefined, new Date()), mode);
      const handled = (relation: string) =>
        plan
          .filter((node) => node['Relation Name'] === relation)
          .reduce((sum, node) => sum + countHandled(node) * node['Actual Loops'], 0);
      // Those at the top are found among all folders.
      expect(handled('folders')).toBeLessThanOrEqual(2 * 100);
      expect(handled('files')).toBeLessThanOrEqual(2 * 1000);
    }
  });

  readBack('files and folders from several places, under distinct names', async () => {
    const one = await createFolder('one');
    const two = await createFolder('two');
    const [same, sameToo] = [await createFolder('Same', one), await createFolder('same', two)];
    const files = [
      await createFile('a.txt', '1', one),
      await createFile('A.txt', '2', two),
      await createFile('same', '3'),
    ];
    await createFile('in', 'x', sameToo);
    const link = await linkTo({ folderIds: [same, sameToo, same], fileIds: files.map(({ id }) => id) });
    expect(await contentsOf(link)).toEqual({
      'Same/': '',
      'same (2)/': '',
      'same (2)/in': 'x',
      'a.txt': '1',
      'A (2).txt': '2',
      'same (3)': '3',
    });
  });

  readBack('files with the same name get a unique number, and none is lost', async () => {
    const folder = await createFolder('f');
    await createFolder('b.txt', folder);
    for (const [name, content] of [
      ['a.txt', '1'],
      ['a.txt', '2'],
      ['A.TXT', '3'],
      ['a (2).txt', '4'],
      ['b.txt', '5'],
      ['.env', '6'],
      ['.env', '7'],
    ] as const) {
      await createFile(name, content, folder);
    }
    const contents = await contentsOf(await linkTo({ folderIds: [folder] }));
    expect(contents).toEqual({
      'f/': '',
      'f/b.txt/': '',
      'f/a.txt': '1',
      'f/a (3).txt': '2',
      'f/A (4).TXT': '3',
      'f/a (2).txt': '4',
      'f/b (2).txt': '5',
      'f/.env': '6',
      'f/.env (2)': '7',
    });
  });

  readBack(
    'names that Windows does not allow become safe, in folders, files and a selection, and none is lost',
    async () => {
      const top = await createFolder('C:');
      const names = ['a?b', 'a*b', 'A_B', 'a_b (2)', 'nul', 'con.txt', 'COM¹', 'dots...', 'space ', 'é', 'é'];
      for (const [i, name] of names.entries()) await createFile(name, `file ${i}`, top);
      for (const name of ['a|b', 'aux', 'a<b']) await createFile('in', name, await createFolder(name, top));
      const long = `${'x'.repeat(251)}.txt`;
      await createFile(long, 'long', top);
      await createFile(long, 'longer', top);
      const expected = {
        'C_/a_b (3)/in': 'a<b',
        'C_/a_b (4)/in': 'a|b',
        'C_/_aux/in': 'aux',
        'C_/a_b (5)': 'file 1',
        'C_/a_b (6)': 'file 0',
        'C_/A_B': 'file 2',
        'C_/a_b (2)': 'file 3',
        'C_/_nul': 'file 4',
        'C_/_con.txt': 'file 5',
        'C_/_COM¹': 'file 6',
        'C_/dots.._': 'file 7',
        'C_/space_': 'file 8',
        'C_/é': 'file 9',
        'C_/é (2)': 'file 10',
        [`C_/${long}`]: 'long',
        [`C_/${'x'.repeat(247)} (2).txt`]: 'longer',
      };
      for (const link of [await linkTo(), await linkTo({ folderIds: [top] })]) {
        const contents = await contentsOf(link);
        expect(Object.fromEntries(Object.entries(contents).filter(([name]) => !name.endsWith('/')))).toEqual(expected);
        const folder = await mkdtemp(join(tmpdir(), 'cadiz-extracted-'));
        expect((await extractZip(path, folder)).sort()).toEqual(Object.keys(expected).sort());
        await rm(folder, { recursive: true });
      }
      const [slash, plain] = [await createFile('x:y', '1'), await createFile('x_y', '2', top)];
      expect(await contentsOf(await linkTo({ fileIds: [slash.id, plain.id] }))).toEqual({ 'x_y (2)': '1', x_y: '2' });
    },
  );

  readBack('a folder selected along with its parent has the same names in both', async () => {
    const outer = await createFolder('outer');
    const inner = await createFolder('in:ner', outer);
    await createFile('a?', '1', inner);
    await createFile('b', '2', await createFolder('deep*', inner));
    expect(await contentsOf(await linkTo({ folderIds: [outer, inner] }))).toEqual({
      'in_ner/': '',
      'in_ner/a_': '1',
      'in_ner/deep_/': '',
      'in_ner/deep_/b': '2',
      'outer/': '',
      'outer/in_ner/': '',
      'outer/in_ner/a_': '1',
      'outer/in_ner/deep_/': '',
      'outer/in_ner/deep_/b': '2',
    });
  });

  readBack('nothing from the trash', async () => {
    const folder = await createFolder('f');
    const trashed = await createFolder('trashed', folder);
    await createFile('in trashed', 'x', trashed);
    const file = await createFile('gone', 'x', folder);
    await createFile('here', 'x', folder);
    for (const [table, id] of [
      ['folders', trashed],
      ['files', file.id],
    ]) {
      await service.deps.db.pool.query(`update ${table} set trash_id = id, trashed_at = now() where id = $1`, [id]);
    }
    expect(Object.keys(await contentsOf(await linkTo({ folderIds: [folder] })))).toEqual(['f/', 'f/here']);
  });

  readBack('nothing uploaded after its address was created, but anything moved or renamed since', async () => {
    const folder = await createFolder('f');
    const moved = await createFile('moved', 'm');
    await createFile('early', 'e', folder);
    const links = [await linkTo({ folderIds: [folder] }), await linkTo()];
    service.advance(1);
    await createFile('late', 'l', folder);
    await createFile('late at the root', 'l');
    await createFolder('made later', folder);
    const inside = await createFolder('made later, with something early', folder);
    await service.call('PATCH', `/api/storage/files/${moved.id}`, {
      as: ada,
      body: { fileName: 'renamed', folderId: inside },
    });
    const expected = { 'f/': '', 'f/early': 'e', 'f/made later, with something early/renamed': 'm' };
    for (const link of links) expect(await contentsOf(link)).toEqual(expected);
    expect(Object.keys(await contentsOf(await linkTo()))).toContain('f/late');
  });

  readBack('a file recorded by a process whose clock runs ahead', async () => {
    const ahead = await startTestService({ beside: service });
    ahead.advance(60_000);
    const body = await service.upload({ as: ada }, projectId, Buffer.from('x'), { fileName: 'ahead' });
    const { key } = await service.createKey(ada, projectId);
    expect((await ahead.call('POST', '/api/storage/record', { key, body })).status).toBe(200);
    expect(await contentsOf(await linkTo())).toEqual({ ahead: 'x' });
    await ahead.close();
  });

  readBack('many files, page by page, in the order of their names', async () => {
    const { storeKey } = await createFile('a', 'bytes');
    const folder = await createFolder('f');
    // Two pages of rows and a bit more, all with the same object.
    const names = Array.from({ length: 1200 }, (_, i) => (i < 700 ? `same.jpg` : `${i}.jpg`));
    await service.deps.db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
       select $1, gen_random_uuid(), 'key ' || n, name, key, 5, 'image/jpeg', $2, 'x'
       from unnest($3::text[], $4::text[]) with ordinality as t (name, key, n)`,
      [projectId, folder, names, names.map(toNameKey)],
    );
    await service.deps.db.pool.query("update files set created_at = now() - interval '1 s' where folder_id = $1", [
      folder,
    ]);
    service.deps.objects = { ...objects, read: (_key, options) => objects.read(storeKey, options) };
    const contents = await contentsOf(await linkTo({ folderIds: [folder] }));
    const files = Object.entries(contents).filter(([name]) => !name.endsWith('/'));
    expect(files).toHaveLength(1200);
    expect(new Set(Object.values(contents))).toEqual(new Set(['', 'bytes']));
    expect(contents['f/same (700).jpg']).toBe('bytes');
  });
});

describe('POST /api/storage/archives', () => {
  test('200: an address for an hour, or for the requested time', async () => {
    const { body } = await order();
    expect(body.url).toContain(`${service.deps.config.publicUrl}/api/storage/archives/`);
    const seconds = (Date.parse(body.expiresAt) - Date.now()) / 1000;
    expect(seconds).toBeGreaterThan(3590);
    expect(seconds).toBeLessThanOrEqual(3600);
    const short = await order({ expiresIn: 5 });
    expect((Date.parse(short.body.expiresAt) - Date.now()) / 1000).toBeLessThanOrEqual(5);
  });

  test('the largest selection still has an address that works', async () => {
    const { id } = await createFile('a', 'x');
    const ids = [id, ...Array.from({ length: 249 }, () => randomUUID())];
    expect((await order({ fileIds: ids })).body.code).toBe('file_not_found');
    const asker = { kind: 'session' as const, id: randomUUID() };
    const name = `${'写'.repeat(85)}`;
    const madeAt = Date.now();
    const expiresAt = Math.floor(madeAt / 1000) + 100;
    const largest = { asker, projectId, fileIds: ids, folderIds: [], name, madeAt, expiresAt };
    const token = service.deps.archiveLinks.sign(largest);
    expect(token.length).toBeLessThan(7000);
    expect(service.deps.archiveLinks.open(token)).toEqual(largest);
  });

  test.each([
    [{ projectId: 'x' }, 'projectId'],
    [{ fileIds: ['x'] }, 'fileIds.0'],
    [{ folderIds: 'x' }, 'folderIds'],
    [{ fileIds: Array.from({ length: 251 }, () => randomUUID()) }, 'fileIds'],
    [{ fileIds: Array(126).fill(randomUUID()), folderIds: Array(125).fill(randomUUID()) }, 'fileIds'],
    [{ name: 'a/b' }, 'name'],
    [{ expiresIn: 604_801 }, 'expiresIn'],
  ])('400 %#', async (body, issue) => {
    const answer = await order(body);
    expect([answer.status, answer.body.issues[0].path]).toEqual([400, issue]);
  });

  test('404 for an unknown id', async () => {
    expect((await order({ fileIds: [randomUUID()] })).body.code).toBe('file_not_found');
    expect((await order({ folderIds: [randomUUID()] })).body.code).toBe('folder_not_found');
  });
});

describe('GET /api/storage/archives/{token}', () => {
  test('200: saved under the name of the folder, never displayed', async () => {
    const link = await linkTo({ folderIds: [await createFolder('Urlaub 写真')] });
    const { status, headers } = await service.call('GET', link);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/zip',
      'content-disposition': `attachment; filename="Urlaub __.zip"; filename*=UTF-8''Urlaub%20%E5%86%99%E7%9C%9F.zip`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });

  test('its name is the requested one, or the project’s', async () => {
    const nameOf = async (link: string) => (await service.call('HEAD', link)).headers.get('content-disposition');
    expect(await nameOf(await linkTo())).toBe('attachment; filename="Ada_Photos.zip"');
    expect(await nameOf(await linkTo({ name: 'mine' }))).toBe('attachment; filename="mine.zip"');
    expect(await nameOf(await linkTo({ name: 'mine.ZIP' }))).toBe('attachment; filename="mine.ZIP"');
  });

  test('404 if the token is altered', async () => {
    const link = await linkTo({ fileIds: [(await createFile('a', 'x')).id] });
    const start = link.lastIndexOf('/') + 1;
    for (let at = start; at < link.length - 1; at += 7) {
      const other = link[at] === 'A' ? 'B' : 'A';
      const { status, body } = await service.call('GET', link.slice(0, at) + other + link.slice(at + 1));
      expect([at, status, body.code]).toEqual([at, 404, 'archive_not_found']);
    }
    for (const token of [
      'x',
      '...',
      'a.b.c',
      `${link.slice(start)}.x`,
      link.slice(start, -1),
      '%ff',
      'x'.repeat(8000),
    ]) {
      expect((await service.call('GET', `/api/storage/archives/${token}`)).body.code).toBe('archive_not_found');
    }
  });

  test('404 if it has expired', async () => {
    const link = await linkTo({ expiresIn: 100 });
    service.advance(98_000);
    expect((await service.call('GET', link)).status).toBe(200);
    service.advance(3_000);
    expect((await service.call('GET', link)).body.code).toBe('archive_not_found');
  });

  test('404 if the key is revoked or has expired', async () => {
    const { id, key } = await service.createKey(ada, projectId);
    const link = await linkTo({}, { key });
    expect((await service.call('GET', link)).status).toBe(200);
    await service.call('DELETE', `/api/api-keys/${id}`, { as: ada });
    expect((await service.call('GET', link)).body.code).toBe('archive_not_found');

    const expiring = await service.createKey(ada, projectId, {
      expiresAt: new Date(service.deps.now() + 1000).toISOString(),
    });
    const later = await linkTo({}, { key: expiring.key });
    service.advance(2000);
    expect((await service.call('GET', later)).body.code).toBe('archive_not_found');
  });

  test('404 if the membership has ended', async () => {
    const bob = await service.signUp('Bob');
    const shared = await service.createProject(bob);
    const link = await linkTo({ projectId: shared }, { as: bob });
    await service.deps.db.pool.query('delete from project_members where project_id = $1', [shared]);
    service.advance(11_000);
    expect((await service.call('GET', link)).body.code).toBe('archive_not_found');
  });

  test('404 if the account that asked for it is disabled (checklist 7)', async () => {
    const bob = await service.join(ada, projectId, 'viewer');
    const link = await linkTo({}, { as: bob });
    expect((await service.call('GET', link)).status).toBe(200);
    await service.call('PATCH', `/api/users/${bob.id}`, { as: ada, body: { disabled: true } });
    expect((await service.call('GET', link)).body.code).toBe('archive_not_found');
  });

  test('404 if something it names is in the trash', async () => {
    const folder = await createFolder('f');
    const link = await linkTo({ folderIds: [folder] });
    await service.deps.db.pool.query('update folders set trash_id = id, trashed_at = now() where id = $1', [folder]);
    expect((await service.call('GET', link)).body.code).toBe('archive_not_found');
  });

  describe('many archives at once', () => {
    /** Nobody waits for a slot: a request without one is refused at once. */
    beforeEach(() => {
      service.deps.archiveSlots = createStreamSlots(4, 'archives_busy', service.deps.now, 0);
    });

    test('503 for a third archive of a project until one has ended or been abandoned', async () => {
      await createFile('a', 'x');
      const link = await linkTo();
      const first = await follow(link);
      await follow(link);
      const bob = await service.join(ada, projectId, 'viewer');
      const third = await service.call('GET', await linkTo({}, { as: bob }));
      expect([third.status, third.body.code, third.headers.get('retry-after')]).toEqual([503, 'archives_busy', '5']);

      await first.arrayBuffer();
      const again = await follow(link);
      expect(again.status).toBe(200);
      expect((await service.call('GET', link)).status).toBe(503);
      await again.body?.cancel();
      for (let i = 0; i < 5; i++) expect((await service.call('HEAD', link)).status).toBe(200);
      expect((await service.call('GET', link)).status).toBe(200);
    });

    test('one account gets at most half of the slots, through whatever session, key and project', async () => {
      const bob = await service.signUp('Bob');
      const ofBob = await linkTo({ projectId: await service.createProject(bob) }, { as: bob });
      const other = await service.createProject(ada);
      const { key } = await service.createKey(ada, null);
      for (const link of [await linkTo(), await linkTo({ projectId: other }, { key })])
        expect((await follow(link)).status).toBe(200);
      const third = await linkTo({ projectId: await service.createProject(ada) }, { key });
      expect((await service.call('GET', third)).body.code).toBe('archives_busy');
      expect((await service.call('GET', ofBob)).status).toBe(200);
    });

    test('only a reader that takes next to nothing is cut off when others want its slot', async () => {
      const bytes = randomBytes(8 * 1024 * 1024);
      const readers: { name: string; reader: ReadableStreamDefaultReader<Uint8Array> | undefined }[] = [];
      for (const name of ['quick', 'slow', 'slowest', 'store']) {
        const person = await service.signUp(name);
        const project = await service.createProject(person);
        const body = await service.upload({ as: person }, project, bytes);
        await service.call('POST', '/api/storage/record', { as: person, body });
        const link = await linkTo({ projectId: project }, { as: person });
        readers.push({ name, reader: (await follow(link)).body?.getReader() });
      }
      const read = async (who: string, pieces: number) => {
        const reader = readers.find(({ name }) => name === who)?.reader;
        for (let n = 0; n < pieces; n += 1) await reader?.read();
      };
      // What each reader has taken after a minute; the last one waited for the store, and not the store for it.
      await read('slowest', 2);
      await read('slow', 5);
      await read('quick', 20);
      service.advance(30_000);
      await read('store', 2);
      await read('quick', 60);
      service.advance(30_001);
      await read('quick', 1);
      const link = await linkTo();
      expect((await service.call('GET', link)).status).toBe(200);
      const rejections = await Promise.all(
        readers.map(async ({ name, reader }) => [name, await reader?.read().then(String, ({ message }) => message)]),
      );
      expect(rejections.filter(([, message]) => /too slow/.test(String(message))).map(([name]) => name)).toEqual([
        'slowest',
      ]);
    });
  });
});

describe('an archive that cannot be complete breaks off', () => {
  /** Reads the first piece or pieces, calls `between`, and reads the rest. */
  async function readAround(link: string, between: () => Promise<unknown>, first = 1): Promise<number> {
    const reader = (await follow(link)).body?.getReader();
    for (let n = 0; n < first; n += 1) await reader?.read();
    await between();
    for (let bytes = 0; ; ) {
      const piece = await reader?.read();
      if (!piece || piece.done) return bytes;
      bytes += piece.value.length;
    }
  }

  test('if an object is gone', async () => {
    await createFile('a', 'x');
    const { storeKey } = await createFile('b', 'x');
    await objects.remove([storeKey]);
    const link = await linkTo();
    await expect(readAround(link, async () => undefined)).rejects.toThrow('is gone');
    const logged = service.logged().split('\n');
    const line = logged.find((one) => one.includes('A download broke off')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ operation: 'downloadArchive', requestId: expect.stringMatching(/./) });

    // Over the wire, the end of the answer is missing, which every client notices.
    const listening = await listen(createApp(service.deps), '127.0.0.1', 0);
    await expect(send('GET', `http://127.0.0.1:${listening.port}${link}`)).rejects.toThrow('aborted');
    await listening.close(0);
  });

  test('if a file is deleted before its turn', async () => {
    const folder = await createFolder('f');
    const { id } = await createFile('a', 'x', folder);
    await createFile('b', 'x', folder);
    const link = await linkTo({ folderIds: [folder] });
    const remove = () =>
      service.deps.db.pool.query('update files set trash_id = id, trashed_at = now() where id = $1', [id]);
    await expect(readAround(link, remove)).rejects.toThrow('Only 1 of 2 files');
    expect(await readAround(link, async () => undefined)).toBeGreaterThan(100);
  });

  test('if files are renamed in the meantime, so that one would come twice and one never', async () => {
    const folder = await createFolder('f');
    const first = await createFile('a', 'x', folder);
    await service.deps.db.pool.query(
      `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
       select project_id, gen_random_uuid(), store_key || n, 'b' || n, 'B' || n, 1, mime_type, folder_id, etag
       from files, generate_series(1, 500) n where id = $1`,
      [first.id],
    );
    const last = await createFile('c', 'y', folder);
    service.deps.objects = {
      ...objects,
      read: (key, ...more) => objects.read(key.slice(0, first.storeKey.length), ...more),
    };
    const link = await linkTo({ folderIds: [folder] });
    expect(await readAround(link, async () => undefined)).toBeGreaterThan(50_000);
    const rename = async () => {
      for (const [id, fileName] of [
        [first.id, 'z'],
        [last.id, 'A1'],
      ]) {
        await service.call('PATCH', `/api/storage/files/${id}`, { as: ada, body: { fileName } });
      }
    };
    await expect(readAround(link, rename, 5)).rejects.toThrow('renamed or moved in the meantime');
  });

  test('if the key is revoked on the way, even within one large file', async () => {
    const { id: fileId } = await createFile('a', randomBytes(8 * 1024 * 1024));
    const { id, key } = await service.createKey(ada, projectId);
    const link = await linkTo({ fileIds: [fileId] }, { key });
    const later = async () => service.advance(1000);
    expect(await readAround(link, later, 3)).toBeGreaterThan(7 * 1024 * 1024);
    const revoke = async () => {
      await service.call('DELETE', `/api/api-keys/${id}`, { as: ada });
      await later();
    };
    await expect(readAround(link, revoke, 3)).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  test('if the session that asked for it ends on the way', async () => {
    const bob = await service.join(ada, projectId, 'viewer');
    const folder = await createFolder('f');
    await createFile('a', 'x', folder);
    const link = await linkTo({ folderIds: [folder] }, { as: bob });
    const signOut = async () => {
      await service.call('POST', '/api/auth/sign-out', { as: bob });
      service.advance(1000);
    };
    await expect(readAround(link, signOut)).rejects.toMatchObject({ code: 'session_required' });
    const logged = service.logged().split('\n');
    const line = logged.find((one) => one.includes('A download broke off') && one.includes('session_required')) ?? '{}';
    expect(JSON.parse(line), 'no failure of the service').toMatchObject({ level: 30 });
  });
});

describe('a client that goes away ends the reading from the store at once', () => {
  const size = 8 * 1024 * 1024;
  const bodies: Readable[] = [];

  beforeEach(async () => {
    const bytes = randomBytes(size);
    for (const name of ['a', 'b', 'c', 'd']) await createFile(name, bytes);
    bodies.length = 0;
    service.deps.objects = {
      ...objects,
      async read(...args) {
        const object = await objects.read(...args);
        if (object) bodies.push(object.body);
        return object;
      },
    };
  });

  async function expectEnded(): Promise<void> {
    expect(bodies.length).toBe(3);
    await expect.poll(() => bodies.every((body) => body.destroyed)).toBe(true);
    const parties = [`user ${ada.id}`, `project ${projectId}`] as const;
    const never = new AbortController().signal;
    const both = await Promise.all([1, 2].map(() => service.deps.archiveSlots.take(parties, never)));
    for (const slot of both) slot.leave();
  }

  test('with flat memory until then', async () => {
    const before = await measureBuffers();
    const reader = (await follow(await linkTo())).body?.getReader();
    for (let received = 0; received < 2.5 * size; )
      received += (await reader?.read())?.value?.length ?? Number.POSITIVE_INFINITY;
    expect((await measureBuffers()) - before).toBeLessThan(size);
    await reader?.cancel();
    await expectEnded();
  });

  test('over the wire', async () => {
    const listening = await listen(createApp(service.deps), '127.0.0.1', 0);
    const link = await linkTo();
    await new Promise<void>((resolve) => {
      const request = http.get(`http://127.0.0.1:${listening.port}${link}`, (response) => {
        let received = 0;
        response.on('data', (chunk: Buffer) => {
          received += chunk.length;
          if (received >= 2.1 * size) request.destroy();
        });
        response.on('error', () => resolve());
      });
    });
    await expectEnded();
    await listening.close(0);
  });
});

test('tokens are never logged', async () => {
  const link = await linkTo();
  await service.call('GET', link);
  expect(service.logged()).not.toContain(link.slice(-43));
});
