import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { expect } from 'vitest';
import { createPasswords } from '../../src/identity/passwords/passwords.ts';
import type { TestService } from '../service.ts';

const today = new URL('../../src/db/migrations/', import.meta.url);
const earlier = new URL('./earlier-migrations/', import.meta.url);

/**
 * The migrations of earlier databases, in the order of versions. `0002-library.3` is the third of the forms that file
 * had before the first release; a name without a number means the present form. Some lack a migration that was merged late.
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
    ...[
      [],
      ['0009-proven-addresses.1'],
      ['0010-keys-and-room.1'],
      ['0010-keys-and-room'],
      ['0009-proven-addresses.1', '0010-keys-and-room'],
      ['0009-proven-addresses', '0010-keys-and-room', '0011-work.1'],
      ...[['0014-metadata-and-links'], ['0013-tickets', '0014-metadata-and-links', '0016-console']].map((more) => [
        '0009-proven-addresses',
        '0010-keys-and-room',
        '0011-work',
        '0012-search-additions',
        ...more,
      ]),
    ].map((more) => ['0005-sign-in', '0006-keys-and-audit', '0007-rate-limits', '0008-expired-sign-ins', ...more]),
  ].map((more) => ['0001-foundation', '0002-library', '0003-invitations', '0004-janitor', ...more]),
];

const userId = '01990000-0000-7000-8000-000000000001';
const projectId = '01990000-0000-7000-8000-000000000002';
const folderId = '01990000-0000-7000-8000-000000000003';
const fileId = '01990000-0000-7000-8000-000000000004';
const email = 'ada@example.com';
const password = 'correct horse battery';
const storeKey = `${projectId}/01990000-0000-7000-8000-000000000005/Photo%20of%20the%20harbour.jpg`;

/**
 * Turns an empty database into one of an earlier version.
 * @param fill writes rows after the first migration, so that the others apply to them
 */
export async function makeEarlierDatabase(
  pool: pg.Pool,
  migrations: readonly string[],
  fill: (pool: pg.Pool) => Promise<void> = writeEarlierRows,
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
    if (index === 0) await fill(pool);
  }
}

/** The rows that the first version had written. */
async function writeEarlierRows(pool: pg.Pool): Promise<void> {
  await pool.query("insert into users (id, name, email, role) values ($1, 'Ada', $2, 'owner')", [userId, email]);
  await pool.query(
    "insert into accounts (id, user_id, account_id, provider_id, password) values ($1::uuid, $1::uuid, $1::text, 'credential', $2)",
    [userId, await createPasswords().hash(password)],
  );
  await pool.query("insert into projects (id, name) values ($1, 'Holidays')", [projectId]);
  await pool.query("insert into project_members values ($1, $2, 'owner')", [projectId, userId]);
  await pool.query("insert into folders (project_id, id, name, name_key) values ($1, $2, 'Spain', 'SPAIN')", [
    projectId,
    folderId,
  ]);
  await pool.query(
    `insert into files (project_id, id, store_key, file_name, file_size, mime_type, folder_id, etag)
     values ($1, $2, $3, 'Photo of the harbour.jpg', 5, 'image/jpeg', $4, 'x')`,
    [projectId, fileId, storeKey, folderId],
  );
}

/** That a service on the migrated database has those rows, and can use them. */
export async function expectEarlierRows(service: TestService): Promise<void> {
  const signedIn = await service.call('POST', '/api/auth/sign-in/email', { body: { email, password } });
  expect(signedIn.status).toBe(200);
  const headers = { Cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
  const get = async (path: string) => (await service.call('GET', `/api/storage/${path}`, { headers })).body;
  const file = { id: fileId, fileName: 'Photo of the harbour.jpg', fileSize: 5, folderId };
  expect((await get(`list?projectId=${projectId}&folderId=${folderId}`)).files).toMatchObject([file]);
  // Through the index of grams: inside a name, and at its beginning.
  for (const part of ['arbo', 'phot']) {
    expect((await get(`list?projectId=${projectId}&search=${part}&limit=10`)).files).toMatchObject([file]);
  }
  expect(await get(`usage?projectId=${projectId}`)).toMatchObject({ fileCount: 1, totalBytes: 5 });
  expect(await get(`folders/${folderId}`)).toMatchObject({ name: 'Spain' });
}

async function readForm(migration: string): Promise<{ name: string; sql: string }> {
  const [name = '', form] = migration.split('.');
  // It had another number before.
  const file = name === '0003-janitor' ? '0004-janitor' : name;
  const url = form === undefined ? new URL(`${file}.sql`, today) : new URL(`${file}.${form}.sql`, earlier);
  return { name: `${name}.sql`, sql: await readFile(url, 'utf8') };
}
