import { restoreBackup } from '@cadiz/server/admin';
import type { Run } from '../command.ts';
import { showProgress } from '../progress.ts';

export const run: Run<'admin restore'> = async ({ output }, { args: [folder = ''], options }) => {
  return restoreBackup(folder, {
    json: output.isJson,
    objects: options.objects === true,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  });
};
