import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import { countLinkedSignals } from '../../test/linked-signals.ts';
import type { Database } from '../db/open.ts';
import { Problem } from '../problem.ts';
import { runCommand } from '../queue/run-command.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { WorkRun } from '../telemetry/observed.ts';
import { backoffSeconds } from './backoff.ts';
import { listDeadLetters, retryDeadLetters } from './dead-letters.ts';
import { enqueue, insertWorkSql } from './enqueue.ts';
import {
  buryWork,
  claimWork,
  endImpossibleWaits,
  finishWork,
  firstProject,
  lookForWork,
  postponeWork,
  releaseLeases,
  renewLeases,
} from './lease.ts';
import { perform } from './perform.ts';
import { type RunningWork, startWork, type WorkTimes } from './run-work.ts';
import { type Kind, maxAttempts, type Subject, type Task } from './work.ts';

const seldom = 3_600_000;
const quick: WorkTimes = { pollMilliseconds: 20, renewMilliseconds: 50, pauseMilliseconds: 20 };
/** Only NOTIFY, the end of other work and a start make it look. */
const unpolled: WorkTimes = { ...quick, pollMilliseconds: seldom };

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 20 });
const never = new AbortController().signal;
const project = randomUUID();
const subject = (id: string, projectId = project): Subject => ({ projectId, id });

test('the time until the next attempt doubles up to an hour, and half of it is jitter', () => {
  expect([1, 2, 3, 10, 11, 100].map((attempt) => backoffSeconds(attempt, 1))).toEqual([5, 10, 20, 2560, 3600, 3600]);
  expect([1, 100].map((attempt) => backoffSeconds(attempt, 0))).toEqual([2.5, 1800]);
  expect(new Set(Array.from({ length: 20 }, () => backoffSeconds(5))).size).toBeGreaterThan(1);
});

describe.each(testableKinds)('the work queue (%s)', (kindOfDatabase) => {
  let db: Database;
  let lines: string[] = [];
  const opened: RunningWork[] = [];
  const pools: pg.Pool[] = [];
  let runs: WorkRun[] = [];

  beforeAll(async () => {
    db = await openTestDatabase(kindOfDatabase);
  });
  beforeEach(async () => {
    await db.pool.query('delete from work');
    lines = [];
    runs = [];
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((work) => work.close()));
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
  });
  afterAll(() => db.close());

  const log = pino({ errorKey: 'error' }, { write: (line) => void lines.push(line) });

  function start(kinds: Kind[], times = quick, of: Pick<Database, 'kind' | 'pool' | 'listen'> = db): RunningWork {
    const work = startWork({ db: of, log, observe: (run) => void runs.push(run) }, kinds, times);
    opened.push(work);
    return work;
  }
  const kind = (run: Kind['run'], more: Partial<Kind> = {}): Kind => ({ name: 'test', atOnce: 1, run, ...more });
  const put = (ids: string | string[], options = {}) =>
    enqueue(
      db.kysely,
      'test',
      [ids].flat().map((id) => subject(id)),
      options,
    );
  const readRows = async () =>
    (await db.pool.query('select *, due_at <= now() as is_due from work order by kind, project_id, subject')).rows;
  /** Stands in for the passing of time; the database's clock cannot be moved. */
  const pass = (seconds: number) =>
    db.pool.query(`update work set due_at = due_at - $1::float8 * interval '1 second' where state <> 'dead'`, [
      seconds,
    ]);
  async function claimOne(): Promise<Task> {
    await lookForWork(db.pool, ['test']);
    const [task] = await claimWork(db.pool, 'test', 1, firstProject);
    if (!task) throw new Error('There is nothing to claim');
    return task;
  }

  describe('asking for work', () => {
    test('makes one row for each subject, and asking again makes it due sooner, never later', async () => {
      await put('a', { inSeconds: 100, payload: { n: 1 } });
      const [first] = await readRows();
      expect(first).toMatchObject({ state: 'waiting', is_due: false, attempts: 0, payload: { n: 1 } });
      await put('a', { inSeconds: 1000 });
      expect(await readRows()).toEqual([first]);
      await put('a', { payload: { n: 2 } });
      expect(await readRows()).toMatchObject([{ state: 'ready', is_due: true, payload: { n: 2 } }]);
      await put('a', { inSeconds: 100 });
      expect(await readRows()).toMatchObject([{ state: 'ready', is_due: true }]);
    });

    test('is part of the transaction that asks: undone with it, and begun when it has committed', async () => {
      const done: string[] = [];
      start([kind(async ({ id }) => void done.push(id))]);
      const undone = db.transaction(async (trx) => {
        await enqueue(trx, 'test', subject('undone'));
        throw new Error('Not today.');
      });
      await expect(undone).rejects.toThrow('Not today.');
      await db.transaction(async (trx) => {
        await enqueue(trx, 'test', [subject('b'), subject('a')]);
        await sql`select pg_sleep(0.2)`.execute(trx);
        expect(done).toEqual([]);
      });
      await eventually(() => expect(done.sort()).toEqual(['a', 'b']));
      await eventually(async () => expect(await readRows()).toEqual([]));
    });

    test('while it is being done makes it be done once more', async () => {
      const finish: (() => void)[] = [];
      start([kind(() => new Promise((resolve) => finish.push(() => resolve(undefined))))]);
      await put('a');
      await eventually(() => expect(finish).toHaveLength(1));
      await put('a');
      await put('a');
      finish[0]?.();
      await eventually(() => expect(finish).toHaveLength(2));
      finish[1]?.();
      await eventually(async () => expect(await readRows()).toEqual([]));
    });
  });

  test('is done by as many workers as its kind has, in several processes, each subject once', async () => {
    const ids = Array.from({ length: 60 }, (_, n) => `s${n}`);
    await put(ids);
    const done: string[] = [];
    const most = [0, 0];
    for (const process of [0, 1]) {
      let atOnce = 0;
      const run = async ({ id }: Task) => {
        most[process] = Math.max(most[process] ?? 0, ++atOnce);
        await delay(5);
        done.push(id);
        atOnce--;
        return undefined;
      };
      start([kind(run, { atOnce: 3, ahead: process * 4 })]);
    }
    await eventually(async () => expect(await readRows()).toEqual([]));
    expect(done.sort()).toEqual(ids.sort());
    expect(Math.max(...most)).toBe(3);
  });

  test('goes on as long as a task says that there is more, without counting that as an attempt', async () => {
    const attempts: number[] = [];
    start([
      kind(async ({ attempt }) => {
        attempts.push(attempt);
        return attempts.length < 5 ? { again: 0 } : undefined;
      }),
    ]);
    await put('a');
    await eventually(async () => expect(await readRows()).toEqual([]));
    expect(attempts).toEqual([1, 1, 1, 1, 1]);
  });

  describe('a worker that stalled beyond its lease', () => {
    test('can neither finish, postpone, give up, give back nor keep what another has taken over', async () => {
      await put('a');
      const stalled = await claimOne();
      await pass(61);
      const other = await claimOne();
      expect(other).toMatchObject({ id: 'a', attempt: 2 });
      const before = await readRows();
      expect(await finishWork(db.pool, stalled)).toBe(false);
      expect(await postponeWork(db.pool, stalled, 0, { attempts: 0 })).toBe(false);
      expect(await buryWork(db.pool, stalled, 'x')).toBe(false);
      expect(await releaseLeases(db.pool, [stalled])).toBe(0);
      expect([...(await renewLeases(db.pool, [stalled, other]))]).toEqual([other.lease]);
      expect((await readRows()).map(({ due_at: _, ...row }) => row)).toEqual(
        before.map(({ due_at: _, ...row }) => row),
      );
      expect(await finishWork(db.pool, other)).toBe(true);
      expect(await readRows()).toEqual([]);
    });

    test('cannot end what it was asked to do once more, either', async () => {
      await put('a');
      const stalled = await claimOne();
      await put('a');
      await pass(61);
      const other = await claimOne();
      expect(await finishWork(db.pool, stalled)).toBe(false);
      expect(await readRows()).toMatchObject([{ state: 'leased', lease: other.lease }]);
    });

    test('is told, and what it does then has no effect on the queue', async () => {
      let reason: unknown;
      const run = async (_task: Task, signal: AbortSignal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reason = signal.reason;
        return signal.throwIfAborted();
      };
      start([kind(run as Kind['run'])]);
      await put('a');
      await eventually(async () => expect(await readRows()).toMatchObject([{ state: 'leased' }]));
      const lease = randomUUID();
      await db.pool.query('update work set lease = $1', [lease]);
      await eventually(() => expect(String(reason)).toContain('taken over'));
      await eventually(() => expect(runs).toMatchObject([{ outcome: 'lost' }]));
      expect(await readRows()).toMatchObject([{ state: 'leased', lease }]);
    });

    test('keeps its lease as long as it lives', async () => {
      let finish: (() => void) | undefined;
      start([kind(() => new Promise((resolve) => (finish = () => resolve(undefined))))]);
      await put('a');
      await eventually(() => expect(finish).toBeDefined());
      for (let round = 0; round < 3; round++) {
        await db.pool.query(`update work set due_at = now() + interval '5 seconds'`);
        await eventually(async () => {
          const { rows } = await db.pool.query(`select from work where due_at > now() + interval '30 seconds'`);
          expect(rows).toHaveLength(1);
        });
      }
      finish?.();
      await eventually(async () => expect(await readRows()).toEqual([]));
    });
  });

  describe('work that fails', () => {
    test('is tried again later, and in between left alone', async () => {
      let tries = 0;
      start([
        kind(async () => {
          if (++tries < 3) throw new Error('Not today. Bearer abcdefghijklmnop');
          return undefined;
        }),
      ]);
      await put('a');
      await eventually(async () => expect(await readRows()).toMatchObject([{ state: 'waiting', attempts: 1 }]));
      // Time for many polls.
      await delay(300);
      expect(tries).toBe(1);
      expect((await readRows())[0].last_error).toBe('Not today. Bearer …');
      await pass(5);
      await eventually(async () => expect(await readRows()).toMatchObject([{ state: 'waiting', attempts: 2 }]));
      await pass(10);
      await eventually(async () => expect(await readRows()).toEqual([]));
      expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'done']);
    });

    test('does not wait for a clock that ran ahead and has been set back', async () => {
      await put(['retry', 'lease', 'usual', 'long'], { inSeconds: 1800 });
      await db.pool.query(
        `update work set attempts = 1, due_at = now() + interval '400 days' where subject in ('retry', 'lease')`,
      );
      await db.pool.query(`update work set state = 'leased', lease = gen_random_uuid() where subject = 'lease'`);
      await db.pool.query(`update work set kind = 'long', due_at = now() + interval '6 days' where subject = 'long'`);
      await endImpossibleWaits(db.pool, [{ name: 'test' }, { name: 'long', longestWaitSeconds: 7 * 86_400 }]);
      const due = (await readRows()).filter(({ is_due }) => is_due);
      expect(due.map(({ subject: id }) => id)).toEqual(['lease', 'retry']);
      const done: string[] = [];
      start([kind(async ({ id }) => void done.push(id))]);
      await eventually(() => expect(done.sort()).toEqual(['lease', 'retry']));
    });

    test('is given up after so many attempts, kept, listed, and done when it is retried', async () => {
      let isBroken = true;
      const broken = kind(async () => {
        if (isBroken) throw new Error('Broken.');
        return undefined;
      });
      await put(['a', 'b']);
      await db.pool.query('update work set attempts = $1', [maxAttempts - 1]);
      start([broken]);
      await eventually(async () => expect(await readRows()).toMatchObject([{ state: 'dead' }, { state: 'dead' }]));
      expect(lines.filter((line) => line.includes('is given up until it is retried'))).toHaveLength(2);
      const letters = await listDeadLetters(db, 10);
      expect(letters.map(({ id }) => id).sort()).toEqual(['a', 'b']);
      expect(letters[0]).toMatchObject({ kind: 'test', projectId: project, attempts: maxAttempts, error: 'Broken.' });
      await pass(seldom);
      await delay(100);
      expect(runs).toHaveLength(2);

      isBroken = false;
      const told = await runCommand(db, { command: 'list', kind: undefined, id: undefined });
      expect(told).toContain('test: 0 waiting (due for 0 s), 0 under way, 2 given up');
      expect(told).toContain(`test a  project ${project}, ${maxAttempts} attempts: Broken.`);
      expect(await runCommand(db, { command: 'retry', kind: 'other', id: undefined })).toContain('Nothing of the kind');
      expect(await runCommand(db, { command: 'retry', kind: 'test', id: 'a' })).toBe('1 will be tried again.');
      await eventually(async () => expect(await readRows()).toMatchObject([{ subject: 'b', state: 'dead' }]));
      expect(await retryDeadLetters(db)).toBe(1);
      await eventually(async () => expect(await readRows()).toEqual([]));
      expect(await runCommand(db, { command: 'list', kind: undefined, id: undefined })).toBe('There is nothing to do.');
      await expect(runCommand(db, { command: 'drop', kind: 'x', id: undefined })).rejects.toThrow('no command drop x');
    });

    test('and was given up is tried anew when somebody asks for it', async () => {
      await put('a');
      await buryWork(db.pool, await claimOne(), 'Broken.');
      await put('a', { inSeconds: 100 });
      expect(await readRows()).toMatchObject([{ state: 'waiting', is_due: false, attempts: 0, last_error: null }]);
    });

    test('and that somebody asked for meanwhile is not given up', async () => {
      await put('a');
      const task = await claimOne();
      await put('a');
      await buryWork(db.pool, task, 'Broken.');
      expect(await claimOne()).toMatchObject({ id: 'a', attempt: 1 });
    });

    test('is given up, too, when it ends its process each time', async () => {
      await put('a');
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        expect(await claimOne()).toMatchObject({ attempt });
        await pass(61);
      }
      expect((await lookForWork(db.pool, ['test'])).dead).toMatchObject([{ kind: 'test', id: 'a' }]);
      expect(await listDeadLetters(db, 1)).toMatchObject([{ error: expect.stringContaining('ended, or stalled') }]);
    });

    test('and that somebody asked for meanwhile is not given up when it has ended its process, either', async () => {
      await put('a');
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        await claimOne();
        if (attempt === maxAttempts) await put('a');
        await pass(61);
      }
      expect((await lookForWork(db.pool, ['test'])).dead).toEqual([]);
      expect(await claimOne()).toMatchObject({ id: 'a', attempt: 1 });
    });

    test('because its store does not answer waits as a whole kind, counts no attempt, and goes on by itself', async () => {
      let isDown = true;
      const ids = Array.from({ length: 40 }, (_, n) => `s${n}`);
      await put(ids);
      start(
        [
          kind(
            async () => {
              if (isDown) throw new Problem('store_unavailable');
              return undefined;
            },
            { ahead: 10 },
          ),
        ],
        { ...quick, pauseMilliseconds: 50 },
      );
      await eventually(() => expect(runs.length).toBeGreaterThan(2));
      // The pauses grow, so far fewer than forty attempts are made.
      await delay(500);
      expect(runs.length).toBeLessThan(15);
      expect(runs.every(({ outcome }) => outcome === 'unavailable')).toBe(true);
      expect((await readRows()).every(({ attempts }) => attempts === 0 || attempts === 1)).toBe(true);
      isDown = false;
      await eventually(async () => {
        await pass(60);
        expect(await readRows()).toEqual([]);
      });
    });
  });

  describe('is heard of', () => {
    test('by NOTIFY, when what asked for it has committed', async () => {
      const done: string[] = [];
      const of = kindOfDatabase === 'postgres' ? await openTestDatabaseBeside() : db;
      let listening = 0;
      start([kind(async ({ id }) => void done.push(id))], unpolled, {
        ...of,
        listen: (channel, listener) =>
          of.listen(channel, {
            ...listener,
            onListening() {
              listening += 1;
              listener.onListening();
            },
          }),
      });
      await eventually(() => expect(listening).toBe(1));
      await put('a');
      await eventually(() => expect(done).toEqual(['a']));
      await db.transaction(async (trx) => enqueue(trx, 'test', subject('b')));
      await eventually(() => expect(done).toEqual(['a', 'b']));
    });

    test.runIf(kindOfDatabase === 'postgres')('again after the connection that listened was lost', async () => {
      const done: string[] = [];
      start([kind(async ({ id }) => void done.push(id))], unpolled);
      const pids = async () =>
        (
          await db.pool.query(
            `select pid from pg_stat_activity where application_name = 'cadiz listen' and datname = current_database()
             and query like 'listen cadiz_work%'`,
          )
        ).rows.map(({ pid }) => pid);
      await eventually(async () => expect(await pids()).toHaveLength(1));
      const [pid] = await pids();
      await db.pool.query('select pg_terminate_backend($1)', [pid]);
      await put('missed');
      await eventually(() => expect(done).toEqual(['missed']));
      await eventually(async () => expect(await pids()).toHaveLength(1));
      await put('heard');
      await eventually(() => expect(done).toEqual(['missed', 'heard']));
    });

    test('by polling, where nobody can listen', async () => {
      const done: string[] = [];
      const deaf = { ...db, listen: () => ({ close: async () => undefined }) };
      start([kind(async ({ id }) => void done.push(id))], quick, deaf);
      await put('a');
      await eventually(() => expect(done).toEqual(['a']));
    });
  });

  test.each([-1, 1])('goes by the clock of the database, where that of the process is %i hour off', async (hours) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
    try {
      const done: string[] = [];
      let finish: (() => void) | undefined;
      start([
        kind(
          async ({ id }) => {
            done.push(id);
            if (id === 'long') await new Promise<void>((resolve) => (finish = resolve));
            return undefined;
          },
          { atOnce: 2 },
        ),
      ]);
      await put('later', { inSeconds: 1800 });
      await put(['long', 'now']);
      await eventually(() => expect(done.sort()).toEqual(['long', 'now']));
      // Another process, whose clock is right, takes over neither.
      vi.useRealTimers();
      start([kind(async ({ id }) => void done.push(`other ${id}`))], quick, { ...db, kind: 'postgres' });
      await delay(200);
      expect(done.sort()).toEqual(['long', 'now']);
      finish?.();
      await eventually(async () => expect(await readRows()).toMatchObject([{ subject: 'later', state: 'waiting' }]));
    } finally {
      vi.useRealTimers();
    }
  });

  describe('is shared out in turns', () => {
    const [crowded, one, other] = [randomUUID(), randomUUID(), randomUUID()].sort();

    /** Thousands from one project, due long before those of the others. */
    async function crowd(count: number): Promise<void> {
      await db.pool.query(
        `insert into work (kind, project_id, subject, state, due_at)
         select 'test', $1, 'crowd ' || n, 'ready', now() - interval '1 day' from generate_series(1, $2::int) n`,
        [crowded, count],
      );
      await enqueue(db.kysely, 'test', [subject('x', one), subject('y', other)]);
    }

    test('so that a project with thousands of subjects keeps no other waiting', async () => {
      await crowd(5000);
      let after = firstProject;
      const claimed: string[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const [task] = await claimWork(db.pool, 'test', 1, after);
        after = task?.projectId ?? firstProject;
        claimed.push(after);
      }
      expect(claimed.sort()).toEqual([crowded, one, other]);
      await crowd(0);
      const many = await claimWork(db.pool, 'test', 9, firstProject);
      expect(new Set(many.map(({ projectId }) => projectId))).toEqual(new Set([crowded]));
      expect(many).toHaveLength(9);
    });

    test('also among those whom one process serves', async () => {
      await crowd(2000);
      const order: string[] = [];
      start([kind(async ({ projectId }) => void order.push(projectId ?? ''))]);
      await eventually(() => {
        expect(order).toContain(one);
        expect(order).toContain(other);
      });
      expect(order.indexOf(one ?? '')).toBeLessThan(10);
      expect(order.indexOf(other ?? '')).toBeLessThan(10);
    });

    test('and within a project, what has been due longest comes first', async () => {
      for (const [id, seconds] of Object.entries({ c: 1, a: 3, b: 2 })) {
        await put(id);
        await db.pool.query(`update work set due_at = now() - $2::float8 * interval '1 second' where subject = $1`, [
          id,
          seconds,
        ]);
      }
      const order = [];
      for (let n = 0; n < 3; n++) order.push((await claimWork(db.pool, 'test', 1, firstProject))[0]?.id);
      expect(order).toEqual(['a', 'b', 'c']);
    });

    test('with workers of its own for each kind', async () => {
      const done: string[] = [];
      const stuck: (() => void)[] = [];
      start([
        kind(() => new Promise((resolve) => stuck.push(() => resolve(undefined)))),
        { ...kind(async ({ id }) => void done.push(id)), name: 'other' },
      ]);
      await put(['a', 'b', 'c']);
      await eventually(() => expect(stuck).toHaveLength(1));
      await enqueue(db.kysely, 'other', subject('d'));
      await eventually(() => expect(done).toEqual(['d']));
      for (let n = 0; n < 3; n++) {
        await eventually(() => expect(stuck.length).toBeGreaterThan(n));
        stuck[n]?.();
      }
    });
  });

  describe('handed over in the process that wrote it down', () => {
    async function record(work: RunningWork, id: string): Promise<string | undefined> {
      const lease = work.offer('test');
      await db.pool.query(
        insertWorkSql({ kind: '$1::text', projectId: '$2::uuid', subject: '$3', lease: '$4', from: '(select) as row' }),
        ['test', project, id, lease ?? null],
      );
      if (lease) work.take({ kind: 'test', ...subject(id), lease, attempt: 1, payload: null });
      return lease;
    }

    test('is done without a claim', async () => {
      const leases: string[] = [];
      const work = start([kind(async ({ lease }) => void leases.push(lease))], unpolled);
      await eventually(() => expect(work.offer('test')).toBeDefined());
      const lease = await record(work, 'a');
      await eventually(async () => expect(await readRows()).toEqual([]));
      expect(leases).toEqual([lease]);
    });

    test('is done by another one when that process ends before', async () => {
      // A process that neither finishes its work nor renews its leases.
      const run = (_task: Task, signal: AbortSignal) =>
        new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
      const hung = start([kind(run)], { ...unpolled, renewMilliseconds: seldom });
      await eventually(() => expect(hung.offer('test')).toBeDefined());
      await record(hung, 'a');
      const done: string[] = [];
      // With 'embedded', all leases end at the start, and the work would begin at once.
      start([kind(async ({ id }) => void done.push(id))], quick, { ...db, kind: 'postgres' });
      await delay(100);
      expect(done).toEqual([]);
      await pass(61);
      await eventually(() => expect(done).toEqual(['a']));
    });

    test('is left to the queue while others wait there', async () => {
      const finish: (() => void)[] = [];
      const work = start([kind(() => new Promise((resolve) => finish.push(() => resolve(undefined))))]);
      await put(['a', 'b', 'c']);
      await eventually(() => expect(finish).toHaveLength(1));
      await eventually(() => expect(work.offer('test')).toBeUndefined());
      expect(await record(work, 'd')).toBeUndefined();
      for (let n = 0; n < 4; n++) {
        await eventually(() => expect(finish.length).toBeGreaterThan(n));
        finish[n]?.();
      }
      await eventually(async () => expect(await readRows()).toEqual([]));
    });
  });

  test('stops at the next step, and leaves the rest ready, without an attempt', async () => {
    const begun: string[] = [];
    const run = async ({ id }: Task, signal: AbortSignal) => {
      begun.push(id);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return signal.throwIfAborted();
    };
    const work = start([kind(run as Kind['run'], { ahead: 5 })]);
    await put(['a', 'b', 'c']);
    await eventually(() => expect(begun).toHaveLength(1));
    await work.close();
    expect(begun).toHaveLength(1);
    expect(await readRows()).toMatchObject(
      ['a', 'b', 'c'].map((id) => ({ subject: id, state: 'ready', is_due: true, attempts: 0, lease: null })),
    );
    expect(lines.join('')).not.toContain('failed');
  });

  test('leaves nothing behind for as long as the service lives', async () => {
    const signals: AbortSignal[] = [];
    start([kind(async (_task, signal) => void signals.push(signal))]);
    await put(['a', 'b']);
    await eventually(() => expect(runs).toHaveLength(2));
    expect(signals.map(countLinkedSignals)).toEqual([0, 0]);
  });

  test('goes on at once with what a process left behind that had the database for itself', async () => {
    await put('a');
    await claimOne();
    const done: string[] = [];
    start([kind(async ({ id }) => void done.push(id))], quick, { ...db, kind: 'embedded' });
    await eventually(() => expect(done).toEqual(['a']));
  });

  test('survives a database that goes away, also while work is done, and says so once', async () => {
    let isAway = false;
    const query = (...args: unknown[]) =>
      isAway ? Promise.reject(new Error('The database is away.')) : Reflect.apply(db.pool.query, db.pool, args);
    let tries = 0;
    start(
      [
        kind(async () => {
          isAway = ++tries === 1;
          return undefined;
        }),
      ],
      quick,
      { ...db, pool: { query } as unknown as pg.Pool },
    );
    await put('a');
    const complaints = () => lines.filter((line) => line.includes('Could not look for work')).length;
    await eventually(() => expect(complaints()).toBeGreaterThan(0));
    // A look under way may still succeed; many later ones do not.
    await delay(100);
    const known = complaints();
    await delay(200);
    expect([tries, complaints()]).toEqual([1, known]);
    // Its lease does not expire meanwhile.
    await db.pool.query("update work set due_at = due_at + interval '1 hour' where state = 'leased'");
    isAway = false;
    await eventually(async () => expect(await readRows()).toEqual([]));
    expect(tries).toBe(2);
  });

  test('is counted in the metrics, by kind', async () => {
    await put(['a', 'b', 'c'], { inSeconds: 0 });
    await enqueue(db.kysely, 'other', subject('d'), { inSeconds: 100 });
    await pass(50);
    await buryWork(db.pool, await claimOne(), 'Broken.');
    await claimOne();
    const metrics = createMetrics(db, {}, log);
    metrics.observeWork({ kind: 'test', outcome: 'failed', seconds: 1, removed: { orphan: 2 } });
    const text = await metrics.registry.metrics();
    for (const line of [
      'cadiz_work_waiting{kind="test"} 2',
      'cadiz_work_waiting{kind="other"} 1',
      'cadiz_work_dead{kind="test"} 1',
      'cadiz_work_overdue_seconds{kind="other"} 0',
      'cadiz_work_runs_total{kind="test",outcome="failed"} 1',
      'cadiz_removed_total{what="orphan"} 2',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(Number(/cadiz_work_overdue_seconds\{kind="test"\} (\S+)/.exec(text)?.[1])).toBeGreaterThanOrEqual(50);
  });

  test('reports what was removed, and never throws', async () => {
    await put('a');
    const broken = kind(async (_task, _signal, count) => {
      count('orphan', 2);
      throw new Error('Broken.');
    });
    expect(await perform({ pool: db.pool, log }, broken, await claimOne(), never)).toMatchObject({
      outcome: 'failed',
      removed: { orphan: 2 },
    });
  });

  /** Like another process: with connections of its own. */
  async function openTestDatabaseBeside(): Promise<Pick<Database, 'kind' | 'pool' | 'listen'>> {
    const { options } = db.pool as unknown as { options: pg.PoolConfig };
    const pool = new pg.Pool({ ...options });
    pools.push(pool);
    return { kind: db.kind, pool, listen: db.listen };
  }
});
