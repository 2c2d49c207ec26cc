import { changeMany, failIfStopped, type Item } from '../change-many.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { count } from '../format.ts';
import { isRemote, readRemotePath } from '../paths.ts';

export const run: Run<'trash restore'> = async (context, { args }) => {
  const client = await connect(context);
  const wanted = new Set(args.map(toId));
  const found: Item[] = [];
  for await (const { id, kind } of client.trash.list()) if (wanted.delete(id)) found.push({ id, kind });
  const [missing] = wanted;
  if (missing) throw new Failure(exitCodes.notFound, `${missing} is not in the trash: cadiz trash list shows what is.`);
  // What is restored before its folder goes to the root. The trash lists the newest first, and so outer folders before inner ones.
  const items = found.sort((a, b) => b.kind.localeCompare(a.kind));
  const outcome = await changeMany(items, (ids) => client.files.restoreMany(ids));
  const { files, folders, restored = [] } = outcome.changed;
  context.output.print(outcome.changed, '');
  context.output.say(`Restored ${count(files, 'file')} and ${count(folders, 'folder')}.`);
  for (const { id, movedToRoot, renamedFrom } of restored)
    context.output.warn(`${id} is now ${movedToRoot ? 'in the root' : `under another name than ${renamedFrom}`}.`);
  failIfStopped(context.output, outcome, items);
};

/** An id as `cadiz trash list` shows it, or as other commands take it: `cadiz:id:ID`. */
function toId(given: string): string {
  const remote = isRemote(given) ? readRemotePath(given) : undefined;
  return remote && 'id' in remote ? remote.id : given;
}
