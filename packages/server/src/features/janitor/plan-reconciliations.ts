import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { enqueue } from '../../work/enqueue.ts';
import { reconciliationWork } from './advance-reconciliation.ts';
import { planSweeps } from './plan-sweeps.ts';

const plannedAtOnce = 100;

/** Begins the reconciliations that are due; those under way are left alone. */
export async function planReconciliations(deps: Pick<Deps, 'config' | 'db' | 'now'>): Promise<void> {
  await planSweeps(deps);
  const { db, config, now } = deps;
  const at = new Date(now());
  const projects = await db.kysely
    .selectFrom('project_sweeps')
    .innerJoin('projects', 'projects.id', 'project_sweeps.project_id')
    .select('project_id')
    .where('next_reconcile_at', '<=', at)
    .orderBy('next_reconcile_at')
    .limit(plannedAtOnce)
    .execute();
  if (projects.length === 0) return;
  // In the same order as everything that locks several projects.
  const ids = projects.map(({ project_id }) => project_id).sort();
  await db.transaction(async (trx) => {
    const planned = await trx
      .insertInto('reconciliations')
      .values(
        ids.map((projectId) => ({
          project_id: projectId,
          id: uuidv7(),
          requested_by: null,
          dry_run: false,
          requested_at: at,
        })),
      )
      .onConflict((conflict) => conflict.doNothing())
      .returning(['project_id as projectId', 'id'])
      .execute();
    await enqueue(trx, reconciliationWork, planned);
  });
  await db.kysely
    .updateTable('project_sweeps')
    .set({ next_reconcile_at: new Date(now() + config.reconcileIntervalSeconds * 1000) })
    .where('project_id', 'in', ids)
    .execute();
}
