import type { Deps } from '../../deps.ts';
import { type EventRow, eventColumns } from '../../events/event-json.ts';
import { unseal } from '../../settings/secret-box.ts';
import type { AttemptOutcome } from '../../telemetry/observed.ts';
import { version } from '../../telemetry/version.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { toPayload } from '../../webhooks/payload.ts';
import { type Posted, post } from '../../webhooks/post.ts';
import { longestWaitSeconds } from '../../webhooks/schedule.ts';
import { toSignedHeaders } from '../../webhooks/sign.ts';
import type { Kind, Outcome, Task } from '../../work/work.ts';
import { type DueDelivery, settleAttempt } from './settle-attempt.ts';
import type { WebhookRow } from './webhook-view.ts';

type DeliverDeps = Pick<
  Deps,
  'db' | 'config' | 'secret' | 'lookupHost' | 'mail' | 'webhookMails' | 'log' | 'now' | 'onAttempt'
>;

/** Each endpoint that has its turn sends one delivery at least, whatever the others do. */
const endpointsAtOnce = 32;
/** What endpoints with more to send share besides: 64 in all. */
const spareAtOnce = 32;
const atOnceForOne = 4;

/** How many deliveries one turn of an endpoint takes on, and for how long it begins more. */
const turnDeliveries = 50;
const turnMilliseconds = 10_000;

/** How many rows one statement ends or deletes. */
const endedAtOnce = 1000;

/**
 * Delivers what is due, an endpoint at a time: the lease of this work makes one process at most send to an endpoint, so
 * that order and the number at once hold over all processes.
 */
export function createWebhookWork(deps: DeliverDeps): Kind {
  const spare = { left: spareAtOnce };
  return {
    name: webhookWork,
    atOnce: endpointsAtOnce,
    longestWaitSeconds,
    run: (task, signal) => takeTurn(deps, task, spare, signal),
  };
}

async function takeTurn(
  deps: DeliverDeps,
  { projectId, id }: Task,
  spare: { left: number },
  signal: AbortSignal,
): Promise<Outcome> {
  const endpoint = await readEndpoint(deps, projectId, id);
  if (!endpoint) return (await deleteDeliveries(deps, id)) === endedAtOnce ? { again: 0 } : undefined;
  if (!endpoint.enabled) return (await endDeliveries(deps, endpoint)) === endedAtOnce ? { again: 0 } : undefined;
  const paused = (endpoint.paused_until?.getTime() ?? 0) - deps.now();
  if (paused > 0) return { again: paused / 1000 };
  const due = await readDue(deps, endpoint);
  const end = performance.now() + turnMilliseconds;
  let isOver = false;
  const sendOn = async () => {
    while (!isOver && performance.now() < end) {
      signal.throwIfAborted();
      const delivery = due.shift();
      if (!delivery) return;
      const goesOn = await attempt(deps, endpoint, delivery);
      isOver ||= !goesOn;
    }
  };
  await runSideBySide(sendOn, widthOf(endpoint, due.length), spare);
  // What became of an attempt may have disabled it: then the rest has failed as well.
  if (!endpoint.enabled) return { again: 0 };
  return whenAgain(deps, endpoint);
}

/** An endpoint that fails gets one at a time until it has taken one. */
function widthOf({ ordered, first_failure_at }: WebhookRow, due: number): number {
  return ordered || first_failure_at ? 1 : Math.min(atOnceForOne, due);
}

async function runSideBySide(run: () => Promise<void>, width: number, spare: { left: number }): Promise<void> {
  const more = Math.max(0, Math.min(width - 1, spare.left));
  spare.left -= more;
  try {
    const runs = await Promise.allSettled(Array.from({ length: 1 + more }, run));
    const failed = runs.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
  } finally {
    spare.left += more;
  }
}

function readEndpoint({ db }: DeliverDeps, projectId: string, id: string): Promise<WebhookRow | undefined> {
  return db.kysely
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** What is due now; of an ordered endpoint, the first of what is pending, if that is due. */
async function readDue({ db, now }: DeliverDeps, { id, ordered }: WebhookRow): Promise<DueDelivery[]> {
  const pending = db.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('endpoint_id', '=', id)
    .where('state', '=', 'pending');
  const at = new Date(now());
  if (!ordered)
    return pending.where('due_at', '<=', at).orderBy('due_at').orderBy('seq').limit(turnDeliveries).execute();
  const first = await pending.orderBy('seq').limit(turnDeliveries).execute();
  const waiting = first.findIndex(({ due_at }) => due_at > at);
  return waiting === -1 ? first : first.slice(0, waiting);
}

/** When there is something to do again; undefined if nothing is pending. */
async function whenAgain({ db, now }: DeliverDeps, { id, ordered }: WebhookRow): Promise<Outcome> {
  const next = await db.kysely
    .selectFrom('webhook_deliveries')
    .select('due_at')
    .where('endpoint_id', '=', id)
    .where('state', '=', 'pending')
    .orderBy(ordered ? 'seq' : 'due_at')
    .limit(1)
    .executeTakeFirst();
  return next && { again: Math.max(0, (next.due_at.getTime() - now()) / 1000) };
}

/** @returns whether the endpoint gets more in this turn */
async function attempt(deps: DeliverDeps, endpoint: WebhookRow, delivery: DueDelivery): Promise<boolean> {
  const body = await readBody(deps, delivery);
  const at = deps.now();
  const secrets = openSecrets(deps, endpoint, at);
  const posted =
    body === undefined || secrets === undefined
      ? unsent(body === undefined ? eventGone : secretUnreadable)
      : await post(endpoint.url, toHeaders({ id: delivery.event_id, at, body }, secrets), body, {
          lookup: deps.lookupHost,
          allowed: deps.config.webhookAllowNetworks,
        });
  deps.onAttempt(toOutcome(posted), posted.durationMilliseconds / 1000);
  return settleAttempt(deps, endpoint, delivery, { ...posted, at });
}

function toOutcome({ status }: Posted): AttemptOutcome {
  if (status === undefined) return 'unanswered';
  return status >= 200 && status < 300 ? 'delivered' : 'refused';
}

/** EVENT_RETENTION_DAYS is shorter than the retries of a delivery. */
const eventGone = 'The event is no longer kept.';
const secretUnreadable = 'The secret cannot be read, since CADIZ_SECRET has changed. Rotate it.';

function unsent(error: string): Posted {
  return { status: undefined, retryAfter: undefined, answer: '', error, durationMilliseconds: 0 };
}

async function readBody({ db }: DeliverDeps, delivery: DueDelivery): Promise<string | undefined> {
  const { project_id, event_id, seq, type, at } = delivery;
  const nobody = { user_id: null, api_key_id: null, ticket_id: null };
  if (seq === 0) return toPayload({ project_id, id: event_id, seq, type, at, ...nobody, data: '{}' });
  const { rows } = await db.pool.query<EventRow>({
    name: 'event-to-deliver',
    text: `select ${eventColumns} from events where project_id = $1 and seq = $2`,
    values: [project_id, seq],
  });
  return rows[0] && toPayload(rows[0]);
}

/** @returns undefined if they were sealed with another secret of the service */
function openSecrets({ secret, log }: DeliverDeps, endpoint: WebhookRow, at: number): string[] | undefined {
  const { old_secret, old_secret_until: until } = endpoint;
  const isOverlapping = old_secret !== null && until !== null && until.getTime() > at;
  try {
    return [endpoint.secret, ...(isOverlapping ? [old_secret] : [])].map((sealed) => unseal(secret, sealed));
  } catch (error) {
    log.warn({ error, projectId: endpoint.project_id, webhookId: endpoint.id }, secretUnreadable);
    return undefined;
  }
}

function toHeaders(signed: Parameters<typeof toSignedHeaders>[0], secrets: readonly string[]): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': `Cadiz/${version}`,
    ...toSignedHeaders(signed, secrets),
  };
}

/** What is pending when an endpoint is disabled has failed; not what comes once somebody has enabled it again since it was read. */
async function endDeliveries({ db }: DeliverDeps, { project_id, id }: WebhookRow): Promise<number> {
  const { rowCount } = await db.pool.query(
    `update webhook_deliveries set state = 'failed', error = 'The endpoint was disabled.'
     where (endpoint_id, event_id) in (
       select endpoint_id, event_id from webhook_deliveries where endpoint_id = $1 and state = 'pending'
         and exists (select from webhook_endpoints where project_id = $3 and id = $1 and not enabled) limit $2)`,
    [id, endedAtOnce, project_id],
  );
  return rowCount ?? 0;
}

/** Deletes deliveries of an endpoint that is gone. */
async function deleteDeliveries({ db }: DeliverDeps, endpointId: string): Promise<number> {
  const { rowCount } = await db.pool.query(
    `delete from webhook_deliveries where (endpoint_id, event_id) in (
       select endpoint_id, event_id from webhook_deliveries where endpoint_id = $1 limit $2)`,
    [endpointId, endedAtOnce],
  );
  return rowCount ?? 0;
}
