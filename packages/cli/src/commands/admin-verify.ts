import { verifyBackup } from '@cadiz/server/admin';
import { toBackupOptions } from '../backup-options.ts';
import type { Run } from '../command.ts';

export const run: Run<'admin verify'> = async ({ output }, { args: [folder = ''], options }) => {
  return verifyBackup(folder, toBackupOptions(output, options.objects));
};
