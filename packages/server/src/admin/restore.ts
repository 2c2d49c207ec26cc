import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { fromLine, toLine } from '../db/copy-text.ts';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { MigrationMismatch } from '../db/migrate.ts';
import { type Database, openDatabase, withDirectPool } from '../db/open.ts';
import { requireEmpty, writeTables } from '../db/write-tables.ts';
import type { Config } from '../settings/config.ts';
import { findSecrets, keepSecrets, needsSecrets, Secrets } from '../settings/secrets.ts';
import { requireNothingLeftBehind } from '../start/left-behind.ts';
import { endLeases } from '../work/lease.ts';
import { DamagedArchive, type Manifest, readManifest, readPart } from './archive.ts';
import { toFailure } from './folder-failure.ts';
import { forEachObject, readListed, type Telling } from './objects.ts';
import { withObjects } from './open-objects.ts';
import { storeObject } from './store-objects.ts';
import { findDamages } from './verify.ts';

/** What a backup has of the secrets: those of the store only if the service generated them. */
const KeptSecrets = z.union([Secrets, Secrets.pick({ secret: true })]);

/**
 * Restores a backup to an empty service. The database is written in one transaction, and last: whatever interrupts it, it
 * can be run again.
 * @param telling with it, the objects are stored too, before the database
 * @returns how many objects could not be stored
 * @throws Error in a sentence
 */
export async function restore(
  config: Config,
  folder: string,
  telling?: Telling,
): Promise<{ manifest: Manifest; failed: number }> {
  requireNothingLeftBehind(config);
  const { manifest, secrets } = await readBackup(folder).catch((error: unknown) => {
    throw toFailure(error, folder);
  });
  requireSameSecret(config, secrets.secret, join(folder, manifest.secrets.path));
  if (telling && manifest.objects === undefined) for await (const _ of readListed(folder, manifest)) break;
  let stored: StoredObjects = { failed: 0, etags: new Map() };
  const db = await open(config);
  try {
    await withDirectPool(config.database, db, async (pool) => {
      await requireEmpty(pool);
      if (needsSecrets(config)) keepSecrets(config.dataDir, secrets);
      if (telling) stored = await storeObjects(config, folder, manifest, telling);
      await writeTables(pool, {
        ...manifest,
        lines(table) {
          const lines = readTable(folder, manifest, table);
          if (table === 'files') return withEtags(lines, manifest, stored.etags);
          // Variants are made again.
          return telling && table === 'image_variants' ? nothing() : lines;
        },
      });
      // They were held by processes of the service that was backed up. If this does not happen, they end by themselves.
      await endLeases(pool);
    });
  } catch (error) {
    if (!(error instanceof MigrationMismatch)) throw error;
    throw new Error(`The backup is of another version of Cadiz than this, which cannot read it: ${error.message}`);
  } finally {
    await db.close();
  }
  return { manifest, failed: stored.failed };
}

/** @throws DamagedArchive, NotThere */
async function readBackup(folder: string): Promise<{ manifest: Manifest; secrets: z.output<typeof KeptSecrets> }> {
  const manifest = await readManifest(folder);
  const damages = await findDamages(folder, manifest);
  if (damages.length > 0) throw new DamagedArchive(damages.join('\n'));
  const secrets = JSON.parse(await readFile(join(folder, manifest.secrets.path), 'utf8'));
  return { manifest, secrets: KeptSecrets.parse(secrets) };
}

interface StoredObjects {
  failed: number;
  /** By storeKey, those that are not what they were. */
  etags: Map<string, string>;
}

async function storeObjects(
  config: Config,
  folder: string,
  manifest: Manifest,
  telling: Telling,
): Promise<StoredObjects> {
  const etags = new Map<string, string>();
  let failed = 0;
  await withObjects(config, async (store) => {
    await store.prepare();
    const results = forEachObject(
      () => readListed(folder, manifest),
      'Storing objects',
      telling,
      async (listed, onBytes) => {
        const etag = await storeObject(folder, store, listed, onBytes);
        if (etag !== listed.etag) etags.set(listed.storeKey, etag);
      },
      () => {
        failed += 1;
      },
    );
    for await (const _ of results);
  });
  return { failed, etags };
}

/** The rows of files, with the ETags that their objects have now. */
async function* withEtags(
  batches: AsyncIterable<string[]>,
  { tables }: Manifest,
  etags: ReadonlyMap<string, string>,
): AsyncGenerator<string[]> {
  const columns = tables.find(({ name }) => name === 'files')?.columns ?? [];
  const [keyAt, etagAt] = [columns.indexOf('store_key'), columns.indexOf('etag')];
  for await (const lines of batches) {
    yield etags.size === 0 ? lines : lines.map((line) => withEtag(line, keyAt, etagAt, etags));
  }
}

function withEtag(line: string, keyAt: number, etagAt: number, etags: ReadonlyMap<string, string>): string {
  const row = fromLine(line);
  const etag = etags.get(row[keyAt] ?? '');
  return etag === undefined ? line : toLine(row.with(etagAt, etag)).replace(/\n$/, '');
}

async function* nothing(): AsyncGenerator<string[]> {}

/** What was signed and sealed with one secret is void with another: links, second factors, secrets of webhooks. */
function requireSameSecret(config: Config, secret: string, path: string): void {
  if (config.secret !== undefined) {
    if (config.secret === secret) return;
    throw new Error(
      `CADIZ_SECRET is not the secret of the backup, without which links, second factors and webhooks would not work: set it to the one in ${path}, or unset it.`,
    );
  }
  const found = findSecrets(config.dataDir);
  if (found === undefined || found.secret === secret) return;
  throw new Error(
    `The data folder ${config.dataDir} has another secret than the backup: restore into a new folder, or move its secrets.json away.`,
  );
}

async function open({ database }: Config): Promise<Database> {
  return openDatabase(database).catch((error: unknown) => {
    if (!(error instanceof DatabaseFolderInUse)) throw error;
    throw new Error('The service is running. Stop it, and restore into a data folder that no service has started on.');
  });
}

function readTable(folder: string, { tables }: Manifest, name: string): AsyncIterable<string[]> {
  const part = tables.find((table) => table.name === name);
  if (part === undefined) throw new DamagedArchive(`The manifest of ${folder} does not name ${name}.`);
  return readPart(folder, part);
}
