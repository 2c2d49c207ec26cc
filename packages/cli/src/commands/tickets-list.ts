import { collect } from '../collect.ts';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { count, toMinute, toSize } from '../format.ts';
import { toTable } from '../output.ts';

export const run: Run<'tickets list'> = async (context) => {
  const client = await connect(context);
  const tickets = await collect(client.tickets.list());
  const rows = tickets.map(({ id, revokedAt, expiresAt, left }) => [
    id,
    revokedAt ? 'revoked' : Date.parse(expiresAt) < Date.now() ? 'expired' : `until ${toMinute(expiresAt)}`,
    `${count(left.files, 'file')}, ${toSize(left.bytes)} left`,
  ]);
  context.output.print({ tickets }, toTable(rows));
};
