import type { Input, Reconciliation } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toReconciliationView } from './reconciliation-view.ts';

/** One reconciliation of a project, by default the newest, with examples of what it has found so far. */
export async function getReconciliation(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId, id }: Input<'getReconciliation'>,
): Promise<z.output<typeof Reconciliation>> {
  const project = await openProject(deps, caller, projectId, 'files:read');
  const row = await deps.db.kysely
    .selectFrom('reconciliations')
    .selectAll()
    .where('project_id', '=', project.id)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? ''))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!row) throw new Problem('reconciliation_not_found');
  const findings = await deps.db.kysely
    .selectFrom('reconciliation_findings')
    .select(['kind', 'facts'])
    .where('project_id', '=', project.id)
    .where('reconciliation_id', '=', row.id)
    .orderBy('store_key')
    .execute();
  return toReconciliationView(row, findings);
}
