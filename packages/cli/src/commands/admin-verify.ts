import { verifyBackup } from '@cadiz/server/admin';
import type { Run } from '../command.ts';
import { showProgress } from '../progress.ts';

export const run: Run<'admin verify'> = async ({ output }, { args: [folder = ''], options }) => {
  return verifyBackup(folder, {
    json: output.isJson,
    objects: options.objects === true,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  });
};
