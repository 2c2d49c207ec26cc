import type { Deps } from '../../deps.ts';

const dayMilliseconds = 24 * 3600_000;

/**
 * Deletes the oldest events once they are older than AUDIT_RETENTION_DAYS.
 * @param limit at most this many; if that many were deleted, there may be more
 */
export async function purgeEvents(
  { db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>,
  limit: number,
): Promise<number> {
  const { rowCount } = await db.pool.query(
    `delete from audit_events where ctid = any(array(
       select ctid from audit_events where at < $1 order by at limit $2 for update skip locked
     ))`,
    [new Date(now() - config.auditRetentionDays * dayMilliseconds), limit],
  );
  return rowCount ?? 0;
}
