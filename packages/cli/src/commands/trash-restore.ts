import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { count } from '../format.ts';
import { isRemote, readRemotePath } from '../paths.ts';

export const run: Run<'trash restore'> = async (context, { args }) => {
  const client = await connect(context);
  const wanted = new Set(args.map(toId));
  const fileIds: string[] = [];
  const folderIds: string[] = [];
  for await (const { id, kind } of client.trash.list())
    if (wanted.delete(id)) (kind === 'file' ? fileIds : folderIds).push(id);
  const [missing] = wanted;
  if (missing) throw new Failure(exitCodes.notFound, `${missing} is not in the trash: cadiz trash list shows what is.`);
  const restored = await client.files.restoreMany({ fileIds, folderIds });
  context.output.print(restored, '');
  context.output.say(`Restored ${count(restored.files, 'file')} and ${count(restored.folders, 'folder')}.`);
  for (const { id, movedToRoot, renamedFrom } of ('restored' in restored && restored.restored) || [])
    context.output.warn(`${id} is now ${movedToRoot ? 'in the root' : `under another name than ${renamedFrom}`}.`);
};

/** An id as `cadiz trash list` shows it, or as other commands take it: `cadiz:id:ID`. */
function toId(given: string): string {
  const remote = isRemote(given) ? readRemotePath(given) : undefined;
  return remote && 'id' in remote ? remote.id : given;
}
