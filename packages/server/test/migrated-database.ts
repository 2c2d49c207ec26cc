import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { templatePath } from '../src/db/embedded.ts';

/**
 * A migrated database for all tests to copy, since migrating takes longer than most of them. The first test that needs
 * it makes it; it is made again after a migration, or the code that applies migrations, has changed. Returns its
 * folder.
 */
export async function findMigrated(): Promise<string> {
  const path = `${templatePath()}-migrated-${fingerprintMigrations()}`;
  if (existsSync(path)) return path;
  // Two tests at once each make their own, and the first one stays.
  const draft = `${path}.${process.pid}`;
  // Not a static import: most tests find it made, and many of them load nothing else of the database.
  const { migrateInto } = await import('./embedded-database.ts');
  await migrateInto(draft);
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
