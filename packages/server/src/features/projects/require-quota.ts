import type { SessionCaller } from '../../access/caller.ts';
import { isServiceOwner } from '../../access/service-owner.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/** The largest quota that the caller can set (`PROJECT_QUOTA_BYTES`); null if they can set any or none. */
export async function findQuotaCap(deps: Pick<Deps, 'config' | 'db'>, caller: SessionCaller): Promise<number | null> {
  const { projectQuotaBytes } = deps.config;
  return projectQuotaBytes === undefined || (await isServiceOwner(deps, caller)) ? null : projectQuotaBytes;
}

/**
 * @param cap from `findQuotaCap`
 * @param present the project's current quota; the caller can also keep or lower it
 * @throws Problem owner_required
 */
export function requireQuota(cap: number | null, quotaBytes: number | null, present?: number | null): void {
  const isAtMost = (limit: number | null) => limit === null || (quotaBytes !== null && quotaBytes <= limit);
  if (isAtMost(cap) || (present !== undefined && isAtMost(present))) return;
  throw new Problem(
    'owner_required',
    `A project can have a quota of at most ${cap} bytes; only the owner of the service can set a larger one, or none.`,
  );
}
