import type { Deps } from '../deps.ts';

const hourMilliseconds = 3600_000;
const dayMilliseconds = 24 * hourMilliseconds;

/** How long rows stay when they have expired: longer than the clocks of the processes differ. */
const kept = {
  // Begun sign-ins by a passkey or a second factor: anybody can begin one.
  verifications: hourMilliseconds,
  sessions: hourMilliseconds,
  password_resets: hourMilliseconds,
  email_verifications: hourMilliseconds,
  invitations: 30 * dayMilliseconds,
};

/**
 * Removes what has expired of signing in: nobody who comes with it gets in, but the rows stay where nobody comes.
 * @param limit at most so many of each table
 * @returns how many have gone; none when there are no more
 */
export async function forgetExpired({ db, now }: Pick<Deps, 'db' | 'now'>, limit: number): Promise<number> {
  let forgotten = 0;
  for (const [table, milliseconds] of Object.entries(kept)) {
    const { rowCount } = await db.pool.query(
      `delete from ${table} where ctid = any(array(
         select ctid from ${table} where expires_at < $1 order by expires_at limit $2 for update skip locked
       ))`,
      [new Date(now() - milliseconds), limit],
    );
    forgotten += rowCount ?? 0;
  }
  return forgotten;
}
