import type { Logger } from 'pino';
import { type AccessChanges, createAccessChanges } from '../access/access-changes.ts';
import type { Database } from '../db/open.ts';
import { createSignInLimits, type SignInLimits } from '../identity/sign-in-limits.ts';
import type { Config } from '../settings/config.ts';
import { openBeside } from '../start/open-beside.ts';

/** The database with the accounts, and a way to tell other processes about changes to them. */
export interface Users {
  db: Database;
  accessChanges: AccessChanges;
  signInLimits: SignInLimits;
  now: () => number;
  close(): Promise<void>;
}

/**
 * Opens the accounts of the service that the settings describe. A service on PostgreSQL can keep running, and learns of every
 * change at once; the embedded database is open to one process only, so its service must be stopped first.
 * @throws Error with a sentence that says what to do
 */
export async function openUsers(config: Config, log: Logger): Promise<Users> {
  const db = await openBeside(
    config,
    'The owner of the service can use /api/users while it runs; otherwise stop the service, run this command again, and restart the service.',
  );
  // Nothing is cached here; only running services have something to forget.
  const accessChanges = createAccessChanges(db, () => undefined, log);
  return {
    db,
    accessChanges,
    signInLimits: createSignInLimits(db),
    now: Date.now,
    async close() {
      await accessChanges.close();
      await db.close();
    },
  };
}
