import type { Deps } from '../../deps.ts';
import { findIssueTime } from '../../store/store-key.ts';

/**
 * Removes objects that have no row; returns how many it removed. Objects that the store fails to remove are remembered,
 * and tried again at each sweep.
 * @throws Problem store_unavailable
 */
export async function removeObjects(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  projectId: string,
  storeKeys: readonly string[],
): Promise<number> {
  if (storeKeys.length === 0) return 0;
  const failed = await deps.objects.remove(storeKeys);
  if (failed.length > 0) await remember(deps, projectId, failed);
  return storeKeys.length - failed.length;
}

async function remember(
  { db, now, log }: Pick<Deps, 'db' | 'log' | 'now'>,
  projectId: string,
  failed: { storeKey: string; reason: string }[],
): Promise<void> {
  const at = new Date(now());
  log.warn({ projectId, count: failed.length, first: failed[0] }, 'The object store would not remove objects');
  await db.kysely
    .insertInto('stuck_orphans')
    .values(
      failed.map(({ storeKey, reason }) => ({
        project_id: projectId,
        store_key: storeKey,
        issued_at: new Date(findIssueTime(projectId, storeKey) ?? at.getTime()),
        found_at: at,
        reason,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'store_key']).doUpdateSet((set) => ({ reason: set.ref('excluded.reason') })),
    )
    .execute();
}
