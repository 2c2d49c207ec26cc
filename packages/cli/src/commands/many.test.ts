import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../../server/test/service.ts';
import { type Served, serve } from '../../test/serve.ts';

let service: TestService;
let served: Served;
let apiKey: string;
let projectId: string;

beforeAll(async () => {
  service = await startTestService();
  served = await serve(service);
  const ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  apiKey = (await service.createKey(ada, projectId)).key;
});

afterEach(() => {
  served.intercept = () => undefined;
});

afterAll(async () => {
  served.close();
  await service.close();
});

const cadiz = (...args: string[]) => served.cadiz(apiKey, args);

/** Creates a thousand and one folders in the root, one more than the service takes at once; returns their ids by name. */
async function createFolders(prefix: string): Promise<Map<string, string>> {
  const names = Array.from({ length: 1001 }, (_, index) => `${prefix}${index}`);
  const ids = new Map<string, string>();
  for (let from = 0; from < names.length; from += 100) {
    const asked = { projectId, paths: names.slice(from, from + 100), parentId: null };
    const { body } = await service.call('POST', '/api/storage/folders/ensure', { key: apiKey, body: asked });
    for (const { name, id } of body.folders) ids.set(name, id);
  }
  return ids;
}

/**
 * Says at once where these folders are, and that nothing of their names is in `to`: the service itself would need most
 * of a minute for thousands of such questions. Refuses the change with this number.
 */
function answerLookups(ids: Map<string, string>, refused?: number): void {
  let changes = 0;
  served.intercept = ({ method, url }) => {
    const { pathname, searchParams } = new URL(url);
    if (pathname.endsWith('/bulk') && ++changes === refused) return new Response('{}', { status: 500 });
    if (method !== 'GET') return undefined;
    const path = searchParams.get('path') ?? '';
    if (ids.has(path)) return Response.json({ id: ids.get(path), name: path });
    if (path.startsWith('to/')) return folderNotFound();
    return searchParams.has('search') ? Response.json({ files: [], folders: [], nextCursor: null }) : undefined;
  };
}

const folderNotFound = () =>
  new Response(JSON.stringify({ status: 404, code: 'folder_not_found', title: 'There is no such folder.' }), {
    status: 404,
    headers: { 'content-type': 'application/problem+json' },
  });

test('rm and trash restore take more than the service takes at once, and tell how far they came', async () => {
  const ids = await createFolders('a');
  answerLookups(ids);
  const dry = await cadiz('rm', '-rn', ...ids.keys());
  expect(dry).toMatchObject({ code: 0, stderr: 'Would move to the trash: 1001 folders, 0 files, 0 B.\n' });
  // After the two that only count.
  answerLookups(ids, 4);
  const deleted = await cadiz('rm', '-ry', '--json', ...ids.keys());
  const { folderIds, ...counts } = JSON.parse(deleted.stdout);
  expect([deleted.code, counts]).toEqual([5, { fileIds: [], files: 0, folders: 1000, bytes: 0 }]);
  expect(folderIds).toEqual([...ids.values()].slice(0, 1000));
  expect(await cadiz('rm', '-ry', 'a1000')).toMatchObject({ code: 0 });
  answerLookups(ids, 2);
  const stopped = await cadiz('trash', 'restore', ...ids.values());
  expect([stopped.code, stopped.stderr]).toEqual([
    5,
    expect.stringMatching(
      /^Restored 0 files and 1000 folders\.\nError: .+\nError: Stopped after 1000 of 1001 items\.\n$/,
    ),
  ]);
  const { entries } = JSON.parse((await cadiz('trash', 'list', '--json')).stdout);
  expect(entries).toHaveLength(1);
  expect(await cadiz('trash', 'restore', entries[0].id)).toMatchObject({ code: 0 });
});

test('mv takes more than the service takes at once', async () => {
  const ids = await createFolders('b');
  await cadiz('mkdir', 'to');
  const { folders } = JSON.parse((await cadiz('ls', '--json')).stdout);
  const to = folders.find(({ name }: { name: string }) => name === 'to');
  answerLookups(new Map([...ids, ['to', to.id]]));
  const moved = await cadiz('mv', ...ids.keys(), 'to');
  expect(moved).toMatchObject({ code: 0, stderr: 'Moved 1001 items to cadiz:/to.\n' });
  served.intercept = () => undefined;
  expect((await cadiz('ls', 'to')).stdout.split('\n')).toHaveLength(1002);
});

test('rm counts once what is in a folder that it deletes as well, and leaves out its id', async () => {
  await cadiz('mkdir', '-p', 'outer/deep/deeper', 'outer-beside');
  const paths = ['outer/deep/deeper', 'outer', 'OUTER/deep', 'outer-beside'];
  const { folders, folderIds } = JSON.parse((await cadiz('rm', '-ry', '--json', ...paths)).stdout);
  expect([folders, folderIds.length]).toEqual([4, 2]);
});

test('ls takes more files than a call takes arguments', async () => {
  const file = { fileSize: 5, createdAt: '2027-01-31T12:00:00.000Z', mimeType: 'text/plain', fileName: 'a.txt' };
  const files = Array.from({ length: 1000 }, (_, at) => ({ ...file, id: `${at}` }));
  const pages = 150;
  served.intercept = ({ url }) => {
    const { pathname, searchParams } = new URL(url);
    if (pathname !== '/api/storage/list') return undefined;
    const page = Number(searchParams.get('cursor') ?? 1);
    return Response.json({ files, folders: [], nextCursor: page < pages ? String(page + 1) : null });
  };
  const { code, stdout, stderr } = await cadiz('ls', '-l', 'cadiz:/');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toHaveLength(pages * files.length + 1);
});
