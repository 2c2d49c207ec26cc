import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createServerDatabase, openEmptyDatabase, openTestDatabase, reachableKinds } from '../../test/database.ts';
import { fromLine, toLine } from './copy-text.ts';
import { migrate } from './migrate.ts';
import { type Database, openDatabase } from './open.ts';
import { readTables } from './read-tables.ts';
import { tables } from './tables.ts';
import { DatabaseNotEmpty, type TableSource, writeTables } from './write-tables.ts';

/** All that is kept of a database, in memory. */
async function readAll(db: Database): Promise<TableSource & { texts: Record<string, string[]> }> {
  return readTables(db.pool, async (reader) => {
    const texts: Record<string, string[]> = {};
    const read: { name: string; columns: string[] }[] = [];
    for (const [name] of Object.entries(tables).filter(([, what]) => what === 'kept')) {
      const columns = await reader.columns(name);
      read.push({ name, columns });
      texts[name] = [];
      for await (const lines of reader.lines(name, columns)) texts[name].push(...lines);
    }
    const { migrations, sequences } = reader;
    async function* lines(table: string) {
      yield (texts[table] ?? []).map((line) => line.slice(0, -1));
    }
    return { migrations, sequences, tables: read, texts, lines };
  });
}

const strange = 'a\tb\\N\\\nc\r\v\f\b\u2028é😀"\',{}';
const first = '018f0000-0000-7000-8000-000000000001';
const second = '018f0000-0000-7000-8000-000000000002';

it.each([[[strange, null, '', '\\N']], [[null]], [['']]])('writes a row as a line and reads it again: %j', (row) => {
  const line = toLine(row);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  expect(fromLine(line.slice(0, -1))).toEqual(row);
});

describe.each(reachableKinds)('tables (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
    await db.pool.query(`insert into users (id, name, email, role) values ($1, $2, 'a@example.com', 'member')`, [
      first,
      strange,
    ]);
    await db.pool.query(`insert into projects (id, name) values ($1, 'One')`, [first]);
    await db.pool.query(`insert into project_members (project_id, user_id, role) values ($1, $1, 'owner')`, [first]);
    // The parent comes after its child.
    const folder = 'insert into folders (project_id, id, name, name_key, parent_id) values ($1, $2, $3, $3, $4)';
    await db.pool.query(folder, [first, second, 'parent', null]);
    await db.pool.query(folder, [first, first, 'child', second]);
    await db.pool.query('update folders set name = name where id = $1', [second]);
    for (const at of [1, 2, 3]) {
      await db.pool.query(
        `insert into new_events (project_id, id, type, at, data) values ($1, $2, 'file.created', now(), $3)`,
        [first, first.replace(/1$/, `${at}`), JSON.stringify({ text: strange })],
      );
    }
    await db.pool.query('delete from new_events where pos = 3');
  });
  afterAll(() => db.close());

  it('lists every table of the database, and no other', async () => {
    const { rows } = await db.pool.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
    );
    const names = rows.map(({ name }) => name).filter((name) => name !== 'cadiz_migrations');
    expect(names).toEqual(Object.keys(tables).sort());
  });

  it.each(reachableKinds)('fills an empty database (%s) with the same', async (other) => {
    const all = await readAll(db);
    expect(all.texts.folders).toHaveLength(2);
    const copy = await openEmptyDatabase(other);
    try {
      await writeTables(copy.pool, all);
      expect(await readAll(copy)).toEqual({ ...all, lines: expect.any(Function) });
      const { rows } = await copy.pool.query(
        `insert into new_events (project_id, id, type, at, data) values ($1, $1, 'file.created', now(), '{}') returning pos`,
        [first],
      );
      expect(rows).toEqual([{ pos: 4 }]);
      // What rows refer to is required again at once, as before.
      await expect(
        copy.pool.query('update folders set parent_id = $1 where id = $2', [first.replace(/1$/, '9'), first]),
      ).rejects.toThrow(/foreign key/);
      const { rows: deferrable } = await copy.pool.query('select conname from pg_constraint where condeferrable');
      expect(deferrable).toEqual([]);
      await expect(writeTables(copy.pool, all)).rejects.toThrow(DatabaseNotEmpty);
    } finally {
      await copy.close();
    }
  });

  it('leaves an empty database empty if a row does not fit', async () => {
    const all = await readAll(db);
    const copy = await openEmptyDatabase(kind);
    try {
      const without = { ...all, lines: (table: string) => (table === 'users' ? none() : all.lines(table)) };
      await expect(writeTables(copy.pool, without)).rejects.toThrow(/foreign key/);
      await writeTables(copy.pool, all);
    } finally {
      await copy.close();
    }
  });

  it('waits for rows for any length of time', async () => {
    const all = await readAll(db);
    const copy = await openEmptyDatabase(kind);
    try {
      // The pool uses the same connection again, as nobody else needs one.
      await copy.pool.query("set idle_in_transaction_session_timeout = '50ms'");
      const lines = async function* (table: string) {
        await delay(table === 'users' ? 300 : 0);
        yield* all.lines(table);
      };
      await writeTables(copy.pool, { ...all, lines });
      expect((await readAll(copy)).texts).toEqual(all.texts);
    } finally {
      await copy.close();
    }
  });

  it('may be read for any length of time', async () => {
    const own = await openTestDatabase(kind);
    onTestFinished(() => own.close());
    // The pool uses the same connection again, as nobody else needs one.
    const { rows: limits } = await own.pool.query<{ name: string }>(
      `select name, set_config(name, '3600000', false) from pg_settings
       where name in ('idle_in_transaction_session_timeout', 'statement_timeout', 'transaction_timeout') order by name`,
    );
    const whileRead = await readTables(own.pool, async (reader) => {
      const settings: string[] = [];
      for await (const lines of reader.lines('pg_settings', ['name', 'setting'])) settings.push(...lines);
      return settings;
    });
    expect(whileRead).toEqual(expect.arrayContaining(limits.map(({ name }) => `${name}\t0\n`)));
  });

  it('has the rows of one moment', async () => {
    const before = await readTables(db.pool, async (reader) => {
      const columns = await reader.columns('removed_projects');
      // PGlite has one session, in which nobody else can write meanwhile.
      if (kind === 'postgres') await db.pool.query(`insert into removed_projects (project_id) values ($1)`, [second]);
      const rows: string[] = [];
      for await (const lines of reader.lines('removed_projects', columns)) rows.push(...lines);
      return rows;
    });
    expect(before).toEqual([]);
  });
});

async function* none(): AsyncGenerator<string[]> {}

it.runIf(reachableKinds.includes('postgres'))('fills a schema of any name from one of any name', async () => {
  const openSchema = async (name: string) => {
    const { url, drop } = await createServerDatabase();
    onTestFinished(drop);
    const own = new URL(url);
    own.searchParams.set('options', `-c search_path="${name}"`);
    const db = await openDatabase({ kind: 'postgres', url: own.href, maxConnections: 2 });
    onTestFinished(() => db.close());
    await db.pool.query(`create schema "${name}"`);
    return db;
  };
  const [from, to] = [await openSchema('Media-1'), await openSchema('2nd_Media')];
  await migrate(from.pool);
  await from.pool.query(`insert into projects (id, name) values ($1, 'One')`, [first]);
  await writeTables(to.pool, await readAll(from));
  expect((await to.pool.query('select name from projects')).rows).toEqual([{ name: 'One' }]);
});
