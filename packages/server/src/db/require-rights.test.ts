import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from './open.ts';
import { requireRights } from './require-rights.ts';

describe.each(testableKinds)('requireRights (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  afterAll(() => db.close());

  it('is content with the owner', () => requireRights(db.pool));

  it('names the tables that hide rows from a user, from which no statement reads as if they had none', async () => {
    const role = `reader_${process.pid}`;
    await db.pool.query(`create role ${role}; grant usage on schema public to ${role};
      grant select, insert, update, delete on all tables in schema public to ${role};
      alter table files enable row level security; set role ${role}`);
    try {
      await expect(requireRights(db.pool)).rejects.toThrow(/ these tables: files\. /);
      // The user of the embedded one owns all of it.
      if (kind === 'postgres') await expect(db.pool.query('select from files')).rejects.toThrow('row-level security');
    } finally {
      await db.pool.query(`reset role; alter table files disable row level security;
        drop owned by ${role}; drop role ${role}`);
    }
  });

  it('names the tables on which a user lacks a right, and is content once it has them', async () => {
    const role = `clerk_${process.pid}`;
    await db.pool.query(`create role ${role}; grant usage on schema public to ${role};
      grant select, insert, update, delete on all tables in schema public to ${role};
      revoke all on webhook_endpoints from ${role}; revoke delete on files from ${role}; set role ${role}`);
    // The pool uses the same connection again, as nobody else needs one.
    try {
      await expect(requireRights(db.pool)).rejects.toThrow(/ these tables: files, webhook_endpoints\. /);
      await db.pool.query(`reset role; grant delete on files to ${role}; grant all on webhook_endpoints to ${role};
        set role ${role}`);
      await requireRights(db.pool);
    } finally {
      await db.pool.query(`reset role; drop owned by ${role}; drop role ${role}`);
    }
  });
});
