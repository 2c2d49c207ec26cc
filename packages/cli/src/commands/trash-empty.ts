import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { count, toSize } from '../format.ts';

export const run: Run<'trash empty'> = async (context) => {
  const client = await connect(context);
  let files = 0;
  let bytes = 0;
  for await (const entry of client.trash.list()) {
    files += entry.files;
    bytes += entry.bytes;
  }
  await confirm(
    context,
    `Purge ${count(files, 'file')}, ${toSize(bytes)}, so that nobody can restore them?`,
    context.yes,
  );
  const emptied = await client.trash.empty();
  context.output.print(emptied, '');
  context.output.say(`Purged ${count(emptied.files, 'file')}, ${toSize(emptied.bytes)}.`);
};
