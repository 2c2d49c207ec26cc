import { existsSync } from 'node:fs';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { findPending } from '../db/migrate.ts';
import { type Database, openDatabase } from '../db/open.ts';
import type { Config } from '../settings/config.ts';
import { findOtherOwner } from './other-owner.ts';

/**
 * Opens the database of the service for a command of the operator. One with another schema than that of this version is refused
 * and left as it is: a service of the version that made it may be running.
 * @param hint what to do instead while the service runs on an embedded database
 * @throws Error in a sentence that says what to do
 */
export async function openBeside(config: Pick<Config, 'database'>, hint: string): Promise<Database> {
  const db = await openUnmigrated(config, hint);
  try {
    requireMigrated(await findPending(db.pool));
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

function requireMigrated([next]: readonly string[]): void {
  if (next === undefined) return;
  throw new Error(
    `The database does not have the migration ${next} of this version of Cadiz: an earlier version has used it, or none. Use the command of the version that the service runs, or migrate first, by starting this version or with cadiz admin migrate.`,
  );
}

/**
 * Opens the database of the service as it is. On PostgreSQL the service may run
 * beside it; the embedded database is open to one process only.
 * @param hint what to do instead while the service runs on an embedded database
 * @throws Error in a sentence that says what to do
 */
export async function openUnmigrated({ database }: Pick<Config, 'database'>, hint: string): Promise<Database> {
  if (database.kind === 'embedded' && !existsSync(database.dataDir)) {
    throw new Error(
      `There is no database in ${database.dataDir} yet: start the service once, or check CADIZ_DATA_DIR.`,
    );
  }
  const otherOwner = database.kind === 'embedded' ? findOtherOwner(database.dataDir) : undefined;
  if (otherOwner) throw otherOwner;
  return openDatabase(database).catch((error: unknown) => {
    if (!(error instanceof DatabaseFolderInUse)) throw error;
    throw new Error(`The service is running, and its embedded database is open to one process only. ${hint}`);
  });
}
