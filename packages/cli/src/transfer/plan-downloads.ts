import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { File } from '@cadiz/client';
import { isSame } from './compare.ts';
import { type Download, draftOf, removeLinked } from './download-files.ts';
import type { ToKey } from './local-key.ts';
import { toChanged } from './local-tree.ts';
import { addFailure, type Report } from './report.ts';
import { foldersAbove } from './sync-plan.ts';

export interface DownloadRules {
  /** What to do with a file on this machine if another file of the project has its name. */
  ifExists: 'replace' | 'skip' | 'fail';
  checksum: boolean;
  /** Where a path goes. */
  to: (path: string) => string;
  /** The paths of the folders that come with the files, beside those that the files are in. */
  folders?: readonly string[];
  /** Whether what has this path here will be deleted before. */
  isGoing?: (path: string) => boolean;
  toKey: ToKey;
  /** Whether a draft that a killed download has left beside its file stays. */
  keepsDrafts?: boolean | undefined;
}

/** Which files must be downloaded, given what is here. What is the same, or cannot be, goes into the report. */
export async function planDownloads(
  wanted: readonly { path: string; file: File }[],
  { ifExists, checksum, to, folders = [], isGoing = () => false, toKey, keepsDrafts }: DownloadRules,
  report: Report,
): Promise<Download[]> {
  const downloads: Download[] = [];
  const taken = new Set<string>();
  const toFolders = [...folders, ...foldersAbove(wanted.map(({ path }) => path))].map((path) => toKey(to(path)));
  const folderKeys = new Set(toFolders);
  for (const { path, file } of wanted) await plan(path, file);
  return downloads;

  async function plan(path: string, file: File): Promise<void> {
    const download: Download = { path, file, to: to(path), isNew: false };
    const key = toKey(download.to);
    const fail = (error: string) => void report.failed.push({ path, error });
    if (!isSafe(path)) return fail('its path leads out of the folder.');
    if (folderKeys.has(key))
      return fail(`a folder has the same name, so this file is left out: cadiz download cadiz:id:${file.id} --to NAME`);
    if (taken.has(key)) return fail('another file of this download gets the same name here.');
    taken.add(key);
    const here = isGoing(path) ? undefined : await look(download.to);
    if (!here) return void downloads.push({ ...download, isNew: true });
    if (here === 'beneath a file') return fail('something here that is no folder is in the way.');
    if (!here.isFile()) return fail(`${download.to} is ${here.isDirectory() ? 'a folder' : 'no regular file'} here.`);
    await planOver(here, download, fail);
  }

  async function planOver(here: Stats, download: Download, fail: (error: string) => void): Promise<void> {
    const { path, file, to } = download;
    const entry = { path, from: to, size: here.size, changed: toChanged(here) };
    const compare = async () => {
      const isHere = await isSame(entry, file, 'down', checksum);
      if (isHere && here.nlink > 1 && !keepsDrafts) await removeLinked(draftOf(download));
      return isHere;
    };
    const same = await compare().catch((error: Error) => error);
    if (same instanceof Error) addFailure(report, path, same);
    else if (same) report.unchanged++;
    else if (ifExists === 'replace') downloads.push(download);
    else if (ifExists === 'skip') report.skipped.push({ path, why: 'another file has this name.' });
    else fail(`${to} is another file; --if-exists replace overwrites it.`);
  }
}

/** What is here in this place, if anything. */
const look = (path: string): Promise<Stats | 'beneath a file' | undefined> =>
  lstat(path).catch(({ code }: NodeJS.ErrnoException) => (code === 'ENOTDIR' ? 'beneath a file' : undefined));

/** What a service could send, and no name may be. */
const isSafe = (path: string): boolean =>
  path
    .split('/')
    .every(
      (name) =>
        name !== '' &&
        name !== '.' &&
        name !== '..' &&
        !name.includes('\0') &&
        (process.platform !== 'win32' || !name.includes('\\')),
    );
