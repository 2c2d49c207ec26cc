import { lstat, mkdir, rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Client } from '@cadiz/client';
import type { Context } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { count, toSize } from '../format.ts';
import { findFolder, readRemotePath } from '../paths.ts';
import { downloadFiles } from './download-files.ts';
import { type Filter, filterTree } from './filter.ts';
import { makeFolders } from './local-folders.ts';
import { type LocalTree, readLocalTree } from './local-tree.ts';
import { planDownloads } from './plan-downloads.ts';
import type { SyncRules } from './plan-sync-up.ts';
import { newestByPath } from './plan-uploads.ts';
import { readRemoteTree } from './remote-tree.ts';
import { addFailure, type Report, sayFailure } from './report.ts';
import { type Action, findEmpty, foldersAbove, isWithin, type SyncPlan } from './sync-plan.ts';

/** How a folder of this machine becomes like one of the project. */
export async function planSyncDown(
  context: Context,
  client: Client,
  from: string,
  to: string,
  rules: SyncRules & { concurrency: number },
  report: Report,
): Promise<SyncPlan> {
  const { output } = context;
  const folder = await findFolder(client, readRemotePath(from));
  const remote = filterTree(rules.filter, await readRemoteTree(client, folder.id));
  const target = resolve(context.cwd, to);
  const local = await readHere(target, rules.filter);
  const blocked = new Set(local.leftOut.map(({ path }) => path));
  const newest = newestByPath(remote);
  const wanted: Parameters<typeof planDownloads>[0][number][] = [];
  for (const [path, file] of newest) {
    if (!isWithin(path, blocked)) wanted.push({ path, file });
    else report.failed.push({ path, error: 'something here that is no file or folder is in the way.' });
  }
  const place = (path: string) => join(target, path);
  const here = new Set(local.files.map(({ path }) => path));
  const there = new Set(remote.folders.map(({ path }) => path));
  const needed = foldersAbove([...local.others, ...blocked]);
  // A project can have a file and a folder of one name, this machine only one of them: the folder.
  const folders = new Set([...there, ...foldersAbove(newest.keys())]);
  const extra = {
    files: rules.delete ? local.files.filter(({ path }) => !newest.has(path) || folders.has(path)) : [],
    // The innermost first: a folder must be empty to be removed.
    folders: rules.delete ? local.folders.filter(({ path }) => !there.has(path) && !needed.has(path)).reverse() : [],
  };
  const going = new Set([...extra.files, ...extra.folders].map(({ path }) => path));
  const staying = new Set(local.files.map(({ path }) => path).filter((path) => !going.has(path)));
  const empty: string[] = [];
  for (const path of findEmpty(remote.folders, remote.files, new Set(local.folders.map(({ path }) => path)))) {
    if (!isWithin(path, staying)) empty.push(path);
    else report.failed.push({ path, error: 'something here that is no folder is in the way.' });
  }
  const downloads = await planDownloads(
    wanted,
    {
      ifExists: 'replace',
      checksum: rules.checksum,
      to: place,
      folders: [...there],
      isGoing: (path) => isWithin(path, going),
    },
    report,
  );
  const actions: Action[] = [
    ...extra.files.map(({ path, size }) => ({ action: 'delete' as const, path, bytes: size })),
    ...extra.folders.map(({ path }) => ({ action: 'delete' as const, path: `${path}/` })),
    ...empty.map((path) => ({ action: 'create' as const, path: `${path}/` })),
    ...downloads.map(({ path, file }) => ({
      action: here.has(path) ? ('replace' as const) : ('download' as const),
      path,
      bytes: file.fileSize,
    })),
  ];
  const bytes = extra.files.reduce((sum, { size }) => sum + size, 0);
  const isDeleting = extra.files.length + extra.folders.length > 0;
  return {
    actions,
    deletes: isDeleting
      ? `Delete from this machine, for good: ${count(extra.folders.length, 'folder')}, ${count(extra.files.length, 'file')}, ${toSize(bytes)}?`
      : undefined,
    async carryOut() {
      for (const { path, from } of extra.files) await note(path, () => rm(from));
      for (const { path } of extra.folders) await note(path, () => rmdir(place(path)));
      await mkdir(target, { recursive: true });
      await makeFolders(output, report, empty.map(place));
      await downloadFiles(context, client, downloads, report, rules.concurrency);
    },
  };

  async function note(path: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      sayFailure(output, path, addFailure(report, path, error));
    }
  }
}

/** What is in the folder, if it exists. @throws Failure */
async function readHere(folder: string, filter: Filter): Promise<LocalTree> {
  const facts = await lstat(folder).catch(() => undefined);
  if (!facts) return { files: [], folders: [], leftOut: [], others: [] };
  const tree = await readLocalTree(folder, { filter });
  const unread = tree.leftOut.find(({ path }) => path === folder);
  if (unread) throw new Failure(exitCodes.failed, unread.why);
  return tree;
}
