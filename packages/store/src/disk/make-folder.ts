import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from './disk-error.ts';

/**
 * Creates a folder and any missing parents, for this user only. Returns the topmost folder created, or undefined if all
 * existed.
 *
 * Node's own `recursive` retries for ever if a file system accepts no folders (`/proc`), and reports ENOENT if the disk
 * is full or read-only.
 *
 * @param path - absolute
 * @throws the system's error, whose `code` is the reason: ENOSPC, EACCES, EROFS, …; ENOENT if no folder can be created,
 *   EEXIST or ENOTDIR if something that is not a folder is in the way
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  const missing: string[] = [];
  for (let at = path; !(await isFolder(at)); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) await makeOne(folder);
  return missing[0];
}

async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Somebody else may have created it in the meantime.
    if (systemCode(error) !== 'EEXIST' || !(await isFolder(folder))) throw error;
  }
}

/** Also false for something that is not a folder: creating one in its place then fails with the reason. */
async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}
