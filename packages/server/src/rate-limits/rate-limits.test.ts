import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from '../db/open.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';
import { shareRegularly } from './share-regularly.ts';
import { createSharedCounts } from './shared-counts.ts';

const settings = { uploads: 10, reads: 10, changes: 10, address: 10, 'invalid-keys': 10 };

async function takeMany(limits: RateLimits, times: number, subject: string): Promise<number> {
  let taken = 0;
  for (let i = 0; i < times; i += 1) if (!(await limits.take('reads', subject))?.isExceeded) taken += 1;
  return taken;
}

describe('in one process', () => {
  afterEach(() => vi.useRealTimers());

  test('a minute after the first request all of it is there again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const limits = createRateLimits(settings);
    expect(await takeMany(limits, 15, 'a')).toBe(10);
    vi.advanceTimersByTime(30_000);
    expect(await limits.take('reads', 'a')).toMatchObject({ isExceeded: true, remaining: 0, resetSeconds: 30 });
    vi.advanceTimersByTime(30_000);
    expect(await takeMany(limits, 15, 'a')).toBe(10);
  });

  test('looking counts nothing', async () => {
    const limits = createRateLimits(settings);
    await takeMany(limits, 9, 'a');
    for (let i = 0; i < 5; i += 1)
      expect(await limits.look('reads', 'a')).toMatchObject({ remaining: 1, isExceeded: false });
    await limits.take('reads', 'a');
    expect(await limits.look('reads', 'a')).toMatchObject({ remaining: 0, isExceeded: true });
    expect(await limits.look('reads', 'b')).toMatchObject({ remaining: 10, isExceeded: false });
  });
});

describe('addresses that somebody has many of', () => {
  const block = (index: number) => `2001:db8:1:${index.toString(16)}::/64`;
  const ofManyNetworks = (index: number) => `2001:${index.toString(16)}:1:1::/64`;

  test.each(['address', 'invalid-keys'] as const)(
    'of one /48 are counted together as well (%s): sixteen times the limit of one',
    async (policy) => {
      const limits = createRateLimits(settings);
      let taken = 0;
      for (let i = 0; i < 500; i += 1) if (!(await limits.take(policy, block(i)))?.isExceeded) taken += 1;
      expect(taken).toBe(160);
      expect(await limits.take(policy, block(1000))).toMatchObject({ isExceeded: true, limit: 160, remaining: 0 });
      expect(await limits.look(policy, block(1000))).toMatchObject({ isExceeded: true });
      expect(await limits.take(policy, '2001:db8:2:1::/64')).toMatchObject({ isExceeded: false, remaining: 9 });
    },
  );

  test('one of them that goes on and on does not use up what its neighbours have', async () => {
    const limits = createRateLimits(settings);
    for (let i = 0; i < 500; i += 1) await limits.take('address', block(0));
    expect(await limits.take('address', block(0))).toMatchObject({ isExceeded: true, limit: 10 });
    expect(await limits.take('address', block(1))).toMatchObject({ isExceeded: false });
  });

  test('are remembered in bounded numbers, the latest first', async () => {
    const limits = createRateLimits(settings);
    for (let i = 0; i < 11; i += 1) await limits.take('address', '192.0.2.1');
    expect(await limits.look('address', '192.0.2.1')).toMatchObject({ isExceeded: true });
    for (let i = 0; i < 20_000; i += 1) await limits.take('address', ofManyNetworks(i));
    expect(await limits.look('address', '192.0.2.1')).toMatchObject({ remaining: 10 });
    expect(await limits.look('address', ofManyNetworks(19_999))).toMatchObject({ remaining: 9 });
  });

  test('are shared in bounded numbers, and each process counts the others by itself', async () => {
    let told = 0;
    const limits = createRateLimits(settings, {
      add: async (counts) => {
        told += counts.size;
        return [];
      },
      removeEnded: async () => undefined,
    });
    for (let i = 0; i < 20_000; i += 1) {
      await limits.take('address', ofManyNetworks(i));
      if (i % 100 === 0) await limits.share();
    }
    for (let i = 0; i < 11; i += 1) await limits.take('address', ofManyNetworks(19_999));
    expect(await limits.look('address', ofManyNetworks(19_999))).toMatchObject({ isExceeded: true });
    await limits.share();
    expect(told).toBeGreaterThan(1000);
    expect(told).toBeLessThanOrEqual(5000);
  });
});

describe('while the database does not answer', () => {
  test('each process counts by itself, nothing is thrown, and the log says so once', async () => {
    const lines: string[] = [];
    const log = pino({ errorKey: 'error' }, { write: (line) => void lines.push(line) });
    const pool = new pg.Pool({ host: '127.0.0.1', port: 1 });
    const shared = createSharedCounts(pool);
    const limits = createRateLimits(settings, shared);
    const sharing = shareRegularly(limits, shared, log, 20);
    for (let i = 0; i < 15; i += 1) {
      expect((await limits.take('reads', 'a'))?.isExceeded).toBe(i >= 10);
      await delay(20);
    }
    await sharing.close();
    await pool.end();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('Rate limits are not shared');
  });
});

describe.each(testableKinds)('between processes that share a database (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  afterAll(() => db.close());

  const startTwo = () =>
    [0, 1].map(() => createRateLimits(settings, createSharedCounts(db.pool))) as [RateLimits, RateLimits];
  const countOf = async (name: string) =>
    (await db.pool.query<{ used: number }>('select used from rate_limits where name = $1', [name])).rows[0]?.used;

  test('what one counted, the other counts as well', async () => {
    const [first, second] = startTwo();
    expect(await takeMany(first, 7, 'shared')).toBe(7);
    await first.share();
    expect(await takeMany(second, 1, 'shared')).toBe(1);
    await second.share();
    expect(await countOf('reads shared')).toBe(8);
    expect(await takeMany(second, 9, 'shared')).toBe(2);
    await second.share();
    expect(await takeMany(first, 1, 'shared')).toBe(1);
    await first.share();
    // Until the next exchange, neither knows what the other has let through: hence one too many.
    expect(await countOf('reads shared')).toBe(11);
    expect((await takeMany(first, 5, 'shared')) + (await takeMany(second, 5, 'shared'))).toBe(0);
  });

  test('what is refused counts for nobody, and others are left alone', async () => {
    const [first, second] = startTwo();
    await takeMany(first, 50, 'greedy');
    await first.share();
    expect(await countOf('reads greedy')).toBe(10);
    expect(await takeMany(second, 12, 'modest')).toBe(10);
  });

  test('what is counted while sharing is not lost', async () => {
    const [first] = startTwo();
    await takeMany(first, 3, 'busy');
    const sharing = first.share();
    await takeMany(first, 4, 'busy');
    await sharing;
    expect(await first.look('reads', 'busy')).toMatchObject({ remaining: 3 });
    await first.share();
    expect(await countOf('reads busy')).toBe(7);
  });

  /** Fills a window, moves its end to this long from now, and expects another process to begin a new one. */
  async function startAnew(name: string, endsIn: string) {
    const [first] = startTwo();
    await takeMany(first, 10, name);
    await first.share();
    await db.pool.query('update rate_limits set ends_at = now() + $1::interval where name = $2', [
      endsIn,
      `reads ${name}`,
    ]);
    const [later] = startTwo();
    expect(await takeMany(later, 4, name)).toBe(4);
    await later.share();
    expect(await countOf(`reads ${name}`)).toBe(4);
    return later;
  }

  test('a window starts anew that was begun by a clock that ran ahead and has been set back', async () => {
    const later = await startAnew('ahead', '1 year');
    expect(await later.look('reads', 'ahead')).toMatchObject({ remaining: 6 });
  });

  test('a window that is over starts anew, and its row goes', async () => {
    await startAnew('ended', '-1 second');
    await db.pool.query("update rate_limits set ends_at = now() - interval '1 second' where name = 'reads ended'");
    await createSharedCounts(db.pool).removeEnded();
    expect(await countOf('reads ended')).toBeUndefined();
    expect(await countOf('reads shared')).toBe(11);
  });

  test('both share at once many times over without a deadlock', async () => {
    const [first, second] = startTwo();
    for (let round = 0; round < 5; round += 1) {
      for (const limits of [first, second]) {
        for (let i = 0; i < 200; i += 1) await limits.take('uploads', `many-${(i * 7) % 200}`);
      }
      await Promise.all([first.share(), second.share(), createSharedCounts(db.pool).removeEnded()]);
    }
    expect(await countOf('uploads many-7')).toBe(10);
  });
});
