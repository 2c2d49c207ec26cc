import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import { checkDatabase } from './check-database.ts';
import type { Database } from './open.ts';

describe.runIf(testableKinds.includes('postgres'))('a database that others change while the service runs', () => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase('postgres');
  });
  afterAll(() => db.close());

  const unusable = { name: 'UnusableDependency', message: 'lacks tables of the service, or rights on them' };

  it('is not healthy without its tables, as in the middle of a restore, and is once they are back', async () => {
    await checkDatabase(db);
    await db.pool.query('create schema elsewhere; alter table files set schema elsewhere');
    await expect(checkDatabase(db)).rejects.toMatchObject(unusable);
    await db.pool.query('alter table elsewhere.files set schema public');
    await checkDatabase(db);
  });

  it('is not healthy before a restore has added the keys of its tables', async () => {
    await db.pool.query('alter table work drop constraint work_pkey');
    await expect(checkDatabase(db)).rejects.toMatchObject({ ...unusable, message: 'is not restored whole' });
    await db.pool.query('alter table work add primary key (project_id, kind, subject)');
    await checkDatabase(db);
  });

  it('is not healthy without the rights on its tables', async () => {
    const role = `clerk_${process.pid}`;
    await db.pool.query(`create role ${role}; grant usage on schema public to ${role}; set role ${role}`);
    // The pool uses the same connection again, as nobody else needs one.
    await expect(checkDatabase(db)).rejects.toMatchObject(unusable);
    await db.pool.query(`reset role; drop owned by ${role}; drop role ${role}`);
    await checkDatabase(db);
  });
});
