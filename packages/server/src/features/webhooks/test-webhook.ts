import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { newEventId } from '../../events/record-event.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { enqueue } from '../../work/enqueue.ts';
import { lockWebhook, requireEnabled } from './find-webhook.ts';

/** Sends an event of type `webhook.test` to one endpoint, once. It has no number, and is not in the feed. */
export async function testWebhook(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id }: Input<'testWebhook'>,
): Promise<Answer<'testWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const at = deps.now();
  const eventId = newEventId(at);
  await deps.db.transaction(async (trx) => {
    requireEnabled(await lockWebhook(trx, project, id));
    const event = { event_id: eventId, seq: 0, type: 'webhook.test', at: new Date(at), due_at: new Date(at) } as const;
    await trx
      .insertInto('webhook_deliveries')
      .values({ project_id: project.id, endpoint_id: id, ...event })
      .execute();
    // Somebody is waiting for what becomes of it, most likely after mending the receiver.
    await trx
      .updateTable('webhook_endpoints')
      .set({ paused_until: null })
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .execute();
    await enqueue(trx, webhookWork, { projectId: project.id, id });
  });
  return { eventId };
}
