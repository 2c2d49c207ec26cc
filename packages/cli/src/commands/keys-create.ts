import type { Run } from '../command.ts';
import { connectAccount } from '../context.ts';
import { usageFailure, whichProject } from '../failure.ts';
import { readEnd } from '../format.ts';
import { findFolder, readRemotePath } from '../paths.ts';

export const run: Run<'keys create'> = async (context, { args: [name = ''], options }) => {
  const { client, target } = await connectAccount(context);
  if (!target.projectId) throw usageFailure(whichProject);
  const folderId = options.folder ? (await findFolder(client, readRemotePath(options.folder))).id : undefined;
  const expiresAt = options.expires === undefined ? undefined : readEnd('expires', options.expires);
  const key = await client.keys.create(name, {
    ...(options.scope.length > 0 && { scopes: options.scope }),
    ...(folderId !== undefined && { folderId }),
    ...(expiresAt && { expiresAt }),
  });
  context.output.print(key, key.key);
  context.output.say(`Created the key ${name} (${key.id}). It is not shown again.`);
};
