import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from '../db/open.ts';
import { type EventRow, eventColumns } from './event-json.ts';
import { createFeed, type Feed } from './feed.ts';
import { numberEvents } from './number-events.ts';
import { emit, theService } from './record-event.ts';

const log = pino({ level: 'silent' });
const projects = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
const changes = series({ full: 1000, ci: 300, short: 60 });
/** How long a transaction stays open in another database while events are numbered. */
const openMilliseconds = series({ full: 60_000, ci: 10_000, short: 0 });

describe.each(testableKinds)('events are numbered in the order of their changes (%s)', (kind) => {
  let db: Database;
  const feeds: Feed[] = [];

  beforeEach(async () => {
    db = await openTestDatabase(kind);
    await db.pool.query('create table things (id int primary key, version int not null default 0)');
  });

  afterEach(async () => {
    await Promise.all(feeds.splice(0).map((feed) => feed.close()));
    await db.close();
  });

  /** Changes a thing, and tells of it after taking its lock; some transactions take longer than others. */
  const change = (thing: number, wait: number | Promise<void>) =>
    db.transaction(async (trx) => {
      const { rows } = await sql<{ version: number }>`
        insert into things (id) values (${thing}) on conflict (id) do update set version = things.version + 1
        returning version`.execute(trx);
      await (typeof wait === 'number' ? delay(wait) : wait);
      const projectId = projects[thing % 2] ?? '';
      const data = { ticketId: `${thing} ${rows[0]?.version}` };
      await emit(trx, Date.now(), { type: 'ticket.expired', projectId, by: theService, data });
    });

  const readFrom = async (position: number) =>
    (
      await db.pool.query<EventRow>(`select ${eventColumns} from events where position > $1 order by position`, [
        position,
      ])
    ).rows;

  test('nobody who reads as fast as it goes misses one, and each thing’s own order stays', async () => {
    // As many processes as number at the same time.
    feeds.push(...[1, 2, 3].map(() => createFeed(db, log, { collectMilliseconds: 1, pollMilliseconds: 20 })));
    const things = 10;
    const total = things * changes;
    const seen: EventRow[] = [];
    let isDone = false;
    const reading = (async () => {
      while (!isDone || seen.length < total) {
        seen.push(...(await readFrom(seen.at(-1)?.position ?? 0)));
        await delay(1);
      }
    })();
    const live: number[] = [];
    const unsubscribe = await feeds[0]?.subscribe(projects[0] ?? '', (events) =>
      live.push(...events.map(({ seq }) => seq)),
    );
    await Promise.all(
      Array.from({ length: things }, async (_, thing) => {
        // Two at a time wait for the lock of each.
        for (let n = 0; n < changes / 2; n++) {
          await Promise.all([change(thing, Math.random() * 4), change(thing, 0)]);
        }
      }),
    );
    isDone = true;
    await reading;

    expect(seen.map(({ position }) => position)).toEqual(Array.from({ length: total }, (_, n) => n + 1));
    for (const projectId of projects) {
      const ofProject = seen.filter((event) => event.project_id === projectId);
      expect(ofProject.map(({ seq }) => seq)).toEqual(ofProject.map((_, n) => n + 1));
    }
    for (let thing = 0; thing < things; thing++) {
      const versions = seen
        .map(({ data }) => (JSON.parse(data) as { ticketId: string }).ticketId.split(' '))
        .filter(([id]) => id === String(thing))
        .map(([, version]) => Number(version));
      expect(versions).toEqual(Array.from({ length: changes }, (_, n) => n));
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(total);
    const inFirst = seen.filter((event) => event.project_id === projects[0]).length;
    await expect.poll(() => live.length).toBe(inFirst);
    expect(live).toEqual(Array.from({ length: inFirst }, (_, n) => n + 1));
    unsubscribe?.();
    expect((await db.pool.query('select from new_events')).rowCount).toBe(0);
  });

  test('an event of a transaction that is undone takes no number', async () => {
    await change(0, 0);
    const undone = db.transaction(async (trx) => {
      await emit(trx, Date.now(), {
        type: 'ticket.expired',
        projectId: projects[0] ?? '',
        by: theService,
        data: { ticketId: 'x' },
      });
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    await change(2, 0);
    while ((await numberEvents(db)) > 0);
    expect((await readFrom(0)).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test.runIf(kind === 'postgres')(
    'a change that takes long, and one in another database, hold up nothing',
    { timeout: openMilliseconds + 30_000 },
    async () => {
      const elsewhere = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
      await elsewhere.connect();
      try {
        await elsewhere.query('begin; create temporary table held (id int); select txid_current()');
        let goOn = () => {};
        const held = new Promise<void>((resolve) => {
          goOn = resolve;
        });
        const slow = change(0, held);
        await change(1, 0);
        while ((await numberEvents(db)) > 0);
        expect((await readFrom(0)).map(({ data }) => data)).toEqual(['{"ticketId":"1 0"}']);
        goOn();
        await slow;
        while ((await numberEvents(db)) > 0);
        expect((await readFrom(1)).map(({ data }) => data)).toEqual(['{"ticketId":"0 0"}']);
        const until = performance.now() + openMilliseconds;
        for (let position = 2; performance.now() < until; position++) {
          await change(2, 0);
          while ((await numberEvents(db)) > 0);
          expect(await readFrom(position)).toHaveLength(1);
          await delay(500);
        }
      } finally {
        await elsewhere.end();
      }
    },
  );
});
