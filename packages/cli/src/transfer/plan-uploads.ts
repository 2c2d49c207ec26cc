import type { ListedFile } from '@cadiz/client';
import { toFileKey } from '../paths.ts';
import { isSame } from './compare.ts';
import type { LocalEntry } from './local-tree.ts';
import type { RemoteTree } from './remote-tree.ts';
import { addFailure, type Report } from './report.ts';
import { toUpload, type Upload } from './upload-files.ts';

export interface UploadRules {
  /** What to do with a local file if another file in the project has its name. */
  ifExists: 'replace' | 'skip' | 'keep' | 'fail';
  /** Whether files are compared by their bytes instead of their times. */
  checksum: boolean;
  /** Shows a path as it is in the project. */
  show: (path: string) => string;
}

/**
 * Which local files must be uploaded, given what is there. What is the same, or is to be left alone, goes into the report.
 *
 * @param remote the files there, by their keys
 */
export async function planUploads(
  local: readonly { entry: LocalEntry; path: string }[],
  remote: ReadonlyMap<string, ListedFile>,
  { ifExists, checksum, show }: UploadRules,
  report: Report,
): Promise<Upload[]> {
  const uploads: Upload[] = [];
  const taken = new Map<string, string>();
  for (const { entry, path } of local) {
    const key = toFileKey(path);
    const other = taken.get(key);
    taken.set(key, other ?? path);
    const there = remote.get(key);
    if (other !== undefined) {
      report.failed.push({ path, error: `its folder and that of ${other} are one in a project: rename one of them.` });
      continue;
    }
    const same = there && (await isSame(entry, there, 'up', checksum).catch((error: Error) => error));
    if (same instanceof Error) addFailure(report, path, same);
    else if (!there) uploads.push(toUpload(entry, path));
    else if (same) report.unchanged++;
    else if (ifExists === 'replace') uploads.push(toUpload(entry, path, there));
    else if (ifExists === 'keep') uploads.push(toUpload(entry, path));
    else if (ifExists === 'skip') report.skipped.push({ path, why: 'another file has this name.' });
    else report.failed.push({ path, error: `${show(path)} exists already, and is another file.` });
  }
  return uploads;
}

/**
 * Of files that share a path the newest one, which others show by this name.
 *
 * @param toKey what the map is to be asked with, instead of the path
 */
export function newestByPath(
  { files }: Pick<RemoteTree, 'files'>,
  toKey = (path: string) => path,
): Map<string, ListedFile> {
  const newest = new Map<string, ListedFile>();
  for (const { path, file } of files) {
    const key = toKey(path);
    const known = newest.get(key);
    if (!known || known.createdAt < file.createdAt || (known.createdAt === file.createdAt && known.id < file.id))
      newest.set(key, file);
  }
  return newest;
}
