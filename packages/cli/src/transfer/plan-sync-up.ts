import type { Client } from '@cadiz/client';
import type { Context } from '../context.ts';
import { exitCodes, Failure, toTold, usageFailure } from '../failure.ts';
import { count, toSize } from '../format.ts';
import { joinPath, toFileKey, toFolderKey } from '../paths.ts';
import { ensureFolders } from './ensure-folders.ts';
import { type Filter, filterTree } from './filter.ts';
import { type LocalTree, readLocalTree } from './local-tree.ts';
import { findNamed } from './named-path.ts';
import { newestByPath, planUploads } from './plan-uploads.ts';
import { type RemoteTree, readRemoteTree } from './remote-tree.ts';
import { addFailure, noteLeftOut, type Report, sayFailure } from './report.ts';
import { type Action, findEmpty, foldersAbove, isWithin, outermost, type SyncPlan } from './sync-plan.ts';
import { findTarget } from './target.ts';
import { uploadFiles } from './upload-files.ts';

export interface SyncRules {
  delete: boolean;
  checksum: boolean;
  links: boolean;
  'dry-run'?: boolean;
  /** What it does not select is left alone on both sides. */
  filter: Filter;
}

/** How a folder of the project becomes like one of this machine. */
export async function planSyncUp(
  context: Context,
  client: Client,
  from: string,
  to: string,
  rules: SyncRules,
  report: Report,
): Promise<SyncPlan> {
  const { path: folder, facts } = await findNamed(context.cwd, from);
  if (!facts.isDirectory()) throw usageFailure(`${from} is a file: sync takes folders. See cadiz upload.`);
  const local = await readLocalTree(folder, { followLinks: rules.links, filter: rules.filter });
  // Of a folder that cannot be read at all, nothing is known.
  const unread = local.leftOut.find(({ path }) => path === folder);
  if (unread) throw new Failure(exitCodes.failed, unread.why);
  noteLeftOut(context.output, report, local.leftOut);
  const target = await findTarget(client, to);
  const there: RemoteTree =
    target.id === undefined ? { files: [], folders: [] } : await readRemoteTree(client, target.id);
  const { others, ...remote } = filterTree(rules.filter, there, spellingOf(local));
  const files = local.files.map((entry) => ({ entry, path: entry.path }));
  const uploads = await planUploads(
    files,
    newestByPath(remote, toFileKey),
    { ifExists: 'replace', checksum: rules.checksum, show: target.show },
    report,
  );
  const empty = findEmpty(
    local.folders,
    local.files,
    new Set(remote.folders.map(({ path }) => toFolderKey(path))),
    toFolderKey,
  );
  const extra = rules.delete ? findExtra() : { files: [], folders: [] };

  const actions: Action[] = [
    ...empty.map((path) => ({ action: 'create' as const, path: `${path}/` })),
    ...uploads.map(({ path, size, replaces }) => ({
      action: replaces ? ('replace' as const) : ('upload' as const),
      path,
      bytes: size,
    })),
    ...extra.folders.map(({ path }) => ({ action: 'delete' as const, path: `${path}/` })),
    ...extra.files.map(({ path, file }) => ({ action: 'delete' as const, path, bytes: file.fileSize })),
  ];
  return {
    actions,
    deletes: extra.files.length + extra.folders.length > 0 ? await describeExtra() : undefined,
    async carryOut() {
      await ensureFolders(client, target, empty, fail);
      await uploadFiles(context, client, target.folder, uploads, report);
      await deleteExtra();
    },
  };

  /** What is there and not here. What is here and was left out is not missing; what the filter leaves alone stays. */
  function findExtra(): RemoteTree {
    const kept = new Set(local.leftOut.map(({ path }) => toFolderKey(path)));
    const here = {
      files: new Set(local.files.map(({ path }) => toFileKey(path))),
      folders: new Set(local.folders.map(({ path }) => toFolderKey(path))),
    };
    const newest = newestByPath(remote, toFileKey);
    const isKept = (path: string) => isWithin(toFolderKey(path), kept);
    const needed = foldersAbove(others);
    const isGone = (path: string) => !here.folders.has(toFolderKey(path)) && !isKept(path) && !needed.has(path);
    const folders = outermost(remote.folders.filter(({ path }) => isGone(path)));
    const gone = new Set(folders.map(({ path }) => path));
    const isExtra = ({ path, file }: RemoteTree['files'][number]) =>
      (!here.files.has(toFileKey(path)) || newest.get(toFileKey(path))?.id !== file.id) &&
      !isWithin(path, gone) &&
      !isKept(path);
    return { folders, files: remote.files.filter(isExtra) };
  }

  async function describeExtra(): Promise<string> {
    const gone = new Set(extra.folders.map(({ path }) => path));
    const ids = new Set(extra.files.map(({ file }) => file.id));
    const all = remote.files.filter(({ path, file }) => ids.has(file.id) || isWithin(path, gone));
    const bytes = all.reduce((sum, { file }) => sum + file.fileSize, 0);
    return `Move to the trash: ${count(extra.folders.length, 'folder')}, ${count(all.length, 'file')}, ${toSize(bytes)}?`;
  }

  async function deleteExtra(): Promise<void> {
    const fileIds = extra.files.map(({ file }) => file.id);
    const folderIds = extra.folders.map(({ folder }) => folder.id);
    for (let start = 0; start < folderIds.length; start += atOnce)
      await note('folders', () => client.files.deleteMany({ folderIds: folderIds.slice(start, start + atOnce) }));
    for (let start = 0; start < fileIds.length; start += atOnce)
      await note('files', () => client.files.deleteMany({ fileIds: fileIds.slice(start, start + atOnce) }));
  }

  async function note(what: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (toTold(error).exitCode === exitCodes.signIn) throw error;
      fail(what, error);
    }
  }

  function fail(what: string, error: unknown): void {
    sayFailure(context.output, what, addFailure(report, what, error));
  }
}

/** Spells a path of the project as this machine does, where both name the same folders: rules are about what is here. */
function spellingOf({ files, folders, others }: LocalTree): (path: string, isFolder: boolean) => string {
  const here = [...files, ...folders].map(({ path }) => path).concat(others);
  const spelled = new Map([...here, ...foldersAbove(here)].map((path) => [toFolderKey(path), path]));
  return (path, isFolder) => {
    const parts = path.split('/');
    // The case of a file's name matters: only its folders are spelled anew.
    for (let count = isFolder ? parts.length : parts.length - 1; count > 0; count--) {
      const folder = spelled.get(toFolderKey(parts.slice(0, count).join('/')));
      if (folder !== undefined) return joinPath(folder, ...parts.slice(count));
    }
    return path;
  };
}

/** As many as one request takes, with room to spare. */
const atOnce = 100;
