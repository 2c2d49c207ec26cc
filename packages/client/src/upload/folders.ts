import type { CadizError } from '../error.ts';
import type { Sender } from '../request.ts';
import { toCadizError } from '../retry.ts';
import type { Folder } from '../types.ts';

/** Finds the ids of folders by their paths, and creates those that are missing. */
export interface FolderFinder {
  /** Asks for all of them with few requests. What fails is found out by `find`. */
  prepare(folders: Iterable<string>): void;
  /**
   * @param folder an id, a path such as `press/2027`, a path beneath an id, or null or '' for the root
   * @throws CadizError
   */
  find(folder: string | null | undefined): Promise<string | null>;
  /** Forgets a folder that is not there any more, and those beneath it: found again, they are created anew. */
  forget(id: string | null): void;
}

/** A folder that was asked for, and its id once that is known. */
interface Found {
  promise: Promise<string>;
  id?: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** As many paths as one request takes. */
const batchSize = 100;

export const isId = (folder: string): boolean => uuid.test(folder);

/** Without slashes at its ends, and without two in a row. */
export const toPath = (folder: string): string => folder.split('/').filter(Boolean).join('/');

/** Whether a folder is given by its path: it can be created anew. */
export const isPath = (folder: string | null | undefined): boolean => {
  const path = toPath(folder ?? '');
  return path !== '' && !isId(path);
};

export function createFolderFinder(sender: Sender): FolderFinder {
  const found = new Map<string, Found>();

  async function ensure(parentId: string | null, paths: readonly string[]): Promise<readonly (Folder | CadizError)[]> {
    try {
      const { projectId, root } = await sender.place();
      const body = { projectId, parentId: parentId ?? root, paths };
      const path = '/api/storage/folders/ensure';
      return (await sender.send<{ folders: Folder[] }>({ method: 'POST', path, body })).folders;
    } catch (error) {
      const failure = toCadizError(error);
      if (failure.code !== 'invalid_request' || paths.length === 1) return paths.map(() => failure);
      // One impossible path does not stand in the way of the others.
      return (await Promise.all(paths.map((path) => ensure(parentId, [path])))).flat();
    }
  }

  function ask(parentId: string | null, paths: readonly string[]): void {
    const prefix = parentId === null ? '' : `${parentId}/`;
    const asked = ensure(parentId, paths);
    for (const [index, path] of paths.entries()) {
      const promise = asked.then((outcomes) => {
        const outcome = outcomes[index];
        if (!outcome || outcome instanceof Error) throw outcome;
        one.id = outcome.id;
        return outcome.id;
      });
      const one: Found = { promise };
      promise.catch(() => found.delete(prefix + path));
      found.set(prefix + path, one);
    }
  }

  function prepare(folders: Iterable<string>): void {
    const byParent = new Map<string | null, string[]>();
    for (const folder of new Set(Array.from(folders, toPath))) {
      if (!isPath(folder) || found.has(folder)) continue;
      const [first = '', ...rest] = folder.split('/');
      const parent = isId(first) ? first : null;
      const paths = byParent.get(parent) ?? [];
      byParent.set(parent, paths);
      paths.push(parent === null ? folder : rest.join('/'));
    }
    for (const [parent, paths] of byParent)
      for (let start = 0; start < paths.length; start += batchSize) ask(parent, paths.slice(start, start + batchSize));
  }

  return {
    prepare,
    async find(folder) {
      const path = toPath(folder ?? '');
      if (isId(path)) return path;
      if (path === '') return (await sender.place()).root;
      prepare([path]);
      return (await found.get(path)?.promise) ?? null;
    },
    forget(id) {
      const gone = Array.from(found.keys()).filter((path) => found.get(path)?.id === id);
      for (const path of found.keys()) if (gone.some((one) => `${path}/`.startsWith(`${one}/`))) found.delete(path);
    },
  };
}
