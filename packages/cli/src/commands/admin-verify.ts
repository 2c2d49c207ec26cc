import { verifyBackup } from '@cadiz/server/admin';
import type { Run } from '../run.ts';

export const run: Run<'admin verify'> = async ({ output }, { args: [folder = ''] }) => {
  return verifyBackup(folder, { json: output.isJson });
};
