import { collect } from '../collect.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { toMinute } from '../format.ts';
import { printable, toTable } from '../output.ts';
import { findFile, readRemotePath } from '../paths.ts';

export const run: Run<'links list'> = async (context, { args: [path] }) => {
  const client = await connect(context);
  const asked = path === undefined ? {} : { fileId: (await findFile(client, readRemotePath(path))).id };
  const links = await collect(client.links.list(asked));
  const rows = links.map(({ id, state, expiresAt, url, fileName }) => [
    id,
    state,
    expiresAt ? `until ${toMinute(expiresAt)}` : 'for good',
    url,
    printable(fileName),
  ]);
  context.output.print({ links }, toTable(rows));
};
