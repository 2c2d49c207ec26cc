import type { Scope } from '@cadiz/contract';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

declare const opened: unique symbol;

/** Proof that the caller may work in this project. `openProject` is its only source, and every query asks for one. */
export interface OpenProject {
  readonly id: string;
  readonly [opened]: true;
}

/** So long may a removed membership still be believed. */
export const accessCacheMilliseconds = 10_000;

/** Which user reaches which project: only what was found is remembered, so a new membership counts at once. */
export interface Reach {
  find(userId: string, projectId: string): Promise<boolean> | boolean;
  forgetProject(projectId: string): void;
}

export function createReach(pool: pg.Pool, now: () => number): Reach {
  const known = new LRUCache<string, number>({ max: 100_000 });
  let removals = 0;
  const ask = async (userId: string, projectId: string): Promise<boolean> => {
    const removalsBefore = removals;
    const { rowCount } = await pool.query({
      name: 'reach',
      text: 'select 1 from project_members where project_id = $1 and user_id = $2',
      values: [projectId, userId],
    });
    // A project that was deleted while this query ran must not come to life again in the cache.
    if (rowCount === 1 && removals === removalsBefore) known.set(projectId + userId, now() + accessCacheMilliseconds);
    return rowCount === 1;
  };
  return {
    find: (userId, projectId) => {
      const until = known.get(projectId + userId);
      return until !== undefined && until > now() ? true : ask(userId, projectId);
    },
    forgetProject: (projectId) => {
      removals += 1;
      for (const key of known.keys()) if (key.startsWith(projectId)) known.delete(key);
    },
  };
}

/**
 * Checks that the caller may do this in this project.
 * @throws Problem scope_missing, project_not_allowed (a key that is tied to another project),
 *   project_not_found (absent and foreign projects alike)
 */
export async function openProject(deps: Deps, caller: Caller, projectId: string, scope: Scope): Promise<OpenProject> {
  requireScope(caller, scope);
  if (caller.kind === 'apiKey' && caller.projectId !== null) {
    if (caller.projectId !== projectId) throw new Problem('project_not_allowed');
    return { id: projectId } as OpenProject;
  }
  const userId = caller.kind === 'session' ? caller.userId : caller.createdBy;
  const found = deps.reach.find(userId, projectId);
  if (!(found === true || (await found))) throw new Problem('project_not_found');
  return { id: projectId } as OpenProject;
}

/** @throws Problem scope_missing */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.kind === 'session' || caller.scopes.includes(scope)) return;
  throw new Problem('scope_missing', `The API key lacks the scope ${scope}.`);
}
