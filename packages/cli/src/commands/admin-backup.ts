import { makeBackup } from '@cadiz/server/admin';
import type { Run } from '../command.ts';
import { showProgress } from '../progress.ts';

export const run: Run<'admin backup'> = async ({ output }, { args: [folder = ''], options }) => {
  return makeBackup(folder, {
    json: output.isJson,
    objects: options.objects === true,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  });
};
