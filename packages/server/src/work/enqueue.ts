import { type Kysely, sql } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { leaseSeconds, type Subject, toKey, workChannel } from './work.ts';

/**
 * Enqueues work about one subject or several, in the caller's transaction: the rows appear when that commits, and the
 * processes are notified then. There is one row for each subject of a kind. Enqueuing the same again can make it due
 * sooner, never later; if it is being done at that moment, it is done once more afterwards; if it is a dead letter, it
 * is retried.
 * @param options `inSeconds`: when it is due, by the database's clock; at once by default. `payload`: JSON for the
 *   handler, which replaces any earlier payload
 */
export async function enqueue(
  db: Kysely<Schema>,
  kind: string,
  subjects: Subject | readonly Subject[],
  { inSeconds = 0, payload }: { inSeconds?: number; payload?: unknown } = {},
): Promise<void> {
  // In one order, so that two requests for the same work cannot deadlock.
  const ordered = [subjects].flat().sort((one, other) => (toKey(one) < toKey(other) ? -1 : 1));
  if (ordered.length === 0) return;
  await sql`
    with asked as (
      insert into work as known (kind, project_id, subject, payload, state, due_at)
      select ${kind}, project_id, subject, ${payload === undefined ? null : JSON.stringify(payload)}::jsonb,
             case when ${inSeconds}::float8 <= 0 then 'ready' else 'waiting' end,
             now() + ${inSeconds}::float8 * interval '1 second'
      from unnest(${ordered.map(({ projectId }) => projectId)}::uuid[], ${ordered.map(({ id }) => id)}::text[])
        as wanted (project_id, subject)
      ${sql.raw(askAgainSql)}
      returning state
    )
    select pg_notify(${workChannel}, ${kind}) from (select from asked where state = 'ready' limit 1) as ready`.execute(
    db,
  );
}

/** What enqueuing does where there is a row already. It ends an `insert into work as known`. */
const askAgainSql = `on conflict (kind, project_id, subject) do update set
  payload = coalesce(excluded.payload, known.payload),
  state = case when known.state in ('leased', 'ready') then known.state else excluded.state end,
  due_at = case known.state when 'leased' then known.due_at when 'dead' then excluded.due_at
           else least(known.due_at, excluded.due_at) end,
  again_at = case when known.state = 'leased' then least(known.again_at, excluded.due_at) end,
  attempts = case when known.state = 'dead' then 0 else known.attempts end,
  last_error = case when known.state <> 'dead' then known.last_error end`;

/**
 * SQL that enqueues work, due at once, as part of a larger statement, as `enqueue` does. It returns the state of each row: if
 * one is `ready`, `notifyWorkSql` is to follow.
 * @param from a table expression with one row for each subject, in columns `project_id` and `subject`
 */
export function enqueueSql({ kind, from }: { kind: string; from: string }): string {
  return `insert into work as known (kind, project_id, subject, state, due_at)
    select '${kind}', project_id, subject, 'ready', now() from ${from} order by project_id, subject
    ${askAgainSql} returning state`;
}

/** SQL that notifies the processes of work that is ready, as a query of at most one row. @param asked has the states */
export function notifyWorkSql({ kind, asked }: { kind: string; asked: string }): string {
  return `select pg_notify('${workChannel}', '${kind}') from (select from ${asked} where state = 'ready' limit 1) as ready`;
}

/**
 * SQL that inserts the work about a row that the same statement inserts. It is for a hot path: there is no separate
 * statement, and no NOTIFY, which would make commits wait for each other. With a lease, this process does the work
 * (`Handover`); if it does not, the lease expires. Without a lease, the next poll finds the work. The arguments are
 * SQL: `from` has one row for each subject, and the others are parameters or columns of it.
 */
export function insertWorkSql(row: {
  kind: string;
  projectId: string;
  subject: string;
  lease: string;
  from: string;
}): string {
  const { kind, projectId, subject, lease, from } = row;
  return `insert into work (kind, project_id, subject, state, due_at, lease, attempts)
    select ${kind}, ${projectId}, ${subject}::text, case when ${lease}::uuid is null then 'ready' else 'leased' end,
           now() + case when ${lease}::uuid is null then interval '0' else interval '${leaseSeconds} seconds' end,
           ${lease}::uuid, case when ${lease}::uuid is null then 0 else 1 end
    from ${from}`;
}
