import type { Database } from '../db/open.ts';
import { type Subject, workChannel } from './work.ts';

/** Work that was given up after too many attempts. It is kept until it is retried. */
export interface DeadLetter extends Subject {
  kind: string;
  attempts: number;
  diedAt: Date;
  /** Why the last attempt failed, for the operator. */
  error: string | null;
}

/** The dead letters, the latest first. */
export async function listDeadLetters({ pool }: Pick<Database, 'pool'>, limit: number): Promise<DeadLetter[]> {
  const { rows } = await pool.query<DeadLetter>(
    `select kind, project_id as "projectId", subject as id, attempts, due_at as "diedAt", last_error as error
     from work where state = 'dead' order by due_at desc, kind, project_id, subject limit $1`,
    [limit],
  );
  return rows;
}

/** How much work was given up and waits to be retried. */
export async function countDeadLetters({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const { rows } = await pool.query<{ count: number }>("select count(*)::int as count from work where state = 'dead'");
  return rows[0]?.count ?? 0;
}

/**
 * Retries dead letters, with as many attempts as new work has.
 * @param which those of one kind, or of one subject of it; all by default
 * @returns how many there were
 */
export async function retryDeadLetters(
  { pool }: Pick<Database, 'pool'>,
  { kind, id }: { kind?: string | undefined; id?: string | undefined } = {},
): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `with retried as (
       update work set state = 'ready', due_at = now(), attempts = 0
       where state = 'dead' and ($1::text is null or kind = $1) and ($2::text is null or subject = $2)
       returning kind
     ), told as (
       select pg_notify($3, kind) from (select distinct kind from retried) as kinds
     )
     select (select count(*) from retried)::int as count, (select count(*) from told) as told`,
    [kind ?? null, id ?? null, workChannel],
  );
  return rows[0]?.count ?? 0;
}

/** How much work of a kind there is, by state. */
export interface QueueState {
  kind: string;
  /** Due, or becoming due later. */
  waiting: number;
  leased: number;
  dead: number;
  /** For how many seconds the oldest due work has been due; 0 if none is due. */
  overdueSeconds: number;
}

/** What each kind of work has in the queue. */
export async function describeQueue({ pool }: Pick<Database, 'pool'>): Promise<QueueState[]> {
  const { rows } = await pool.query<QueueState>(
    `select kind, count(*) filter (where state in ('waiting', 'ready'))::int as waiting,
            count(*) filter (where state = 'leased')::int as leased, count(*) filter (where state = 'dead')::int as dead,
            greatest(extract(epoch from now() - min(due_at) filter (where state <> 'dead')), 0)::float8 as "overdueSeconds"
     from work group by kind order by kind`,
  );
  return rows;
}
