import { sql } from 'kysely';
import type { Deps } from '../../deps.ts';

const dayMilliseconds = 24 * 3600_000;

/**
 * Deletes the oldest events of the feed once they are older than EVENT_RETENTION_DAYS, and remembers for each project up to
 * where. It goes by the numbers, so that what is kept has no gap. Those dated in the future, by a clock that was wrong, are as
 * old as the next one that is not.
 * @param limit at most this many; if that many were deleted, there may be more
 */
export async function purgeFeed(
  { db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>,
  limit: number,
): Promise<number> {
  const today = new Date(now());
  const before = new Date(now() - config.eventRetentionDays * dayMilliseconds);
  const purged = await db.transaction(async (trx) => {
    // Numbering changes the same heads.
    await sql`select from event_head for update`.execute(trx);
    const { rows } = await sql<{ purged: number }>`
      with oldest as materialized (
        select position, at from events order by position limit ${limit}
      ), next as (
        select position, at from events
        where position > (select max(position) from oldest) and at <= ${today} order by position limit 1
      ), dated as (
        select * from oldest where at <= ${today} union all select * from next
      ), young as (
        select min(position) as position from dated where at >= ${before}
      ), doomed as (
        select position from oldest where position <= (
          select max(position) from dated where position < coalesce((select position from young), 'infinity'::float8)
        )
      ), gone as (
        delete from events using doomed where events.position = doomed.position returning project_id, seq
      ), heads as (
        update event_heads set purged = last.seq from (select project_id, max(seq) as seq from gone group by project_id) last
        where event_heads.project_id = last.project_id and event_heads.purged < last.seq
      )
      select count(*) as purged from gone`.execute(trx);
    return rows[0]?.purged ?? 0;
  });
  if (purged < limit) await forgetHeads({ db });
  return purged;
}

/** Numbers of projects that are gone, and of which no event is left. */
async function forgetHeads({ db }: Pick<Deps, 'db'>): Promise<void> {
  await db.pool.query(
    `delete from event_heads where purged >= seq
       and not exists (select 1 from projects where id = project_id)
       and not exists (select 1 from new_events where new_events.project_id = event_heads.project_id)`,
  );
}
