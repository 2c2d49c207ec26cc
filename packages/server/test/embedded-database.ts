import { cpSync, existsSync, statfsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { templatePath } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { type Database, openDatabase } from '../src/db/open.ts';

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

/** Opens an embedded database in a folder of its own. @param template the files of a closed database, if they exist */
export async function onDisk(template: string): Promise<Opened & { dataDir: string }> {
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
