import { restoreBackup } from '@cadiz/server/admin';
import type { Run } from '../run.ts';

export const run: Run<'admin restore'> = async ({ output }, { args: [folder = ''] }) => {
  return restoreBackup(folder, { json: output.isJson });
};
