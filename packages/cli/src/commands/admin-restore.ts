import { restoreBackup } from '@cadiz/server/admin';
import { toBackupOptions } from '../backup-options.ts';
import type { Run } from '../command.ts';

export const run: Run<'admin restore'> = async ({ output }, { args: [folder = ''], options }) => {
  return restoreBackup(folder, toBackupOptions(output, options.objects));
};
