import type { ApiKeyList, ListApiKeysQuery } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { toApiKeyView } from './api-key-view.ts';
import { selectManageableKeys } from './manageable-keys.ts';

/** The keys that the caller can manage, the oldest first; with `projectId`, only those of that project. */
export async function listApiKeys(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId }: z.output<typeof ListApiKeysQuery>,
): Promise<z.output<typeof ApiKeyList>> {
  let keys = selectManageableKeys(deps.db.kysely, caller);
  if (projectId !== undefined) {
    const project = await openProject(deps, caller, projectId, 'keys:manage');
    keys = keys.where('project_id', '=', project.id);
  }
  const rows = await keys.selectAll().orderBy('id').execute();
  return { apiKeys: rows.map(toApiKeyView) };
}
