import { clockToleranceMilliseconds } from '../../clock-tolerance.ts';
import type { Deps } from '../../deps.ts';
import { keepMilliseconds } from './orphaned-before.ts';

const dayMilliseconds = 24 * 3600_000;

/**
 * Brings forward what a clock that was wrong has planned later than it can be: sweeps, reconciliations, and the time from
 * which what is presigned in a crowded project can be recorded, which has always passed.
 */
export async function endImpossibleSweeps({ db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>): Promise<void> {
  const at = now();
  const latestSweep = at + keepMilliseconds(config) + dayMilliseconds;
  const latestReconciliation = at + config.reconcileIntervalSeconds * 1000 + dayMilliseconds;
  await db.pool.query('update project_sweeps set next_sweep_at = $1 where next_sweep_at > $2', [
    new Date(at),
    new Date(latestSweep),
  ]);
  // At a random moment, as when a project is new.
  await db.pool.query(
    `update project_sweeps set next_reconcile_at = $1::timestamptz + random() * $2::float8 * interval '1 second'
     where next_reconcile_at > $3`,
    [new Date(at), config.reconcileIntervalSeconds, new Date(latestReconciliation)],
  );
  await db.pool.query('update projects set record_from = $1 where record_from > $2', [
    new Date(at),
    new Date(at + clockToleranceMilliseconds),
  ]);
}
