import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { readDuration } from '../format.ts';
import { findFile, readRemotePath, showRemote } from '../paths.ts';

export const run: Run<'url'> = async (context, { args, options }) => {
  const expiresIn = options.expires === undefined ? undefined : readDuration('expires', options.expires);
  const client = await connect(context);
  const urls = [];
  for (const arg of args) {
    const { id, path } = await findFile(client, readRemotePath(arg));
    const how = { ...(expiresIn && { expiresIn }), ...(options.inline && { disposition: 'inline' as const }) };
    urls.push({ fileId: id, path: showRemote(path), ...(await client.files.url(id, how)) });
  }
  context.output.print({ urls }, urls.map(({ url }) => `${url}\n`).join(''));
};
