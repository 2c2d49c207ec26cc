import type { Input, Reconciliation } from '@cadiz/contract';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { enqueue } from '../../work/enqueue.ts';
import { reconciliationWork } from './advance-reconciliation.ts';
import { toReconciliationView } from './reconciliation-view.ts';

/**
 * Requests a comparison of all objects of a project with its files. It runs after the answer, since it takes a while in
 * a large project; `getReconciliation` shows its progress.
 */
export async function reconcileProject(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, dryRun }: Input<'reconcileProject'>,
): Promise<z.output<typeof Reconciliation>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const at = new Date(deps.now());
  const row = await deps.db.transaction(async (trx) => {
    const asked = await trx
      .insertInto('reconciliations')
      .columns(['project_id', 'id', 'requested_by', 'dry_run', 'requested_at'])
      .expression(({ selectFrom, val }) =>
        selectFrom('projects')
          .select([
            'id',
            val(uuidv7()).as('reconciliation_id'),
            val(caller.userId).as('requested_by'),
            val(dryRun).as('dry_run'),
            val(at).as('requested_at'),
          ])
          .where('id', '=', project.id),
      )
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    const subject = asked ?? (await findUnderWay(trx, project.id));
    // Requesting a reconciliation that was given up retries it.
    if (subject) await enqueue(trx, reconciliationWork, { projectId: project.id, id: subject.id });
    return asked;
  });
  if (!row) throw new Problem('reconciliation_running');
  return toReconciliationView(row, []);
}

function findUnderWay(trx: Kysely<Schema>, projectId: string): Promise<{ id: string } | undefined> {
  return trx
    .selectFrom('reconciliations')
    .select('id')
    .where('project_id', '=', projectId)
    .where('requested_by', 'is not', null)
    .where('finished_at', 'is', null)
    .executeTakeFirst();
}
