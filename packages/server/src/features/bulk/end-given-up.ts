import type { Deps } from '../../deps.ts';
import { lockTree } from '../../tree/lock-tree.ts';
import { maxAttempts } from '../../work/work.ts';
import { end, lockOperation, operationWork } from './operation.ts';

/** For how long an operation whose work was given up waits for the operator to retry it. */
const retryableMilliseconds = 24 * 3600_000;
const atOnce = 100;

/**
 * Ends the operations whose work was given up a day ago and has not been retried since, as failed: an event says what
 * they have done, and they go with those that have ended otherwise.
 * @param signal aborts between two of them
 * @throws the signal's reason
 */
export async function endGivenUp(deps: Pick<Deps, 'db' | 'now'>, signal: AbortSignal): Promise<void> {
  const given = await deps.db.kysely
    .selectFrom('work')
    .select(['project_id', 'subject as id'])
    .where('kind', '=', operationWork)
    .where('state', '=', 'dead')
    .where('due_at', '<', new Date(deps.now() - retryableMilliseconds))
    .limit(atOnce)
    .execute();
  for (const operation of given) {
    signal.throwIfAborted();
    await endOne(deps, operation);
  }
}

async function endOne(deps: Pick<Deps, 'db' | 'now'>, operation: { project_id: string; id: string }): Promise<void> {
  await deps.db.transaction(async (trx) => {
    if (!(await lockTree(trx, operation.project_id))) return;
    const row = await lockOperation(trx, operation);
    // Whoever retries it at this moment finds that it has ended.
    if (row?.state === 'running') {
      await end(deps, trx, {
        ...row,
        state: 'failed',
        problem_code: 'internal_error',
        problem_detail: `It failed ${maxAttempts} times and was given up: ${row.done} of ${row.total} are done and stay done. Send the request again for the rest.`,
      });
    }
    await trx
      .deleteFrom('work')
      .where('kind', '=', operationWork)
      .where('project_id', '=', operation.project_id)
      .where('subject', '=', operation.id)
      .where('state', '=', 'dead')
      .execute();
  });
}
