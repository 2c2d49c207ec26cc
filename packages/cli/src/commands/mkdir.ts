import type { Folder } from '@cadiz/client';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { findFiles, findFolder, nameOf, parentOf, readRemotePath, showRemote } from '../paths.ts';

export const run: Run<'mkdir'> = async (context, { args, options }) => {
  const client = await connect(context);
  const paths = args.map((arg) => {
    const remote = readRemotePath(arg);
    if ('id' in remote || remote.path === '') throw usageFailure(`${arg} cannot be the path of a new folder.`);
    return remote.path;
  });
  const created: Folder[] = [];
  for (const path of paths) {
    if (options.parents) {
      created.push(...(await client.folders.ensure([path])));
      continue;
    }
    const parent = await findFolder(client, { path: parentOf(path), isFolder: true });
    if ((await findFiles(client, path)).length > 0)
      throw new Failure(exitCodes.failed, `${showRemote(path)} exists already, as a file.`);
    created.push(await client.folders.create(nameOf(path), { parent: parent.id }));
  }
  context.output.print({ folders: created }, created.map(({ id }) => `${id}\n`).join(''));
};
