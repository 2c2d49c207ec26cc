import type { Sender } from '../request.ts';
import type { Folder } from '../types.ts';
import { orThrow, together } from './together.ts';

/** Finds the ids of folders by their paths, and creates those that are missing. */
export interface FolderFinder {
  /** Asks for all of them with few requests. What fails is found out by `find`. */
  prepare(folders: Iterable<string | null | undefined>): void;
  /**
   * @param folder an id, a path such as `press/2027`, a path beneath an id, or null or '' for the root
   * @throws CadizError
   */
  find(folder: string | null | undefined): Promise<string | null>;
  /** Forgets folders that are not there any more, and those beneath them: found again, they are created anew. */
  forget(ids: ReadonlySet<string | null>): void;
}

/** A folder that was asked for, and its id once that is known. */
interface Found {
  promise: Promise<string>;
  id?: string;
}

/** An id, alone or with a path beneath it. */
const withId = /^([\da-f-]{36})(?:\/|$)/i;

/** As many paths as one request takes. */
const batchSize = 100;

export const isId = (folder: string): boolean => folder.length === 36 && withId.test(folder);

/** Without slashes at its ends, and without two in a row. */
export const toPath = (folder: string | null | undefined): string =>
  (folder ?? '').split('/').filter(Boolean).join('/');

/** Whether a folder is given by its path: it can be created anew. */
export const isPath = (folder: string | null | undefined): boolean => {
  const path = toPath(folder);
  return path !== '' && !isId(path);
};

export function createFolderFinder(sender: Sender): FolderFinder {
  const found = new Map<string, Found>();

  /** Asks for folders that have the same parent: its id, or '' for the root. */
  function ask(parent: string, folders: readonly string[]): void {
    const asked = together<string, Folder>(folders, async (folders) => {
      const { projectId, root } = await sender.place();
      const paths = folders.map((folder) => toPath(folder.slice(parent.length)));
      const body = { projectId, parentId: parent || root, paths };
      const path = '/api/storage/folders/ensure';
      return (await sender.send<{ folders: Folder[] }>({ method: 'POST', path, body })).folders;
    });
    for (const [index, folder] of folders.entries()) {
      const promise = asked.then((outcomes) => {
        const { id } = orThrow(outcomes[index]);
        one.id = id;
        return id;
      });
      const one: Found = { promise };
      promise.catch(() => found.delete(folder));
      found.set(folder, one);
    }
  }

  function prepare(folders: Iterable<string | null | undefined>): void {
    const byParent = new Map<string, string[]>();
    for (const folder of new Set(Array.from(folders, toPath))) {
      if (!isPath(folder) || found.has(folder)) continue;
      const [, parent = ''] = withId.exec(folder) ?? [];
      const siblings = byParent.get(parent) ?? [];
      byParent.set(parent, siblings);
      siblings.push(folder);
    }
    for (const [parent, paths] of byParent)
      for (let start = 0; start < paths.length; start += batchSize) ask(parent, paths.slice(start, start + batchSize));
  }

  return {
    prepare,
    async find(folder) {
      const path = toPath(folder);
      if (!isPath(path)) return path || (await sender.place()).root;
      prepare([path]);
      return found.get(path)?.promise ?? null;
    },
    forget(ids) {
      const gone = [...found].filter(([, { id }]) => id && ids.has(id)).map(([path]) => `${path}/`);
      for (const path of found.keys()) if (gone.some((one) => `${path}/`.startsWith(one))) found.delete(path);
    },
  };
}
