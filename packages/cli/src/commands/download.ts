import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { File } from '@cadiz/client';
import type { Run } from '../command.ts';
import { connect, usualConcurrency } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readWhole } from '../format.ts';
import { printable } from '../output.ts';
import { find, joinPath, readRemotePath, showPath } from '../paths.ts';
import { downloadFiles } from '../transfer/download-files.ts';
import { createFilter, filterTree } from '../transfer/filter.ts';
import { makeFolders } from '../transfer/local-folders.ts';
import { findLocalKey } from '../transfer/local-key.ts';
import { planDownloads } from '../transfer/plan-downloads.ts';
import { newestByPath } from '../transfer/plan-uploads.ts';
import { readRemoteTree } from '../transfer/remote-tree.ts';
import { failIfAny, newReport, sayFailed, sayReport } from '../transfer/report.ts';

export const run: Run<'download'> = async (context, { args, options }) => {
  const began = performance.now();
  const { output } = context;
  const concurrency = readWhole('concurrency', options.concurrency ?? String(usualConcurrency), 1, 64);
  const client = await connect(context, { concurrency });
  const filter = createFilter(options);
  const wanted: { path: string; file: File }[] = [];
  const folders: string[] = [];
  for (const arg of args) {
    const remote = readRemotePath(arg);
    const found = await find(client, remote);
    if (found.kind === 'file') {
      if (filter.selects(found.name, false)) wanted.push({ path: found.name, file: found.file });
      continue;
    }
    if (!options.recursive) throw usageFailure(`${showPath(remote)} is a folder: give -r.`);
    const tree = filterTree(filter, await readRemoteTree(client, found.id));
    folders.push(found.name, ...tree.folders.map(({ path }) => joinPath(found.name, path)));
    const newest = newestByPath(tree);
    for (const [path, file] of newest) wanted.push({ path: joinPath(found.name, path), file });
    const hidden = tree.files.length - newest.size;
    if (hidden > 0) output.warn(describeHidden(hidden));
  }
  const report = newReport();
  const rules = {
    ifExists: options['if-exists'],
    checksum: options.checksum,
    to: await toPlace(context.cwd, options.to, wanted, folders),
    folders,
    toKey: await findLocalKey(resolve(context.cwd, options.to ?? '.')),
    keepsDrafts: options['dry-run'],
  };
  const downloads = await planDownloads(wanted, rules, report);
  sayFailed(output, report);
  if (options['dry-run']) {
    const planned = downloads.map(({ path, file, to }) => ({ path, to, bytes: file.fileSize }));
    output.print(
      { dryRun: true, downloads: planned, ...report },
      downloads.map(({ to }) => `download  ${printable(to)}\n`).join(''),
    );
    return failIfAny(report, downloads.length);
  }
  await makeFolders(output, report, folders.map(rules.to));
  await downloadFiles(context, client, downloads, report, concurrency);
  output.print(report, '');
  sayReport(output, 'Downloaded', report, began);
  failIfAny(report);
};

const describeHidden = (count: number): string =>
  count === 1
    ? '1 file shares its name with a newer one, and is left out: cadiz download cadiz:id:ID'
    : `${count} files share their names with newer ones, and are left out: cadiz download cadiz:id:ID`;

/** Where each path goes: into --to if that is a folder, or is to be one; a single file gets that name. */
async function toPlace(
  cwd: string,
  given: string | undefined,
  wanted: readonly unknown[],
  folders: readonly string[],
): Promise<(path: string) => string> {
  if (given === undefined) return (path) => resolve(cwd, path);
  const to = resolve(cwd, given);
  const isFolder = await stat(to).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
  const isName = !isFolder && !given.endsWith('/') && wanted.length === 1 && folders.length === 0;
  return isName ? () => to : (path) => join(to, path);
}
