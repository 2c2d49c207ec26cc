import { printable } from '../output.ts';

/** One thing that a sync does. */
export interface Action {
  action: 'upload' | 'download' | 'replace' | 'create' | 'delete';
  /** Beneath the folders that are synced; of a folder, with a slash at its end. */
  path: string;
  bytes?: number;
}

/** What a sync does, and how. */
export interface SyncPlan {
  /** In the order in which they are shown. */
  actions: Action[];
  /** What --delete deletes, in words; undefined if nothing. */
  deletes: string | undefined;
  carryOut(): Promise<void>;
}

/** Whether it brings a file from one side to the other. */
export const isTransfer = ({ action }: Action): boolean => action !== 'create' && action !== 'delete';

export const showActions = (actions: readonly Action[]): string =>
  actions.map(({ action, path }) => `${action.padEnd(8)}  ${printable(path)}\n`).join('');

/** Whether a path is one of these, or beneath one. */
export function isWithin(path: string, folders: ReadonlySet<string>): boolean {
  if (folders.has(path)) return true;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1))
    if (folders.has(path.slice(0, at))) return true;
  return false;
}

/** The folders that these are in, at any depth. */
export function foldersAbove(paths: Iterable<string>): Set<string> {
  const above = new Set<string>();
  for (const path of paths)
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) above.add(path.slice(0, at));
  return above;
}

/** The folders of a list that are in no other one of it. */
export function outermost<T extends { path: string }>(folders: readonly T[]): T[] {
  const all = new Set(folders.map(({ path }) => path));
  return folders.filter(({ path }) => !path.includes('/') || !isWithin(path.slice(0, path.lastIndexOf('/')), all));
}

/**
 * The folders of a list beneath which none of these files is, and that are missing on the other side.
 *
 * @param toKey what the other side takes for the same folder
 */
export function findEmpty(
  folders: readonly { path: string }[],
  files: readonly { path: string }[],
  there: ReadonlySet<string>,
  toKey = (path: string) => path,
): string[] {
  const filled = foldersAbove(files.map(({ path }) => path));
  return folders.map(({ path }) => path).filter((path) => !filled.has(path) && !there.has(toKey(path)));
}
