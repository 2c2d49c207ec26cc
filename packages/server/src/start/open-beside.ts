import { existsSync } from 'node:fs';
import { findOtherOwner } from '@cadiz/store';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { findPending } from '../db/migrate.ts';
import { type Database, openDatabase } from '../db/open.ts';
import type { Config } from '../settings/config.ts';

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
  const refusal = findRefusal(database);
  if (refusal) throw refusal;
  return openDatabase(database).catch((error: unknown) => {
    if (!(error instanceof DatabaseFolderInUse)) throw error;
    throw new Error(`The service is running, and its embedded database is open to one process only. ${hint}`);
  });
}

/** Why a command of root must not open an embedded database of another user: the service could not start any more. */
export function findRefusal(database: Config['database']): Error | undefined {
  const owner = database.kind === 'embedded' ? findOtherOwner(database.dataDir, 'pgdata') : undefined;
  if (database.kind !== 'embedded' || owner === undefined) return undefined;
  return new Error(
    `The database in ${database.dataDir} belongs to the user with the id ${owner}, who could not use what root writes there: run the command as that user.`,
  );
}
