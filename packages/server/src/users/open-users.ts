import type { Logger } from 'pino';
import { type AccessChanges, createAccessChanges } from '../access/access-changes.ts';
import type { Database } from '../db/open.ts';
import type { Config } from '../settings/config.ts';
import { openBeside } from '../start/open-beside.ts';

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
  const db = await openBeside(
    config,
    'Its owner can do this with /api/users while it runs; otherwise stop the service, run this again, and start it.',
  );
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
