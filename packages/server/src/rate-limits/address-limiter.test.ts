import { RateLimiterRes } from 'rate-limiter-flexible';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from '../db/open.ts';
import { type AddressLimiter, createAddressLimiter } from './address-limiter.ts';

const limit = { points: 3, duration: 60 };
const block = (index: number) => `2001:db8:1:${index.toString(16)}::/64`;
const ofManyNetworks = (index: number) => `2001:db8:${index.toString(16)}:1::/64`;

async function takeMany(limiter: AddressLimiter, blocks: string[]): Promise<number> {
  let taken = 0;
  for (const each of blocks) {
    try {
      await limiter.consume(each);
      taken += 1;
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
    }
  }
  return taken;
}

const repeat = (times: number, value: string) => Array.from({ length: times }, () => value);
const many = (times: number, toBlock: (index: number) => string) =>
  Array.from({ length: times }, (_, index) => toBlock(index));

describe.each(testableKinds)('limits by address (%s)', (kind) => {
  let db: Database;
  let prefix = '';
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  beforeEach(({ task }) => {
    prefix = task.id;
  });
  afterAll(() => db.close());

  const create = (rows?: number) => createAddressLimiter(db, prefix, limit, rows);
  const countRows = async () =>
    (await db.pool.query('select from sign_in_limits where key like $1', [`${prefix}%`])).rowCount;

  test.each(['192.0.2.1', block(7)])('so many of one (%s), and those that are taken back', async (address) => {
    const limiter = create();
    expect(await takeMany(limiter, repeat(5, address))).toBe(3);
    const other = create();
    for (let i = 0; i < 3; i += 1) await limiter.reward(address);
    expect(await takeMany(limiter, repeat(5, address))).toBe(1);
    if (kind === 'postgres') expect(await takeMany(other, [address])).toBe(0);
  });

  test('sixteen times as many of a /48, which others do not feel', async () => {
    const limiter = create();
    expect(await takeMany(limiter, many(100, block))).toBe(48);
    expect(await takeMany(limiter, ['2001:db8:2:1::/64'])).toBe(1);
  });

  test('one of a /48 that goes on and on leaves its neighbours what they have', async () => {
    const limiter = create();
    expect(await takeMany(limiter, repeat(100, block(1)))).toBe(3);
    expect(await takeMany(limiter, [block(2)])).toBe(1);
  });

  test('what is counted in the database has an end; beyond, each process counts by itself', async () => {
    const limiter = create(50);
    expect(await takeMany(limiter, many(200, ofManyNetworks))).toBe(200);
    expect(await countRows()).toBe(kind === 'postgres' ? 50 : 0);
    expect(await takeMany(limiter, repeat(5, ofManyNetworks(199)))).toBe(2);
    expect(await takeMany(limiter, repeat(5, ofManyNetworks(0)))).toBe(2);
    expect(await countRows()).toBe(kind === 'postgres' ? 50 : 0);
  });
});
