import { makeBackup } from '@cadiz/server/admin';
import { toBackupOptions } from '../backup-options.ts';
import type { Run } from '../command.ts';

export const run: Run<'admin backup'> = async ({ output }, { args: [folder = ''], options }) => {
  return makeBackup(folder, toBackupOptions(output, options.objects));
};
