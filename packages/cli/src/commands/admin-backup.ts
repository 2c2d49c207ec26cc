import { makeBackup } from '@cadiz/server/admin';
import type { Run } from '../run.ts';

export const run: Run<'admin backup'> = async ({ output }, { args: [folder = ''] }) => {
  return makeBackup(folder, { json: output.isJson });
};
