import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { type AccessChanges, createAccessChanges } from '../access/access-changes.ts';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { migrate } from '../db/migrate.ts';
import { type Database, openDatabase, withDirectPool } from '../db/open.ts';
import type { Config } from '../settings/config.ts';

/** The database with the accounts, and a way to tell other processes about changes to them. */
export interface Users {
  db: Database;
  accessChanges: AccessChanges;
  now: () => number;
  close(): Promise<void>;
}

/**
 * Opens the accounts of the service that the settings describe. A service on PostgreSQL can keep running, and learns of every
 * change at once; the embedded database is open to one process only, so its service must be stopped first.
 * @throws Error with a sentence that says what to do
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
      'The service is running, and its embedded database is open to one process only. The owner of the service can use /api/users while it runs; otherwise stop the service, run this command again, and restart the service.',
    );
  });
  await withDirectPool(database, db, (pool) => migrate(pool));
  // Nothing is cached here; only running services have something to forget.
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
