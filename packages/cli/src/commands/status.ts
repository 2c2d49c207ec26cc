import type { Run } from '../command.ts';
import { clientOf, keyOf, projectOf, targetOf } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { toMinute, toSize } from '../format.ts';
import { printable, toTable } from '../output.ts';

interface Session {
  user: { email: string };
  session: { expiresAt: string };
}

export const run: Run<'status'> = async (context) => {
  const target = await targetOf(context);
  const { url, apiKey, session, from } = target;
  if (!apiKey && !session) {
    context.output.print({ url, signedIn: false }, toTable([['Service', url]]));
    throw new Failure(exitCodes.signIn, 'Nobody is signed in: run cadiz login, or set CADIZ_API_KEY.');
  }
  const rows = [['Service', url]];
  const whose = from === 'environment' ? 'CADIZ_API_KEY' : 'stored';
  const key = apiKey ? await keyOf(clientOf(context, { url, apiKey }), target) : undefined;
  if (key) {
    rows.push(['Key', `${printable(key.name)} (${whose})`], ['Scopes', key.scopes.join(', ')]);
    rows.push(['Ends', key.expiresAt ? toMinute(key.expiresAt) : 'never']);
  }
  const account = session ? await findSession() : undefined;
  if (account) rows.push(['Account', account.user.email], ['Session ends', toMinute(account.session.expiresAt)]);
  if (!key && !account) throw new Failure(exitCodes.signIn, 'The session has ended: run cadiz login --account.');
  const projectId = projectOf(target, key) ?? null;
  const usage = projectId ? await clientOf(context, { ...target, projectId }).usage() : undefined;
  rows.push(['Project', projectId ?? 'none: cadiz projects use']);
  if (usage) {
    const quota = usage.quotaBytes === null ? '' : ` of ${toSize(usage.quotaBytes)}`;
    rows.push(['Stored', `${usage.fileCount} files, ${toSize(usage.totalBytes)}${quota}`]);
  }
  const value = {
    url,
    signedIn: true,
    from,
    key: key ?? null,
    account: account?.user ?? null,
    projectId,
    usage: usage ?? null,
  };
  context.output.print(value, toTable(rows));

  function findSession() {
    return clientOf(context, { url, session: target.session ?? '' }).request<Session | null>({
      path: '/api/auth/get-session',
    });
  }
};
