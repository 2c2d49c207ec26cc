import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from './open.ts';
import { requireWhole } from './require-whole.ts';
import { tables } from './tables.ts';

describe.each(testableKinds)('requireWhole (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  afterAll(() => db.close());

  it('is content with what migrations make, of which only the audit log has no primary key', async () => {
    await requireWhole(db.pool);
    const { rows } = await db.pool.query(
      `select name from unnest($1::text[]) as listed (name)
       where not exists (select 1 from pg_index where indrelid = name::regclass and indisprimary)`,
      [Object.keys(tables)],
    );
    expect(rows).toEqual([{ name: 'audit_events' }]);
  });

  it('notices when the usage counts files but no file is there', async () => {
    await db.pool.query(`alter table project_usage drop constraint project_usage_project_id_fkey;
      insert into project_usage (project_id, slot, file_count, total_bytes) values (gen_random_uuid(), 0, 7, 70)`);
    await expect(requireWhole(db.pool)).rejects.toThrow('it counts 7 files, and has none of them');
    await db.pool.query('update project_usage set file_count = 0');
    await requireWhole(db.pool);
  });

  it('names a table without its primary key, as before the end of a restore', async () => {
    await db.pool.query('alter table work drop constraint work_pkey');
    await expect(requireWhole(db.pool)).rejects.toThrow('tables lack their primary keys (1, such as work)');
  });
});
