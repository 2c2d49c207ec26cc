import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, statfsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { templatePath } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';
import { findMigrated } from './migrated-database.ts';

const serverUrl = process.env.TEST_DATABASE_URL;

/**
 * The kinds of database that can be tested here: PostgreSQL only if TEST_DATABASE_URL names a superuser of a server.
 */
export const testableKinds: Database['kind'][] = serverUrl ? ['embedded', 'postgres'] : ['embedded'];

/**
 * A new, migrated database for the caller alone, removed when it is closed: embedded, or a new one on the server that
 * TEST_DATABASE_URL names.
 */
export async function openTestDatabase(
  kind: Database['kind'] = serverUrl ? 'postgres' : 'embedded',
): Promise<Database> {
  const database = await open(kind === 'postgres' ? onServer() : onDisk(await findMigrated()));
  await migrate(database.pool);
  return database;
}

/** The same without any table. */
export function openEmptyDatabase(kind: Database['kind']): Promise<Database> {
  return open(kind === 'postgres' ? onServer() : onDisk(templatePath()));
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

interface Opened {
  database: Database;
  /** Removes what is left of a closed database. */
  remove: () => Promise<unknown>;
}

/** Only the DOM's types have it. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

let program: Promise<object> | undefined;

/**
 * PGlite, compiled. While anything refers to it, V8 gives its machine code to every thread of this process that
 * compiles the same bytes. Otherwise it would compile them again for each database, and optimise them again, which
 * takes longer than most tests.
 */
function keepProgram(): Promise<object> {
  const pglite = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  program ??= readFile(join(pglite, '../pglite.wasm')).then((bytes) => WebAssembly.compile(bytes));
  return program;
}

/** @param template the files of a closed database, if they exist */
async function onDisk(template: string): Promise<Opened & { dataDir: string }> {
  await keepProgram();
  const dataDir = await makeTestFolder();
  // The same as openDatabase does at a first start, but without flushing a thousand files to the disk.
  if (existsSync(template)) cpSync(template, join(dataDir, 'pgdata'), { recursive: true });
  return {
    dataDir,
    database: await openDatabase({ kind: 'embedded', dataDir }),
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

/** Migrates a copy of the empty database, and copies its files to a folder that does not exist yet. */
export async function migrateInto(folder: string): Promise<void> {
  const { database, dataDir, remove } = await onDisk(templatePath());
  await migrate(database.pool);
  await database.close();
  cpSync(join(dataDir, 'pgdata'), folder, { recursive: true });
  await remove();
}

const roomBytes = 2 * 1024 ** 3;

/** An empty folder; the caller removes it. It is in memory if there is room, so that no test waits for the disk. */
export function makeTestFolder(): Promise<string> {
  return mkdtemp(join(hasRoom('/dev/shm') ? '/dev/shm' : tmpdir(), 'cadiz-test-database-'));
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= roomBytes;
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
