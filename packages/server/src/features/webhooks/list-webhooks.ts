import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { toWebhookView } from './webhook-view.ts';

/** The endpoints of a project, the latest first. */
export async function listWebhooks(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId }: Input<'listWebhooks'>,
): Promise<Answer<'listWebhooks'>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const rows = await deps.db.kysely
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('project_id', '=', project.id)
    .orderBy('id', 'desc')
    .execute();
  return { webhooks: rows.map((row) => toWebhookView(row, deps.now())) };
}
