import { CompiledQuery, sql } from 'kysely';
import type { Database } from '../db/open.ts';
import { deliverySql } from '../webhooks/delivery-sql.ts';

/** How many events one statement numbers. */
export const numberedAtOnce = 1000;

/**
 * Moves events from the outbox to the feed, and numbers them: in each project 1, 2, 3 and so on, without a gap, in the
 * order in which they were written. Whoever holds the lock of `event_head` does so, one process at a time, and commits
 * before anybody sees a number; so a reader that has seen one number has been able to see all before it. The same statement
 * makes the deliveries to webhooks: one for each endpoint that wants the event, neither lost nor doubled.
 * @returns how many; if it is `numberedAtOnce`, there may be more
 */
export async function numberEvents(db: Pick<Database, 'pool' | 'transaction'>): Promise<number> {
  // Most looks find nothing, and need no lock.
  const { rows } = await db.pool.query('select from new_events order by pos limit 1');
  if (rows.length === 0) return 0;
  return db.transaction(async (trx) => {
    // In a statement of its own: the next one must see what was committed while this one waited.
    await sql`select from event_head for update`.execute(trx);
    const { rows } = await trx.executeQuery<{ count: number }>(CompiledQuery.raw(moveSql));
    return rows[0]?.count ?? 0;
  });
}

const moveSql = `
  with taken as (
    delete from new_events where pos = any(array(select pos from new_events order by pos limit ${numberedAtOnce}))
    returning *
  ), counted as (
    select taken.*, row_number() over (order by pos) as n,
      row_number() over (partition by project_id order by pos) as in_project
    from taken
  ), before as (
    select project_id, coalesce(event_heads.seq, 0) as seq, count
    from (select project_id, count(*) from taken group by project_id) as projects
    left join event_heads using (project_id)
  ), heads as (
    insert into event_heads (project_id, seq) select project_id, seq + count from before
    on conflict (project_id) do update set seq = excluded.seq
  ), head as (
    update event_head set position = position + (select count(*) from taken) returning position
  ), numbered as (
    insert into events (project_id, seq, position, id, type, at, user_id, api_key_id, ticket_id, data)
    select project_id, before.seq + in_project, head.position - (select count(*) from taken) + n,
      id, type, at, user_id, api_key_id, ticket_id, data
    from counted join before using (project_id) cross join head
    returning project_id, seq, id, type, at
  ), ${deliverySql('numbered')}
  select (select count(*) from numbered)::int as count, (select count(*) from told) as told`;
