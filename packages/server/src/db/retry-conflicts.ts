import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const maxAttempts = 5;
const firstPauseMilliseconds = 10;

/**
 * deadlock_detected and serialization_failure: PostgreSQL has undone all of the work and expects it to be sent again.
 */
const conflicts = new Set(['40P01', '40001']);

/**
 * Runs work again if PostgreSQL undid it because of a conflict with other work, up to five times, after random and
 * growing pauses.
 * @param work a whole transaction, or a statement outside one, with no effect outside the database
 * @throws whatever the work throws, including the conflict after the last attempt
 * @see https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === maxAttempts || !isConflict(error)) throw error;
    }
    await delay(Math.random() * firstPauseMilliseconds * 2 ** attempt);
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && conflicts.has(error.code ?? '');
}
