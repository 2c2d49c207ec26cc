import type pg from 'pg';
import type { Logger } from 'pino';
import { Problem } from '../problem.ts';
import { toKeptReason } from '../telemetry/kept-reason.ts';
import { type Count, countRemovals, type WorkRun } from '../telemetry/observed.ts';
import { backoffSeconds } from './backoff.ts';
import { buryWork, finishWork, postponeWork, releaseLeases } from './lease.ts';
import { type Kind, maxAttempts, type Task } from './work.ts';

/**
 * When work is due again if, for example, the object store did not answer. Until then the whole kind is paused
 * (`run-work.ts`).
 */
const unavailableSeconds = 60;

interface Surroundings {
  pool: pg.Pool;
  log: Logger;
}

/**
 * Does one task, and stores its outcome: done, due again, or given up. Never throws.
 * @param signal aborts when the task is to stop: the service is stopping, or the lease is lost
 */
export async function perform(deps: Surroundings, kind: Kind, task: Task, signal: AbortSignal): Promise<WorkRun> {
  const started = performance.now();
  const { removed, count } = countRemovals();
  const { outcome, error } = await run(deps, kind, task, signal, count);
  return { kind: kind.name, outcome, error, seconds: (performance.now() - started) / 1000, removed };
}

type Ending = Pick<WorkRun, 'outcome' | 'error'>;

async function run(deps: Surroundings, kind: Kind, task: Task, signal: AbortSignal, count: Count): Promise<Ending> {
  const { kind: name, projectId, id, attempt } = task;
  try {
    const ending = await kind.run(task, signal, count).then(
      (next) => settle(deps, task, next),
      async (error: unknown) => (signal.aborted ? giveBack(deps, task) : settleFailure(deps, task, error)),
    );
    if (ending.outcome === 'lost') {
      deps.log.warn(
        { kind: name, projectId, id, attempt },
        'This work was no longer to be done: another process has taken it over, or its project was deleted',
      );
    }
    return ending;
  } catch (error) {
    // Nothing is lost: when the lease expires, the work is due again.
    deps.log.warn({ error, kind: name, projectId, id }, 'Could not write down what became of some work');
    return { outcome: 'lost', error };
  }
}

async function settle({ pool }: Surroundings, task: Task, next: Awaited<ReturnType<Kind['run']>>): Promise<Ending> {
  if (next === 'finished') return { outcome: 'done' };
  if (next === undefined) return { outcome: (await finishWork(pool, task)) ? 'done' : 'lost' };
  return { outcome: (await postponeWork(pool, task, next.again, { attempts: 0 })) ? 'again' : 'lost' };
}

async function settleFailure({ pool, log }: Surroundings, task: Task, error: unknown): Promise<Ending> {
  const { kind, projectId, id, attempt } = task;
  const reason = toKeptReason(error);
  if (error instanceof Problem && error.status === 503) {
    const isOurs = await postponeWork(pool, task, unavailableSeconds, { attempts: attempt - 1, error: reason });
    return { outcome: isOurs ? 'unavailable' : 'lost', error };
  }
  if (attempt >= maxAttempts) {
    if (!(await buryWork(pool, task, reason))) return { outcome: 'lost', error };
    log.error(
      { error, kind, projectId, id, attempt },
      'Some work has failed too often, and is given up until it is retried',
    );
    return { outcome: 'dead', error };
  }
  const seconds = backoffSeconds(attempt);
  if (!(await postponeWork(pool, task, seconds, { attempts: attempt, error: reason })))
    return { outcome: 'lost', error };
  log.warn({ error, kind, projectId, id, attempt, seconds }, 'Some work has failed, and will be tried again');
  return { outcome: 'failed', error };
}

/**
 * For a task that was stopped because the service is stopping or the lease is lost; in the latter case there is nothing
 * to release.
 */
async function giveBack({ pool }: Surroundings, task: Task): Promise<Ending> {
  return { outcome: (await releaseLeases(pool, [task])) === 1 ? 'stopped' : 'lost' };
}
