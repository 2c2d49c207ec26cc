import type { Answer, Input } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { createIdPages } from '../../db/id-pages.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { findWebhook } from './find-webhook.ts';

const defaultLimit = 100;
const pages = createIdPages('deliveries', 'is not a nextCursor for the deliveries of this endpoint');

/** The deliveries of an endpoint, those of the latest events first. */
export async function listDeliveries(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId, id, state, limit = defaultLimit, cursor }: Input<'listDeliveries'>,
): Promise<Answer<'listDeliveries'>> {
  const before = pages.readCursor(cursor, id);
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const endpoint = await findWebhook(deps.db.kysely, project, id);
  let deliveries = deps.db.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .select('event_id as id')
    .where('endpoint_id', '=', endpoint.id);
  if (state !== undefined) deliveries = deliveries.where('state', '=', state);
  if (before !== undefined) deliveries = deliveries.where('event_id', '<', before);
  const rows = await deliveries
    .orderBy('event_id', 'desc')
    .limit(limit + 1)
    .execute();
  const { page, nextCursor } = pages.toPage(rows, limit, id);
  return { deliveries: page.map(toDeliveryView), nextCursor };
}

function toDeliveryView(row: Selectable<Schema['webhook_deliveries']>): Answer<'listDeliveries'>['deliveries'][number] {
  return {
    eventId: row.event_id,
    seq: row.seq,
    type: row.type,
    at: row.at.toISOString(),
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.state === 'pending' ? row.due_at.toISOString() : null,
    lastAttemptAt: row.attempted_at?.toISOString() ?? null,
    status: row.status,
    durationMilliseconds: row.duration_ms,
    answer: row.answer,
    error: row.error,
  };
}
