import { collect } from '../collect.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { toMinute, toSize } from '../format.ts';
import { printable, toTable } from '../output.ts';
import { joinPath, showRemote } from '../paths.ts';

export const run: Run<'trash list'> = async (context) => {
  const client = await connect(context);
  const entries = await collect(client.trash.list());
  const rows = entries.map(({ id, kind, name, path, bytes, deletedAt, restorableUntil }) => [
    id,
    toMinute(deletedAt),
    `until ${restorableUntil.slice(0, 10)}`,
    toSize(bytes),
    printable(showRemote(joinPath(...path.map((folder) => folder.name), name)) + (kind === 'folder' ? '/' : '')),
  ]);
  context.output.print({ entries }, toTable(rows));
};
