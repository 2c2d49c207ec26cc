import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { type AccessChanges, createAccessChanges } from '../access/access-changes.ts';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { migrate } from '../db/migrate.ts';
import { type Database, openDatabase, withDirectPool } from '../db/open.ts';
import type { Config } from '../settings/config.ts';

/** The database with the accounts, and how other processes learn of what is done to them. */
export interface Users {
  db: Database;
  accessChanges: AccessChanges;
  now: () => number;
  close(): Promise<void>;
}

/**
 * Opens the accounts that the settings name, beside a service on PostgreSQL, which learns of every change at once. The
 * embedded database is open to one process only, so its service has to be stopped first.
 * @throws Error in a sentence that says what to do
 */
export async function openUsers(config: Config, log: Logger): Promise<Users> {
  const { database } = config;
  if (database.kind === 'embedded' && !existsSync(database.dataDir)) {
    throw new Error(
      `There is no database in ${database.dataDir} yet: start the service once, or check CADIZ_DATA_DIR.`,
    );
  }
  const db = await openDatabase(database).catch((error: unknown) => {
    if (!(error instanceof DatabaseFolderInUse)) throw error;
    throw new Error(
      'The service is running, and its embedded database is open to one process only. Its owner can do this with /api/users while it runs; otherwise stop the service, run this again, and start it.',
    );
  });
  await withDirectPool(database, db, (pool) => migrate(pool));
  // Nothing is cached here: only the services beside it have something to forget.
  const accessChanges = createAccessChanges(db, () => undefined, log);
  return {
    db,
    accessChanges,
    now: Date.now,
    async close() {
      await accessChanges.close();
      await db.close();
    },
  };
}
