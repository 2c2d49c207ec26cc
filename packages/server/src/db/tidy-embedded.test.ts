import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from './open.ts';
import { tidyEmbedded } from './tidy-embedded.ts';

const { signal } = new AbortController();

describe('the embedded database', () => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase('embedded');
  });
  afterAll(() => db.close());

  const statistics = async () => {
    const { rows } = await db.pool.query<{ rows: number; dead: number }>(
      `select reltuples::int as rows, n_dead_tup as dead from pg_class
       join pg_stat_user_tables on relid = pg_class.oid where pg_class.relname = 'projects'`,
    );
    return rows[0];
  };
  const addProjects = (count: number) =>
    db.pool.query(`insert into projects (id, name) select uuidv7(), 'P' from generate_series(1, $1)`, [count]);

  test('tidies only a table with many changes, and not twice', async () => {
    await addProjects(2000);
    expect(await tidyEmbedded(db, signal)).toEqual(['public.projects']);
    expect(await statistics()).toEqual({ rows: 2000, dead: 0 });
    expect(await tidyEmbedded(db, signal)).toEqual([]);

    await db.pool.query(`delete from projects where id in (select id from projects limit 1500)`);
    expect(await tidyEmbedded(db, signal)).toEqual(['public.projects']);
    expect(await statistics()).toEqual({ rows: 500, dead: 0 });
  });

  test('leaves a table with few changes alone', async () => {
    await db.pool.query('insert into projects (id, name) values ($1, $2)', [uuidv7(), 'One more']);
    expect(await tidyEmbedded(db, signal)).toEqual([]);
  });

  test('stops when its signal aborts', async () => {
    await addProjects(2000);
    const stopped = AbortSignal.abort(new Error('The service is stopping.'));
    await expect(tidyEmbedded(db, stopped)).rejects.toThrow('The service is stopping.');
  });
});

test.skipIf(!testableKinds.includes('postgres'))('leaves PostgreSQL to its autovacuum', async () => {
  const db = await openTestDatabase('postgres');
  await db.pool.query(`insert into projects (id, name) select gen_random_uuid(), 'P' from generate_series(1, 2000)`);
  expect(await tidyEmbedded(db, signal)).toEqual([]);
  await db.close();
});
