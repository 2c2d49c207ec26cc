import { basename } from 'node:path';
import type { Client, ListedFile } from '@cadiz/client';
import { usageFailure } from '../failure.ts';
import { findIn, isRemote, joinPath, toFileKey, toFolderKey } from '../paths.ts';
import type { Filter } from './filter.ts';
import { type LeftOut, type LocalEntry, readLocalTree, toChanged } from './local-tree.ts';
import { findNamed } from './named-path.ts';
import { newestByPath } from './plan-uploads.ts';
import { type RemoteTree, readPages, readRemoteTree } from './remote-tree.ts';

/** What is to be uploaded: files and folders of this machine, and the path that each gets beneath the target. */
export interface Sources {
  files: { entry: LocalEntry; path: string }[];
  /** Names of folders; '' stands for what is in a folder without the folder itself. */
  folders: string[];
  /** The paths of all folders. */
  allFolders: { path: string }[];
  leftOut: LeftOut[];
}

/** @param cwd what relative paths begin in. @throws Failure, and errors of files that are named and cannot be read */
export async function readSources(
  cwd: string,
  args: readonly string[],
  how: { recursive: boolean; links: boolean; filter: Filter },
): Promise<Sources> {
  const sources: Sources = { files: [], folders: [], allFolders: [], leftOut: [] };
  const taken = new Set<string>();
  for (const arg of args) {
    if (isRemote(arg))
      throw usageFailure(`${arg} is in the project: name files of this machine, and the folder with --to.`);
    const { path: from, facts } = await findNamed(cwd, arg);
    // The folder that one is in has no name of its own here.
    const name = from === cwd ? '' : basename(from);
    if (taken.has(name)) throw usageFailure(`Two of these are named ${name}: upload one of them to another folder.`);
    taken.add(name);
    if (!facts.isDirectory()) {
      if (how.filter.selects(name, false))
        sources.files.push({
          path: name,
          entry: { path: name, from, size: facts.size, changed: toChanged(facts) },
        });
      continue;
    }
    if (!how.recursive) throw usageFailure(`${arg} is a folder: give -r.`);
    const { files, folders, leftOut } = await readLocalTree(from, { followLinks: how.links, filter: how.filter });
    sources.folders.push(name);
    if (name && how.filter.selects(name, true)) sources.allFolders.push({ path: name });
    addAll(sources.allFolders, folders, ({ path }) => ({ path: joinPath(name, path) }));
    addAll(sources.files, files, (entry) => ({ entry, path: joinPath(name, entry.path) }));
    // A folder that cannot be read at all is left out by its own path.
    const pathOf = (path: string) => (path === from ? arg : joinPath(name, path));
    addAll(sources.leftOut, leftOut, (one) => ({ ...one, path: pathOf(one.path) }));
  }
  return sources;
}

/** One by one: a folder can hold more than a call takes arguments. */
function addAll<From, To>(to: To[], from: readonly From[], toAdded: (one: From) => To): void {
  for (const one of from) to.push(toAdded(one));
}

/** From this many files on, a whole folder is listed rather than each of them looked up. */
const lookedUpAtMost = 20;

/** What is already where these would go: files and folders by their keys beneath the target folder. */
export interface There {
  files: ReadonlyMap<string, ListedFile>;
  folders: ReadonlySet<string>;
}

/** @param target undefined if it does not exist yet */
export async function readThere(
  client: Client,
  target: string | null | undefined,
  { files, folders }: Sources,
): Promise<There> {
  const there: RemoteTree = { files: [], folders: [] };
  if (target === undefined) return toThere(there);
  if (folders.includes('')) return toThere(await readRemoteTree(client, target));
  const names = files.filter(({ path }) => !path.includes('/')).map(({ path }) => path);
  if (names.length > lookedUpAtMost) {
    for await (const page of readPages(client, target))
      there.files.push(...page.files.map((file) => ({ path: file.fileName, file })));
  } else {
    for (const name of names)
      there.files.push(...(await findIn(client, target, name)).files.map((file) => ({ path: name, file })));
  }
  for (const name of folders) {
    const { folder } = await findIn(client, target, name);
    if (!folder) continue;
    const beneath = await readRemoteTree(client, folder.id);
    addAll(there.files, beneath.files, ({ path, file }) => ({ path: joinPath(name, path), file }));
    there.folders.push({ path: name, folder });
    addAll(there.folders, beneath.folders, ({ path, folder }) => ({ path: joinPath(name, path), folder }));
  }
  return toThere(there);
}

const toThere = (tree: RemoteTree): There => ({
  files: newestByPath(tree, toFileKey),
  folders: new Set(tree.folders.map(({ path }) => toFolderKey(path))),
});
