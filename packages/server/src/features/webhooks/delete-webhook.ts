import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { enqueue } from '../../work/enqueue.ts';
import { toShown } from './create-webhook.ts';
import { lockWebhook } from './find-webhook.ts';

/** Deletes an endpoint. Its deliveries, however many, go soon after. */
export async function deleteWebhook(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id }: Input<'deleteWebhook'>,
): Promise<Answer<'deleteWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  await deps.db.transaction(async (trx) => {
    const { url } = await lockWebhook(trx, project, id);
    await trx.deleteFrom('webhook_endpoints').where('project_id', '=', project.id).where('id', '=', id).execute();
    const subject = { webhookId: id, url: toShown(url) };
    await recordEvent(trx, deps.now(), { type: 'webhook.deleted', projectId: project.id, by: caller, subject });
    await enqueue(trx, webhookWork, { projectId: project.id, id });
  });
  return { id, deleted: true };
}
