import type { Client } from '@cadiz/client';
import { usageFailure } from '../failure.ts';
import { find, findFiles, findFolderAt, joinPath, readRemotePath, showPath, showRemote } from '../paths.ts';

/** A folder of the project that files go to, and that may not exist yet. */
export interface Target {
  /** What the SDK takes as a folder: an id, a path that it creates, or null for the root. */
  folder: string | null;
  /** The folder's id, null for the root; undefined if it does not exist yet. */
  id: string | null | undefined;
  /** Shows what is in it: as it can be typed. */
  show(path: string): string;
}

/** @throws Failure if it is a file */
export async function findTarget(client: Client, text: string): Promise<Target> {
  const remote = readRemotePath(text);
  const found = 'id' in remote ? await find(client, remote) : await findFolderAt(client, remote.path);
  const above = 'id' in remote ? (found?.path ?? '') : remote.path;
  const show = (path: string) => showRemote(joinPath(above, path));
  if (found?.kind === 'folder') return { folder: found.id, id: found.id, show };
  if (found || 'id' in remote || (await findFiles(client, remote.path)).length > 0)
    throw usageFailure(`${showPath(remote)} is a file, and a folder is needed.`);
  // The slash says that it is a path, even if its first folder is named like an id.
  return { folder: `/${remote.path}`, id: undefined, show };
}
