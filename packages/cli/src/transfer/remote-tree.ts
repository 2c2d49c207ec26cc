import { type Client, isCadizError, type ListedFile, type ListedFolder } from '@cadiz/client';
import { exitCodes, Failure } from '../failure.ts';
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

/** What one listing of everything has shown. */
interface Listed {
  files: ListedFile[];
  folders: Map<string, ListedFolder>;
  /** The root, or the folder that the key is tied to. */
  root: string | null;
}

/**
 * With one listing of everything, which is far less than one for each folder.
 *
 * @throws Failure if folders were moved into one another meanwhile
 */
async function readProject(client: Client): Promise<RemoteTree> {
  const listed: Listed = { files: [], folders: new Map(), root: null };
  for await (const page of readPages(client, undefined)) {
    listed.files.push(...page.files);
    for (const folder of page.folders) listed.folders.set(folder.id, folder);
    listed.root = page.breadcrumbs[0]?.id ?? null;
  }
  await addMissing(client, listed);
  const pathOf = createPaths(listed);
  const tree: RemoteTree = { files: [], folders: [] };
  for (const file of listed.files) {
    const parent = pathOf(file.folderId);
    if (parent !== undefined) tree.files.push({ path: joinPath(parent, file.fileName), file });
  }
  for (const folder of listed.folders.values()) {
    const path = pathOf(folder.id);
    if (path !== undefined) tree.folders.push({ path, folder });
  }
  return tree;
}

/**
 * Adds the folders that something listed is in, and that were created or moved behind the pages that had been read. What
 * has been deleted meanwhile stays unknown, and so does the place of what was in it.
 */
async function addMissing(client: Client, { files, folders, root }: Listed): Promise<void> {
  const asked = new Set<string>();
  const isMissing = (id: string | null): id is string =>
    id !== null && id !== root && !folders.has(id) && !asked.has(id);
  let missing = new Set([...files.map(({ folderId }) => folderId), ...parentsOf(folders.values())].filter(isMissing));
  while (missing.size > 0) {
    const found: ListedFolder[] = [];
    const queue = missing.values();
    const work = async () => {
      for (const id of queue) {
        asked.add(id);
        const folder = await findFolder(client, id);
        if (folder) found.push(folder);
      }
    };
    await Promise.all(Array.from({ length: listedAtOnce }, work));
    for (const folder of found) folders.set(folder.id, folder);
    missing = new Set(parentsOf(found).filter(isMissing));
  }
}

const parentsOf = (folders: Iterable<ListedFolder>) => [...folders].map(({ parentId }) => parentId);

async function findFolder(client: Client, id: string): Promise<ListedFolder | undefined> {
  try {
    return await client.folders.get(id);
  } catch (error) {
    if (isCadizError(error) && error.code === 'folder_not_found') return undefined;
    throw error;
  }
}

/** Finds the path of a folder by its id; undefined if it is in a folder that is unknown. */
function createPaths({ folders, root }: Listed): (id: string | null) => string | undefined {
  const paths = new Map<string | null, string | undefined>([[root, '']]);
  const begun = new Set<string>();
  const pathOf = (id: string | null): string | undefined => {
    const folder = folders.get(id ?? '');
    if (paths.has(id) || !folder) return paths.get(id);
    // Each was listed at another moment.
    if (begun.has(folder.id))
      throw new Failure(exitCodes.failed, 'Folders were moved while they were listed. Run the same command again.');
    begun.add(folder.id);
    const parent = pathOf(folder.parentId);
    const path = parent === undefined ? undefined : joinPath(parent, folder.name);
    paths.set(folder.id, path);
    return path;
  };
  return pathOf;
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
