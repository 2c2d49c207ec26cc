import { basename } from 'node:path';
import type { Client, ListedFile } from '@cadiz/client';
import { usageFailure } from '../failure.ts';
import { findIn, isRemote, joinPath } from '../paths.ts';
import type { Filter } from './filter.ts';
import { type LeftOut, type LocalEntry, readLocalTree, toChanged } from './local-tree.ts';
import { findNamed } from './named-path.ts';
import { newestByPath } from './plan-uploads.ts';
import { readPages, readRemoteTree } from './remote-tree.ts';

/** What is to be uploaded: files and folders of this machine, and the path that each gets beneath the target. */
export interface Sources {
  files: { entry: LocalEntry; path: string }[];
  /** Names of folders; '' stands for what is in a folder without the folder itself. */
  folders: string[];
  leftOut: LeftOut[];
}

/** @param cwd what relative paths begin in. @throws Failure, and errors of files that are named and cannot be read */
export async function readSources(
  cwd: string,
  args: readonly string[],
  how: { recursive: boolean; links: boolean; filter: Filter },
): Promise<Sources> {
  const sources: Sources = { files: [], folders: [], leftOut: [] };
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
    const { files, leftOut } = await readLocalTree(from, { followLinks: how.links, filter: how.filter });
    sources.folders.push(name);
    sources.files.push(...files.map((entry) => ({ entry, path: joinPath(name, entry.path) })));
    sources.leftOut.push(...leftOut.map((one) => ({ ...one, path: joinPath(name, one.path) })));
  }
  return sources;
}

/** From so many files on, a whole folder is listed rather than each of them looked up. */
const lookedUpAtMost = 20;

/** The files that are already where these would go, by their paths beneath the target folder. */
export async function readThere(
  client: Client,
  target: string | null,
  { files, folders }: Sources,
): Promise<Map<string, ListedFile>> {
  const there: { path: string; file: ListedFile }[] = [];
  const names = files.filter(({ path }) => !path.includes('/')).map(({ path }) => path);
  if (folders.includes('')) return newestByPath(await readRemoteTree(client, target));
  if (names.length > lookedUpAtMost) {
    for await (const page of readPages(client, target))
      there.push(...page.files.map((file) => ({ path: file.fileName, file })));
  } else {
    for (const name of names)
      there.push(...(await findIn(client, target, name)).files.map((file) => ({ path: name, file })));
  }
  for (const name of folders) {
    const { folder } = await findIn(client, target, name);
    if (!folder) continue;
    const beneath = await readRemoteTree(client, folder.id);
    there.push(...beneath.files.map(({ path, file }) => ({ path: joinPath(name, path), file })));
  }
  return newestByPath({ files: there, folders: [] });
}
