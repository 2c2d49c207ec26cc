import type { Counts } from '@cadiz/client';
import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { count, toSize } from '../format.ts';
import { type Found, find, readRemotePath, showPath } from '../paths.ts';

export const run: Run<'rm'> = async (context, { args, options }) => {
  const client = await connect(context);
  const found = new Map<string, Found>();
  for (const arg of args) {
    const remote = readRemotePath(arg);
    const one = await find(client, remote);
    if (one.id === null) throw usageFailure('The root cannot be deleted: name what is in it.');
    if (one.kind === 'folder' && !options.recursive) throw usageFailure(`${showPath(remote)} is a folder: give -r.`);
    found.set(one.id, one);
  }
  const ids = (kind: Found['kind']) => [...found].flatMap(([id, one]) => (one.kind === kind ? [id] : []));
  const selected = { fileIds: ids('file'), folderIds: ids('folder') };
  const counts = await client.files.deleteMany({ ...selected, dryRun: true });
  const what = describe(counts);
  if (options['dry-run']) {
    context.output.print({ dryRun: true, ...counts }, '');
    context.output.say(`Would move to the trash: ${what}.`);
    return;
  }
  await confirm(context, `Move to the trash: ${what}?`, context.yes);
  const deleted = await client.files.deleteMany(selected);
  context.output.print({ ...selected, ...deleted }, '');
  context.output.say(`Moved to the trash: ${describe(deleted)}. cadiz trash list shows it.`);
};

const describe = ({ files, folders, bytes }: Counts): string =>
  [folders > 0 && count(folders, 'folder'), count(files, 'file'), toSize(bytes)].filter(Boolean).join(', ');
