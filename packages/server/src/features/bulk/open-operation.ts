import type { Scope } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import {
  type OpenProject,
  openProject,
  openProjectOf,
  type ReachedProject,
  requireScope,
} from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { rightOf } from './apply-change.ts';
import { type OperationRow, toPlace } from './operation.ts';

/**
 * An operation by its id alone, for whoever may do what it does. One that is absent or out of the caller's reach gets the
 * same answer.
 * @throws Problem operation_not_found, scope_missing, role_missing
 */
export async function openOperation(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  id: string,
): Promise<{ project: OpenProject<'files:write' | 'files:delete'>; row: OperationRow }> {
  // A key learns that it lacks the scope for this operation only if it could see it otherwise.
  const held = heldBy(caller);
  requireScope(caller, held);
  const row = await deps.db.kysely.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) throw new Problem('operation_not_found');
  const isThere = async (project: ReachedProject) => isWithin(deps, project, await findReach(deps, row));
  await openProjectOf(deps, caller, row.project_id, held, 'operation_not_found', isThere);
  return { project: await openProject(deps, caller, row.project_id, rightOf[row.action]), row };
}

/** The folder that an operation changes nothing outside of: its place, or where the key that started it works. Null: the root. */
async function findReach({ db }: Pick<Deps, 'db'>, row: OperationRow): Promise<string | null> {
  const place = toPlace(row);
  if (place !== undefined) return place === 'root' ? null : place;
  const key = await db.kysely
    .selectFrom('api_keys')
    .select('folder_id')
    .where('id', '=', row.created_by_key)
    .executeTakeFirst();
  return key?.folder_id ?? null;
}

/** A scope that the caller has, of those that operations take. */
function heldBy(caller: Caller): Scope & ('files:write' | 'files:delete') {
  const deletesOnly = caller.kind === 'apiKey' && !caller.scopes.includes('files:write');
  return deletesOnly && caller.scopes.includes('files:delete') ? 'files:delete' : 'files:write';
}
