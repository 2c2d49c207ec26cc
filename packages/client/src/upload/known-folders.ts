import type { Sender } from '../request.ts';
import type { Folder } from '../types.ts';
import { ensureFolders, type Finding, type FolderFinder, type Given, split } from './folders.ts';
import { orThrow, together } from './together.ts';

/** As many paths as one request takes. */
const batchSize = 100;

/** One name for a folder, however it is given, which can be given itself. */
function toName(folder: Given): string {
  const { id = '', path } = split(folder);
  return `${id}/${path}`;
}

/** Asks for many folders with one request, and for none twice. */
export function createKnownFolders(sender: Sender): Required<FolderFinder> {
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
    const missing = [...new Set(Array.from(folders, toName))].filter(
      (folder) => split(folder).path && !found.has(folder),
    );
    for (const parent of new Set(missing.map((folder) => split(folder).id))) {
      const siblings = missing.filter((folder) => split(folder).id === parent);
      while (siblings[0]) ask(siblings.splice(0, batchSize));
    }
  }

  return {
    prepare,
    find(folder) {
      prepare([folder]);
      return found.get(toName(folder)) ?? Promise.resolve(split(folder).id ?? sender.root());
    },
    forget(folder, finding) {
      const gone = toName(folder);
      if (found.get(gone) !== finding) return;
      for (const path of found.keys()) if (`${path}/`.startsWith(`${gone}/`)) found.delete(path);
    },
  };
}
