import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hashFile } from './compare.ts';
import { downloadFiles } from './download-files.ts';
import type { ExportHow, ExportTarget } from './export-target.ts';
import { makeFolders } from './local-folders.ts';
import { findLocalKey } from './local-key.ts';
import { filesFolder, manifestName, writeManifest } from './manifest.ts';
import { planDownloads } from './plan-downloads.ts';
import { sayFailed } from './report.ts';

/** An export into a folder of this machine. */
export function toFolder(given: string, { context, client, concurrency }: ExportHow): ExportTarget {
  const { output, cwd } = context;
  const folder = resolve(cwd, given);
  const place = (path: string) => join(folder, filesFolder, path);
  return {
    async transfer(files, folders, report) {
      await mkdir(place(''), { recursive: true });
      await makeFolders(output, report, folders.map(place));
      const wanted = files.map(({ at, file }) => ({ path: at, file }));
      // What an earlier export of this folder has left is replaced if it is another version of the file.
      const toKey = await findLocalKey(place(''));
      const rules = { ifExists: 'replace', checksum: false, to: place, toKey } as const;
      const downloads = await planDownloads(wanted, rules, report);
      sayFailed(output, report);
      await downloadFiles(context, client, downloads, report, concurrency);
    },
    hash: ({ at, file }) => hashFile(place(at), 'sha256', file.fileSize),
    async writeManifest(manifest) {
      await writeManifest(folder, manifest);
      return join(folder, manifestName);
    },
  };
}
