import type { Input, Reconciliation } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toReconciliationView } from './reconciliation-view.ts';

/**
 * Asks for a comparison of all objects of a project with its files. A job makes it, since it takes a while in a large
 * project; `getReconciliation` shows how far it is.
 * @throws Problem project_not_found, role_missing, reconciliation_running
 */
export async function reconcileProject(
  deps: Pick<Deps, 'db' | 'access' | 'wake' | 'now'>,
  caller: SessionCaller,
  { projectId, dryRun }: Input<'reconcileProject'>,
): Promise<z.output<typeof Reconciliation>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const at = new Date(deps.now());
  const row = await deps.db.kysely
    .insertInto('reconciliations')
    .columns(['project_id', 'id', 'requested_by', 'dry_run', 'requested_at', 'next_turn_at'])
    .expression(({ selectFrom, val }) =>
      selectFrom('projects')
        .select([
          'id',
          val(uuidv7()).as('reconciliation_id'),
          val(caller.userId).as('requested_by'),
          val(dryRun).as('dry_run'),
          val(at).as('requested_at'),
          val(at).as('next_turn_at'),
        ])
        .where('id', '=', project.id),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!row) throw new Problem('reconciliation_running');
  await deps.wake('reconcile');
  return toReconciliationView(row, []);
}
