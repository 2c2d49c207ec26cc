import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { connectAccount } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { printable } from '../output.ts';

export const run: Run<'keys revoke'> = async (context, { args: [id = ''] }) => {
  const { client } = await connectAccount(context);
  const { apiKeys } = await client.request<{ apiKeys: { id: string; name: string; last4: string }[] }>({
    path: '/api/api-keys',
  });
  const key = apiKeys.find((one) => one.id === id);
  if (!key) throw new Failure(exitCodes.notFound, `There is no key with the id ${id}: cadiz keys list shows them.`);
  await confirm(context, `Revoke the key ${printable(key.name)} (…${key.last4}) for good?`, context.yes);
  const revoked = await client.keys.revoke(id);
  context.output.print(revoked, '');
  context.output.say(`Revoked the key ${printable(key.name)}.`);
};
