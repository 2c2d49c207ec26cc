import type { ApiKeyList, ListApiKeysQuery } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { whereActive } from './active-key.ts';
import { toApiKeyView } from './api-key-view.ts';
import { selectManageableKeys } from './manageable-keys.ts';

/** There can be any number of keys that are revoked or expired, since their rows are kept. */
const mostEnded = 1000;

/**
 * The keys that the caller can manage, the oldest first; with `projectId`, only those of that project. Of keys that are revoked or
 * expired, only the newest.
 */
export async function listApiKeys(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId }: z.output<typeof ListApiKeysQuery>,
): Promise<z.output<typeof ApiKeyList>> {
  let keys = selectManageableKeys(deps.db.kysely, caller);
  if (projectId !== undefined) {
    const project = await openProject(deps, caller, projectId, 'keys:manage');
    keys = keys.where('project_id', '=', project.id);
  }
  const isActive = whereActive(deps.now());
  const ended = keys
    .where((key) => key.not(isActive(key)))
    .select('id')
    .orderBy('id', 'desc')
    .limit(mostEnded);
  const rows = await keys
    .where((key) => key.or([isActive(key), key('id', 'in', ended)]))
    .selectAll()
    .orderBy('id')
    .execute();
  return { apiKeys: rows.map(toApiKeyView) };
}
