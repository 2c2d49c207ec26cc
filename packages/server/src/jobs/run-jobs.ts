import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { toKeptReason } from '../telemetry/kept-reason.ts';
import type { Count, JobRun } from '../telemetry/observed.ts';

/** A job that the service runs regularly. */
export interface Job {
  name: string;
  everySeconds: number;
  /**
   * Does what there is to do, and counts what it removes. When the signal aborts, it soon stops, at a place from which
   * the next run can go on, by throwing the signal's reason. Any other error is logged, and the job is retried soon.
   */
  run(signal: AbortSignal, count: Count): Promise<void>;
}

export interface RunningJobs {
  /** Lets running jobs reach their next stop, then resolves. */
  close(): Promise<void>;
}

export interface JobTimes {
  pollMilliseconds: number;
  leaseSeconds: number;
  /** How soon a failed job is retried, unless it is due earlier. */
  retrySeconds: number;
}

const usualTimes: JobTimes = { pollMilliseconds: 10_000, leaseSeconds: 20, retrySeconds: 60 };

/** How far past its interval a job may be due, and past its length a lease may end: two statements see the clock at different moments. */
const clockSeconds = 60;

interface JobSurroundings {
  pool: pg.Pool;
  /** Whether only this process uses the database: then any lease it finds at the start belongs to a dead process. */
  isAlone: boolean;
  log: Logger;
  observe?: ((run: JobRun) => void) | undefined;
}

/**
 * Runs jobs in this process. However many processes share the database, only one at a time runs a given job: it holds a
 * lease on the job's row, and renews it. If the process dies, its lease expires, and the job is due at once. If a
 * process stalls for longer than its lease, another may run the same job at the same time: jobs must tolerate that.
 */
export function startJobs(
  { pool, isAlone, log, observe = () => undefined }: JobSurroundings,
  jobs: readonly Job[],
  { pollMilliseconds, leaseSeconds, retrySeconds }: JobTimes = usualTimes,
): RunningJobs {
  const lease = randomUUID();
  const running = new Map<string, Promise<void>>();
  /** Stop the jobs that run here. Not by `AbortSignal.any`: in Node 20, what ends late remembers each signal that was ever made of it. */
  const stops = new Set<AbortController>();
  let stopping: Error | undefined;
  let isKnown = false;
  let isAway = false;
  let timer: NodeJS.Timeout | undefined;
  /** Whether to look again as soon as the current look is over. */
  let isAsked = false;
  let polling: Promise<void> | undefined;

  async function introduce(): Promise<void> {
    if (isKnown) return;
    const text =
      'insert into jobs (name, due_at) select name, now() from unnest($1::text[]) as name on conflict do nothing';
    await pool.query(text, [jobs.map(({ name }) => name)]);
    if (isAlone) await pool.query('update jobs set leased_until = now() where leased_until > now()');
    isKnown = true;
  }

  /**
   * Claims due jobs that nobody is running or claiming at this moment: two processes that each claim several never wait
   * for each other. A job that is due later than it can be was planned by a clock that was wrong, and is due; so is one
   * with a lease that ends later than it can.
   */
  async function claim(): Promise<Job[]> {
    const free = jobs.filter(({ name }) => !running.has(name));
    if (free.length === 0) return [];
    const names = free.map(({ name }) => name);
    const { rows } = await pool.query<{ name: string }>({
      name: 'claim-jobs',
      text: `update jobs set lease = $1, leased_until = now() + $2 * interval '1 second',
               due_at = now() + mine.every * interval '1 second'
             from unnest($3::text[], $4::float8[]) as mine (name, every)
             where jobs.name = mine.name and jobs.name = any(array(
               select jobs.name from jobs join unnest($3::text[], $4::float8[]) as known (name, every) using (name)
               where leased_until is null and (due_at <= now() or due_at > now() + (every + $5) * interval '1 second')
                 or leased_until <= now() or leased_until > now() + ($2 + $5) * interval '1 second'
               for update of jobs skip locked
             ))
             returning jobs.name`,
      values: [lease, leaseSeconds, names, free.map(({ everySeconds }) => everySeconds), clockSeconds],
    });
    return free.filter((job) => rows.some(({ name }) => name === job.name));
  }

  /** @param reason why it failed; null if it was only stopped */
  async function release(job: Job, isSuccess: boolean, reason: string | null): Promise<void> {
    const next = isSuccess
      ? 'last_success_at = now()'
      : `due_at = least(due_at, now() + interval '${retrySeconds} seconds')`;
    const text = `update jobs set lease = null, leased_until = null, ${next}, last_error = coalesce($3, last_error),
                    last_failed_at = case when $3::text is null then last_failed_at else now() end
                  where name = $1 and lease = $2`;
    await pool.query(text, [job.name, lease, reason]);
  }

  async function renew(job: Job): Promise<boolean> {
    const { rowCount } = await pool.query(
      `update jobs set leased_until = now() + $3 * interval '1 second' where name = $1 and lease = $2`,
      [job.name, lease, leaseSeconds],
    );
    return rowCount === 1;
  }

  async function run(job: Job): Promise<void> {
    const stop = new AbortController();
    if (stopping) stop.abort(stopping);
    stops.add(stop);
    const renewing = setInterval(
      () => {
        renew(job)
          .then((isOurs) => isOurs || stop.abort(new Error(`Another process has taken over ${job.name}.`)))
          .catch((error: unknown) => log.warn({ error, job: job.name }, 'Could not renew the lease of a job'));
      },
      (leaseSeconds * 1000) / 3,
    );
    const started = performance.now();
    const removed: JobRun['removed'] = {};
    const count: Count = (what, howMany) => {
      if (howMany > 0) removed[what] = (removed[what] ?? 0) + howMany;
    };
    let isSuccess = false;
    let reason: string | null = null;
    try {
      await job.run(stop.signal, count);
      isSuccess = true;
    } catch (error) {
      // An error caused by the stop itself is not logged.
      if (!stopping) {
        log.error({ error, job: job.name }, 'A job failed, and will run again');
        reason = toKeptReason(error);
      }
    } finally {
      clearInterval(renewing);
      stops.delete(stop);
    }
    const seconds = (performance.now() - started) / 1000;
    const outcome = isSuccess ? 'success' : stopping ? 'stopped' : 'failure';
    observe({ job: job.name, outcome, seconds, removed });
    if (Object.keys(removed).length > 0) log.info({ job: job.name, removed, seconds }, 'A job has removed something');
    // If this fails too, the lease expires by itself.
    await release(job, isSuccess, reason).catch((error: unknown) =>
      log.warn({ error, job: job.name }, 'Could not give back the lease of a job'),
    );
  }

  async function poll(): Promise<void> {
    try {
      await introduce();
      const claimed = await claim();
      if (isAway) log.info('The database answers again; jobs go on');
      isAway = false;
      for (const job of claimed) {
        running.set(
          job.name,
          run(job).finally(() => {
            running.delete(job.name);
            // The job may have become due again while it was running.
            pollNow();
          }),
        );
      }
    } catch (error) {
      if (!isAway) log.warn({ error }, 'Could not look for jobs; this is tried again until it works');
      isAway = true;
    }
  }

  function pollNow(): void {
    clearTimeout(timer);
    if (stopping) return;
    isAsked = polling !== undefined;
    polling ??= poll().finally(() => {
      polling = undefined;
      if (isAsked) pollNow();
      else if (!stopping) timer = setTimeout(pollNow, pollMilliseconds);
    });
  }

  pollNow();
  return {
    async close() {
      stopping = new Error('The service is stopping.');
      for (const stop of stops) stop.abort(stopping);
      clearTimeout(timer);
      await polling;
      await Promise.all(running.values());
    },
  };
}
