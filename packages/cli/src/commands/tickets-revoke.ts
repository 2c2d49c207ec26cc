import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';

export const run: Run<'tickets revoke'> = async (context, { args: [id = ''] }) => {
  const client = await connect(context);
  await confirm(context, `Revoke the ticket ${id}?`, context.yes);
  context.output.print(await client.tickets.revoke(id), '');
  context.output.say(`Revoked the ticket ${id}.`);
};
