import type { Client } from '@cadiz/client';
import { amountOf, changeMany, failIfStopped, type Item } from '../change-many.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { count } from '../format.ts';
import { printable } from '../output.ts';
import {
  type Found,
  find,
  findFiles,
  findFolder,
  findFolderAt,
  nameOf,
  parentOf,
  type RemotePath,
  readRemotePath,
  showRemote,
  toFolderKey,
} from '../paths.ts';

export const run: Run<'mv'> = async (context, { args }) => {
  const client = await connect(context);
  const target = readRemotePath(args.at(-1) ?? '');
  const found = new Map<string | null, Found>();
  for (const path of args.slice(0, -1)) {
    const one = await find(client, readRemotePath(path));
    if (one.id === null) throw usageFailure('The root cannot be moved.');
    found.set(one.id, one);
  }
  const sources = [...found.values()];
  const folder =
    'id' in target || target.isFolder ? await findFolder(client, target) : await findFolderAt(client, target.path);
  if (folder && !isNewSpelling(folder, target, sources)) {
    requireDifferentNames(sources, folder.path);
    for (const source of sources)
      await requireFree(client, folder.path === '' ? source.name : `${folder.path}/${source.name}`, source);
    const items = toItems(sources);
    const moved = await changeMany(items, (ids) => client.files.move({ ...ids, folder: folder.id }));
    context.output.print(moved.changed, '');
    context.output.say(`Moved ${count(amountOf(moved.done), 'item')} to ${printable(showRemote(folder.path))}.`);
    failIfStopped(context.output, moved, items);
    return;
  }
  const [source] = sources;
  if (sources.length > 1 || !source || 'id' in target)
    throw new Failure(
      exitCodes.notFound,
      `${args.at(-1)} does not exist: several items can only be moved to a folder.`,
    );
  const parent = await findFolder(client, { path: parentOf(target.path), isFolder: true });
  const name = nameOf(target.path);
  await requireFree(client, target.path, source);
  const { id } = source;
  const renamed =
    source.kind === 'file'
      ? await client.files.update(source.id, { fileName: name, folder: parent.id })
      : await client.folders.update(id ?? '', { name, parent: parent.id });
  context.output.print(renamed, '');
  context.output.say(`Moved ${printable(source.name)} to ${printable(showRemote(target.path))}.`);
};

/** From the innermost to the outermost, so that each is counted once: a folder moves with what is still in it. */
const toItems = (sources: readonly Found[]): Item[] =>
  sources
    .flatMap(({ id, kind, path }) => (id === null ? [] : [{ id, kind, depth: path.split('/').length }]))
    .sort((a, b) => a.kind.localeCompare(b.kind) || b.depth - a.depth);

/** Whether a folder was found under a new name of its own, which differs only in case or accents. */
const isNewSpelling = (folder: Found, target: RemotePath, [source, ...others]: readonly Found[]): boolean =>
  others.length === 0 && folder.id === source?.id && 'path' in target && nameOf(target.path) !== source.name;

/** The same among what is moved together. @throws Failure */
function requireDifferentNames(sources: readonly Found[], folder: string): void {
  for (const [index, one] of sources.entries())
    for (const other of sources.slice(0, index))
      if (one.name === other.name || (isFolderAmong(one, other) && toFolderKey(one.name) === toFolderKey(other.name)))
        throw new Failure(
          exitCodes.failed,
          `${printable(showRemote(other.path))} and ${printable(showRemote(one.path))} would have the same name in ${printable(showRemote(folder))}: rename one of them first.`,
        );
}

const isFolderAmong = (...some: Found[]): boolean => some.some(({ kind }) => kind === 'folder');

/** Files of one folder may share a name, but a move must not make one look like another. @throws Failure */
async function requireFree(client: Client, path: string, source: Found): Promise<void> {
  const taken = [await findFolderAt(client, path), ...(await findFiles(client, path))].filter(
    (one) => one && one.id !== source.id,
  );
  if (taken.length > 0)
    throw new Failure(exitCodes.failed, `${showRemote(path)} exists already: delete it first, or choose another name.`);
}
