import type { ErrorCode, Scope } from '@cadiz/contract';
import type pg from 'pg';
import type { Caller, Deps } from '../../deps.ts';
import { createFoundCache, type FoundCache } from '../../found-cache.ts';
import { Problem } from '../../problem.ts';

declare const opened: unique symbol;

/** Proof that the caller may work in this project. `openProject` is its only source, and every query asks for one. */
export interface OpenProject {
  readonly id: string;
  readonly [opened]: true;
}

/** Which user reaches which project. */
export function createReach(pool: pg.Pool, now: () => number): FoundCache {
  return createFoundCache(async (projectId, userId) => {
    const { rowCount } = await pool.query({
      name: 'reach',
      text: 'select 1 from project_members where project_id = $1 and user_id = $2',
      values: [projectId, userId],
    });
    return rowCount === 1;
  }, now);
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
  const found = deps.reach.find(projectId, userId);
  if (!(found === true || (await found))) throw new Problem('project_not_found');
  return { id: projectId } as OpenProject;
}

/**
 * The project of something that was found by its own id. Who may not work in it learns only that the thing is not there,
 * exactly as if it were not.
 * @throws Problem scope_missing, and `notFound` for everything else that openProject refuses
 */
export async function openProjectOf(
  deps: Deps,
  caller: Caller,
  projectId: string,
  scope: Scope,
  notFound: ErrorCode,
): Promise<OpenProject> {
  requireScope(caller, scope);
  try {
    return await openProject(deps, caller, projectId, scope);
  } catch (error) {
    throw error instanceof Problem && error.status < 500 ? new Problem(notFound) : error;
  }
}

/** @throws Problem scope_missing */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.kind === 'session' || caller.scopes.includes(scope)) return;
  throw new Problem('scope_missing', `The API key lacks the scope ${scope}.`);
}
