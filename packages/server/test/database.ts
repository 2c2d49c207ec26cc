import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';
import { type Opened, onDisk, openMigrated } from './embedded-database.ts';

const serverUrl = process.env.TEST_DATABASE_URL;

/**
 * The kinds of database that can be opened here: PostgreSQL only if TEST_DATABASE_URL names a superuser of a server.
 */
export const reachableKinds: Database['kind'][] = serverUrl ? ['embedded', 'postgres'] : ['embedded'];

/**
 * Those that tests are repeated on. With TEST_EMBEDDED=off, the embedded database is left out where there is PostgreSQL: another run has tested it.
 */
export const testableKinds: Database['kind'][] =
  serverUrl && process.env.TEST_EMBEDDED === 'off' ? ['postgres'] : reachableKinds;

/**
 * A migrated database for the caller alone, without a row of another test: embedded, or a new one on the server that
 * TEST_DATABASE_URL names, which is removed when it is closed.
 */
export async function openTestDatabase(
  kind: Database['kind'] = serverUrl ? 'postgres' : 'embedded',
): Promise<Database> {
  if (kind === 'embedded') return openMigrated();
  const database = await open(onServer());
  await migrate(database.pool);
  return database;
}

/** The same without any table. */
export function openEmptyDatabase(kind: Database['kind']): Promise<Database> {
  return open(kind === 'postgres' ? onServer() : onDisk());
}

async function open(opening: Promise<Opened>): Promise<Database> {
  const { database, remove } = await opening;
  return {
    ...database,
    async close() {
      await database.close();
      await remove();
    },
  };
}

async function onServer(): Promise<Opened> {
  const { url, drop } = await createServerDatabase();
  return { database: await openDatabase({ kind: 'postgres', url, maxConnections: 8 }), remove: drop };
}

/**
 * A new database on the server of TEST_DATABASE_URL.
 * @param how the options of `create database`
 */
export async function createServerDatabase(how = ''): Promise<{ url: string; drop(): Promise<void> }> {
  if (!serverUrl) throw new Error('TEST_DATABASE_URL is not set');
  const name = `cadiz_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(serverUrl, `create database ${name} ${how}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdmin(serverUrl, `drop database if exists ${name} with (force)`) };
}

async function asAdmin(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** How many sessions of a database on the server are waiting for a lock. */
export async function countWaiting({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rowCount ?? 0;
}
