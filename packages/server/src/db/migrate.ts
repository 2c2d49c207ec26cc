import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { findCatchUp } from './earlier-forms.ts';

const ownFolder = new URL('../../src/db/migrations/', import.meta.url);

/** Any number, the same in every process: who holds it migrates. */
const lockKey = 0x6361_6469;

interface Migration {
  name: string;
  sql: string;
  sha256: string;
}

/** The database and the migrations of this version do not fit together. */
export class MigrationMismatch extends Error {
  override readonly name = 'MigrationMismatch';
}

/**
 * Brings the schema up to date: every SQL file that has not been applied, in the order of their names, in one
 * transaction. However many processes start at once, one does it while the others wait; the lock belongs to the
 * transaction, so it works through a pooler that hands connections around. What was applied in a form that it had before
 * the first release is brought to today's first.
 * @throws MigrationMismatch when an applied file was changed or is missing (the database belongs to a newer version),
 *   or when a pending file would come before an applied one
 */
export async function migrate(pool: pg.Pool, folder: URL = ownFolder): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(folder);
  const client = await pool.connect();
  try {
    // A migration takes as long as it takes, and so does waiting for the process that does it.
    await client.query('begin; set local statement_timeout = 0; set local lock_timeout = 0');
    const applied = await applyPending(client, migrations);
    await client.query('commit');
    client.release();
    return { applied };
  } catch (error) {
    // The connection is closed rather than used again: that rolls back whatever is open.
    client.release(true);
    throw error;
  }
}

async function applyPending(client: pg.PoolClient, migrations: Migration[]): Promise<string[]> {
  await client.query('select pg_advisory_xact_lock($1)', [lockKey]);
  await client.query(
    `create table if not exists cadiz_migrations (
       name text primary key, sha256 text not null, applied_at timestamptz(3) not null default now()
     )`,
  );
  await catchUp(client, migrations);
  const rows = await readApplied(client);
  requireSame(rows, migrations);
  const done = new Set(rows.map(({ name }) => name));
  const pending = migrations.filter(({ name }) => !done.has(name));
  requireInOrder(done, pending);
  for (const { name, sql, sha256 } of pending) {
    await client.query(sql);
    await client.query('insert into cadiz_migrations (name, sha256) values ($1, $2)', [name, sha256]);
  }
  return pending.map(({ name }) => name);
}

interface Applied {
  name: string;
  sha256: string;
}

async function readApplied(client: pg.PoolClient): Promise<Applied[]> {
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
        `The database has had the migration ${name}, which this version of Cadiz does not know: a newer one has used it. Start that one, or restore the backup from before.`,
      );
    }
    if (known.get(name) !== sha256) {
      throw new MigrationMismatch(
        `The database has had the migration ${name} in another form than this version of Cadiz has it. If you have changed the file, undo that (git checkout packages/server/src/db/migrations), and put the change into a new one. If not, start the version that has used the database last; "Upgrading" in docs/operations.md says how its files get into a new one.`,
      );
    }
  }
}

function requireInOrder(done: Set<string>, pending: Migration[]): void {
  const last = [...done].sort().at(-1) ?? '';
  const late = pending.find(({ name }) => name < last);
  if (!late) return;
  throw new MigrationMismatch(
    `The database has had the migration ${last}, and not ${late.name}, which comes before it: another line of versions has used it. Start the version that has used it last. If you have written ${late.name}, give it a higher number.`,
  );
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      // A checkout on Windows may have other line ends, and is the same migration all the same.
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
