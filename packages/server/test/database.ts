import { randomBytes } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { templatePath } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';

const serverUrl = process.env.TEST_DATABASE_URL;

/** The kinds of database that can be tested here: PostgreSQL only where TEST_DATABASE_URL names a superuser of one. */
export const testableKinds: Database['kind'][] = serverUrl ? ['embedded', 'postgres'] : ['embedded'];

/**
 * A fresh, migrated database that is the caller's alone, and gone when it is closed: embedded, or a new one on the
 * server that TEST_DATABASE_URL names.
 */
export async function openTestDatabase(
  kind: Database['kind'] = serverUrl ? 'postgres' : 'embedded',
): Promise<Database> {
  const database = await openEmptyDatabase(kind);
  await migrate(database.pool);
  return database;
}

/** The same without a single table. */
export async function openEmptyDatabase(kind: Database['kind']): Promise<Database> {
  const { database, remove } = kind === 'postgres' ? await onServer() : await onDisk();
  return {
    ...database,
    async close() {
      await database.close();
      await remove();
    },
  };
}

interface Opened {
  database: Database;
  remove: () => Promise<unknown>;
}

async function onDisk(): Promise<Opened> {
  const dataDir = await makeTestFolder();
  // What openDatabase does at a first start, but without writing a thousand files through to the disk.
  if (existsSync(templatePath())) cpSync(templatePath(), join(dataDir, 'pgdata'), { recursive: true });
  return {
    database: await openDatabase({ kind: 'embedded', dataDir }),
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

/** An empty folder; the caller removes it. */
export function makeTestFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'cadiz-test-database-'));
}

async function onServer(): Promise<Opened> {
  const { url, drop } = await createServerDatabase();
  return { database: await openDatabase({ kind: 'postgres', url, maxConnections: 8 }), remove: drop };
}

/** A new database on the server of TEST_DATABASE_URL. */
export async function createServerDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  if (!serverUrl) throw new Error('TEST_DATABASE_URL is not set');
  const name = `cadiz_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdmin(serverUrl, `drop database ${name} with (force)`) };
}

async function asAdmin(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** How many sessions of a database on the server wait for a lock. */
export async function countWaiting({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rowCount ?? 0;
}
