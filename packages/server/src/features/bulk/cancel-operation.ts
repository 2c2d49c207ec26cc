import type { Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { openOperation } from './open-operation.ts';
import { end, lockOperation, type OperationView, toOperationView } from './operation.ts';

/** Cancels a change of many files and folders, after the batch that is being done. What is done stays done. */
export async function cancelOperation(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { id }: Input<'cancelOperation'>,
): Promise<OperationView> {
  const { project, row } = await openOperation(deps, caller, id);
  return changeTree(deps, project, async (trx) => {
    const current = await lockOperation(trx, row);
    if (!current) throw new Problem('operation_not_found');
    if (current.state !== 'running') return toOperationView(current);
    return toOperationView(await end(deps, trx, { ...current, state: 'cancelled' }));
  });
}
