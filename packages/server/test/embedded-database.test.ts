import { expect, test } from 'vitest';
import type { Database } from '../src/db/open.ts';
import { tidyEmbedded } from '../src/db/tidy-embedded.ts';
import { openTestDatabase } from './database.ts';

const open = () => openTestDatabase('embedded');

test('is used again, as it was new: nothing is left, and what the migrations made is there', async () => {
  const first = await open();
  const before = await read(first);
  await first.pool.query(`
    insert into projects (id, name) values ('00000000-0000-4000-8000-000000000001', 'Press');
    insert into projects (id, name) select uuidv7(), 'P' from generate_series(1, 2000);
    update event_head set position = 7;
    delete from cadiz_migrations;
    select nextval('new_events_pos_seq')`);
  expect(await read(first)).not.toEqual(before);
  const used = await countTransactions(first);
  await first.close();

  const next = await open();
  expect(await countTransactions(next)).toBeGreaterThan(used);
  expect(await read(next)).toEqual(before);
  // What would be due for a vacuum.
  expect(await tidyEmbedded(next, new AbortController().signal)).toEqual([]);
  await next.close();
});

test('is another one if its tables have changed', async () => {
  const first = await open();
  await first.pool.query('create table left_behind (id int)');
  await first.close();

  const next = await open();
  expect((await next.pool.query(`select to_regclass('left_behind') as name`)).rows).toEqual([{ name: null }]);
  await next.close();
});

async function countTransactions({ pool }: Database): Promise<number> {
  const { rows } = await pool.query<{ id: string }>('select pg_current_xact_id()::text as id');
  return Number(rows[0]?.id);
}

/** The rows of all tables, and where the sequence of the events is. */
async function read({ pool }: Database): Promise<unknown> {
  const { rows: tables } = await pool.query<{ name: string }>(`
    select format('%I', relname) as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`);
  const rows: unknown[] = [];
  for (const { name } of tables) rows.push([name, (await pool.query(`select * from ${name}`)).rows]);
  return [rows, (await pool.query('select last_value, is_called from new_events_pos_seq')).rows];
}
