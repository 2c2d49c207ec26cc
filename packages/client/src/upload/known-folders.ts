import type { Sender } from '../request.ts';
import type { Folder } from '../types.ts';
import { ensureFolders, type Finding, type FolderFinder, type Given, isPath, parentOf, toPath } from './folders.ts';
import { orThrow, together } from './together.ts';

/** As many paths as one request takes. */
const batchSize = 100;

/** Asks for many folders with one request, and for none twice. */
export function createKnownFolders(sender: Sender): FolderFinder {
  const found = new Map<string, Finding>();

  function ask(folders: readonly string[]): void {
    const asked = together<string, Folder>(folders, (folders) => ensureFolders(sender, folders));
    for (const [index, folder] of folders.entries()) {
      const finding = asked.then((outcomes) => orThrow(outcomes[index]).id);
      finding.catch(() => found.delete(folder));
      found.set(folder, finding);
    }
  }

  function prepare(folders: Iterable<Given>): void {
    const missing = [...new Set(Array.from(folders, toPath))].filter((path) => isPath(path) && !found.has(path));
    for (const parent of new Set(missing.map((path) => parentOf(path)))) {
      const paths = missing.filter((path) => parentOf(path) === parent);
      while (paths[0]) ask(paths.splice(0, batchSize));
    }
  }

  return {
    prepare,
    find(folder) {
      const path = toPath(folder);
      prepare([path]);
      return found.get(path) ?? sender.place().then(({ folderId }) => path || folderId);
    },
    forget(folder, finding) {
      const gone = toPath(folder);
      if (found.get(gone) !== finding) return;
      for (const path of found.keys()) if (`${path}/`.startsWith(`${gone}/`)) found.delete(path);
    },
  };
}
