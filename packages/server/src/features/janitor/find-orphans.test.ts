import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, testableKinds } from '../../../test/database.ts';
import type { Database } from '../../db/open.ts';
import { readConfig } from '../../settings/config.ts';
import { makeStoreKey } from '../../store/store-key.ts';
import { findOrphans } from './find-orphans.ts';

describe.each(testableKinds)('findOrphans (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  afterAll(() => db.close());

  it('finds none before a restore has added the keys of the tables, when files may still be to come', async () => {
    const projectId = randomUUID();
    const keys = [makeStoreKey(projectId, 'a.txt', Date.now())];
    const find = () =>
      findOrphans({ config: readConfig({}), db, now: Date.now }, projectId, keys, Number.POSITIVE_INFINITY);
    for (const table of ['files', 'uploads']) {
      const key = `constraint ${table}_store_key_key`;
      await db.pool.query(`alter table ${table} drop ${key}`);
      expect(await find()).toEqual([]);
      await db.pool.query(`alter table ${table} add ${key} unique (project_id, store_key)`);
      expect(await find()).toEqual(keys);
    }
  });

  it('finds none while row-level security hides files without an error, as behind a pooler', async () => {
    const projectId = randomUUID();
    const keys = [makeStoreKey(projectId, 'a.txt', Date.now())];
    const find = () =>
      findOrphans({ config: readConfig({}), db, now: Date.now }, projectId, keys, Number.POSITIVE_INFINITY);
    expect(await find()).toEqual(keys);
    const role = `janitor_${process.pid}`;
    await db.pool.query(`create role ${role}; grant usage on schema public to ${role};
      grant select on files, uploads to ${role}; alter table files enable row level security;
      set role ${role}; set row_security = on`);
    try {
      expect(await find()).toEqual([]);
    } finally {
      await db.pool.query(
        `reset role; alter table files disable row level security; drop owned by ${role}; drop role ${role}`,
      );
    }
  });
});
