import { lstat, mkdir, rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Client } from '@cadiz/client';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { count, toSize } from '../format.ts';
import { findFolder, readRemotePath } from '../paths.ts';
import { downloadFiles, draftOf } from './download-files.ts';
import { type Filter, filterTree } from './filter.ts';
import { makeFolders } from './local-folders.ts';
import { findLocalKey, type ToKey } from './local-key.ts';
import { type LocalTree, readLocalTree } from './local-tree.ts';
import { planDownloads } from './plan-downloads.ts';
import type { SyncRules } from './plan-sync-up.ts';
import { newestByPath } from './plan-uploads.ts';
import { readRemoteTree } from './remote-tree.ts';
import { addFailure, type Report, sayFailure } from './report.ts';
import { type Action, findEmpty, foldersAbove, isWithin, type SyncPlan } from './sync-plan.ts';

/**
 * How a folder of this machine becomes like one of the project.
 *
 * @param asKey what this machine takes for the same path; found out if it is not given
 */
export async function planSyncDown(
  context: Context,
  client: Client,
  from: string,
  to: string,
  rules: SyncRules & { concurrency: number },
  report: Report,
  asKey?: ToKey,
): Promise<SyncPlan> {
  const { output } = context;
  const folder = await findFolder(client, readRemotePath(from));
  const remote = filterTree(rules.filter, await readRemoteTree(client, folder.id));
  const target = resolve(context.cwd, to);
  const local = await readHere(target, to, rules.filter);
  const toKey = asKey ?? (await findLocalKey(target));
  const toKeys = (paths: Iterable<string>) => new Set([...paths].map(toKey));
  const keysOf = (entries: readonly { path: string }[]) => toKeys(entries.map(({ path }) => path));
  const blocked = keysOf(local.leftOut);
  const newest = newestByPath(remote);
  const wanted: Parameters<typeof planDownloads>[0][number][] = [];
  for (const [path, file] of newest) {
    if (!isWithin(toKey(path), blocked)) wanted.push({ path, file });
    else report.failed.push({ path, error: 'something here that is no file or folder is in the way.' });
  }
  const place = (path: string) => join(target, path);
  const here = keysOf(local.files);
  const extra = rules.delete ? findExtra() : { files: [], folders: [] };
  const going = keysOf([...extra.files, ...extra.folders]);
  const staying = new Set([...here].filter((key) => !going.has(key)));
  const empty: string[] = [];
  for (const path of findEmpty(remote.folders, remote.files, keysOf(local.folders), toKey)) {
    if (!isWithin(toKey(path), staying) && !isWithin(toKey(path), blocked)) empty.push(path);
    else report.failed.push({ path, error: 'something here that is no folder is in the way.' });
  }
  const downloads = await planDownloads(
    wanted,
    {
      ifExists: 'replace',
      checksum: rules.checksum,
      to: place,
      folders: remote.folders.map(({ path }) => path),
      isGoing: (path) => isWithin(toKey(path), going),
      toKey,
      // With --delete, they are shown and asked about below.
      keepsDrafts: rules['dry-run'] || rules.delete,
    },
    report,
  );
  if (rules.delete) {
    const continued = toKeys(downloads.map(draftOf));
    extra.files.push(...local.drafts.filter(({ from }) => !continued.has(toKey(from))));
  }
  const actions: Action[] = [
    ...extra.files.map(({ path, size }) => ({ action: 'delete' as const, path, bytes: size })),
    ...extra.folders.map(({ path }) => ({ action: 'delete' as const, path: `${path}/` })),
    ...empty.map((path) => ({ action: 'create' as const, path: `${path}/` })),
    ...downloads.map(({ path, file }) => ({
      action: here.has(toKey(path)) ? ('replace' as const) : ('download' as const),
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

  /** What is here and not there, and not left alone. */
  function findExtra(): Pick<LocalTree, 'files' | 'folders'> {
    const there = { files: toKeys(newest.keys()), folders: keysOf(remote.folders) };
    const needed = foldersAbove([...toKeys(local.others), ...blocked]);
    // A project can have a file and a folder of one name, this machine only one of them: the folder.
    const folders = new Set([...there.folders, ...foldersAbove(there.files)]);
    // The filter distinguishes names that this machine does not: what it leaves alone there is not missing.
    const others = toKeys(remote.others);
    const isExtraFile = (key: string) => (!there.files.has(key) || folders.has(key)) && !others.has(key);
    const isExtraFolder = (key: string) => !there.folders.has(key) && !needed.has(key) && !others.has(key);
    return {
      files: local.files.filter(({ path }) => isExtraFile(toKey(path))),
      // The innermost first: a folder must be empty to be removed.
      folders: local.folders.filter(({ path }) => isExtraFolder(toKey(path))).reverse(),
    };
  }

  async function note(path: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      sayFailure(output, path, addFailure(report, path, error));
    }
  }
}

/** What is in the folder, if it exists. @param given as it was written. @throws Failure */
async function readHere(folder: string, given: string, filter: Filter): Promise<LocalTree> {
  const facts = await lstat(folder).catch(() => undefined);
  if (!facts) return { files: [], folders: [], leftOut: [], others: [], drafts: [] };
  if (facts.isFile()) throw usageFailure(`${given} is a file: sync takes folders. See cadiz download.`);
  const tree = await readLocalTree(folder, { filter });
  const unread = tree.leftOut.find(({ path }) => path === folder);
  if (unread) throw new Failure(exitCodes.failed, unread.why);
  return tree;
}
