import type { Deps } from '../deps.ts';

const hourMilliseconds = 3600_000;
const dayMilliseconds = 24 * hourMilliseconds;

/** How long rows are kept after they expire: longer than the difference between the clocks of the processes. */
const kept = {
  // Sign-ins by passkey or second factor that were begun: anybody can begin one.
  verifications: hourMilliseconds,
  sessions: hourMilliseconds,
  password_resets: hourMilliseconds,
  email_verifications: hourMilliseconds,
  invitations: 30 * dayMilliseconds,
  // So that people can look up what they were used for.
  tickets: 30 * dayMilliseconds,
  // They expire a day after they have ended.
  operations: hourMilliseconds,
};

/**
 * Deletes expired sessions, tokens, invitations and tickets, which are refused anyway but whose rows would otherwise stay if
 * nobody presents them, and operations that have ended.
 * @param limit how many rows at most are deleted from each table
 * @returns how many were deleted; 0 if there are no more
 */
export async function purgeExpired({ db, now }: Pick<Deps, 'db' | 'now'>, limit: number): Promise<number> {
  let purged = 0;
  for (const [table, milliseconds] of Object.entries(kept)) {
    const { rowCount } = await db.pool.query(
      `delete from ${table} where ctid = any(array(
         select ctid from ${table} where expires_at < $1 order by expires_at limit $2 for update skip locked
       ))`,
      [new Date(now() - milliseconds), limit],
    );
    purged += rowCount ?? 0;
  }
  return purged;
}
