import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { readEnd, toMinute } from '../format.ts';
import { findFile, readRemotePath } from '../paths.ts';

export const run: Run<'link'> = async (context, { args: [path = ''], options }) => {
  const expiresAt = options.expires === undefined ? undefined : readEnd('expires', options.expires);
  const client = await connect(context);
  const { id } = await findFile(client, readRemotePath(path));
  const link = await client.links.create(id, {
    disposition: options.inline ? 'inline' : 'attachment',
    ...(expiresAt && { expiresAt }),
  });
  context.output.print(link, link.url);
  context.output.say(
    `Works ${link.expiresAt ? `until ${toMinute(link.expiresAt)} UTC, or ` : ''}until cadiz links delete ${link.id}`,
  );
};
