import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import { countLinkedSignals } from '../../test/linked-signals.ts';
import type { Database } from '../db/open.ts';
import type { JobRun } from '../telemetry/observed.ts';
import { type Job, type RunningJobs, startJobs } from './run-jobs.ts';

const quick = { pollMilliseconds: 20, leaseSeconds: 5, retrySeconds: 0 };
const rarely = 3600;

let db: Database;
let lines: string[] = [];
const opened: RunningJobs[] = [];

beforeAll(async () => {
  db = await openTestDatabase(testableKinds.at(-1));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((jobs) => jobs.close()));
  await db.pool.query('delete from jobs');
  lines = [];
});
afterAll(() => db.close());

function start(
  jobs: Job[],
  { pool = db.pool, times = quick, isAlone = false, observe = undefined as ((run: JobRun) => void) | undefined } = {},
) {
  const log = pino({ errorKey: 'error' }, { write: (line) => void lines.push(line) });
  const running = startJobs({ pool, isAlone, log, observe }, jobs, times);
  opened.push(running);
  return running;
}

/** A pool whose database is unavailable while `isAway` says so. */
function unreliable(isAway: () => boolean): pg.Pool {
  const query = (...args: unknown[]) =>
    isAway() ? Promise.reject(new Error('The database is away.')) : Reflect.apply(db.pool.query, db.pool, args);
  return { query } as unknown as pg.Pool;
}

const makeDue = (name: string) => db.pool.query('update jobs set due_at = now() where name = $1', [name]);
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 20 });

it('runs a job at once, and then whenever it is due', async () => {
  let runs = 0;
  const everySeconds = 0.1;
  start([{ name: 'often', everySeconds, run: async () => void runs++ }]);
  await eventually(() => expect(runs).toBeGreaterThan(3));
});

it('leaves a job alone that is not due, until it is made due', async () => {
  let runs = 0;
  start([{ name: 'seldom', everySeconds: rarely, run: async () => void runs++ }]);
  await eventually(() => expect(runs).toBe(1));
  await delay(200);
  expect(runs).toBe(1);
  await makeDue('seldom');
  await eventually(() => expect(runs).toBe(2));
});

it('runs a job that was planned by a clock that ran ahead and has been set back', async () => {
  let runs = 0;
  start([{ name: 'seldom', everySeconds: rarely, run: async () => void runs++ }]);
  await eventually(() => expect(runs).toBe(1));
  await db.pool.query(`update jobs set due_at = now() + interval '2 days' where name = 'seldom'`);
  await eventually(() => expect(runs).toBe(2));
  const { rows } = await db.pool.query(`select due_at <= now() + interval '1 hour' as "isSoon" from jobs`);
  expect(rows).toEqual([{ isSoon: true }]);
});

it('runs a job again that was made due while it ran', async () => {
  let runs = 0;
  let finish: () => void = () => undefined;
  const run = () =>
    new Promise<void>((resolve) => {
      runs++;
      finish = resolve;
    });
  // A look that fails, as any may on a busy server, is repeated after this time. The second run begins before.
  const pollMilliseconds = 40_000;
  start([{ name: 'slow', everySeconds: rarely, run }], { times: { ...quick, pollMilliseconds } });
  await eventually(() => expect({ runs, lines }).toMatchObject({ runs: 1 }));
  await makeDue('slow');
  finish();
  await vi.waitFor(() => expect(runs).toBe(2), { timeout: pollMilliseconds / 2, interval: 20 });
  finish();
});

it('runs a job in one process at a time, and another goes on with it when that one stops', async () => {
  let atOnce = 0;
  const most: number[] = [];
  let last = -1;
  const processes = [0, 1, 2, 3].map((process) => {
    const run = async () => {
      most.push(++atOnce);
      last = process;
      await delay(30);
      atOnce--;
    };
    return start([{ name: 'shared', everySeconds: 0.01, run }]);
  });
  await eventually(() => expect(most.length).toBeGreaterThan(20));
  for (const stopped of [0, 1, 2]) {
    await processes[stopped]?.close();
    await eventually(() => expect(last).toBeGreaterThan(stopped));
  }
  expect(Math.max(...most)).toBe(1);
});

it('keeps the lease of a run that takes longer than it', async () => {
  let atOnce = 0;
  const most: number[] = [];
  const run = async () => {
    most.push(++atOnce);
    await delay(7000);
    atOnce--;
  };
  const times = { ...quick, leaseSeconds: 3 };
  for (let process = 0; process < 2; process++) start([{ name: 'long', everySeconds: 0.01, run }], { times });
  await eventually(() => expect(most.length).toBe(2));
  expect(most).toEqual([1, 1]);
});

it('runs at once what a process that died has left behind', async () => {
  const { rows } = await db.pool.query<{ leased_until: Date }>(
    `insert into jobs (name, due_at, lease, leased_until)
     values ('left', now() + interval '1 hour', gen_random_uuid(), now() + interval '0.3 seconds') returning leased_until`,
  );
  let isOver: unknown;
  const run = async () => {
    isOver = (await db.pool.query('select now() >= $1 as over', [rows[0]?.leased_until])).rows[0].over;
  };
  start([{ name: 'left', everySeconds: rarely, run }]);
  await eventually(() => expect(isOver).toBe(true));
});

it('does not wait for a lease of a clock that ran ahead and has been set back', async () => {
  await db.pool.query(
    `insert into jobs (name, due_at, lease, leased_until)
     values ('left', now() + interval '1 hour', gen_random_uuid(), now() + interval '1 day')`,
  );
  let runs = 0;
  start([{ name: 'left', everySeconds: rarely, run: async () => void runs++ }]);
  await eventually(() => expect(runs).toBe(1));
});

it('does not wait for such a lease where it is alone with the database', async () => {
  await db.pool.query(
    `insert into jobs (name, due_at, lease, leased_until)
     values ('left', now() + interval '1 hour', gen_random_uuid(), now() + interval '50 seconds')`,
  );
  let runs = 0;
  start([{ name: 'left', everySeconds: rarely, run: async () => void runs++ }], { isAlone: true });
  await eventually(() => expect(runs).toBe(1));
});

it('tells a run that stalled beyond its lease, and does not give back what another holds', async () => {
  let reason: unknown;
  let runs = 0;
  const run = async (signal: AbortSignal) => {
    runs++;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    reason = signal.reason;
    signal.throwIfAborted();
  };
  start([{ name: 'stalled', everySeconds: rarely, run }]);
  await eventually(() => expect(runs).toBe(1));
  await db.pool.query("update jobs set lease = gen_random_uuid(), leased_until = now() + interval '50 seconds'");
  await eventually(() => expect(String(reason)).toContain('taken over'));
  const { rows } = await db.pool.query('select lease from jobs');
  expect(rows[0].lease).not.toBeNull();
});

it('logs a job that fails, runs it again soon, and keeps the others going', async () => {
  const outcomes: JobRun[] = [];
  let runs = 0;
  let others = 0;
  const broken = async (_signal: AbortSignal, count: Parameters<Job['run']>[1]) => {
    count('orphan', 2);
    if (++runs < 3) throw new Error('Not today.');
  };
  start(
    [
      { name: 'broken', everySeconds: rarely, run: broken },
      { name: 'other', everySeconds: 0.05, run: async () => void others++ },
    ],
    { observe: (run) => void outcomes.push(run) },
  );
  await eventually(() => expect(runs).toBe(3));
  await eventually(() => expect(outcomes.filter(({ job }) => job === 'broken')).toHaveLength(3));
  const own = outcomes.filter(({ job }) => job === 'broken');
  expect(own.map(({ outcome }) => outcome)).toEqual(['failure', 'failure', 'success']);
  expect(own.every(({ removed }) => removed.orphan === 2)).toBe(true);
  expect(lines.filter((line) => line.includes('Not today.'))).toHaveLength(2);
  expect(others).toBeGreaterThan(0);
});

it('survives a database that goes away, also while a job runs, and says so once', async () => {
  let isAway = false;
  let runs = 0;
  const run = async () => {
    runs++;
    if (runs === 1) isAway = true;
  };
  start([{ name: 'patient', everySeconds: 0.05, run }], { pool: unreliable(() => isAway) });
  await eventually(() => expect(lines.join('')).toContain('Could not look for jobs'));
  await delay(200);
  expect(runs).toBe(1);
  isAway = false;
  await eventually(() => expect(runs).toBeGreaterThan(2));
  expect(lines.filter((line) => line.includes('Could not look for jobs'))).toHaveLength(1);
});

it('starts while the database is away', async () => {
  let isAway = true;
  let runs = 0;
  start([{ name: 'early', everySeconds: rarely, run: async () => void runs++ }], { pool: unreliable(() => isAway) });
  await delay(100);
  isAway = false;
  await eventually(() => expect(runs).toBe(1));
});

it('stops: tells what runs, waits for it, and leaves it due', async () => {
  let isStopped = false;
  const run = async (signal: AbortSignal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    await delay(100);
    isStopped = true;
    signal.throwIfAborted();
  };
  const jobs = start([{ name: 'stopped', everySeconds: rarely, run }]);
  await eventually(async () =>
    expect((await db.pool.query('select 1 from jobs where lease is not null')).rowCount).toBe(1),
  );
  await jobs.close();
  expect(isStopped).toBe(true);
  const { rows } = await db.pool.query('select lease, due_at <= now() as is_due, last_success_at from jobs');
  expect(rows).toEqual([{ lease: null, is_due: true, last_success_at: null }]);
  expect(lines.join('')).not.toContain('failed');
});

it('leaves nothing behind for as long as the service lives', async () => {
  const signals: AbortSignal[] = [];
  start([{ name: 'brief', everySeconds: rarely, run: async (signal) => void signals.push(signal) }]);
  await eventually(() => expect(signals.map(countLinkedSignals)).toEqual([0]));
});

it('keeps why a job failed last, without credentials, also when it succeeds again', async () => {
  let runs = 0;
  const run = async () => {
    if (++runs === 1) throw new Error('No answer to Bearer cz_live_0123456789abcdefghij.');
  };
  start([{ name: 'poor', everySeconds: rarely, run }]);
  await eventually(async () => {
    const { rows } = await db.pool.query(
      'select last_error, last_failed_at is not null as has_failed, last_success_at >= last_failed_at as is_well from jobs',
    );
    expect(rows).toEqual([
      { last_error: expect.stringMatching(/^No answer to Bearer …/), has_failed: true, is_well: true },
    ]);
  });
});
