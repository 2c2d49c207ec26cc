import { cpSync, existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedDatabase, openEmbedded, templatePath } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase, overEmbedded } from '../src/db/open.ts';
import { findMigrated } from './migrated-database.ts';

export interface Opened {
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

/** Opens an embedded database without any table, in a folder of its own. */
export async function onDisk(): Promise<Opened & { dataDir: string }> {
  const dataDir = await makeDataFolder(templatePath());
  return {
    dataDir,
    database: await openDatabase({ kind: 'embedded', dataDir }),
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

/** @param template the files of a closed database, if they exist */
async function makeDataFolder(template: string): Promise<string> {
  await keepProgram();
  const dataDir = await makeTestFolder();
  // The same as openDatabase does at a first start, but without flushing a thousand files to the disk.
  if (existsSync(template)) cpSync(template, join(dataDir, 'pgdata'), { recursive: true });
  return dataDir;
}

/** A migrated database that is emptied when it is closed, for the next test that asks for one. */
interface Kept {
  embedded: EmbeddedDatabase;
  dataDir: string;
  /** What `readCatalog` said of it when it was new. */
  catalog: string;
  /** The rows that the migrations have made, by table, as JSON. */
  rows: Map<string, string>;
  uses: number;
}

const idle: Kept[] = [];
/** Each takes some 100 MB, and few tests use more at a time. */
const mostIdle = 2;
/** What is deleted stays in the files. */
const mostUses = 25;
const mostBytes = 4 * 1024 ** 2;

/**
 * A migrated database without a row that a test has made. To start PostgreSQL takes half a second of a processor, longer
 * than most tests, so one that was closed is used again, unless it has other tables or statistics now.
 */
export async function openMigrated(): Promise<Database> {
  const kept = idle.pop() ?? (await startKept());
  kept.uses += 1;
  return overEmbedded({ ...kept.embedded, close: () => giveBack(kept) });
}

async function startKept(): Promise<Kept> {
  const dataDir = await makeDataFolder(await findMigrated(migrateInto));
  const embedded = await openEmbedded(dataDir);
  const read = await within(embedded, async (pool) => {
    await migrate(pool);
    const rows = new Map<string, string>();
    for (const { name } of await findFilled(pool)) {
      const { rows: made } = await pool.query<{ json: string }>(`select json_agg(t)::text as json from ${name} t`);
      rows.set(name, made[0]?.json ?? '[]');
    }
    return { catalog: await readCatalog(pool), rows };
  });
  return { embedded, dataDir, ...read, uses: 0 };
}

async function giveBack(kept: Kept): Promise<void> {
  const isClean = kept.uses < mostUses && idle.length < mostIdle && (await empty(kept).catch(() => false));
  if (isClean) {
    idle.push(kept);
    return;
  }
  await kept.embedded.close();
  await rm(kept.dataDir, { recursive: true, force: true });
}

/** @returns whether it is as good as new: what has broken or changed it cannot be told */
function empty({ embedded, catalog, rows }: Kept): Promise<boolean> {
  return within(embedded, async (pool) => {
    const filled = await findFilled(pool);
    if (filled.some(({ bytes }) => bytes > mostBytes) || (await readCatalog(pool)) !== catalog) return false;
    const inserts = [...rows].map(
      ([name, json]) =>
        `insert into ${name} select * from json_populate_recordset(null::${name}, ${pg.escapeLiteral(json)}::json);`,
    );
    await pool.query(`
      begin;
      -- Neither triggers nor references.
      set local session_replication_role = replica;
      ${filled.map(({ name }) => `delete from ${name};`).join('')}
      ${inserts.join('')}
      select setval(format('%I', sequencename)::regclass, start_value, false) from pg_sequences;
      commit`);
    // PostgreSQL writes its counters with a delay unless told to flush them.
    await pool.query('select pg_stat_force_next_flush()');
    await pool.query('select pg_stat_reset()');
    return true;
  });
}

async function within<T>(embedded: EmbeddedDatabase, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const database = await overEmbedded({ ...embedded, close: async () => undefined });
  return work(database.pool).finally(() => database.close());
}

/** Tables with rows, or with room for some. */
async function findFilled(pool: pg.Pool): Promise<{ name: string; bytes: number }[]> {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `select format('%I', relname) as name, pg_relation_size(oid) as bytes from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_relation_size(oid) > 0`,
  );
  return rows;
}

/** What it has besides rows. */
async function readCatalog(pool: pg.Pool): Promise<string> {
  const catalogs = ['class', 'attribute', 'attrdef', 'constraint', 'index', 'trigger', 'proc', 'type', 'namespace'];
  const others = ['authid', 'db_role_setting', 'database', 'statistic', 'extension'];
  const states = [...catalogs, ...others].map(
    (name) => `(select concat(count(*), ' ', max(xmin::text::bigint)) from pg_${name})`,
  );
  const { rows } = await pool.query<{ catalog: string }>(`select concat_ws(', ', ${states}) as catalog`);
  return rows[0]?.catalog ?? '';
}

/** Migrates a copy of the empty database, and copies its files to a folder that does not exist yet. */
export async function migrateInto(folder: string): Promise<void> {
  const { database, dataDir, remove } = await onDisk();
  await migrate(database.pool);
  await database.close();
  cpSync(join(dataDir, 'pgdata'), folder, { recursive: true });
  await remove();
}

/** An empty folder, which the caller removes, or else the end of the tests. */
export function makeTestFolder(): Promise<string> {
  return mkdtemp(join(process.env.TEST_FOLDER ?? tmpdir(), 'cadiz-test-database-'));
}
