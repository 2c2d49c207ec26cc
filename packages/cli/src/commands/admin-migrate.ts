import { migrateDatabase } from '@cadiz/server/admin';
import type { Run } from '../run.ts';

export const run: Run<'admin migrate'> = async ({ output }, { options }) => {
  process.exitCode = await migrateDatabase({ dryRun: options['dry-run'] === true, json: output.isJson });
};
