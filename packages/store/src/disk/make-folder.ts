import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from './disk-error.ts';

/**
 * Makes a folder, and those above it that are missing, for this user alone. Tells the topmost that was made, or undefined
 * when all were there.
 *
 * Node's own `recursive` tries for ever where a file system takes no folders (`/proc`), and says ENOENT where the disk is
 * full or read-only.
 *
 * @param path - absolute
 * @throws the system's error, of which `code` is the reason: ENOSPC, EACCES, EROFS, …; ENOENT where no folder can be made,
 *   EEXIST or ENOTDIR where something that is no folder is in the way
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
    // Somebody else may have made it meanwhile.
    if (systemCode(error) !== 'EEXIST' || !(await isFolder(folder))) throw error;
  }
}

/** False also for what is no folder: making one in its place then tells the reason. */
async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}
