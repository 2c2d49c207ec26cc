import type { Deps } from '../../deps.ts';
import { findIssueTime } from '../../store/store-key.ts';
import { orphanedBefore } from './orphaned-before.ts';

/**
 * Those of a project's storeKeys whose objects nobody can record any more: issued long enough ago, without a file, and
 * not of an upload in parts that may still be completed. Keys that the service did not issue are never included; nor are any
 * while row-level security may hide files: behind a pooler, the statement does not fail. Nor before a restore has added the keys of
 * the tables, which it does once it has their rows.
 * @param before keys issued at or after this time can still be recorded (Unix milliseconds)
 */
export async function findOrphans(
  deps: Pick<Deps, 'config' | 'db' | 'now'>,
  projectId: string,
  storeKeys: readonly string[],
  before = orphanedBefore(deps),
): Promise<string[]> {
  const old = storeKeys.filter((key) => (findIssueTime(projectId, key) ?? Number.POSITIVE_INFINITY) < before);
  if (old.length === 0) return [];
  const { rows } = await deps.db.pool.query<{ store_key: string }>({
    name: 'find-orphans',
    text: `select store_key from unnest($2::text[]) as listed (store_key)
           where not (row_security_active('files') or row_security_active('uploads'))
             and to_regclass('files_store_key_key') is not null and to_regclass('uploads_store_key_key') is not null
             and not exists (select 1 from files where project_id = $1 and files.store_key = listed.store_key)
             and not exists (select 1 from uploads where project_id = $1 and uploads.store_key = listed.store_key
                               and aborted_at is null and completed_at is null)`,
    values: [projectId, old],
  });
  return rows.map(({ store_key }) => store_key);
}
