import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DatabaseFolderInUse } from '../db/database-errors.ts';
import { MigrationMismatch } from '../db/migrate.ts';
import { type Database, openDatabase, withDirectPool } from '../db/open.ts';
import { requireEmpty, writeTables } from '../db/write-tables.ts';
import type { Config } from '../settings/config.ts';
import { findSecrets, keepSecrets, needsSecrets, Secrets } from '../settings/secrets.ts';
import { requireNothingLeftBehind } from '../start/left-behind.ts';
import { DamagedArchive, type Manifest, readManifest, readPart } from './archive.ts';
import { findDamages } from './verify.ts';

/** What a backup has of the secrets: those of the store only if the service generated them. */
const KeptSecrets = z.union([Secrets, Secrets.pick({ secret: true })]);

/**
 * Restores a backup to an empty service. The database is written in one transaction, and last: whatever interrupts it, it
 * can be run again.
 * @throws Error in a sentence
 */
export async function restore(config: Config, folder: string): Promise<Manifest> {
  requireNothingLeftBehind(config);
  const manifest = await readManifest(folder);
  const damages = await findDamages(folder, manifest);
  if (damages.length > 0) throw new DamagedArchive(damages.join('\n'));
  const secrets = KeptSecrets.parse(JSON.parse(await readFile(join(folder, manifest.secrets.path), 'utf8')));
  requireSameSecret(config, secrets.secret, join(folder, manifest.secrets.path));
  const db = await open(config);
  try {
    await withDirectPool(config.database, db, async (pool) => {
      await requireEmpty(pool);
      if (needsSecrets(config)) keepSecrets(config.dataDir, secrets);
      await writeTables(pool, { ...manifest, lines: (table) => readTable(folder, manifest, table) });
    });
  } catch (error) {
    if (!(error instanceof MigrationMismatch)) throw error;
    throw new Error(`The backup is of another version of Cadiz than this, which cannot read it: ${error.message}`);
  } finally {
    await db.close();
  }
  return manifest;
}

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
