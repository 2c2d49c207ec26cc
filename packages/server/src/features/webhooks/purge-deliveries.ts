import type { Deps } from '../../deps.ts';

const dayMilliseconds = 24 * 3600_000;

/**
 * Deletes deliveries of events that are older than EVENT_RETENTION_DAYS, which are no longer kept themselves.
 * @param limit at most this many; if that many were deleted, there may be more
 */
export async function purgeDeliveries(
  { db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>,
  limit: number,
): Promise<number> {
  const before = new Date(now() - config.eventRetentionDays * dayMilliseconds);
  const { rowCount } = await db.pool.query(
    `delete from webhook_deliveries where (endpoint_id, event_id) in (
       select endpoint_id, event_id from webhook_deliveries where at < $1 order by at limit $2 for update skip locked)`,
    [before, limit],
  );
  return rowCount ?? 0;
}
