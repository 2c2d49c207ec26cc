import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { keepUser } from '../../db/keep-rows.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { webhookWork } from '../../webhooks/delivery-sql.ts';
import { enqueue } from '../../work/enqueue.ts';
import { toShown } from './create-webhook.ts';
import { lockWebhook } from './find-webhook.ts';
import { holdOwner } from './hold-owner.ts';
import { requireDeliverable } from './require-deliverable.ts';
import { toWebhookView, type WebhookRow } from './webhook-view.ts';

/**
 * Changes an endpoint, or disables or enables it. A disabled one gets nothing: what is pending fails, and what happens is
 * not kept for it, but a replay delivers both. Another URL requires what creating an endpoint does.
 */
export async function changeWebhook(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'mail' | 'lookupHost' | 'now'>,
  caller: SessionCaller,
  { projectId, id, ...change }: Input<'changeWebhook'>,
): Promise<Answer<'changeWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  if (change.url !== undefined) await requireProvenEmail(deps, caller);
  const url = change.url === undefined ? undefined : await requireDeliverable(deps, change.url);
  const at = deps.now();
  const changed = await deps.db.transaction(async (trx) => {
    if (url === undefined) await keepUser(trx, caller.userId);
    else await holdOwner(trx, caller, project);
    const before = await lockWebhook(trx, project, id);
    if (url !== undefined) await requireLastingSession(trx, caller);
    const row = await trx
      .updateTable('webhook_endpoints')
      .set({
        url: url ?? before.url,
        types: change.types === undefined ? before.types : change.types,
        description: change.description === undefined ? before.description : change.description,
        ordered: change.ordered ?? before.ordered,
        // It is somebody else's fault, or mended: it is tried at once.
        paused_until: null,
        // What another URL has failed to do is not held against this one.
        ...(url !== undefined && url !== before.url && unfailed),
        ...toEnabled(before, change.enabled, new Date(at)),
      })
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const { types, ordered, enabled } = row;
    const subject = { webhookId: id, url: toShown(row.url), types, ordered, enabled };
    await recordEvent(trx, at, { type: 'webhook.updated', projectId: project.id, by: caller, subject });
    await enqueue(trx, webhookWork, { projectId: project.id, id });
    return row;
  });
  return toWebhookView(changed, at);
}

const unfailed = { first_failure_at: null, failure_told: false };

function toEnabled(before: WebhookRow, enabled: boolean | undefined, at: Date): Partial<WebhookRow> {
  if (enabled === undefined || enabled === before.enabled) return {};
  if (!enabled) return { enabled: false, disabled_at: at };
  return { enabled: true, disabled_at: null, disabled_reason: null, ...unfailed };
}
