import type pg from 'pg';

/** How much of the write-ahead log a start after a crash repeats at most, roughly, in bytes. */
const mostLogBytes = 32 * 1024 ** 2;
const lookMilliseconds = 5_000;

/**
 * Makes a checkpoint if the log has grown enough since the last one. Changes have to wait for it, for a tenth of a second.
 * @returns whether it did
 */
export async function checkpointIfDue(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ due: boolean }>({
    name: 'checkpoint-due',
    text: 'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) > $1 as due from pg_control_checkpoint()',
    values: [mostLogBytes],
  });
  if (!rows[0]?.due) return false;
  await pool.query('checkpoint');
  return true;
}

/**
 * Makes checkpoints as the embedded database's log grows. PostgreSQL leaves them to a process of its own, which PGlite
 * lacks: it would keep the whole log until the service stops, and a start after a crash would repeat all of it.
 * @returns a function that ends it
 */
export function checkpointRegularly(pool: pg.Pool): () => Promise<void> {
  let looking: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // Whoever uses the database hears of its failures; the next look tries again.
    looking = looking.then(() => checkpointIfDue(pool)).catch(() => undefined);
  }, lookMilliseconds).unref();
  return async () => {
    clearInterval(timer);
    await looking;
  };
}
