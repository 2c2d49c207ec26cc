import type { ErrorCode, Role, Scope } from '@cadiz/contract';
import type pg from 'pg';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { type TicketCaller, type Uploader, userOf } from './caller.ts';
import { createFoundCache, type FoundCache } from './found-cache.ts';

/** A project that the caller can reach, whatever their rights there. */
export interface ReachedProject {
  readonly id: string;
  /**
   * The folder that the caller's key or ticket is tied to; null for every other caller. Nothing outside it exists for the caller:
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
 * Checks that the caller has this right in the project. For a key, its scopes and its creator's current role count. Answers a
 * promise only if it has to ask the database: every request comes through here, and the caches know most answers.
 * @throws Problem scope_missing, project_not_allowed (the key is tied to another project), project_not_found (the
 *   project is absent, foreign, or the folder that the key is tied to is gone), role_missing
 */
export function openProject<R extends Right>(
  deps: Pick<Deps, 'access'>,
  caller: Uploader,
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

/** Answers a promise only if it has to ask. @throws Problem project_not_allowed, project_not_found */
function reachProject(deps: Pick<Deps, 'access'>, caller: Uploader, id: string): Promise<Reached> | Reached {
  const { access } = deps;
  if (caller.kind === 'ticket') return reachByTicket(deps, caller, id);
  if (caller.kind === 'apiKey' && caller.tied) {
    const { projectId, folderId, role } = caller.tied;
    if (projectId !== id) throw new Problem('project_not_allowed');
    const reached = { id, within: folderId, role };
    return folderId === null ? reached : whenFound(access.folders.find(id, folderId), () => reached);
  }
  return whenFound(access.roles.find(id, userOf(caller)), (role) => ({ id, within: null, role }));
}

/**
 * A ticket reaches its folder as long as that exists, and is inside the one that the key that made it is tied to.
 * @throws Problem project_not_allowed, project_not_found
 */
function reachByTicket(
  { access }: Pick<Deps, 'access'>,
  { projectId, folderId, madeByKey, role }: TicketCaller,
  id: string,
): Promise<Reached> | Reached {
  if (projectId !== id) throw new Problem('project_not_allowed', 'The ticket belongs to another project.');
  const reached = { id, within: folderId, role };
  if (folderId === null) return reached;
  const ofKey = madeByKey?.folderId ?? folderId;
  const isInside = ofKey === folderId ? true : access.subtrees.find(id, folderId + ofKey);
  return whenFound(isInside, () => whenFound(access.folders.find(id, folderId), () => reached));
}

/** @throws Problem project_not_found */
function whenFound<T>(
  found: Found<T>,
  toReached: (found: T) => Promise<Reached> | Reached,
): Promise<Reached> | Reached {
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
 * Opens the project of something that was found by its own id. A caller without access gets exactly the same error as
 * if the thing did not exist; so does a key tied to a folder that the thing is not in.
 * @param isThere whether the thing exists for someone who can reach the project; checked before their rights
 * @throws Problem scope_missing, `notFound`, and role_missing if the thing exists
 */
export async function openProjectOf<R extends Right>(
  deps: Pick<Deps, 'access'>,
  caller: Uploader,
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
  caller: Uploader,
  projectId: string,
  notFound: ErrorCode,
): Promise<Reached> {
  try {
    return await reachProject(deps, caller, projectId);
  } catch (error) {
    throw error instanceof Problem && error.status < 500 ? new Problem(notFound) : error;
  }
}

/** @throws Problem scope_missing, ticket_not_allowed */
export function requireScope(caller: Uploader, right: Right): void {
  if (caller.kind === 'ticket') {
    if (right !== 'files:write') throw new Problem('ticket_not_allowed');
    return;
  }
  if (caller.kind === 'session' || caller.scopes.some((scope) => scope === right)) return;
  throw new Problem('scope_missing', `The API key lacks the scope ${right}.`);
}
