import type { Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { openOperation } from './open-operation.ts';
import { findGivenUp, type OperationView, toOperationView } from './operation.ts';

/** The progress of a change of many files and folders. */
export async function getOperation(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { id }: Input<'getOperation'>,
): Promise<OperationView> {
  const { row } = await openOperation(deps, caller, id);
  return toOperationView(row, await findGivenUp(deps, row));
}
