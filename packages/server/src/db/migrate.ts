import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { toMessage } from './database-errors.ts';
import { findCatchUp, mergedLate } from './earlier-forms.ts';

const ownFolder = new URL('../../src/db/migrations/', import.meta.url);

/** An arbitrary number, the same in every process: the process that holds this lock migrates. */
const lockKey = 0x6361_6469;

/**
 * Lifts all timeouts for the rest of a transaction, whatever the role or the database allows otherwise: a migration may take any
 * length of time, and so may waiting for the process that runs it. PostgreSQL has had `transaction_timeout` since 17.
 */
export const withoutTimeouts = `
  select set_config(name, '0', true) from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

interface Migration {
  name: string;
  sql: string;
  sha256: string;
}

/** The database does not match this version's migrations. */
export class MigrationMismatch extends Error {
  override readonly name = 'MigrationMismatch';
}

/** A migration that could not be applied; the cause says why. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed';

  constructor(migration: string, cause: unknown) {
    super(`The migration ${migration} failed, and nothing was changed: ${toMessage(cause).replace(/\.$/, '')}.`, {
      cause,
    });
  }
}

/**
 * Brings the schema up to date: applies every pending SQL file, in the order of their names, in one transaction.
 * However many processes start at once, one migrates while the others wait; the lock belongs to the transaction, so it
 * works through a pooler that hands connections around. A migration that was applied in a form from before the first
 * release is brought to its last form.
 * @throws MigrationMismatch if an applied file was changed or is missing (the database belongs to a newer version), or
 *   if a pending file would come before an applied one; MigrationFailed
 */
export async function migrate(pool: pg.Pool, folder: URL = ownFolder): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(withoutTimeouts);
    const applied = await applyPending(client, migrations);
    await client.query('commit');
    client.release();
    return { applied };
  } catch (error) {
    // Closing the connection instead of reusing it rolls back whatever is open.
    client.release(true);
    throw error;
  }
}

/**
 * Names the files that `migrate` would apply, in their order. Changes and locks nothing.
 * @throws MigrationMismatch as `migrate` does
 */
export async function findPending(pool: pg.Pool, folder: URL = ownFolder): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  const applied = (await hasHistory(pool)) ? await readApplied(pool) : [];
  const caughtUp = applied.map((row) => {
    const found = findCatchUp(row, (name) => byName.get(name)?.sql);
    return found ? { name: found.name, sha256: byName.get(found.name)?.sha256 ?? row.sha256 } : row;
  });
  return planPending(caughtUp, migrations).map(({ name }) => name);
}

/**
 * Applies pending migrations in the caller's transaction.
 * @param wanted only these, all of which this version must have in the same form; all of them by default
 * @throws MigrationMismatch, MigrationFailed
 */
export async function migrateInto(client: pg.PoolClient, wanted?: readonly Applied[]): Promise<void> {
  const migrations = await readMigrations(ownFolder);
  if (wanted) requireSame([...wanted], migrations);
  const names = new Set((wanted ?? migrations).map(({ name }) => name));
  await applyPending(
    client,
    migrations.filter(({ name }) => names.has(name)),
  );
}

async function applyPending(client: pg.PoolClient, migrations: Migration[]): Promise<string[]> {
  await client.query('select pg_advisory_xact_lock($1)', [lockKey]);
  // `if not exists` needs the right to create tables even if it does exist, which a service may not have.
  if (!(await hasHistory(client))) {
    await client.query(
      `create table cadiz_migrations (
         name text primary key, sha256 text not null, applied_at timestamptz(3) not null default now()
       )`,
    );
  }
  await catchUp(client, migrations);
  const pending = planPending(await readApplied(client), migrations);
  for (const { name, sql, sha256 } of pending) {
    await client.query(sql).catch((error: unknown) => {
      throw new MigrationFailed(name, error);
    });
    await client.query('insert into cadiz_migrations (name, sha256) values ($1, $2)', [name, sha256]);
  }
  return pending.map(({ name }) => name);
}

/** A migration that a database has. */
export interface Applied {
  name: string;
  sha256: string;
}

type Reader = Pick<pg.PoolClient, 'query'>;

function planPending(applied: Applied[], migrations: Migration[]): Migration[] {
  requireSame(applied, migrations);
  const done = new Set(applied.map(({ name }) => name));
  const pending = migrations.filter(({ name }) => !done.has(name));
  requireInOrder(done, pending);
  return pending;
}

async function hasHistory(client: Reader): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select to_regclass('cadiz_migrations') is not null as found`,
  );
  return rows[0]?.found === true;
}

/** The migrations that a database has, in their order. */
export async function readApplied(client: Reader): Promise<Applied[]> {
  return (await client.query<Applied>('select name, sha256 from cadiz_migrations order by name')).rows;
}

async function catchUp(client: pg.PoolClient, migrations: Migration[]): Promise<void> {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const applied of await readApplied(client)) {
    const found = findCatchUp(applied, (name) => byName.get(name)?.sql);
    if (!found) continue;
    if (found.sql !== '') await client.query(found.sql);
    await client.query('update cadiz_migrations set name = $1, sha256 = $2 where name = $3', [
      found.name,
      byName.get(found.name)?.sha256,
      applied.name,
    ]);
  }
}

function requireSame(applied: Applied[], migrations: Migration[]): void {
  const known = new Map(migrations.map(({ name, sha256 }) => [name, sha256]));
  for (const { name, sha256 } of applied) {
    if (!known.has(name)) {
      throw new MigrationMismatch(
        `The database has the migration ${name}, which this version of Cadiz does not know: a newer version has used the database. Start the newer version, or restore a backup from before it ran.`,
      );
    }
    if (known.get(name) !== sha256) {
      throw new MigrationMismatch(
        `The database has the migration ${name} in another form than this version of Cadiz. If you changed the file, undo that (git checkout packages/server/src/db/migrations) and put the change into a new migration. If not, start the version that last used the database; "Upgrading" in docs/operations.md explains how to move its files to a new database.`,
      );
    }
  }
}

function requireInOrder(done: Set<string>, pending: Migration[]): void {
  const last = [...done].sort().at(-1) ?? '';
  const late = pending.find(({ name }) => name < last && !mergedLate.has(name));
  if (!late) return;
  throw new MigrationMismatch(
    `The database has the migration ${last} but not ${late.name}, which comes before it: a different branch of Cadiz has used the database. Start the version that last used it. If you wrote ${late.name}, give it a higher number.`,
  );
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      // A checkout on Windows may have other line endings, but it is the same migration.
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
