import { verifyBackup } from '@cadiz/server/admin';
import type { Run } from '../run.ts';

export const run: Run<'admin verify'> = async ({ output }, { args: [folder = ''] }) => {
  process.exitCode = await verifyBackup(folder, { json: output.isJson });
};
