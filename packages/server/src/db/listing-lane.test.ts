import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServerDatabase, openEmptyDatabase, testableKinds } from '../../test/database.ts';
import { IndexUsedUp, ListingTooSlow, TooManyListings } from './database-errors.ts';
import { createListingLane, type Reading, smallestPortion, wholePortion } from './listing-lane.ts';
import { type Database, openDatabase } from './open.ts';

const sleep = (seconds: number) => ({ text: 'select pg_sleep($1::float8)::text', values: [seconds] });
const as = (
  pace: Reading['pace'],
  signal = new AbortController().signal,
  userId = 'ada',
  projectId = `project of ${userId}`,
): Reading => ({ pace, signal, userId, projectId });

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await delay(10);
}

describe.each(testableKinds)('the listing lane (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openEmptyDatabase(kind);
  });
  afterAll(() => db.close());

  const sleepFor = (party: string) => ({ text: `select pg_sleep(0.001)::text /* ${party} */` });

  /** A lane that notes for whom each statement of `sleepFor` is sent, which is when its turn has come, however long it then takes. */
  function createNotingLane() {
    const served: string[] = [];
    const { pool } = db;
    const connect = async () => {
      const client = await pool.connect();
      const query = (statement: pg.QueryConfig) => {
        served.push(/\/\* (.*) \*\//.exec(statement.text)?.[1] ?? '');
        return client.query(statement);
      };
      return Object.assign(Object.create(client), { query, release: () => client.release() });
    };
    return { lane: createListingLane(Object.assign(Object.create(pool), { connect })), served };
  }

  test('runs statements, and passes on the errors of the database', async () => {
    const { rows } = await db.listing.query({ text: 'select $1::int + 1 as n', values: [1] }, as('page'));
    expect(rows).toEqual([{ n: 2 }]);
    const failing = db.listing.query({ text: 'select 1/0' }, as('page'));
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    await db.listing.query({ text: 'select 1' }, as('page'));
  });

  test('sorts only if no index can serve the query', async () => {
    const { rows } = await db.listing.query({ text: 'show enable_sort' }, as('page'));
    expect(rows).toEqual([{ enable_sort: 'off' }]);
  });

  test('leaves connections for other requests while many listings run', async () => {
    const listings = Array.from({ length: 40 }, () => db.listing.query(sleep(0.02), as('page')));
    const streams = Array.from({ length: 10 }, () => db.listing.query(sleep(0.02), as('stream')));
    let done = 0;
    for (const listing of [...listings, ...streams]) void listing.then(() => (done += 1));
    await db.pool.query('select 1');
    expect(done).toBeLessThan(20);
    await Promise.all([...listings, ...streams]);
  });

  test('makes streams pause for as long as they ran while the thread is busy', async () => {
    let isBusy = true;
    const spin = () => {
      const until = performance.now() + 5;
      while (performance.now() < until);
      if (isBusy) setImmediate(spin);
    };
    spin();
    const text = `select extract(epoch from clock_timestamp()) * 1000 as start from pg_sleep(0.2)`;
    const [first, second] = await Promise.all(
      [1, 2].map(() => db.listing.query<{ start: string }>({ text }, as('stream'))),
    );
    isBusy = false;
    // Each reports the time after its own sleep, and the pause is at least as long as the first one took.
    expect(Number(second?.rows[0]?.start) - Number(first?.rows[0]?.start)).toBeGreaterThan(395);
  });

  test('runs one page at a time, with pauses, while other requests come, and every page in the end', async () => {
    const sleepMilliseconds = 60;
    const text = `select extract(epoch from clock_timestamp()) * 1000 as end from pg_sleep(${sleepMilliseconds / 1000})`;
    const page = () => db.listing.query<{ end: string }>({ text }, as('page'));
    let othersCome = true;
    const come = () => {
      db.listing.giveWay();
      if (othersCome) setImmediate(come);
    };
    come();
    // The first ones begin before anything has shown that others come.
    await Promise.all([page(), page()]);
    const ends = (await Promise.all(Array.from({ length: 4 }, page))).map(({ rows }) => Number(rows[0]?.end));
    othersCome = false;
    ends.sort((a, b) => a - b);
    for (const [index, end] of ends.slice(1).entries()) {
      // A pause twice as long as the page before it, and then its own sleep.
      expect(end - (ends[index] ?? 0)).toBeGreaterThan(3 * sleepMilliseconds - 5);
    }
  });

  test('does not send a statement that nobody waits for any more', async () => {
    await db.pool.query('create table if not exists sent (n int)');
    const gone = new AbortController();
    const busy = Array.from({ length: 8 }, () => db.listing.query(sleep(0.1), as('page')));
    const sent = { text: 'insert into sent values (1)' };
    const waiting = db.listing.query(sent, as('page', gone.signal));
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(db.listing.query(sent, as('page', gone.signal))).rejects.toThrow('gone');
    await Promise.all(busy);
    await db.listing.query({ text: 'select 1' }, as('page'));
    expect((await db.pool.query('select * from sent')).rows).toEqual([]);
  });

  test.each(['page', 'stream'] as const)('lets accounts take turns (%s)', async (pace) => {
    const { lane, served } = createNotingLane();
    const read = (userId: string) => lane.query(sleepFor(userId), as(pace, undefined, userId));
    await Promise.all([...Array.from({ length: 40 }, () => read('ada')), read('bob'), read('eve')]);
    expect(Math.max(served.indexOf('bob'), served.indexOf('eve'))).toBeLessThan(10);
  });

  test.each(['page', 'stream'] as const)('lets projects take turns, whoever lists them (%s)', async (pace) => {
    const { lane, served } = createNotingLane();
    const read = (userId: string, projectId: string) =>
      lane.query(sleepFor(projectId), as(pace, undefined, userId, projectId));
    const many = Array.from({ length: 40 }, (_, n) => read(`user ${n % 8}`, 'noisy'));
    await Promise.all([...many, read('user 0', 'quiet'), read('bob', 'quiet')]);
    const before = served.slice(0, served.lastIndexOf('quiet'));
    expect(before.filter((project) => project === 'noisy').length).toBeLessThan(8);
  });

  test('lets one statement run at a time while other requests come, of pages and streams', async () => {
    let running = 0;
    let most = 0;
    let othersCome = true;
    const come = () => {
      db.listing.giveWay();
      if (othersCome) setTimeout(come, 1);
    };
    come();
    const { pool } = db;
    const { connect } = pool;
    const lane = createListingLane(
      Object.assign(Object.create(pool), {
        async connect() {
          running += 1;
          most = Math.max(most, running);
          const client = await Reflect.apply(connect, pool, []);
          const { release } = client;
          client.release = (...args: unknown[]) => {
            running -= 1;
            client.release = release;
            return Reflect.apply(release, client, args);
          };
          return client;
        },
      }),
    );
    const read = (pace: Reading['pace']) => lane.query(sleep(0.005), as(pace));
    lane.giveWay();
    await Promise.all([
      ...Array.from({ length: 6 }, () => read('page')),
      ...Array.from({ length: 3 }, () => read('stream')),
    ]);
    othersCome = false;
    expect(most).toBe(1);
  });

  test('does less in one statement while other requests come', async () => {
    const lane = createListingLane(db.pool, { isOnlySession: kind === 'embedded' });
    expect(lane.portion('noisy')).toEqual(wholePortion);
    lane.giveWay();
    const { rows, found } = lane.portion('noisy');
    expect(rows).toBeLessThan(wholePortion.rows);
    expect(found).toBe(kind === 'embedded' ? smallestPortion.found : wholePortion.found);
    expect(wholePortion.found).toBeGreaterThan(0);
  });

  test('on an only session, lets a project use an index that takes long only for a share of the time, while other requests come', async () => {
    const lane = createListingLane(db.pool, { isOnlySession: true });
    const found = (projectId: string) => lane.portion(projectId).found;
    await lane.query(sleep(0.1), as('page', undefined, 'ada', 'quiet'));
    const find = (seconds: number) =>
      lane.query(sleep(seconds), { ...as('page', undefined, 'ada', 'noisy'), isFind: true });
    await find(0.1);
    lane.giveWay();
    // Somebody who searches now and then is not kept from it.
    expect([found('noisy'), found('quiet')]).toEqual([smallestPortion.found, smallestPortion.found]);
    const finds = [find(0.7), find(0.7)];
    // Both were allowed, and the first one used it up.
    expect((await Promise.allSettled(finds)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(find(0.1)).rejects.toThrow(IndexUsedUp);
    lane.giveWay();
    expect([found('noisy'), found('quiet')]).toEqual([0, smallestPortion.found]);
  });

  test('reads as many pages of one project at once as it may', async () => {
    const lane = createListingLane(db.pool, { limits: { atOnce: 1, waiting: 2 } });
    const ended: string[] = [];
    const read = async (name: string, projectId: string) => {
      await lane.query(sleep(0.05), as('page', undefined, 'ada', projectId));
      ended.push(name);
    };
    const all = [read('one', 'noisy'), read('two', 'noisy'), read('three', 'noisy'), read('quiet', 'quiet')];
    await expect(read('four', 'noisy')).rejects.toBeInstanceOf(TooManyListings);
    await Promise.all(all);
    expect(ended.slice(0, 2).sort()).toEqual(['one', 'quiet']);
    expect(ended.slice(2)).toEqual(['two', 'three']);
  });

  test('does not let one account fill the whole queue', async () => {
    const all = Array.from({ length: 300 }, () => db.listing.query(sleep(0.001), as('page')));
    const bob = db.listing.query(sleep(0.001), as('page', undefined, 'bob'));
    const results = await Promise.allSettled(all);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(160);
    for (const result of refused) expect(result).toMatchObject({ reason: expect.any(TooManyListings) });
    await bob;
  });

  test('refuses when too many are waiting, and serves the waiting ones', async () => {
    const all = Array.from({ length: 300 }, (_, n) =>
      db.listing.query(sleep(0.001), as('page', undefined, n % 2 ? 'ada' : 'bob')),
    );
    const results = await Promise.allSettled(all);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(30);
    expect(refused.length).toBeLessThan(50);
    for (const result of refused) expect(result).toMatchObject({ reason: expect.any(TooManyListings) });
    await db.listing.query({ text: 'select 1' }, as('page'));
  });
});

describe.runIf(testableKinds.includes('postgres'))('a statement that runs on PostgreSQL', () => {
  let db: Database;
  let pooled: Database;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const created = await createServerDatabase();
    drop = created.drop;
    db = await openDatabase({ kind: 'postgres', url: created.url });
    pooled = await openDatabase({ kind: 'postgres', url: created.url, directUrl: created.url });
  });
  afterAll(async () => {
    await Promise.all([db.close(), pooled.close()]);
    await drop();
  });

  const running = async () =>
    (
      await db.pool.query(
        `select 1 from pg_stat_activity where state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`,
      )
    ).rowCount;

  test('is cancelled when its client disconnects, and no later statement with it', async () => {
    const gone = new AbortController();
    const slow = db.listing.query(sleep(600), as('page', gone.signal));
    await until(async () => (await running()) === 1);
    gone.abort(new Error('gone'));
    await expect(slow).rejects.toThrow('gone');
    expect(await running()).toBe(0);
    for (let n = 0; n < 20; n += 1) await db.listing.query(sleep(0.001), as('page'));
  });

  test('has a time limit, also behind a pooler, and reports when it exceeds it', async () => {
    for (const { listing } of [db, pooled]) {
      const { rows } = await listing.query({ text: 'show statement_timeout' }, as('page'));
      expect(rows).toEqual([{ statement_timeout: '15s' }]);
    }
    const pool = new pg.Pool({ connectionString: await urlOf(db), options: '-c statement_timeout=20ms' });
    const lane = createListingLane(pool, { owns: true });
    await expect(lane.query(sleep(600), as('page'))).rejects.toBeInstanceOf(ListingTooSlow);
    await lane.close();
  });

  test('leaves none of its settings on a connection that a pooler passes on', async () => {
    const [client] = [await pooled.pool.connect()];
    const { rows } = await client.query('show statement_timeout');
    client.release();
    expect(rows).toEqual([{ statement_timeout: '0' }]);
    await expect(pooled.listing.query({ text: 'select 1/0' }, as('page'))).rejects.toMatchObject({
      code: '22012',
    });
    await pooled.listing.query({ text: 'select 1' }, as('page'));
  });
});

async function urlOf({ pool }: Database): Promise<string> {
  const { rows } = await pool.query<{ name: string }>('select current_database() as name');
  const url = new URL(process.env.TEST_DATABASE_URL ?? '');
  url.pathname = `/${rows[0]?.name}`;
  return url.href;
}
