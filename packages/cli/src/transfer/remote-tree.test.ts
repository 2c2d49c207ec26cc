import { createClient } from '@cadiz/client';
import { expect, test } from 'vitest';
import { readRemoteTree } from './remote-tree.ts';

interface Entry {
  id: string;
  name: string;
  parentId: string | null;
}

/** A service that lists these, while others are in none of its pages, as if they had been moved behind the cursor. */
function clientOf({
  files,
  folders,
  unlisted,
  root,
}: Record<'files' | 'folders' | 'unlisted', Entry[]> & { root?: string }) {
  const asked: string[] = [];
  const listing = {
    files: files.map(({ id, name, parentId }) => ({ id, fileName: name, folderId: parentId })),
    folders,
    breadcrumbs: [{ id: root ?? null, name: 'Main' }],
    nextCursor: null,
  };
  const answer = (pathname: string): Response => {
    if (pathname === '/api/storage/list') return Response.json(listing);
    const id = pathname.split('/').at(-1);
    asked.push(id ?? '');
    const folder = unlisted.find((one) => one.id === id);
    if (folder) return Response.json(folder);
    const problem = { type: 'about:blank', code: 'folder_not_found', status: 404, title: 'It is gone.' };
    return Response.json(problem, { status: 404, headers: { 'content-type': 'application/problem+json' } });
  };
  const client = createClient({
    baseUrl: 'http://cadiz.test',
    apiKey: 'cz_test',
    projectId: 'main',
    fetch: async (input) => answer(new URL(input instanceof Request ? input.url : input).pathname),
  });
  return { client, asked };
}

const paths = async (client: Parameters<typeof readRemoteTree>[0]) => {
  const { files, folders } = await readRemoteTree(client, null);
  return [...folders.map(({ path }) => `${path}/`), ...files.map(({ path }) => path)];
};

const top: Entry = { id: 'top', name: 'excluded', parentId: null };
const between: Entry = { id: 'between', name: 'between', parentId: 'top' };
const inner: Entry = { id: 'inner', name: 'new', parentId: 'between' };

test('a folder that no page shows is asked for, with those it is in, so that nothing in it seems to be in the root', async () => {
  const files = [
    { id: 'a', name: 'a.txt', parentId: 'inner' },
    { id: 'b', name: 'b.txt', parentId: 'inner' },
    { id: 'c', name: 'c.txt', parentId: null },
  ];
  const { client, asked } = clientOf({ files, folders: [top], unlisted: [between, inner] });
  expect(await paths(client)).toEqual([
    'excluded/',
    'excluded/between/',
    'excluded/between/new/',
    'c.txt',
    'excluded/between/new/a.txt',
    'excluded/between/new/b.txt',
  ]);
  expect(asked).toEqual(['inner', 'between']);
});

test('what is in a folder that is gone has no path', async () => {
  const files = [{ id: 'a', name: 'a.txt', parentId: 'inner' }];
  const { client } = clientOf({ files, folders: [top, inner], unlisted: [] });
  expect(await paths(client)).toEqual(['excluded/']);
});

test('for a key that is tied to a folder, paths begin there', async () => {
  const files = [{ id: 'a', name: 'a.txt', parentId: 'tied' }];
  const { client, asked } = clientOf({ files, folders: [{ ...top, parentId: 'tied' }], unlisted: [], root: 'tied' });
  expect([await paths(client), asked]).toEqual([['excluded/', 'a.txt'], []]);
});

test('folders that seem to be in one another are refused', async () => {
  const folders = [
    { ...top, parentId: 'between' },
    { ...between, parentId: 'top' },
  ];
  const { client } = clientOf({ files: [], folders, unlisted: [] });
  await expect(readRemoteTree(client, null)).rejects.toThrow('Folders were moved while they were listed.');
});
