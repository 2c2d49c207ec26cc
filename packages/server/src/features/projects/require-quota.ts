import type { SessionCaller } from '../../access/caller.ts';
import { isServiceOwner } from '../../access/service-owner.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/** The largest quota that the caller can give a project (`PROJECT_QUOTA_BYTES`); null where they can give any, or none. */
export async function findQuotaCap(deps: Pick<Deps, 'config' | 'db'>, caller: SessionCaller): Promise<number | null> {
  const { projectQuotaBytes } = deps.config;
  return projectQuotaBytes === undefined || (await isServiceOwner(deps, caller)) ? null : projectQuotaBytes;
}

/**
 * @param cap of `findQuotaCap`
 * @param present what the project has; whatever is no more than that can be given, too
 * @throws Problem owner_required
 */
export function requireQuota(cap: number | null, quotaBytes: number | null, present?: number | null): void {
  const isAtMost = (limit: number | null) => limit === null || (quotaBytes !== null && quotaBytes <= limit);
  if (isAtMost(cap) || (present !== undefined && isAtMost(present))) return;
  throw new Problem(
    'owner_required',
    `A project has a quota of at most ${cap} bytes; only the owner of the service gives one more, or none.`,
  );
}
