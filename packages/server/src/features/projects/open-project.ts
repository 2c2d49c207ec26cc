import type { ErrorCode, Role, Scope } from '@cadiz/contract';
import type pg from 'pg';
import type { Caller, Deps } from '../../deps.ts';
import { createFoundCache, type FoundCache } from '../../found-cache.ts';
import { Problem } from '../../problem.ts';

declare const opened: unique symbol;

/** Proof that the caller may work in this project. `openProject` is its only source, and every query asks for one. */
export interface OpenProject {
  readonly id: string;
  /**
   * The folder that the caller's key is tied to; null for everybody else. What does not lie in it is not there for the
   * caller: `isWithin` and `whereWithin` say what does.
   */
  readonly within: string | null;
  readonly [opened]: true;
}

/** What somebody may do in a project: what a key can have as a scope, and what only people do. */
export type Right = Scope | 'keys:manage' | 'project:manage';

const filesOfEveryKind = ['files:read', 'files:write', 'files:delete'] as const;

const rightsOf: Record<Role, readonly Right[]> = {
  owner: [...filesOfEveryKind, 'keys:manage', 'project:manage'],
  editor: [...filesOfEveryKind, 'keys:manage'],
  viewer: ['files:read'],
};

/** The role that a user has in a project. */
export function createReach(pool: pg.Pool, now: () => number): FoundCache<Role> {
  return createFoundCache(async (projectId, userId) => {
    const { rows } = await pool.query<{ role: Role }>({
      name: 'reach',
      text: 'select role from project_members where project_id = $1 and user_id = $2',
      values: [projectId, userId],
    });
    return rows[0]?.role;
  }, now);
}

/**
 * Checks that the caller may do this in this project. Of a key, its scopes and the role that its creator has now.
 * @throws Problem scope_missing, project_not_allowed (a key that is tied to another project),
 *   project_not_found (absent and foreign projects alike; and where the folder is gone that a key is tied to), role_missing
 */
export async function openProject(deps: Deps, caller: Caller, projectId: string, right: Right): Promise<OpenProject> {
  requireScope(caller, right);
  const { project, role } = await reachProject(deps, caller, projectId);
  requireRole(role, right);
  return project;
}

/** Whose account a caller is: their own, or that of whoever made the key. */
export function userOf(caller: Caller): string {
  return caller.kind === 'session' ? caller.userId : caller.createdBy;
}

/** @throws Problem project_not_allowed, project_not_found */
async function reachProject(
  deps: Deps,
  caller: Caller,
  projectId: string,
): Promise<{ project: OpenProject; role: Role }> {
  if (caller.kind === 'apiKey' && caller.tied) {
    const { tied } = caller;
    if (tied.projectId !== projectId) throw new Problem('project_not_allowed');
    if (tied.folderId !== null) await requireOwnFolder(deps, projectId, tied.folderId);
    return { project: { id: projectId, within: tied.folderId } as OpenProject, role: tied.role };
  }
  const userId = userOf(caller);
  const found = deps.reach.find(projectId, userId);
  const role = found instanceof Promise ? await found : found;
  if (role === undefined) throw new Problem('project_not_found');
  return { project: { id: projectId, within: null } as OpenProject, role };
}

async function requireOwnFolder(deps: Deps, projectId: string, folderId: string): Promise<void> {
  const found = deps.folders.find(projectId, folderId);
  if (!(found === true || (await found))) throw new Problem('project_not_found');
}

/** @throws Problem role_missing */
export function requireRole(role: Role, right: Right): void {
  if (rightsOf[role].includes(right)) return;
  throw new Problem('role_missing', `The role ${role} does not allow this (${right}).`);
}

/**
 * The project of something that was found by its own id. Who may not work in it learns only that the thing is not there,
 * exactly as if it were not; so does a key that is tied to a folder where the thing does not lie.
 * @param isThere whether the thing is there for who works in the project, which is asked before what they may do
 * @throws Problem scope_missing, `notFound`, and role_missing for what is there
 */
export async function openProjectOf(
  deps: Deps,
  caller: Caller,
  projectId: string,
  right: Right,
  notFound: ErrorCode,
  isThere: (project: OpenProject) => boolean | Promise<boolean>,
): Promise<OpenProject> {
  requireScope(caller, right);
  const { project, role } = await reachProject(deps, caller, projectId).catch((error) => {
    throw error instanceof Problem && error.status < 500 ? new Problem(notFound) : error;
  });
  if (!(await isThere(project))) throw new Problem(notFound);
  requireRole(role, right);
  return project;
}

/** @throws Problem scope_missing */
export function requireScope(caller: Caller, right: Right): void {
  if (caller.kind === 'session' || caller.scopes.some((scope) => scope === right)) return;
  throw new Problem('scope_missing', `The API key lacks the scope ${right}.`);
}
