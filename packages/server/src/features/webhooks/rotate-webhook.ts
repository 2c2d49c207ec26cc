import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { seal, unseal } from '../../settings/secret-box.ts';
import { newWebhookSecret } from '../../webhooks/sign.ts';
import { lockWebhook } from './find-webhook.ts';
import { holdOwner } from './hold-owner.ts';
import { toWebhookView } from './webhook-view.ts';

/**
 * Gives an endpoint a new secret. The one before signs as well for `overlapSeconds`, if it can still be read; an older one no
 * longer does.
 */
export async function rotateWebhook(
  deps: Pick<Deps, 'db' | 'access' | 'mail' | 'secret' | 'now'>,
  caller: SessionCaller,
  { projectId, id, overlapSeconds: wanted }: Input<'rotateWebhook'>,
): Promise<Answer<'rotateWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  await requireProvenEmail(deps, caller);
  const secret = newWebhookSecret();
  const at = deps.now();
  const rotated = await deps.db.transaction(async (trx) => {
    await holdOwner(trx, caller, project);
    const before = await lockWebhook(trx, project, id);
    await requireLastingSession(trx, caller);
    const overlapSeconds = canOpen(deps.secret, before.secret) ? wanted : 0;
    const row = await trx
      .updateTable('webhook_endpoints')
      .set({
        secret: seal(deps.secret, secret),
        old_secret: overlapSeconds > 0 ? before.secret : null,
        old_secret_until: overlapSeconds > 0 ? new Date(at + overlapSeconds * 1000) : null,
      })
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const subject = { webhookId: id, overlapSeconds };
    await recordEvent(trx, at, { type: 'webhook.rotated', projectId: project.id, by: caller, subject });
    return row;
  });
  return { ...toWebhookView(rotated, at), secret };
}

function canOpen(secret: string, sealed: string): boolean {
  try {
    unseal(secret, sealed);
    return true;
  } catch {
    // CADIZ_SECRET has changed, which is why it is rotated. Kept, it would keep the new one from signing.
    return false;
  }
}
