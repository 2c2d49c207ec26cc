import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { templatePath } from '../src/db/embedded.ts';

/**
 * A migrated database for all tests to copy, since migrating takes longer than most of them. The first test that needs
 * it makes it; it is made again after a migration, or the code that applies migrations, has changed. Returns its
 * folder.
 * @param make makes one in a folder
 */
export async function findMigrated(make: (folder: string) => Promise<void>): Promise<string> {
  const path = `${templatePath()}-migrated-${fingerprintMigrations()}`;
  if (existsSync(path)) return path;
  // Two tests at once each make their own, and the first one stays.
  const draft = `${path}.${process.pid}`;
  await make(draft);
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(path)) throw error;
  }
  return path;
}

function fingerprintMigrations(): string {
  const folder = fileURLToPath(new URL('../src/db/', import.meta.url));
  const migrations = readdirSync(join(folder, 'migrations')).map((name) => `migrations/${name}`);
  const hash = createHash('sha256');
  for (const name of [...migrations.sort(), 'migrate.ts']) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}
