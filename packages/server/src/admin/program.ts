import { findPending, migrate } from '../db/migrate.ts';
import { withDirectPool } from '../db/open.ts';
import type { Config } from '../settings/config.ts';
import { readSettings } from '../settings/settings-file.ts';
import { openUnmigrated } from '../start/open-beside.ts';
import { writeWarning } from '../start/start-error.ts';
import { tellFailure } from '../start/tell-failure.ts';
import { type Acceptance, acceptObjects as accept } from './accept-objects.ts';
import { backUp } from './backup.ts';
import { toFailure } from './folder-failure.ts';
import type { Telling } from './objects.ts';
import { restore } from './restore.ts';
import { verify } from './verify.ts';

export interface Options {
  /** Only names what would be applied. */
  dryRun: boolean;
  /** One JSON document instead of text. */
  json: boolean;
}

/** Of the commands that handle backups. */
export interface BackupOptions extends Pick<Options, 'json'>, Telling {
  /** The objects too. */
  objects: boolean;
}

/** Some objects could not be copied or stored; everything else was. */
const someFailed = 5;

/**
 * Brings the schema of the database in the settings up to date, as a start of the service does, so that a service can
 * run without the right to change the schema. The names of the files go to standard output.
 *
 * @returns the exit code of the process
 */
export function migrateDatabase({ dryRun, json }: Options): Promise<number> {
  return run(json, async (config) => {
    const db = await openUnmigrated(config, 'It migrates when it starts; stop it to run this command.');
    try {
      const names = await withDirectPool(config.database, db, async (pool) =>
        dryRun ? findPending(pool) : (await migrate(pool)).applied,
      );
      if (json) writeJson(dryRun ? { pending: names } : { applied: names });
      else process.stdout.write(describe(names, dryRun));
    } finally {
      await db.close();
    }
    return 0;
  });
}

/**
 * Backs up the service in the settings to a folder, while it runs.
 *
 * @returns the exit code of the process
 */
export function makeBackup(folder: string, { json, objects: withThem, ...telling }: BackupOptions): Promise<number> {
  return run(json, async (config) => {
    const { manifest, objects } = await backUp(config, folder, withThem ? telling : undefined);
    const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
    if (json) writeJson({ createdAt: manifest.createdAt, rows, ...(objects && { objects }) });
    else {
      process.stdout.write(`backed up ${rows} rows of ${manifest.createdAt}\n`);
      if (objects) process.stdout.write(`backed up ${objects.copied} objects\n`);
      if (objects?.failed) process.stderr.write(`${objects.failed} objects are not in the backup.\n`);
      process.stderr.write(
        `${folder} contains the secrets of the service, and hashes and addresses of its users: keep it as secret as the service itself.\n`,
      );
    }
    return objects?.failed ? someFailed : 0;
  });
}

/** Said before the service is started, since its first sweep comes seconds later. */
const olderThanObjects =
  'If the object store has been used since then, the service would remove what this database does not know. To look first, start it with JANITOR_MARGIN_SECONDS=31536000 and TRASH_RETENTION_DAYS=3650.\n';

/**
 * Restores a backup to the service in the settings, which must be empty.
 *
 * @returns the exit code of the process
 */
export function restoreBackup(folder: string, { json, objects, ...telling }: BackupOptions): Promise<number> {
  return run(json, async (config) => {
    const { manifest, failed } = await restore(config, folder, objects ? telling : undefined);
    const { createdAt, tables } = manifest;
    const stored = (manifest.objects?.rows ?? 0) - failed;
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    if (json) writeJson({ createdAt, rows, ...(objects && { objects: { stored, failed } }) });
    else {
      process.stdout.write(`restored ${rows} rows of ${createdAt}\n`);
      if (objects) process.stdout.write(`restored ${stored} objects\n`);
      if (failed > 0) process.stderr.write(`${failed} objects are not restored: their files cannot be read.\n`);
      process.stderr.write(olderThanObjects);
    }
    return failed > 0 ? someFailed : 0;
  });
}

/**
 * Verifies that a backup is whole. Needs no settings.
 *
 * @returns the exit code of the process: 1 if something is missing or damaged, 3 if there is no backup
 */
export async function verifyBackup(folder: string, { json, objects, ...telling }: BackupOptions): Promise<number> {
  try {
    const damage = await verify(folder, objects ? telling : undefined);
    if (json) writeJson({ damage });
    else
      process.stdout.write(damage.length === 0 ? 'The backup is whole.\n' : damage.map((one) => `${one}\n`).join(''));
    return damage.length === 0 ? 0 : 1;
  } catch (error) {
    return tellFailure(toFailure(error, folder), 'The command', json);
  }
}

/**
 * Accepts the objects of a bucket that was copied with another tool, where their bytes are those that were recorded.
 *
 * @returns the exit code of the process: 5 if a file has no object, or one that is not accepted
 */
export function acceptObjects({
  json,
  dryRun,
  unproved,
  ...telling
}: Options & Telling & { unproved: boolean }): Promise<number> {
  return run(json, async (config) => {
    const acceptance = await accept(config, { dryRun, unproved }, telling);
    if (json) writeJson(acceptance);
    else process.stdout.write(describeAcceptance(acceptance, dryRun));
    return acceptance.failed > 0 ? someFailed : 0;
  });
}

function describeAcceptance({ unchanged, accepted, failed }: Acceptance, dryRun: boolean): string {
  const lines = [
    `with the object that was recorded: ${unchanged}`,
    `with another ETag, ${dryRun ? 'would be accepted' : 'accepted'}: ${accepted}`,
  ];
  if (failed > 0) lines.push(`without an object, or not accepted: ${failed}`);
  return lines.map((line) => `${line}\n`).join('');
}

async function run(json: boolean, work: (config: Config) => Promise<number>): Promise<number> {
  try {
    return await work(readSettings(writeWarning));
  } catch (error) {
    return tellFailure(error, 'The command', json);
  }
}

function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

function describe(names: readonly string[], dryRun: boolean): string {
  if (names.length === 0) return 'The schema is up to date.\n';
  return names.map((name) => `${dryRun ? 'would apply' : 'applied'} ${name}\n`).join('');
}
