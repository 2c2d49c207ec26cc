import { type Answer, type Input, maxWebhooks } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { seal } from '../../settings/secret-box.ts';
import { lockTree } from '../../tree/lock-tree.ts';
import { newWebhookSecret } from '../../webhooks/sign.ts';
import { holdOwner } from './hold-owner.ts';
import { requireDeliverable } from './require-deliverable.ts';
import { toWebhookView } from './webhook-view.ts';

/** Creates an endpoint, to which events are sent from now on. Only this answer and a rotation show a secret. */
export async function createWebhook(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'mail' | 'secret' | 'lookupHost' | 'now'>,
  caller: SessionCaller,
  { projectId, url, types, description, ordered }: Input<'createWebhook'>,
): Promise<Answer<'createWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  await requireProvenEmail(deps, caller);
  const target = await requireDeliverable(deps, url);
  const secret = newWebhookSecret();
  const at = deps.now();
  const row = await deps.db.transaction(async (trx) => {
    await holdOwner(trx, caller, project);
    // So that two requests at once do not both find room for the last one.
    if (!(await lockTree(trx, project.id))) throw new Problem('project_not_found');
    await requireLastingSession(trx, caller);
    const { count } = await trx
      .selectFrom('webhook_endpoints')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('project_id', '=', project.id)
      .executeTakeFirstOrThrow();
    if (count >= maxWebhooks) throw new Problem('too_many_webhooks');
    const created = await trx
      .insertInto('webhook_endpoints')
      .values({
        project_id: project.id,
        id: uuidv7({ msecs: at }),
        url: target,
        description,
        types,
        ordered,
        secret: seal(deps.secret, secret),
        created_by: caller.userId,
        created_at: new Date(at),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    const subject = { webhookId: created.id, url: toShown(target), types, ordered };
    await recordEvent(trx, at, { type: 'webhook.created', projectId: project.id, by: caller, subject });
    return created;
  });
  return { ...toWebhookView(row, at), secret };
}

/** A URL without its query, which may hold a token of the receiver. */
export function toShown(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
