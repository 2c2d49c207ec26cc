import type pg from 'pg';

/** A job, and how often it is due. */
interface Timed {
  name: string;
  everySeconds: number;
}

/** A lease on the row of a job, which keeps other processes from running it. */
export interface Lease {
  /** Differs between processes. */
  id: string;
  /** How long it lasts, unless it is renewed. */
  seconds: number;
}

/** How far past its interval a job may be due, and past its length a lease may end: two statements see the clock at different moments. */
const clockSeconds = 60;

/**
 * Adds the jobs that are not known yet, which are due at once.
 *
 * @param isAlone whether only this process uses the database: then any lease it finds belongs to a dead process, and is ended
 */
export async function introduceJobs(pool: pg.Pool, jobs: readonly Timed[], isAlone: boolean): Promise<void> {
  const text =
    'insert into jobs (name, due_at) select name, now() from unnest($1::text[]) as name on conflict do nothing';
  await pool.query(text, [jobs.map(({ name }) => name)]);
  if (isAlone) await pool.query('update jobs set leased_until = now() where leased_until > now()');
}

/**
 * Claims those of these jobs that are due and that nobody is running or claiming at this moment: two processes that each
 * claim several never wait for each other. A job that is due later than it can be was planned by a clock that was wrong,
 * and is due; so is one with a lease that ends later than it can.
 */
export async function claimJobs<J extends Timed>(pool: pg.Pool, lease: Lease, jobs: readonly J[]): Promise<J[]> {
  if (jobs.length === 0) return [];
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
    values: [
      lease.id,
      lease.seconds,
      jobs.map(({ name }) => name),
      jobs.map(({ everySeconds }) => everySeconds),
      clockSeconds,
    ],
  });
  return jobs.filter((job) => rows.some(({ name }) => name === job.name));
}

/** @returns whether the lease is still this one: otherwise another process has taken the job over */
export async function renewLease(pool: pg.Pool, lease: Lease, jobName: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update jobs set leased_until = now() + $3 * interval '1 second' where name = $1 and lease = $2`,
    [jobName, lease.id, lease.seconds],
  );
  return rowCount === 1;
}

/** How the run of a job has ended. */
export interface Ended {
  isSuccess: boolean;
  /** Why it failed; null if it succeeded or was only stopped. */
  reason: string | null;
  /** How soon it is retried unless it succeeded, in seconds; sooner if it is due earlier. */
  retrySeconds: number;
}

/** Gives the lease back. */
export async function endLease(
  pool: pg.Pool,
  lease: Lease,
  jobName: string,
  { isSuccess, reason, retrySeconds }: Ended,
): Promise<void> {
  const next = isSuccess
    ? 'last_success_at = now()'
    : `due_at = least(due_at, now() + interval '${retrySeconds} seconds')`;
  const text = `update jobs set lease = null, leased_until = null, ${next}, last_error = coalesce($3, last_error),
                  last_failed_at = case when $3::text is null then last_failed_at else now() end
                where name = $1 and lease = $2`;
  await pool.query(text, [jobName, lease.id, reason]);
}
