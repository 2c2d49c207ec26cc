import { cpSync, existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createServerDatabase, testableKinds } from '../../test/database.ts';
import { expectEarlierRows, makeEarlierDatabase } from '../../test/db/earlier-databases.ts';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { startTestService } from '../../test/service.ts';
import { watchSynced } from '../../test/synced.ts';
import { templatePath } from '../db/embedded.ts';
import { migrate } from '../db/migrate.ts';
import { type Database, openDatabase } from '../db/open.ts';
import { type Config, readConfig } from '../settings/config.ts';
import { backUp } from './backup.ts';
import { restore } from './restore.ts';

const migrations = readdirSync(new URL('../db/migrations/', import.meta.url))
  .sort()
  .map((name) => name.replace('.sql', ''));

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function makeFolder(): Promise<string> {
  const folder = await makeTestFolder();
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The settings of a service that has not started yet. */
async function makeSettings(kind: Database['kind']): Promise<Config> {
  const settings: Record<string, string> = { CADIZ_DATA_DIR: await makeFolder(), CADIZ_SECRET: 's'.repeat(40) };
  if (kind === 'postgres') {
    const { url, drop } = await createServerDatabase();
    cleanups.push(drop);
    settings.DATABASE_URL = url;
  }
  const config = readConfig(settings);
  if (config.database.kind === 'embedded' && existsSync(templatePath())) {
    const files = join(config.database.dataDir, 'pgdata');
    await mkdir(dirname(files), { recursive: true });
    cpSync(templatePath(), files, { recursive: true });
  }
  return config;
}

async function backUpWith(config: Config, applied: readonly string[], below = ''): Promise<string> {
  const db = await openDatabase(config.database);
  await makeEarlierDatabase(db.pool, applied);
  await db.close();
  const archive = join(await makeFolder(), below);
  await backUp(config, archive);
  return archive;
}

async function changeManifest(archive: string, change: (manifest: Record<string, unknown>) => void): Promise<void> {
  const path = join(archive, 'manifest.json');
  const { sha256: _, ...manifest } = JSON.parse(await readFile(path, 'utf8'));
  change(manifest);
  await writeFile(path, JSON.stringify(manifest));
}

describe.each(testableKinds)('a backup (%s)', (kind) => {
  test.each([4, migrations.length - 1])(
    'of a database with the first %i migrations is restored, and then migrated',
    async (count) => {
      const archive = await backUpWith(await makeSettings(kind), migrations.slice(0, count));
      const target = await makeSettings(kind);
      await restore(target, archive);
      const db = await openDatabase(target.database);
      expect(await migrate(db.pool)).toEqual({ applied: [] });
      const service = await startTestService({ db });
      try {
        await expectEarlierRows(service);
      } finally {
        await service.close();
      }
    },
  );

  test.skipIf(!existsSync('/proc/self/fd'))('is durable with every folder that was made for it', async () => {
    const config = await makeSettings(kind);
    const synced = await watchSynced();
    const archive = await backUpWith(config, migrations, 'made/for/it');
    const outer = join(archive, '../../..');
    const made = readdirSync(outer, { recursive: true }).map((name) => join(outer, String(name)));
    expect(made).toContain(join(archive, 'manifest.json'));
    for (const path of made) expect(synced, path).toContain(dirname(path));
  });

  test('of a newer version is refused, in a sentence, and leaves the database empty', async () => {
    const archive = await backUpWith(await makeSettings(kind), migrations);
    await changeManifest(archive, (manifest) => {
      (manifest.migrations as object[]).push({ name: '9999-later.sql', sha256: '0'.repeat(64) });
    });
    const target = await makeSettings(kind);
    await expect(restore(target, archive)).rejects.toThrow(/of another version of Cadiz.*9999-later/);
    await changeManifest(archive, (manifest) => {
      manifest.format = 2;
    });
    await expect(restore(target, archive)).rejects.toThrow(/has format 2.*use the version that made it/);
    const db = await openDatabase(target.database);
    try {
      expect((await db.pool.query("select from pg_class where relnamespace = 'public'::regnamespace")).rowCount).toBe(
        0,
      );
    } finally {
      await db.close();
    }
  });
});
