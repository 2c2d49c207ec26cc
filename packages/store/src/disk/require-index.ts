import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkIndexFile, IndexFileDamaged } from './check-index-file.ts';
import { systemCode } from './disk-error.ts';
import { IndexUnusable } from './index-unusable.ts';
import { isThere, journalPath } from './journal.ts';

/** There is no store in the folder. */
export class NoStoreFolder extends Error {}

/**
 * Without this a mistyped folder would become an empty store, in which nothing is wrong.
 *
 * @throws NoStoreFolder
 */
export async function requireStore(folder: string): Promise<void> {
  const has = async (name: string) => isThere(join(folder, name));
  if ((await has('index')) || (await has('journal')) || (await hasBlobs(folder))) return;
  throw new NoStoreFolder(`There is no store in ${folder}.`);
}

/**
 * Makes sure that LMDB can open the index, before it does. False if there is none, and nothing that one would have
 * known: then the folder is new.
 *
 * @param thorough - see `checkIndexFile`
 * @throws IndexUnusable
 */
export async function requireIndexFile(folder: string, { thorough }: { thorough: boolean }): Promise<boolean> {
  const path = join(folder, 'index', 'data.mdb');
  const hasJournal = await isThere(journalPath(folder));
  const refusal = (what: string) =>
    hasJournal ? IndexUnusable.butJournal(folder, what) : IndexUnusable.withoutJournal(folder, what);
  if (!(await hasBytes(path))) {
    if (hasJournal || (await hasBlobs(folder))) throw refusal('is gone');
    return false;
  }
  try {
    checkIndexFile(path, { thorough });
    return true;
  } catch (error) {
    if (error instanceof IndexFileDamaged) throw refusal(error.message);
    throw error;
  }
}

async function hasBytes(path: string): Promise<boolean> {
  return (await isThere(path)) && (await stat(path)).size > 0;
}

/** Whether there are files that an index must have known. */
async function hasBlobs(folder: string): Promise<boolean> {
  const sealed = join(folder, 'blobs');
  for (const path of [
    join(folder, 'set-aside'),
    join(folder, 'packs'),
    ...(await namesIn(sealed)).map((name) => join(sealed, name)),
  ]) {
    if ((await namesIn(path)).length > 0) return true;
  }
  return false;
}

/** What is in a folder; nothing if it does not exist. */
export async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}
