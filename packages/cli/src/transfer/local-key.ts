import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What the file system takes for the same path has the same key. */
export type ToKey = (path: string) => string;

/** File systems of these take two names for one that differ in case or in how accents are composed. */
const foldsNames = process.platform === 'darwin' || process.platform === 'win32';
export const foldPath: ToKey = (path) => path.normalize('NFC').toLowerCase();

const foldCase: ToKey = (path) => path.toLowerCase();

type Look = (path: string) => Promise<unknown>;

/**
 * What is the same path beneath a folder of this machine. Under any system, a folder may be on a file system that takes two names
 * for one that differ in case, such as exFAT: it finds what is in the folder by a name that is not listed.
 *
 * @param look finds what has a path, and fails if nothing has
 */
export async function findLocalKey(folder: string, look: Look = lstat): Promise<ToKey> {
  if (foldsNames) return foldPath;
  return (await ignoresCase(folder, look)) ? foldCase : (path) => path;
}

/** @returns undefined if there is no name with letters to ask for */
async function ignoresCase(folder: string, look: Look): Promise<boolean | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = new Set(entries.map(({ name }) => name));
  const unlisted = [...names].map(swapCase).find((name) => !names.has(name));
  if (unlisted !== undefined) {
    return look(join(folder, unlisted)).then(
      () => true,
      () => false,
    );
  }
  for (const entry of entries) {
    const answer = entry.isDirectory() ? await ignoresCase(join(folder, entry.name), look) : undefined;
    if (answer !== undefined) return answer;
  }
  return undefined;
}

const swapCase = (name: string): string =>
  name.replaceAll(/[a-z]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()));
