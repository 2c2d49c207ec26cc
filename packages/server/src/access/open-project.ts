import type { ErrorCode, Role, Scope } from '@cadiz/contract';
import type pg from 'pg';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { Caller } from './caller.ts';
import { userOf } from './caller.ts';
import { createFoundCache, type FoundCache } from './found-cache.ts';

/** A project that the caller can reach, whatever their rights there. */
export interface ReachedProject {
  readonly id: string;
  /**
   * The folder that the caller's key is tied to; null for every other caller. Nothing outside it exists for the caller:
   * see `isWithin` and `whereWithin`.
   */
  readonly within: string | null;
}

declare const opened: unique symbol;

/**
 * Proof that the caller has this right in the project. `openProject` is its only source, and every query asks for one:
 * a change for the right it needs, a read for any right.
 */
export interface OpenProject<R extends Right = Right> extends ReachedProject {
  readonly [opened]: R;
}

/** A right in a project: one that a key can have as a scope, or one reserved for people. */
export type Right = Scope | 'keys:manage' | 'project:manage';

const filesOfEveryKind = ['files:read', 'files:write', 'files:delete'] as const;

const rightsOf: Record<Role, readonly Right[]> = {
  owner: [...filesOfEveryKind, 'keys:manage', 'project:manage'],
  editor: [...filesOfEveryKind, 'keys:manage'],
  viewer: ['files:read'],
};

/** The role of a user in a project. */
export function createRoleCache(pool: pg.Pool, now: () => number): FoundCache<Role> {
  return createFoundCache(async (projectId, userId) => {
    const { rows } = await pool.query<{ role: Role }>({
      name: 'role-of-user',
      text: 'select role from project_members where project_id = $1 and user_id = $2',
      values: [projectId, userId],
    });
    return rows[0]?.role;
  }, now);
}

/**
 * Checks that the caller has this right in the project. For a key, its scopes and its creator's current role count.
 * @throws Problem scope_missing, project_not_allowed (the key is tied to another project), project_not_found (the
 *   project is absent, foreign, or the folder that the key is tied to is gone), role_missing
 */
export async function openProject<R extends Right>(
  deps: Pick<Deps, 'access'>,
  caller: Caller,
  projectId: string,
  right: R,
): Promise<OpenProject<R>> {
  requireScope(caller, right);
  return open(await reachProject(deps, caller, projectId), right);
}

/** @throws Problem role_missing */
function open<R extends Right>({ id, within, role }: ReachedProject & { role: Role }, right: R): OpenProject<R> {
  requireRole(role, right);
  return { id, within } as OpenProject<R>;
}

/** @throws Problem project_not_allowed, project_not_found */
async function reachProject(
  deps: Pick<Deps, 'access'>,
  caller: Caller,
  projectId: string,
): Promise<ReachedProject & { role: Role }> {
  if (caller.kind === 'apiKey' && caller.tied) {
    const { tied } = caller;
    if (tied.projectId !== projectId) throw new Problem('project_not_allowed');
    if (tied.folderId !== null) await requireTiedFolder(deps, projectId, tied.folderId);
    return { id: projectId, within: tied.folderId, role: tied.role };
  }
  const userId = userOf(caller);
  const found = deps.access.roles.find(projectId, userId);
  const role = found instanceof Promise ? await found : found;
  if (role === undefined) throw new Problem('project_not_found');
  return { id: projectId, within: null, role };
}

async function requireTiedFolder(deps: Pick<Deps, 'access'>, projectId: string, folderId: string): Promise<void> {
  const found = deps.access.folders.find(projectId, folderId);
  if (!(found === true || (await found))) throw new Problem('project_not_found');
}

/** @throws Problem role_missing */
export function requireRole(role: Role, right: Right): void {
  if (rightsOf[role].includes(right)) return;
  throw new Problem('role_missing', `The role ${role} does not allow this (${right}).`);
}

/**
 * Opens the project of something that was found by its own id. A caller without access gets exactly the same error as
 * if the thing did not exist; so does a key tied to a folder that the thing is not in.
 * @param isThere whether the thing exists for someone who can reach the project; checked before their rights
 * @throws Problem scope_missing, `notFound`, and role_missing if the thing exists
 */
export async function openProjectOf<R extends Right>(
  deps: Pick<Deps, 'access'>,
  caller: Caller,
  projectId: string,
  right: R,
  notFound: ErrorCode,
  isThere: (project: ReachedProject) => boolean | Promise<boolean>,
): Promise<OpenProject<R>> {
  requireScope(caller, right);
  const reached = await reachProject(deps, caller, projectId).catch((error) => {
    throw error instanceof Problem && error.status < 500 ? new Problem(notFound) : error;
  });
  if (!(await isThere(reached))) throw new Problem(notFound);
  return open(reached, right);
}

/** @throws Problem scope_missing */
export function requireScope(caller: Caller, right: Right): void {
  if (caller.kind === 'session' || caller.scopes.some((scope) => scope === right)) return;
  throw new Problem('scope_missing', `The API key lacks the scope ${right}.`);
}
