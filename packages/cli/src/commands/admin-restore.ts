import { restoreBackup } from '@cadiz/server/admin';
import { showProgress } from '../progress.ts';
import type { Run } from '../run.ts';

export const run: Run<'admin restore'> = async ({ output }, { args: [folder = ''], options }) => {
  return restoreBackup(folder, {
    json: output.isJson,
    objects: options.objects === true,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  });
};
