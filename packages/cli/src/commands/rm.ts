import type { Client, Counts } from '@cadiz/client';
import { confirm } from '../ask.ts';
import { changeMany, failIfStopped, type Item } from '../change-many.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { count, toSize } from '../format.ts';
import { find, parentOf, type RemotePath, readRemotePath, showPath, toFolderKey } from '../paths.ts';

export const run: Run<'rm'> = async (context, { args, options }) => {
  const client = await connect(context);
  const items = await findItems(client, args.map(readRemotePath), options.recursive);
  const planned = await changeMany(items, (ids) => client.files.deleteMany({ ...ids, dryRun: true }));
  if (planned.failure) throw planned.failure.error;
  const what = describe(planned.changed);
  if (options['dry-run']) {
    context.output.print({ dryRun: true, ...planned.changed }, '');
    context.output.say(`Would move to the trash: ${what}.`);
    return;
  }
  await confirm(context, `Move to the trash: ${what}?`, context.yes);
  const deleted = await changeMany(items, (ids) => client.files.deleteMany(ids));
  context.output.print({ ...deleted.done, ...deleted.changed }, '');
  context.output.say(`Moved to the trash: ${describe(deleted.changed)}. cadiz trash list shows it.`);
  failIfStopped(context.output, deleted, items);
};

/** What the paths name, each once, the files first. @throws Failure */
async function findItems(client: Client, remotes: RemotePath[], isRecursive: boolean): Promise<Item[]> {
  const found = new Map<string, { item: Item; path: string }>();
  for (const remote of remotes) {
    const { id, kind, path } = await find(client, remote);
    if (id === null) throw usageFailure('The root cannot be deleted: name what is in it.');
    if (kind === 'folder' && !isRecursive) throw usageFailure(`${showPath(remote)} is a folder: give -r.`);
    found.set(id, { item: { id, kind }, path });
  }
  const all = [...found.values()];
  const folders = new Set(all.flatMap(({ item, path }) => (item.kind === 'folder' ? [toFolderKey(path)] : [])));
  // A folder takes along what is beneath it, which a later batch would not find.
  const outermost = all.filter(({ path }) => !isBeneath(path, folders));
  return outermost.map(({ item }) => item).sort((a, b) => a.kind.localeCompare(b.kind));
}

/** Whether one of these folders, given by their keys, contains what has this path. */
function isBeneath(path: string, folders: ReadonlySet<string>): boolean {
  const parent = parentOf(path);
  return parent !== '' && (folders.has(toFolderKey(parent)) || isBeneath(parent, folders));
}

const describe = ({ files, folders, bytes }: Counts): string =>
  [folders > 0 && count(folders, 'folder'), count(files, 'file'), toSize(bytes)].filter(Boolean).join(', ');
