import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type pg from 'pg';

const today = new URL('../../src/db/migrations/', import.meta.url);
const earlier = new URL('./earlier-migrations/', import.meta.url);

/**
 * The migrations of earlier databases, in the order of versions. `0002-library.3` is the third of the forms that file
 * had before the first release; a name without a number means the present form.
 */
export const earlierDatabases: string[][] = [
  ['0001-foundation.1'],
  ['0001-foundation'],
  ['0001-foundation', '0002-library.1'],
  ['0001-foundation', '0002-library.2'],
  ['0001-foundation', '0002-library.3'],
  ['0001-foundation', '0002-library.3', '0003-invitations'],
  ['0001-foundation', '0002-library.4', '0003-invitations'],
  ['0001-foundation', '0002-library.4', '0003-invitations', '0003-janitor'],
  ['0001-foundation', '0002-library.5', '0003-invitations', '0003-janitor'],
  ['0001-foundation', '0002-library.6', '0003-invitations', '0003-janitor'],
  ['0001-foundation', '0002-library.7', '0003-invitations', '0003-janitor'],
  ...[
    [],
    ['0005-sign-in.1'],
    ['0005-sign-in.1', '0006-keys-and-audit.1'],
    ['0005-sign-in.1', '0006-keys-and-audit.1', '0007-rate-limits'],
    ['0005-sign-in.2', '0006-keys-and-audit.1', '0007-rate-limits'],
  ].map((more) => ['0001-foundation', '0002-library.7', '0003-invitations', '0004-janitor', ...more]),
  ...[
    ['0005-sign-in.2', '0006-keys-and-audit.1', '0007-rate-limits'],
    ['0005-sign-in.2', '0006-keys-and-audit.2', '0007-rate-limits'],
    ['0005-sign-in.3', '0006-keys-and-audit.2', '0007-rate-limits'],
    ['0005-sign-in', '0006-keys-and-audit.2', '0007-rate-limits'],
    ['0005-sign-in', '0006-keys-and-audit', '0007-rate-limits'],
    ['0005-sign-in', '0006-keys-and-audit', '0007-rate-limits', '0008-expired-sign-ins'],
  ].map((more) => ['0001-foundation', '0002-library', '0003-invitations', '0004-janitor', ...more]),
];

/**
 * Turns an empty database into one of an earlier version.
 * @param fill writes rows after the first migration, so that the others apply to them
 */
export async function makeEarlierDatabase(
  pool: pg.Pool,
  migrations: string[],
  fill: () => Promise<void>,
): Promise<void> {
  await pool.query(`
    create table cadiz_migrations (
      name text primary key, sha256 text not null, applied_at timestamptz(3) not null default now()
    )`);
  for (const [index, migration] of migrations.entries()) {
    const { name, sql } = await readForm(migration);
    await pool.query(sql);
    const sha256 = createHash('sha256').update(sql).digest('hex');
    await pool.query('insert into cadiz_migrations (name, sha256) values ($1, $2)', [name, sha256]);
    if (index === 0) await fill();
  }
}

async function readForm(migration: string): Promise<{ name: string; sql: string }> {
  const [name = '', form] = migration.split('.');
  // It had another number before.
  const file = name === '0003-janitor' ? '0004-janitor' : name;
  const url = form === undefined ? new URL(`${file}.sql`, today) : new URL(`${file}.${form}.sql`, earlier);
  return { name: `${name}.sql`, sql: await readFile(url, 'utf8') };
}
