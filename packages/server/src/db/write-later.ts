import { setTimeout as delay } from 'node:timers/promises';
import type { Deps } from '../deps.ts';

const pauseMilliseconds = 1000;

/**
 * Writes down what could not be written since the database did not answer, as soon as it does. Nobody needs to wait for this.
 * @param seconds how long to keep trying: until others take it for granted
 */
export async function writeLater(
  { db: { pool }, log }: Pick<Deps, 'db' | 'log'>,
  write: () => Promise<unknown>,
  seconds: number,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!pool.ending) {
    await delay(pauseMilliseconds, undefined, { ref: false });
    try {
      await write();
      return;
    } catch (error) {
      if (performance.now() < end) continue;
      log.warn({ error }, 'Could not write down what was to be written later');
      return;
    }
  }
}

/**
 * Writes something down at once or, if the database does not answer, as soon as it does.
 * @throws what the first attempt has thrown
 */
export async function writeNowOrLater(...[deps, write, seconds]: Parameters<typeof writeLater>): Promise<void> {
  try {
    await write();
  } catch (error) {
    void writeLater(deps, write, seconds);
    throw error;
  }
}
