import type { Client, ListedFile, ListedFolder } from '@cadiz/client';
import { joinPath } from '../paths.ts';

/** A file beneath some folder. */
export interface RemoteFile {
  /** From that folder on, with its name. */
  path: string;
  file: ListedFile;
}

export interface RemoteFolder {
  path: string;
  folder: ListedFolder;
}

/** Everything beneath a folder; each list is sorted by path. */
export interface RemoteTree {
  files: RemoteFile[];
  folders: RemoteFolder[];
}

const listedAtOnce = 6;

/** Reads everything beneath a folder, or in the project with null. */
export async function readRemoteTree(client: Client, folderId: string | null): Promise<RemoteTree> {
  const tree = folderId === null ? await readProject(client) : await readBeneath(client, folderId);
  tree.files.sort(byPath);
  tree.folders.sort(byPath);
  return tree;
}

export const byPath = (a: { path: string }, b: { path: string }): number =>
  a.path < b.path ? -1 : a.path > b.path ? 1 : 0;

/** The entries directly in a folder. */
export async function* readPages(client: Client, folder: string | null | undefined) {
  let cursor: string | null = null;
  do {
    const page = await client.files.page({ ...(folder !== undefined && { folder }), cursor, sort: 'name' });
    yield page;
    cursor = page.nextCursor;
  } while (cursor);
}

/** With one listing of everything, which is far less than one for each folder. */
async function readProject(client: Client): Promise<RemoteTree> {
  const listed: ListedFile[] = [];
  const folders = new Map<string, ListedFolder>();
  for await (const page of readPages(client, undefined)) {
    listed.push(...page.files);
    for (const folder of page.folders) folders.set(folder.id, folder);
  }
  const paths = new Map<string, string>();
  const pathOf = (id: string | null): string => {
    const folder = folders.get(id ?? '');
    if (!folder) return '';
    const known = paths.get(folder.id);
    if (known !== undefined) return known;
    const path = joinPath(pathOf(folder.parentId), folder.name);
    paths.set(folder.id, path);
    return path;
  };
  return {
    files: listed.map((file) => ({ path: joinPath(pathOf(file.folderId), file.fileName), file })),
    folders: [...folders.values()].map((folder) => ({ path: pathOf(folder.id), folder })),
  };
}

async function readBeneath(client: Client, folderId: string): Promise<RemoteTree> {
  const tree: RemoteTree = { files: [], folders: [] };
  let waiting: { id: string; path: string }[] = [{ id: folderId, path: '' }];
  while (waiting.length > 0) {
    const next: typeof waiting = [];
    const queue = waiting.values();
    const work = async () => {
      for (const { id, path } of queue) {
        for await (const page of readPages(client, id)) {
          for (const file of page.files) tree.files.push({ path: joinPath(path, file.fileName), file });
          for (const folder of page.folders) {
            tree.folders.push({ path: joinPath(path, folder.name), folder });
            next.push({ id: folder.id, path: joinPath(path, folder.name) });
          }
        }
      }
    };
    await Promise.all(Array.from({ length: listedAtOnce }, work));
    waiting = next;
  }
  return tree;
}
