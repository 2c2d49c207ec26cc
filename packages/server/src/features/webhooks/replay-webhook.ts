import { type Answer, type Input, maxReplayed } from '@cadiz/contract';
import { type RawBuilder, sql } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { enqueue } from '../../work/enqueue.ts';
import { lockWebhook, requireEnabled } from './find-webhook.ts';
import type { WebhookRow } from './webhook-view.ts';

interface Chosen {
  events: number;
  next: Date | null;
}

/**
 * Delivers events to an endpoint again, or for the first time, each under its own id. There is one delivery for each event
 * and endpoint, which starts anew: asking twice at once sends nothing twice.
 */
export async function replayWebhook(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id, dryRun, ...asked }: Input<'replayWebhook'>,
): Promise<Answer<'replayWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const { events, next } = await deps.db.transaction(async (trx) => {
    const endpoint = await lockWebhook(trx, project, id);
    requireEnabled(endpoint);
    // One more than are taken shows whether there are more, and where.
    const chosen = sql`
      with found as materialized (
        select event.id, event.seq, event.type, event.at, row_number() over (order by event.at, event.seq) as n
        from events as event where event.project_id = ${project.id} and ${whereAsked(endpoint, asked)}
        order by event.at, event.seq limit ${maxReplayed + 1}
      ), chosen as (select * from found where n <= ${maxReplayed})`;
    const result = sql`
      select (select count(*) from chosen)::int as events, (select at from found where n > ${maxReplayed}) as next`;
    const { rows } = dryRun
      ? await sql<Chosen>`${chosen} ${result}`.execute(trx)
      : await sql<Chosen>`${chosen}, written as (
          insert into webhook_deliveries as known (project_id, endpoint_id, event_id, seq, type, at, due_at)
          select ${project.id}, ${id}::uuid, id, seq, type, at, ${new Date(deps.now())} from chosen
          on conflict (endpoint_id, event_id) do update
            set state = 'pending', due_at = excluded.due_at,
                attempts = case when known.state = 'pending' then known.attempts else 0 end
        ) ${result}`.execute(trx);
    if (!dryRun) await enqueue(trx, webhookWork, { projectId: project.id, id });
    return rows[0] ?? { events: 0, next: null };
  });
  return { events, next: next?.toISOString() ?? null };
}

/**
 * The events that are asked for, in SQL. An id begins with the time of its event, by which there is an index. Some ids of
 * earlier versions do not: what was delivered under them is found by its delivery.
 */
function whereAsked(
  { project_id: projectId, id, types, created_at: createdAt }: WebhookRow,
  { from, to, eventIds, failedSince }: Omit<Input<'replayWebhook'>, 'projectId' | 'id' | 'dryRun'>,
): RawBuilder<unknown> {
  if (eventIds) {
    return sql`event.seq in (
      select dated.seq from unnest(${eventIds}::uuid[]) as asked join events as dated on dated.project_id = ${projectId}
        and dated.at = to_timestamp(('x' || lpad(left(replace(asked::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
        and dated.id = asked
      union
      select known.seq from webhook_deliveries as known
      where known.endpoint_id = ${id} and known.event_id = any(${eventIds}::uuid[]))`;
  }
  const since = new Date(from ?? failedSince ?? 0);
  const until = to === undefined ? sql`true` : sql`event.at < ${new Date(to)}`;
  const wanted = types === null ? sql`true` : sql`event.type = any(${types}::text[])`;
  const missed =
    failedSince === undefined
      ? sql`true`
      : sql`coalesce(
          (select known.state = 'failed' from webhook_deliveries as known
            where known.endpoint_id = ${id} and known.event_id = event.id),
          event.at >= ${createdAt})`;
  return sql`event.at >= ${since} and ${until} and ${wanted} and ${missed}`;
}
