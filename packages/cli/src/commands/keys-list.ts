import type { Run } from '../command.ts';
import { clientOf, connect, keyOf, targetOf } from '../context.ts';
import { toMinute } from '../format.ts';
import { printable, toTable } from '../output.ts';

export const run: Run<'keys list'> = async (context) => {
  const { apiKey: _, ...target } = await targetOf(context);
  if (!target.session) {
    const key = await keyOf(await connect(context), target);
    context.output.print({ apiKeys: [key] }, toTable([[key.id, key.scopes.join(','), printable(key.name)]]));
    context.output.say('This is the key in use. To see all: cadiz login --account');
    return;
  }
  const client = clientOf(context, target);
  const { apiKeys } = await client.request<{ apiKeys: Awaited<ReturnType<typeof client.keys.list>> }>({
    path: '/api/api-keys',
    query: { projectId: target.projectId },
  });
  const rows = apiKeys.map(({ id, name, last4, scopes, lastUsedAt, expiresAt, revokedAt }) => [
    id,
    `…${last4}`,
    revokedAt ? 'revoked' : toEnd(expiresAt),
    lastUsedAt ? `used ${toMinute(lastUsedAt)}` : 'never used',
    scopes.join(','),
    printable(name),
  ]);
  context.output.print({ apiKeys }, toTable(rows));
};

function toEnd(expiresAt: string | null): string {
  if (!expiresAt) return 'active';
  return Date.parse(expiresAt) < Date.now() ? 'expired' : `until ${toMinute(expiresAt)}`;
}
