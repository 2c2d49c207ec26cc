import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { findWebhook } from './find-webhook.ts';
import { toWebhookView } from './webhook-view.ts';

/** One endpoint, without its secret. */
export async function getWebhook(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id }: Input<'getWebhook'>,
): Promise<Answer<'getWebhook'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  return toWebhookView(await findWebhook(deps.db.kysely, project, id), deps.now());
}
