import { acceptObjects } from '@cadiz/server/admin';
import type { Run } from '../command.ts';
import { showProgress } from '../progress.ts';

export const run: Run<'admin accept'> = async ({ output }, { options }) => {
  return acceptObjects({
    dryRun: options['dry-run'] === true,
    unproved: options.unproved === true,
    json: output.isJson,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  });
};
