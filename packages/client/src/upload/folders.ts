import type { Sender } from '../request.ts';
import type { Folder } from '../types.ts';

/** The id of a folder, once it is known; null for the root. */
export type Finding = Promise<string | null>;

/** A folder as it is given: an id, a path such as `press/2027`, a path beneath an id, or null or '' for the root. */
export type Given = string | null | undefined;

/** Finds the ids of folders, and creates those paths that are missing. */
export interface FolderFinder {
  /** @throws CadizError */
  find(folder: Given): Finding;
  /** Asks for all of them with few requests. What fails is found out by `find`. */
  prepare?(folders: Iterable<Given>): void;
  /** Forgets a folder that is not there any more, and those beneath it: found again, they are created anew. */
  forget?(folder: Given, finding: Finding | undefined): void;
}

/** An id, alone or with a path beneath it. */
const withId = /^([\da-f-]{36})(?:\/|$)/i;

export const isId = (folder: string): boolean => folder.length === 36 && withId.test(folder);

/** The id that a path begins with, or ''. */
export const parentOf = (path = ''): string => withId.exec(path)?.[1] ?? '';

/** Without slashes at its ends, and without two in a row. */
export const toPath = (folder: Given): string => (folder ?? '').split('/').filter(Boolean).join('/');

/** Whether a folder is given by its path: it can be created anew. */
export const isPath = (folder: Given): boolean => {
  const path = toPath(folder);
  return path !== '' && !isId(path);
};

/** Creates those that are missing of folders with the same parent. @throws CadizError */
export async function ensureFolders({ place, send }: Sender, folders: readonly string[]): Promise<Folder[]> {
  const { projectId, folderId } = await place();
  const paths = folders.map((folder) => folder.replace(withId, ''));
  const body = { projectId, parentId: parentOf(folders[0]) || folderId, paths };
  return (await send<{ folders: Folder[] }>({ method: 'POST', path: '/api/storage/folders/ensure', body })).folders;
}

/** Asks for each folder by itself. */
export const createFolderFinder = (sender: Sender): FolderFinder => ({
  async find(folder) {
    const path = toPath(folder);
    if (!isPath(path)) return path || (await sender.place()).folderId;
    return (await ensureFolders(sender, [path]))[0]?.id ?? null;
  },
});
