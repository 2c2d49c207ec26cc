import pg from 'pg';
import { UnusableDependency } from '../telemetry/health.ts';
import type { Database } from './open.ts';
import { RightsMissing, requireRights } from './require-rights.ts';
import { NotWhole, requireWhole } from './require-whole.ts';

const undefinedTable = '42P01';

/**
 * Resolves if the service can use the database: it answers, is not read-only, and still has the tables that a start has found, with
 * all rights on them and with their keys. A database may have been dropped or restored since, or another server may have its address.
 * @throws UnusableDependency, or the error of the database
 */
export async function checkDatabase(db: Database): Promise<void> {
  await db.check();
  // Nobody else uses the embedded one.
  if (db.kind === 'embedded') return;
  await requireRights(db.pool).catch((error: unknown) => {
    const isMissing = error instanceof pg.DatabaseError && error.code === undefinedTable;
    if (!isMissing && !(error instanceof RightsMissing)) throw error;
    throw new UnusableDependency('lacks tables of the service, or rights on them', { cause: error });
  });
  await requireWhole(db.pool).catch((error: unknown) => {
    if (!(error instanceof NotWhole)) throw error;
    throw new UnusableDependency('is not restored whole', { cause: error });
  });
}
