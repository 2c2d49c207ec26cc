import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import type { Database } from '../db/open.ts';
import { endImpossibleCounts } from '../rate-limits/shared-limiter.ts';
import { anywhere, createSignInLimits, fromSession, type Vantage } from './sign-in-limits.ts';

describe.each(testableKinds)('the limits of sign-ins (checklist 14; %s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openTestDatabase(kind);
  });
  afterAll(() => db.close());

  const newEmail = () => `${randomUUID()}@example.com`;
  const refusal = (attempt: Promise<void>) =>
    attempt.then(
      () => undefined,
      (problem: { code: string; headers: Record<string, string> }) => ({
        code: problem.code,
        seconds: Number(problem.headers['Retry-After']),
      }),
    );

  test('an account is closed for a quarter of an hour, until a right password opens it', async () => {
    const limits = createSignInLimits(db);
    const email = newEmail();
    for (let round = 0; round < 2; round++) {
      for (let guess = 0; guess < 5; guess++)
        expect(await refusal(limits.countAccount(email, anywhere))).toBeUndefined();
      expect(await refusal(limits.countAccount(email, anywhere))).toEqual({ code: 'too_many_attempts', seconds: 900 });
      expect((await refusal(limits.countAccount(email.toUpperCase(), anywhere)))?.code).toBe('too_many_attempts');
      await limits.forgiveAccount(email, anywhere);
    }
  });

  const device = (name: string): Vantage => ({ kind: 'device', device: name });

  test('whoever guesses from anywhere closes neither sessions nor known devices, and each of those is counted, too', async () => {
    const limits = createSignInLimits(db);
    const email = newEmail();
    const vantages = [anywhere, fromSession, device('one'), device('other')];
    for (const closed of vantages) {
      for (let guess = 0; guess < 5; guess++) await limits.countAccount(email, closed);
      expect((await refusal(limits.countAccount(email, closed)))?.code).toBe('too_many_attempts');
    }
    await limits.forgiveAccount(email, device('one'));
    expect(await refusal(limits.countAccount(email, device('one')))).toBeUndefined();
    for (const closed of [anywhere, fromSession, device('other')])
      expect((await refusal(limits.countAccount(email, closed)))?.code).toBe('too_many_attempts');
    await limits.openAccount(email);
    for (const open of [anywhere, fromSession]) expect(await refusal(limits.countAccount(email, open))).toBeUndefined();
  });

  const aged = kind === 'postgres' ? [kind] : [];
  test.each(aged)('an account at which the guessing goes on is closed for longer each time', async () => {
    const limits = createSignInLimits(db);
    const email = newEmail();
    const closures: (number | undefined)[] = [];
    for (let closure = 0; closure < 6; closure++) {
      for (let guess = 0; guess < 5; guess++) await limits.countAccount(email, anywhere);
      closures.push((await refusal(limits.countAccount(email, anywhere)))?.seconds);
      // The closure is over, but counts for a day.
      await db.pool.query(`update sign_in_limits set expire = 1 where key like 'account:%'`);
    }
    expect(closures).toEqual([900, 1800, 3600, 7200, 14_400, 14_400]);
  });

  test.each(aged)('what was counted by a clock that ran ahead and has been set back closes nothing', async () => {
    const limits = createSignInLimits(db);
    const emails = [newEmail(), newEmail()] as const;
    for (let guess = 0; guess < 5; guess++) {
      await limits.countAccount(emails[0], anywhere);
      await limits.countAddress('203.0.113.9');
    }
    await db.pool.query(`update sign_in_limits set expire = expire + 365 * 86400000::bigint`);
    await limits.countAccount(emails[1], anywhere);
    await endImpossibleCounts({ db, now: Date.now });
    for (let guess = 0; guess < 5; guess++) {
      await limits.countAccount(emails[0], anywhere);
      await limits.countAddress('203.0.113.9');
    }
    for (let guess = 0; guess < 4; guess++) await limits.countAccount(emails[1], anywhere);
    expect((await refusal(limits.countAccount(emails[1], anywhere)))?.code).toBe('too_many_attempts');
  });

  test('processes on one PostgreSQL count together; the embedded database has one process', async () => {
    const [one, other] = [createSignInLimits(db), createSignInLimits(db)];
    const email = newEmail();
    for (let guess = 0; guess < 5; guess++) await one.countAccount(email, anywhere);
    for (let guess = 0; guess < 10; guess++) await one.countAddress('203.0.113.2');
    const expected = kind === 'postgres' ? 'too_many_attempts' : undefined;
    expect((await refusal(other.countAccount(email, anywhere)))?.code).toBe(expected);
    expect((await refusal(other.countAddress('203.0.113.2')))?.code).toBe(expected);
    expect((await refusal(one.countAccount(email, anywhere)))?.code).toBe('too_many_attempts');
  });
});
