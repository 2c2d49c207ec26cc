import type { BackupOptions } from '@cadiz/server/admin';
import type { Output } from './output.ts';
import { showProgress } from './progress.ts';

/** What the programs that handle backups are given: the options of the command, and how to report to this terminal. */
export function toBackupOptions(output: Output, objects = false): BackupOptions {
  return {
    json: output.isJson,
    objects,
    warn: output.warn,
    watch: (verb, look) => showProgress(output, verb, look),
  };
}
