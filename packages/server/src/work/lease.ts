import type { Kysely } from 'kysely';
import type pg from 'pg';
import { firstId } from '../db/ids.ts';
import type { Schema } from '../db/schema.ts';
import { capSeconds } from './backoff.ts';
import { type Kind, leaseSeconds, maxAttempts, type Task, toKey } from './work.ts';

// None of these statements is a named one: PostgreSQL would keep its plan from when the table was nearly empty, and
// read the whole table when it is full.

/** What a look at the queue has found. */
export interface Found {
  /** The kinds that have work to be claimed. */
  ready: string[];
  /** Work that has just been given up, because each process that tried it died. */
  dead: { kind: string; projectId: string; id: string }[];
  /** Whether more may be due than one look makes ready. */
  more: boolean;
}

const readyAtOnce = 500;

/**
 * Makes due work ready, including work whose lease expired because its process died or stalled. After too many attempts that is
 * given up, unless it was enqueued again in the meantime. Writes nothing if nothing is due.
 */
export async function lookForWork(pool: pg.Pool, kinds: readonly string[]): Promise<Found> {
  const { rows } = await pool.query<{ kind: string; projectId: string | null; id: string; state: string }>({
    text: `
      with due as materialized (
        select kind, project_id, subject from work
        where state in ('waiting', 'leased') and due_at <= now() and kind = any($1)
        order by due_at limit ${readyAtOnce} for update skip locked
      ), changed as (
        update work set
          state = case when lease is not null and again_at is null and attempts >= ${maxAttempts} then 'dead' else 'ready' end,
          attempts = case when again_at is not null and attempts >= ${maxAttempts} then 0 else attempts end,
          last_error = case when lease is null then last_error
                       else 'The process that did it ended, or stalled, before it was done.' end,
          lease = null, again_at = null
        from due where work.kind = due.kind and work.project_id = due.project_id and work.subject = due.subject
        returning work.kind, work.project_id, work.subject, work.state
      )
      select kind, project_id as "projectId", subject as id, state from changed
      union all
      select wanted, null, '', 'ready' from unnest($1::text[]) as wanted
      where exists (select from work where kind = wanted and state = 'ready')`,
    values: [kinds],
  });
  const changed = rows.flatMap(({ projectId, ...row }) => (projectId === null ? [] : [{ ...row, projectId }]));
  return {
    ready: [...new Set(rows.flatMap(({ kind, state }) => (state === 'ready' ? [kind] : [])))],
    dead: changed.flatMap(({ state, ...subject }) => (state === 'dead' ? [subject] : [])),
    more: changed.length === readyAtOnce,
  };
}

/**
 * Makes work due that waits for longer than it can: it was planned by a clock that was wrong. It may be about to be
 * retried by a process that still has its lease, which the queue tolerates.
 */
export async function endImpossibleWaits(
  pool: pg.Pool,
  kinds: readonly Pick<Kind, 'name' | 'longestWaitSeconds'>[],
): Promise<void> {
  await pool.query(
    `with planned as materialized (
       select kind, project_id, subject from work join unnest($1::text[], $2::float8[]) as known (kind, longest) using (kind)
       where state in ('waiting', 'leased') and due_at > now() + longest * interval '1 second'
       order by project_id, subject for update of work skip locked
     )
     update work set due_at = now() from planned
     where work.kind = planned.kind and work.project_id = planned.project_id and work.subject = planned.subject`,
    [kinds.map(({ name }) => name), kinds.map(({ longestWaitSeconds }) => longestWaitSeconds ?? capSeconds)],
  );
}

/** Where a round of the projects begins. */
export const firstProject = firstId;

/**
 * Claims up to `limit` tasks of a kind for this process. Projects take turns: the same number is taken from each of the
 * projects that follow `after`, the longest due first. However much work a project has, only the rows taken are read.
 * @returns the tasks in the order of their projects; fewer than `limit` where the round ends
 */
export async function claimWork(pool: pg.Pool, kind: string, limit: number, after: string): Promise<Task[]> {
  const { rows } = await pool.query<Task>({
    text: `
      with recursive turns (project_id, turn) as (
        (select project_id, 1 from work
         where kind = $1 and state = 'ready' and project_id > $3 order by project_id limit 1)
        union all
        select next.project_id, turn + 1
        from turns cross join lateral (
          select project_id from work
          where kind = $1 and state = 'ready' and project_id > turns.project_id order by project_id limit 1
        ) next
        where turn < $2::int
      ), picked as materialized (
        select oldest.project_id, oldest.subject from turns cross join lateral (
          select project_id, subject from work
          where kind = $1 and state = 'ready' and project_id = turns.project_id
          order by due_at limit (select $2::int / count(*) from turns) for update skip locked
        ) oldest
      )
      update work set state = 'leased', lease = gen_random_uuid(), attempts = attempts + 1,
        due_at = now() + interval '${leaseSeconds} seconds'
      from picked
      where work.kind = $1 and work.project_id = picked.project_id and work.subject = picked.subject
      returning work.kind, work.project_id as "projectId", work.subject as id, payload, attempts as attempt, lease`,
    values: [kind, limit, after],
  });
  return rows.sort((one, other) => (one.projectId < other.projectId ? -1 : one.projectId > other.projectId ? 1 : 0));
}

/**
 * Renews the leases that are still held.
 * @returns the tokens of those leases
 */
export async function renewLeases(pool: pg.Pool, tasks: readonly Task[]): Promise<Set<string>> {
  const { rows } = await pool.query<{ lease: string }>({
    text: `update work set due_at = now() + interval '${leaseSeconds} seconds' ${whereHeld} returning work.lease`,
    values: toColumns(tasks),
  });
  return new Set(rows.map(({ lease }) => lease));
}

/**
 * Releases tasks that were not begun, or were stopped: any process may claim them, and this does not count as an
 * attempt.
 * @returns how many leases were still held
 */
export async function releaseLeases(pool: pg.Pool, tasks: readonly Task[]): Promise<number> {
  if (tasks.length === 0) return 0;
  const { rowCount } = await pool.query({
    text: `update work set state = 'ready', due_at = now(), lease = null, again_at = null, attempts = attempts - 1 ${whereHeld}`,
    values: toColumns(tasks),
  });
  return rowCount ?? 0;
}

/**
 * Ends leases of this process, as if they had expired: what became of their tasks could not be written down. They count as attempts.
 */
export async function expireLeases(pool: pg.Pool, tasks: readonly Task[]): Promise<void> {
  await pool.query({ text: `update work set due_at = now() ${whereHeld}`, values: toColumns(tasks) });
}

const whereHeld = `from unnest($1::text[], $2::uuid[], $3::text[], $4::uuid[]) as held (kind, project_id, subject, lease)
  where work.kind = held.kind and work.project_id = held.project_id and work.subject = held.subject and work.lease = held.lease`;

/** In the order in which enqueuing locks rows (`enqueue.ts`), so that neither waits for the other. */
function toColumns(unordered: readonly Task[]): string[][] {
  const tasks = unordered.toSorted((one, other) => (toKey(one) < toKey(other) ? -1 : 1));
  return [
    tasks.map(({ kind }) => kind),
    tasks.map(({ projectId }) => projectId),
    tasks.map(({ id }) => id),
    tasks.map(({ lease }) => lease),
  ];
}

const whereMine = 'where kind = $1 and project_id = $2 and subject = $3 and lease = $4';
const toValues = ({ kind, projectId, id, lease }: Task) => [kind, projectId, id, lease];

/**
 * Deletes the row of work that is done, or makes it due once more if it was enqueued again in the meantime.
 * @returns false if another process has taken it over
 */
export async function finishWork(pool: pg.Pool, task: Task): Promise<boolean> {
  const { rowCount } = await pool.query({
    text: `delete from work ${whereMine} and again_at is null`,
    values: toValues(task),
  });
  if (rowCount === 1) return true;
  // Two statements, not one: the work may be enqueued again between a look and the deletion.
  const again = await pool.query(
    `update work set state = 'waiting', due_at = again_at, again_at = null, lease = null, attempts = 0, last_error = null
     ${whereMine}`,
    toValues(task),
  );
  return again.rowCount === 1;
}

/**
 * Deletes the row of a task that is done, as part (`with`) of the statement that stores its findings. It deletes
 * nothing if the lease is lost, or if the work was enqueued again: then the handler must not return 'finished'.
 */
export function deleteDone(db: Pick<Kysely<Schema>, 'deleteFrom'>, { kind, projectId, id, lease }: Task) {
  return db
    .deleteFrom('work')
    .where('kind', '=', kind)
    .where('project_id', '=', projectId)
    .where('subject', '=', id)
    .where('lease', '=', lease)
    .where('again_at', 'is', null)
    .returning('kind');
}

/**
 * Makes work due again in some seconds, or sooner if it was enqueued for sooner in the meantime.
 * @param more `attempts`: how many are counted from now on; `error`: why, for the operator
 * @returns false if another process has taken it over
 */
export async function postponeWork(
  pool: pg.Pool,
  task: Task,
  seconds: number,
  { attempts, error }: { attempts: number; error?: string },
): Promise<boolean> {
  const { rowCount } = await pool.query({
    text: `update work set
             state = case when least(again_at, now() + $5::float8 * interval '1 second') <= now() then 'ready' else 'waiting' end,
             due_at = least(again_at, now() + $5::float8 * interval '1 second'),
             again_at = null, lease = null, attempts = $6, last_error = $7
           ${whereMine}`,
    values: [...toValues(task), seconds, attempts, error ?? null],
  });
  return rowCount === 1;
}

/**
 * Gives work up and keeps it as a dead letter; if it was enqueued again in the meantime, it is retried instead.
 * @returns false if another process has taken it over
 */
export async function buryWork(pool: pg.Pool, task: Task, error: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update work set
       state = case when again_at is null then 'dead' else 'waiting' end, due_at = coalesce(again_at, now()),
       attempts = case when again_at is null then attempts else 0 end, again_at = null, lease = null, last_error = $5
     ${whereMine}`,
    [...toValues(task), error],
  );
  return rowCount === 1;
}

/** Ends all leases at once, for a database that no other process uses. */
export async function endLeases(pool: pg.Pool): Promise<void> {
  await pool.query(`update work set due_at = now() where state = 'leased'`);
}
