import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';

/**
 * A fresh, migrated database that is the caller's alone, and gone when it is closed: embedded, or a new one on the
 * server that TEST_DATABASE_URL names.
 */
export async function openTestDatabase(): Promise<Database> {
  const url = process.env.TEST_DATABASE_URL;
  const { database, remove } = url ? await onServer(url) : await onDisk();
  await migrate(database.pool);
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
  const dataDir = await mkdtemp(join(tmpdir(), 'cadiz-test-database-'));
  return {
    database: await openDatabase({ kind: 'embedded', dataDir }),
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

async function onServer(adminUrl: string): Promise<Opened> {
  const name = `cadiz_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(adminUrl, `create database ${name}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    database: await openDatabase({ kind: 'postgres', url: url.href, maxConnections: 8 }),
    remove: () => asAdmin(adminUrl, `drop database ${name} with (force)`),
  };
}

async function asAdmin(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
