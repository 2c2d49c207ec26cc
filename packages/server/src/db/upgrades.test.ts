import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEmptyDatabase, testableKinds } from '../../test/database.ts';
import { earlierDatabases, expectEarlierRows, makeEarlierDatabase } from '../../test/db/earlier-databases.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { MigrationMismatch, migrate } from './migrate.ts';
import type { Database } from './open.ts';

const folder = new URL('./migrations/', import.meta.url);
const landed = new URL('../../test/db/landed-migrations.txt', import.meta.url);

test('a migration that has landed never changes', async () => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const lines = await Promise.all(
    names.map(async (name) => {
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      return `${createHash('sha256').update(sql).digest('hex')}  ${name}`;
    }),
  );
  const known = (await readFile(landed, 'utf8')).split(/\r?\n/).filter((line) => line !== '');
  expect(
    lines,
    'Append the line of a new migration to landed-migrations.txt, and undo any change to the others',
  ).toEqual(known);
});

describe.each(testableKinds)('a database of an earlier version (%s)', (kind) => {
  let db: Database;
  let service: TestService;
  let schema: Record<string, unknown>;

  beforeAll(async () => {
    db = await openEmptyDatabase(kind);
    await migrate(db.pool);
    schema = await readSchema(db);
    service = await startTestService({ db });
  });
  afterAll(() => service.close());

  test.each(earlierDatabases.map((migrations) => ({ migrations, had: migrations.join(', ') })))(
    'with $had has the tables of a new database after the start, and all its rows',
    async ({ migrations }) => {
      await db.pool.query('drop schema public cascade; create schema public');
      await makeEarlierDatabase(db.pool, migrations);
      await migrate(db.pool);
      expect(await readSchema(db)).toEqual(schema);
      expect(await migrate(db.pool)).toEqual({ applied: [] });

      await expectEarlierRows(service);
    },
  );

  test('with another form of a migration is left unchanged, with a message for the operator', async () => {
    await db.pool.query('drop schema public cascade; create schema public');
    await makeEarlierDatabase(db.pool, ['0001-foundation']);
    await db.pool.query("update cadiz_migrations set sha256 = repeat('0', 64)");
    await expect(migrate(db.pool)).rejects.toThrow(MigrationMismatch);
    await expect(migrate(db.pool)).rejects.toThrow(
      /start the version that last used the database.*docs\/operations\.md/,
    );
    expect((await db.pool.query('select name from cadiz_migrations')).rowCount).toBe(1);
  });
});

/** Tables, columns, constraints, indexes and functions: everything except the order of columns. */
async function readSchema({ pool }: Database): Promise<Record<string, unknown>> {
  const read = async (text: string) => (await pool.query(text)).rows;
  return {
    tables: await read(
      `select relname, relpersistence, reloptions from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`,
    ),
    columns: await read(
      `select attrelid::regclass::text as table, attname, format_type(atttypid, atttypmod) as type, attnotnull,
              pg_get_expr(adbin, adrelid) as default, collname
       from pg_attribute join pg_class on pg_class.oid = attrelid
         left join pg_attrdef on adrelid = attrelid and adnum = attnum
         left join pg_collation on pg_collation.oid = attcollation
       where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
       order by 1, 2`,
    ),
    constraints: await read(
      `select conrelid::regclass::text as table, conname, pg_get_constraintdef(oid) as definition
       from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`,
    ),
    indexes: await read("select indexdef from pg_indexes where schemaname = 'public' order by indexname"),
    functions: await read(
      `select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'public'::regnamespace order by proname`,
    ),
  };
}
