import type { Run } from '../command.ts';
import { connect, usualConcurrency } from '../context.ts';
import { readWhole } from '../format.ts';
import { printable } from '../output.ts';
import { toFolderKey } from '../paths.ts';
import { ensureFolders } from '../transfer/ensure-folders.ts';
import { createFilter } from '../transfer/filter.ts';
import { planUploads } from '../transfer/plan-uploads.ts';
import { addFailure, failIfAny, newReport, noteLeftOut, sayFailed, sayFailure, sayReport } from '../transfer/report.ts';
import { readSources, readThere } from '../transfer/sources.ts';
import { findEmpty } from '../transfer/sync-plan.ts';
import { findTarget } from '../transfer/target.ts';
import { uploadFiles } from '../transfer/upload-files.ts';

export const run: Run<'upload'> = async (context, { args, options }) => {
  const began = performance.now();
  const { output } = context;
  const concurrency = readWhole('concurrency', options.concurrency ?? String(usualConcurrency), 1, 64);
  const sources = await readSources(context.cwd, args, { ...options, filter: createFilter(options) });
  const client = await connect(context, { concurrency });
  const target = await findTarget(client, options.to ?? '/');
  const report = newReport();
  noteLeftOut(output, report, sources.leftOut);
  const there = await readThere(client, target.id, sources);
  const empty = findEmpty(sources.allFolders, sources.files, there.folders, toFolderKey);
  const rules = { ifExists: options['if-exists'], checksum: options.checksum, show: target.show };
  const uploads = await planUploads(sources.files, there.files, rules, report);
  sayFailed(output, report);
  if (options['dry-run']) {
    const lines = [
      ...empty.map((path) => `create   ${printable(path)}/\n`),
      ...uploads.map(({ path, replaces }) => `${replaces ? 'replace' : 'upload '}  ${printable(path)}\n`),
    ];
    const planned = uploads.map(({ path, size, replaces }) => ({
      path,
      bytes: size,
      replaces: replaces?.id ?? null,
    }));
    output.print({ dryRun: true, folders: empty, uploads: planned, ...report }, lines.join(''));
    return failIfAny(report, uploads.length);
  }
  await ensureFolders(client, target, empty, (path, error) =>
    sayFailure(output, path, addFailure(report, path, error)),
  );
  await uploadFiles(context, client, target.folder, uploads, report);
  output.print(report, '');
  sayReport(output, 'Uploaded', report, began);
  failIfAny(report);
};
