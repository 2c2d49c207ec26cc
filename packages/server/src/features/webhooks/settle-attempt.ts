import { type Selectable, sql, type UpdateObject } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import type { Posted } from '../../webhooks/post.ts';
import { attemptsAtMost, toPause, toWait } from '../../webhooks/schedule.ts';
import { tellOwners } from './failure-mail.ts';
import type { WebhookRow } from './webhook-view.ts';

/** After this long without a success, an endpoint is disabled. */
const disabledAfterMilliseconds = 5 * 86_400_000;

/** The receiver has said that it wants no more deliveries. */
const gone = 410;

/** At this failed attempt of a delivery, its owners are told. */
const toldAtAttempt = 4;

/** A delivery that is due. */
export type DueDelivery = Selectable<Schema['webhook_deliveries']>;

/** An attempt, and when it was made in Unix milliseconds. */
type Attempted = Posted & { at: number };

type SettleDeps = Pick<Deps, 'db' | 'config' | 'mail' | 'webhookMails' | 'log' | 'now'>;

/**
 * Writes down what became of an attempt: the delivery is done, due again, or has failed for good; its endpoint may have to wait,
 * or be disabled.
 * @returns whether the endpoint gets more at once
 */
export async function settleAttempt(
  deps: SettleDeps,
  endpoint: WebhookRow,
  delivery: DueDelivery,
  attempted: Attempted,
): Promise<boolean> {
  const { status } = attempted;
  if (status !== undefined && status >= 200 && status <= 299) {
    await write(deps, delivery, attempted, { state: 'delivered', due_at: delivery.due_at });
    if (endpoint.first_failure_at) await forgetFailures(deps, endpoint);
    return true;
  }
  const attempts = delivery.attempts + 1;
  const wait = delivery.seq === 0 ? undefined : toWait({ ...attempted, attempts });
  const due_at = wait === undefined ? delivery.due_at : new Date(deps.now() + wait * 1000);
  await write(deps, delivery, attempted, { state: wait === undefined ? 'failed' : 'pending', due_at });
  // There is no next attempt of a test to wait for, and days may go by until something happens.
  if (delivery.seq === 0 && status !== gone) return true;
  return noteFailure(deps, endpoint, attempted, { attempts, wait });
}

async function write(
  { db }: SettleDeps,
  { endpoint_id, event_id, attempts }: DueDelivery,
  { status, durationMilliseconds, answer, error, at }: Attempted,
  next: Pick<DueDelivery, 'state' | 'due_at'>,
): Promise<void> {
  await db.kysely
    .updateTable('webhook_deliveries')
    .set({
      ...next,
      attempts: attempts + 1,
      attempted_at: new Date(at),
      status: status ?? null,
      duration_ms: durationMilliseconds,
      answer: status === undefined ? null : answer,
      error: error ?? null,
    })
    .where('endpoint_id', '=', endpoint_id)
    .where('event_id', '=', event_id)
    // Another process may have taken over, or a replay may have begun anew.
    .where('state', '=', 'pending')
    .where('attempts', '=', attempts)
    .execute();
}

async function forgetFailures(deps: SettleDeps, endpoint: WebhookRow): Promise<void> {
  await update(deps, endpoint, { first_failure_at: null, failure_told: false, paused_until: null });
}

/** @returns whether the endpoint gets more at once */
async function noteFailure(
  deps: SettleDeps,
  endpoint: WebhookRow,
  { status, at }: Attempted,
  { attempts, wait }: { attempts: number; wait: number | undefined },
): Promise<boolean> {
  const isGone = status === gone;
  const longAgo = new Date(at - disabledAfterMilliseconds);
  if (isGone || (endpoint.first_failure_at && endpoint.first_failure_at <= longAgo)) {
    const disabling: UpdateObject<Schema, 'webhook_endpoints'> = {
      first_failure_at: firstFailure(at),
      enabled: false,
      disabled_at: new Date(at),
      disabled_reason: isGone ? 'gone' : 'failing',
    };
    const isOurs = await update(deps, endpoint, disabling, isGone ? undefined : longAgo);
    if (isOurs) await tellOwners(deps, endpoint, isGone ? 'gone' : 'disabled');
    return false;
  }
  const pause = toPause({ status }, wait);
  const isToBeTold = attempts >= toldAtAttempt && attempts < attemptsAtMost && !endpoint.failure_told;
  const isOurs = await update(deps, endpoint, {
    first_failure_at: firstFailure(at),
    ...(pause > 0 && { paused_until: new Date(at + pause * 1000) }),
    ...(isToBeTold && { failure_told: true }),
  });
  if (isToBeTold && isOurs) await tellOwners(deps, endpoint, 'failing');
  return isOurs && pause === 0 && !endpoint.ordered;
}

/** Decided by the row: while the attempt ran, somebody may have enabled the endpoint again, which begins anew. */
const firstFailure = (at: number) => sql<Date>`coalesce(first_failure_at, ${new Date(at)})`;

/**
 * Unless somebody has disabled it or changed its URL in the meantime. Then this turn is over, and another one looks at it anew.
 * @param failingSince changes it only if it has failed since then or for longer
 * @returns whether it was changed
 */
async function update(
  { db }: SettleDeps,
  endpoint: WebhookRow,
  change: UpdateObject<Schema, 'webhook_endpoints'>,
  failingSince?: Date,
): Promise<boolean> {
  let ours = db.kysely
    .updateTable('webhook_endpoints')
    .set(change)
    .where('project_id', '=', endpoint.project_id)
    .where('id', '=', endpoint.id)
    .where('enabled', '=', true)
    .where('url', '=', endpoint.url);
  if (failingSince) ours = ours.where('first_failure_at', '<=', failingSince);
  const changed = await ours.returningAll().executeTakeFirst();
  Object.assign(endpoint, changed ?? { enabled: false });
  return changed !== undefined;
}
