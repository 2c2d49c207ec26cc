import { clockToleranceMilliseconds } from '../../clock-tolerance.ts';
import type { Deps } from '../../deps.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { longestPauseSeconds } from '../../webhooks/schedule.ts';
import { enqueueSql, notifyWorkSql } from '../../work/enqueue.ts';

/**
 * Makes due what a clock that was wrong has planned: a delivery that waits since an attempt that is still to come, or
 * without any attempt, and an endpoint that is left alone for longer than it can be.
 */
export async function endImpossiblePauses({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  const at = now() + clockToleranceMilliseconds;
  await db.pool.query(
    `with resumed as (
       update webhook_endpoints set paused_until = null where paused_until > $2 returning project_id, id
     ), hastened as (
       update webhook_deliveries set due_at = $3
       where state = 'pending' and due_at > $1 and (attempts = 0 or attempted_at > $1)
       returning project_id, endpoint_id
     ), asked as (
       ${enqueueSql({
         kind: webhookWork,
         from: `(select project_id, id::text as subject from resumed
                 union select project_id, endpoint_id::text from hastened) as wanted`,
       })}
     )
     ${notifyWorkSql({ kind: webhookWork, asked: 'asked' })}`,
    [new Date(at), new Date(at + longestPauseSeconds * 1000), new Date(now())],
  );
}
