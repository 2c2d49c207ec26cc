import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { findFile, readRemotePath } from '../paths.ts';
import { openBytes } from '../transfer/bytes.ts';

export const run: Run<'cat'> = async (context, { args }) => {
  const client = await connect(context);
  for (const path of args) {
    const { file } = await findFile(client, readRemotePath(path));
    for await (const bytes of openBytes(client, file, { start: 0 })) {
      if (!context.stdout.write(bytes)) await new Promise((resolve) => context.stdout.once('drain', resolve));
    }
  }
};
