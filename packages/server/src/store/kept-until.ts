import type { Deps } from '../deps.ts';
import { findIssueTime } from './store-key.ts';

/**
 * Until when an upload is kept even though its row says that nobody needs it: JANITOR_MARGIN_SECONDS after its store key was issued.
 * After the restore of a database that is older than the object store, what was recorded since is in rows that are gone.
 * Unix milliseconds.
 */
export function keptUntil(
  { config }: Pick<Deps, 'config'>,
  { project_id, store_key }: { project_id: string; store_key: string },
): number {
  return (findIssueTime(project_id, store_key) ?? 0) + config.janitorMarginSeconds * 1000;
}
