import type { Run } from '../command.ts';
import { type Context, connect, usualConcurrency } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { count, readWhole, toSize } from '../format.ts';
import { printable } from '../output.ts';
import { toFileKey, toFolderKey } from '../paths.ts';
import { ensureFolders } from '../transfer/ensure-folders.ts';
import { type Item, isImported, type Origin } from '../transfer/import-items.ts';
import { readExport } from '../transfer/import-manifest.ts';
import { readBucket } from '../transfer/import-s3.ts';
import { readSupabase } from '../transfer/import-supabase.ts';
import { readUploadThing } from '../transfer/import-uploadthing.ts';
import { type RemoteFile, type RemoteTree, readRemoteTree } from '../transfer/remote-tree.ts';
import { addFailure, failIfAny, newReport, noteLeftOut, sayFailed, sayFailure, sayReport } from '../transfer/report.ts';
import { findEmpty } from '../transfer/sync-plan.ts';
import { findTarget } from '../transfer/target.ts';
import { uploadFiles } from '../transfer/upload-files.ts';

export const run: Run<'import'> = async (context, { args: [from = ''], options }) => {
  const began = performance.now();
  const { output } = context;
  if (options.endpoint !== undefined && !from.startsWith('s3:'))
    throw usageFailure('--endpoint is of S3, and SOURCE does not begin with s3:.');
  const concurrency = readWhole('concurrency', options.concurrency ?? String(usualConcurrency), 1, 64);
  const client = await connect(context, { concurrency });
  const target = await findTarget(client, options.to ?? '/');
  const origin = await readOrigin(context, from, options.endpoint);
  const report = newReport();
  noteLeftOut(output, report, origin.leftOut);
  sayFailed(output, report);
  const there = target.id === undefined ? { files: [], folders: [] } : await readRemoteTree(client, target.id);
  const known = groupByKey(there);
  const missing: Item[] = [];
  for (const item of origin.items) {
    const same = (known.get(toFileKey(item.path)) ?? []).some(({ file }) => isImported(item, file));
    if (same) report.unchanged++;
    else missing.push(item);
  }
  const folders = findEmpty(
    origin.folders.map((path) => ({ path })),
    missing,
    new Set(there.folders.map(({ path }) => toFolderKey(path))),
    toFolderKey,
  );
  if (options['dry-run']) {
    const bytes = missing.reduce((sum, { size }) => sum + size, 0);
    const files = missing.map(({ path, size }) => ({ path, bytes: size }));
    output.print(
      { dryRun: true, folders, files, ...report },
      files.map(({ path }) => `import  ${printable(path)}\n`).join(''),
    );
    output.say(`Would import ${count(files.length, 'file')}, ${toSize(bytes)}; ${report.unchanged} are there already.`);
    return failIfAny(report, missing.length);
  }
  await ensureFolders(client, target, folders, (path, error) =>
    sayFailure(output, path, addFailure(report, path, error)),
  );
  await uploadFiles(context, client, target.folder, missing, report);
  output.print(report, '');
  sayReport(output, 'Imported', report, began);
  failIfAny(report);
};

function readOrigin(context: Context, from: string, endpoint: string | undefined): Promise<Origin> {
  if (from.startsWith('s3:')) return readBucket(from, context.env, endpoint);
  if (from === 'supabase' || from.startsWith('supabase:')) return readSupabase(from, context);
  if (from === 'uploadthing') return readUploadThing(context);
  return readExport(context.cwd, from);
}

/** Files may share a path. */
function groupByKey({ files }: RemoteTree): Map<string, RemoteFile[]> {
  const groups = new Map<string, RemoteFile[]>();
  for (const file of files) {
    const key = toFileKey(file.path);
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  return groups;
}
