import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { toTold } from '../failure.ts';
import type { Filter } from './filter.ts';
import { byPath } from './remote-tree.ts';

/** A file on this machine beneath some folder. */
export interface LocalEntry {
  /** From that folder on, with `/`. */
  path: string;
  /** Where it is. */
  from: string;
  size: number;
  /** Milliseconds since 1970. */
  changed: number;
}

/** Something that is left out, and why. */
export interface LeftOut {
  path: string;
  why: string;
  /** Whether it should have been transferred: then the command ends with 5. */
  isFailure: boolean;
}

export interface LocalTree {
  files: LocalEntry[];
  folders: { path: string }[];
  leftOut: LeftOut[];
  /** What the filter does not select, without what is beneath excluded folders. */
  others: string[];
  /** What interrupted downloads have left, as far as the filter selects it. */
  drafts: LocalEntry[];
}

/** The last moment that a `Date` can be, in the year 275760. Some file systems know later ones. */
const lastMoment = 8.64e15;

/** When a file was changed last: to the millisecond, as a project keeps it. */
export const toChanged = ({ mtimeMs }: { mtimeMs: number }): number => Math.min(Math.round(mtimeMs), lastMoment);

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Names that no file of a project can have (docs/api.md). */
const impossible = /[\p{Cc}\\]/u;

/** The name under which a file of the project is written here while it is downloaded. */
export const toDraftName = (fileId: string): string => `.cadiz-${fileId}.part`;

/** What is never transferred, since it is written while something is downloaded. */
const isDraft = (name: string): boolean => name.startsWith('.cadiz-') && name.endsWith('.part');

/** What only a download can have written, so that it may be removed. */
const isOwnDraft = (name: string): boolean => /^\.cadiz-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.part$/.test(name);

/**
 * Reads everything beneath a folder. Symbolic links are left out unless they are followed; so is what cannot be read, with
 * the reason, and the rest is read all the same. Excluded folders are not entered.
 */
export async function readLocalTree(
  root: string,
  { filter, followLinks = false }: { filter: Filter; followLinks?: boolean },
): Promise<LocalTree> {
  const tree: LocalTree = { files: [], folders: [], leftOut: [], others: [], drafts: [] };
  await readFolder(tree, filter, root, '', followLinks ? [await realpath(root)] : undefined);
  tree.files.sort(byPath);
  tree.folders.sort(byPath);
  tree.drafts.sort(byPath);
  return tree;
}

/** @param trail the folders that led here, by their real paths, if links are followed: one of them again would never end */
async function readFolder(
  tree: LocalTree,
  filter: Filter,
  folder: string,
  prefix: string,
  trail: string[] | undefined,
): Promise<void> {
  const leaveOut = (path: string, why: string, isFailure = true) => tree.leftOut.push({ path, why, isFailure });
  let names: Buffer[];
  try {
    names = await readdir(folder, { encoding: 'buffer' });
  } catch (error) {
    leaveOut(prefix.slice(0, -1) || folder, toTold(error).message);
    return;
  }
  for (const bytes of names) {
    const name = decode(bytes);
    const path = prefix + (name ?? bytes.toString('latin1'));
    if (name === undefined) {
      leaveOut(path, 'its name is not UTF-8.');
      continue;
    }
    const from = join(folder, name);
    try {
      if (isDraft(name)) {
        await addDraft(name, path, from);
        continue;
      }
      const own = await lstat(from);
      const facts = trail && own.isSymbolicLink() ? await stat(from) : own;
      const isFolder = facts.isDirectory();
      const isSelected = filter.selects(path, isFolder);
      if (!isSelected) tree.others.push(path);
      if (isFolder ? filter.excludes(path, true) : !isSelected) continue;
      if (impossible.test(name))
        leaveOut(path, 'its name has a backslash or a control character, which no name in a project may have.');
      else if (facts.isSymbolicLink()) leaveOut(path, 'it is a symbolic link, and --links was not given.', false);
      else if (facts.isFile()) tree.files.push({ path, from, size: facts.size, changed: toChanged(facts) });
      else if (isFolder) await enter(path, from, isSelected);
      else leaveOut(path, 'it is neither a file nor a folder.', false);
    } catch (error) {
      leaveOut(path, toTold(error).message);
    }
  }

  async function addDraft(name: string, path: string, from: string): Promise<void> {
    if (!isOwnDraft(name)) return;
    // Its download may end at any moment.
    const facts = await lstat(from).catch(() => undefined);
    if (!filter.selects(path, false)) tree.others.push(path);
    else if (facts?.isFile()) tree.drafts.push({ path, from, size: facts.size, changed: toChanged(facts) });
  }

  async function enter(path: string, from: string, isSelected: boolean): Promise<void> {
    const real = trail && (await realpath(from));
    if (real && trail.includes(real)) return void leaveOut(path, 'it leads back to a folder that it is in.', false);
    if (isSelected) tree.folders.push({ path });
    await readFolder(tree, filter, from, `${path}/`, real ? [...trail, real] : undefined);
  }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
