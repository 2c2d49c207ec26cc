import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { count } from '../format.ts';

export const run: Run<'links delete'> = async (context, { args }) => {
  const client = await connect(context);
  await confirm(context, `Delete ${count(args.length, 'link')} for good?`, context.yes);
  const deleted = [];
  for (const id of args) deleted.push(await client.links.delete(id));
  context.output.print({ deleted }, '');
  context.output.say(`Deleted ${count(deleted.length, 'link')}.`);
};
