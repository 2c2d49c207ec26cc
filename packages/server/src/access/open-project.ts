import type { ErrorCode, Role, Scope } from '@cadiz/contract';
import type pg from 'pg';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { Caller } from './caller.ts';
import { userOf } from './caller.ts';
import { createFoundCache, type FoundCache } from './found-cache.ts';

/** A project that a caller reaches, whatever they may do there. */
export interface ReachedProject {
  readonly id: string;
  /**
   * The folder that the caller's key is tied to; null for everybody else. What does not lie in it is not there for the
   * caller: `isWithin` and `whereWithin` say what does.
   */
  readonly within: string | null;
}

declare const opened: unique symbol;

/**
 * Proof that the caller has this right in the project. `openProject` is its only source, and every query asks for one: whatever changes
 * something, for the right that this takes; whatever only reads, for any.
 */
export interface OpenProject<R extends Right = Right> extends ReachedProject {
  readonly [opened]: R;
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
 * Checks that the caller may do this in this project. Of a key, its scopes and the role that its creator has now. A promise only
 * when something has to be asked for: every request comes through here, and most know already.
 * @throws Problem scope_missing, project_not_allowed (a key that is tied to another project),
 *   project_not_found (absent and foreign projects alike; and where the folder is gone that a key is tied to), role_missing
 */
export function openProject<R extends Right>(
  deps: Pick<Deps, 'access'>,
  caller: Caller,
  projectId: string,
  right: R,
): Promise<OpenProject<R>> | OpenProject<R> {
  requireScope(caller, right);
  const reached = reachProject(deps, caller, projectId);
  return reached instanceof Promise ? reached.then((later) => open(later, right)) : open(reached, right);
}

/** @throws Problem role_missing */
function open<R extends Right>({ id, within, role }: ReachedProject & { role: Role }, right: R): OpenProject<R> {
  requireRole(role, right);
  return { id, within } as OpenProject<R>;
}

type Reached = ReachedProject & { role: Role };

/** A promise only when something has to be asked for. @throws Problem project_not_allowed, project_not_found */
function reachProject({ access }: Pick<Deps, 'access'>, caller: Caller, id: string): Promise<Reached> | Reached {
  if (caller.kind === 'apiKey' && caller.tied) {
    const { projectId, folderId, role } = caller.tied;
    if (projectId !== id) throw new Problem('project_not_allowed');
    const reached = { id, within: folderId, role };
    return folderId === null ? reached : whenFound(access.folders.find(id, folderId), () => reached);
  }
  return whenFound(access.roles.find(id, userOf(caller)), (role) => ({ id, within: null, role }));
}

/** @throws Problem project_not_found */
function whenFound<T>(found: Found<T>, toReached: (found: T) => Reached): Promise<Reached> | Reached {
  if (found instanceof Promise) return found.then((value) => whenFound(value, toReached));
  if (found === undefined) throw new Problem('project_not_found');
  return toReached(found);
}

/** As a FoundCache answers. */
type Found<T> = Promise<T | undefined> | T | undefined;

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
export async function openProjectOf<R extends Right>(
  deps: Pick<Deps, 'access'>,
  caller: Caller,
  projectId: string,
  right: R,
  notFound: ErrorCode,
  isThere: (project: ReachedProject) => boolean | Promise<boolean>,
): Promise<OpenProject<R>> {
  requireScope(caller, right);
  const reached = await reachOrElse(deps, caller, projectId, notFound);
  if (!(await isThere(reached))) throw new Problem(notFound);
  return open(reached, right);
}

/** @throws Problem `notFound` */
async function reachOrElse(
  deps: Pick<Deps, 'access'>,
  caller: Caller,
  projectId: string,
  notFound: ErrorCode,
): Promise<Reached> {
  try {
    return await reachProject(deps, caller, projectId);
  } catch (error) {
    throw error instanceof Problem && error.status < 500 ? new Problem(notFound) : error;
  }
}

/** @throws Problem scope_missing */
export function requireScope(caller: Caller, right: Right): void {
  if (caller.kind === 'session' || caller.scopes.some((scope) => scope === right)) return;
  throw new Problem('scope_missing', `The API key lacks the scope ${right}.`);
}
