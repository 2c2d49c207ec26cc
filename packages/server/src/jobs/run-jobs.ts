import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { toKeptReason } from '../telemetry/kept-reason.ts';
import { type Count, countRemovals, type JobRun } from '../telemetry/observed.ts';
import { claimJobs, endLease, introduceJobs, type Lease, renewLease } from './lease.ts';

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
  const lease: Lease = { id: randomUUID(), seconds: leaseSeconds };
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

  async function run(job: Job): Promise<void> {
    const stop = new AbortController();
    if (stopping) stop.abort(stopping);
    stops.add(stop);
    const renewing = setInterval(
      () => {
        renewLease(pool, lease, job.name)
          .then((isOurs) => isOurs || stop.abort(new Error(`Another process has taken over ${job.name}.`)))
          .catch((error: unknown) => log.warn({ error, job: job.name }, 'Could not renew the lease of a job'));
      },
      (leaseSeconds * 1000) / 3,
    );
    const started = performance.now();
    const { removed, count } = countRemovals();
    let outcome: JobRun['outcome'] = 'success';
    let reason: string | null = null;
    try {
      await job.run(stop.signal, count);
    } catch (error) {
      outcome = stopping ? 'stopped' : 'failure';
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
    observe({ job: job.name, outcome, seconds, removed });
    if (Object.keys(removed).length > 0) log.info({ job: job.name, removed, seconds }, 'A job has removed something');
    // If this fails too, the lease expires by itself.
    const ended = { isSuccess: outcome === 'success', reason, retrySeconds };
    await endLease(pool, lease, job.name, ended).catch((error: unknown) =>
      log.warn({ error, job: job.name }, 'Could not give back the lease of a job'),
    );
  }

  async function poll(): Promise<void> {
    try {
      if (!isKnown) await introduceJobs(pool, jobs, isAlone);
      isKnown = true;
      const free = jobs.filter(({ name }) => !running.has(name));
      const claimed = await claimJobs(pool, lease, free);
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
