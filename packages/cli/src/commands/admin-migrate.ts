import { migrateDatabase } from '@cadiz/server/admin';
import type { Run } from '../command.ts';

export const run: Run<'admin migrate'> = async ({ output }, { options }) => {
  return migrateDatabase({ dryRun: options['dry-run'] === true, json: output.isJson });
};
