import { makeBackup } from '@cadiz/server/admin';
import { showProgress } from '../progress.ts';
import type { Run } from '../run.ts';

export const run: Run<'admin backup'> = async ({ output }, { args: [folder = ''], options }) => {
  return makeBackup(folder, {
    json: output.isJson,
    objects: options.objects === true,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  });
};
