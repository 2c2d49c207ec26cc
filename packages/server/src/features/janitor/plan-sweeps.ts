import type { Deps } from '../../deps.ts';

/**
 * Gives every project, including every deleted one, its row of sweeps. The first sweep is due at once; the first
 * reconciliation is due at a random moment of the interval, so that those of many projects are spread over it. Rows are
 * inserted in one order, since two jobs may do this at once.
 */
export async function planSweeps({ db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>): Promise<void> {
  await db.pool.query({
    name: 'plan-sweeps',
    text: `insert into project_sweeps (project_id, next_sweep_at, next_reconcile_at)
           select id, $1::timestamptz, $1::timestamptz + random() * $2::float8 * interval '1 second'
           from (select id from projects union all select project_id from removed_projects) as known
           where not exists (select 1 from project_sweeps where project_id = known.id)
           order by id
           on conflict do nothing`,
    values: [new Date(now()), config.reconcileIntervalSeconds],
  });
}
