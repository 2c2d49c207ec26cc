import type { Sender } from '../request.ts';
import type { Folder } from '../types.ts';

/** The id of a folder, once it is known; null for the root. */
export type Finding = Promise<string | null>;

/**
 * A folder as it is given: an id, a path such as `press/2027`, a path beneath an id, or null or '' for the root. What
 * begins with a slash is a path, even if its first folder is named like an id.
 */
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

/** Without slashes at its ends, and without two in a row. */
export const toPath = (folder: string): string => folder.split('/').filter(Boolean).join('/');

/** The id that a folder begins with, or is, and the path beneath that or the root. */
export function split(folder: Given): { id?: string | undefined; path: string } {
  const parts = /^([\da-f-]{36}(?=\/|$))?(.*)/is.exec(folder ?? '') as unknown as [string, string | undefined, string];
  return { id: parts[1], path: toPath(parts[2]) };
}

/** Creates those that are missing of folders with the same parent. @throws CadizError */
export async function ensureFolders({ root, post }: Sender, folders: readonly Given[]): Promise<Folder[]> {
  const parentId = split(folders[0]).id ?? (await root());
  const paths = folders.map((folder) => split(folder).path);
  return (await post<{ folders: Folder[] }>('folders/ensure', { parentId, paths })).answer.folders;
}

/** Asks for each folder by itself. */
export const createFolderFinder = (sender: Sender): FolderFinder => ({
  async find(folder) {
    const { id, path } = split(folder);
    return path ? ((await ensureFolders(sender, [folder]))[0] as Folder).id : (id ?? sender.root());
  },
});
