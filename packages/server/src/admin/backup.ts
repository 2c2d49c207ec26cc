import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFolder } from '@cadiz/store';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { findPending } from '../db/migrate.ts';
import { type Database, openDatabase, withDirectPool } from '../db/open.ts';
import { readTables, type TableReader } from '../db/read-tables.ts';
import { takeSnapshot } from '../db/snapshots.ts';
import { tables } from '../db/tables.ts';
import type { Config } from '../settings/config.ts';
import { findSecrets, type Secrets } from '../settings/secrets.ts';
import { findRefusal } from '../start/open-beside.ts';
import {
  findManifest,
  type Manifest,
  makeDurableFolder,
  manifestName,
  type Part,
  writeManifest,
  writePart,
} from './archive.ts';
import { toFailure } from './folder-failure.ts';
import {
  copyObject,
  forEachObject,
  type Listed,
  objectsName,
  readCopied,
  readRecorded,
  removeOtherCopies,
  type Telling,
} from './objects.ts';
import { withObjects } from './open-objects.ts';

const partsPrefix = 'database-';

export interface BackedUp {
  manifest: Manifest;
  /** How many files have a copy of their object, and how many have none; undefined without objects. */
  objects?: { copied: number; failed: number };
}

/**
 * Writes the database and the secrets of a service, which may be running, to a folder: a new one, or that of an earlier
 * backup, which stays whole until this one is.
 * @param telling with it, the objects are copied too
 * @throws Error in a sentence
 */
export async function backUp(config: Config, folder: string, telling?: Telling): Promise<BackedUp> {
  try {
    return await backUpTo(folder, config, telling);
  } catch (error) {
    throw toFailure(error, folder, config.dataDir);
  }
}

async function backUpTo(folder: string, config: Config, telling?: Telling): Promise<BackedUp> {
  if (telling) requireStore(config);
  await makeDurableFolder(folder);
  await requireOurs(folder);
  const lock = lockFolder(folder);
  try {
    const previous = await findManifest(folder);
    if (telling === undefined) requireNoObjects(folder, previous);
    await removeParts(folder, previous);
    const parts = `${partsPrefix}${randomBytes(6).toString('hex')}`;
    const manifest = await withDatabase(config, async (reader): Promise<Manifest> => {
      const createdAt = new Date().toISOString();
      const secrets = await writePart(folder, `${parts}/secrets.json`, once(toSecrets(config)));
      return {
        format: 1,
        createdAt,
        migrations: reader.migrations,
        sequences: reader.sequences,
        tables: await writeTableParts(reader, folder, parts),
        secrets,
      };
    });
    const copies =
      telling && (await copyObjects(config, folder, `${parts}/objects.jsonl`, { manifest, previous }, telling));
    const whole = copies ? { ...manifest, objects: copies.part } : manifest;
    await writeManifest(folder, whole);
    await removeParts(folder, whole);
    if (copies === undefined) return { manifest };
    await removeOtherCopies(folder, whole);
    return { manifest: whole, objects: { copied: copies.part.rows - copies.failed, failed: copies.failed } };
  } finally {
    lock.release();
  }
}

/** An embedded store that does not exist would be made, and have none of the objects. */
function requireStore({ objectStore }: Config): void {
  if (objectStore.kind === 's3' || existsSync(objectStore.dataDir)) return;
  throw new Error(`There is no object store in ${objectStore.dataDir}: check CADIZ_DATA_DIR.`);
}

/** A backup without the list of objects would take the place of the one that has it: no restore could use the copies any more. */
function requireNoObjects(folder: string, previous: Manifest | undefined): void {
  if (previous?.objects === undefined) return;
  throw new Error(
    `The backup in ${folder} has objects, which one without would lose: add --objects, or name a new folder.`,
  );
}

/** Copies the objects of all files of the snapshot, and writes the list of them. */
async function copyObjects(
  config: Config,
  folder: string,
  path: string,
  { manifest, previous }: { manifest: Manifest; previous: Manifest | undefined },
  telling: Telling,
): Promise<{ part: Part; failed: number }> {
  const copied = await readCopied(folder, previous);
  let failed = 0;
  const part = await withObjects(config, async (store) => {
    await store.check();
    const listed = forEachObject(
      () => readRecorded(folder, manifest),
      'Copying objects',
      telling,
      (object, onBytes) => copyObject(folder, store, object, copied.get(object.storeKey), onBytes),
      ({ storeKey, sizeBytes, etag }): Listed => {
        failed += 1;
        return { storeKey, sizeBytes, etag, sha256: null };
      },
    );
    return writePart(folder, path, toLines(listed));
  });
  return { part, failed };
}

async function* toLines(listed: AsyncIterable<Listed[]>): AsyncGenerator<string[]> {
  for await (const some of listed) yield some.map((one) => `${JSON.stringify(one)}\n`);
}

async function writeTableParts(reader: TableReader, folder: string, parts: string): Promise<Manifest['tables']> {
  const written: Manifest['tables'] = [];
  const kept = Object.entries(tables).filter(([, what]) => what === 'kept');
  for (const [name] of kept) {
    const columns = await reader.columns(name);
    // A database that was not migrated yet does not have every table of this version.
    if (columns.length === 0) continue;
    const part = await writePart(folder, `${parts}/${name}.copy`, reader.lines(name, columns));
    written.push({ name, columns, ...part });
  }
  return written;
}

/** Removes files of other backups than that of the manifest: of interrupted ones, and of the one before. */
async function removeParts(folder: string, manifest: Manifest | undefined): Promise<void> {
  const kept = manifest?.secrets.path.split('/')[0];
  const old = (await readdir(folder)).filter((name) => name.startsWith(partsPrefix) && name !== kept);
  await Promise.all(old.map((name) => rm(join(folder, name), { recursive: true })));
}

/** @throws Error in a sentence if there is something else in the folder */
async function requireOurs(folder: string): Promise<void> {
  const strange = (await readdir(folder)).find((name) => !isOurs(name));
  if (strange === undefined) return;
  throw new Error(
    `The folder ${folder} holds ${strange}, which is not part of a backup: name an empty or a new folder.`,
  );
}

function isOurs(name: string): boolean {
  return name.startsWith(partsPrefix) || [manifestName, `${manifestName}.new`, 'lock', objectsName].includes(name);
}

/** What the service signs and seals with, whether it comes from the settings or from the data folder. */
function toSecrets(config: Config): string {
  const found = findSecrets(config.dataDir);
  const secret = config.secret ?? found?.secret;
  if (secret === undefined) {
    throw new Error(
      `There is no secret: CADIZ_SECRET is not set, and ${config.dataDir} has no secrets.json. Run the command with the settings of the service.`,
    );
  }
  return `${JSON.stringify({ ...found, secret } satisfies Partial<Secrets>)}\n`;
}

async function* once(line: string): AsyncGenerator<string[]> {
  yield [line];
}

/** Reads the database at one moment. The embedded one of a running service is copied by that. */
async function withDatabase<T>(config: Config, work: (reader: TableReader) => Promise<T>): Promise<T> {
  const { db, release } = await openOrCopy(config);
  try {
    return await withDirectPool(config.database, db, async (pool) => {
      // Refuses a database of a newer version, whose tables this one does not know.
      await findPending(pool);
      return readTables(pool, work);
    });
  } finally {
    await db.close();
    release();
  }
}

async function openOrCopy({ database }: Config): Promise<{ db: Database; release(): void }> {
  if (database.kind === 'embedded' && !existsSync(join(database.dataDir, 'pgdata'))) {
    throw new Error(`There is no database in ${database.dataDir}: check CADIZ_DATA_DIR.`);
  }
  const refusal = findRefusal(database);
  // Root may open a copy that the service makes.
  if (refusal && database.kind === 'embedded') return openCopy(database.dataDir, refusal);
  try {
    return { db: await openDatabase(database), release: () => undefined };
  } catch (error) {
    if (!(error instanceof DatabaseFolderInUse) || database.kind !== 'embedded') throw error;
    return openCopy(database.dataDir, error);
  }
}

/** @param otherwise thrown if nobody gives copies */
async function openCopy(dataDir: string, otherwise: Error): Promise<{ db: Database; release(): void }> {
  const { folder, release } = await takeSnapshot(dataDir).catch((error: NodeJS.ErrnoException) => {
    // Another command may have the database, which gives no copies.
    throw error.code === 'ENOENT' || error.code === 'ECONNREFUSED' ? otherwise : error;
  });
  try {
    return { db: await openDatabase({ kind: 'embedded', dataDir: folder }), release };
  } catch (error) {
    release();
    throw error;
  }
}
