import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const mostAttempts = 5;
const firstPauseMilliseconds = 10;

/** deadlock_detected and serialization_failure: PostgreSQL has undone all of it, and asks for it to be sent again. */
const conflicts = new Set(['40P01', '40001']);

/**
 * Runs work again that PostgreSQL has undone because it got in the way of other work, up to five times, after pauses of
 * random and growing length.
 * @param work a whole transaction, or a statement outside of one, with no effect beyond the database
 * @throws whatever the work throws; a conflict once it has been tried often enough
 * @see https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === mostAttempts || !isConflict(error)) throw error;
    }
    await delay(Math.random() * firstPauseMilliseconds * 2 ** attempt);
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && conflicts.has(error.code ?? '');
}
