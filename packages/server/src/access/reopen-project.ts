import type { Deps } from '../deps.ts';
import { Problem, settleRefusal } from '../problem.ts';
import { foldersOf } from './access.ts';
import {
  type Asker,
  type Caller,
  type Maker,
  type SessionCaller,
  type TicketCaller,
  toAsker,
  type Uploader,
  userOf,
} from './caller.ts';
import { findApiKeyCaller } from './find-api-key-caller.ts';
import { findSessionCaller } from './find-session-caller.ts';
import { findTicketCaller } from './find-ticket.ts';
import { foundCacheMilliseconds, isFresh } from './found-cache.ts';
import { invalidApiKey } from './invalid-api-key.ts';
import { invalidTicket } from './invalid-ticket.ts';
import { type OpenProject, openProject, type Right } from './open-project.ts';

/**
 * Opens the project again for an earlier asker: the key or session, the account and the role are looked up as they are
 * now. Undefined if the asker no longer has the right.
 */
export async function reopenProject<R extends Right>(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  asker: Asker,
  projectId: string,
  right: R,
): Promise<{ project: OpenProject<R>; caller: Caller } | undefined> {
  const reopened = await settleRefusal(requireAgain(deps, asker, projectId, right));
  return reopened instanceof Problem ? undefined : reopened;
}

/**
 * The same, for an answer that says why not.
 * @throws Problem invalid_api_key, session_required, and those of `openProject`
 */
export async function requireAgain<R extends Right>(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  asker: Asker,
  projectId: string,
  right: R,
): Promise<{ project: OpenProject<R>; caller: Caller }> {
  const caller = await requireCallerAgain(deps, asker);
  return { project: await openProject(deps, caller, projectId, right), caller };
}

/** An earlier asker, as they are now. @throws Problem invalid_api_key, session_required */
export async function requireCallerAgain(deps: Pick<Deps, 'db' | 'now'>, { kind, id }: Asker): Promise<Caller> {
  const caller = await (kind === 'apiKey' ? findApiKeyCaller(deps, id) : findSessionCaller(deps, id));
  if (!caller) throw kind === 'apiKey' ? invalidApiKey() : new Problem('session_required');
  return caller;
}

/**
 * Opens the project again for whoever made a row, key or account, as they are now. It does not matter whether the account is
 * still signed in.
 * @throws Problem invalid_api_key, account_disabled, and those of `openProject`
 */
export async function reopenProjectFor<R extends Right>(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  { created_by_user, created_by_key }: Maker,
  projectId: string,
  right: R,
): Promise<{ project: OpenProject<R>; caller: Caller }> {
  const caller =
    created_by_key === null
      ? await findAccountCaller(deps, created_by_user)
      : await findApiKeyCaller(deps, created_by_key);
  if (!caller) throw new Problem(created_by_key === null ? 'account_disabled' : 'invalid_api_key');
  return { project: await openProject(deps, caller, projectId, right), caller };
}

/** Undefined if the account is disabled or gone. */
async function findAccountCaller({ db }: Pick<Deps, 'db'>, userId: string | null): Promise<SessionCaller | undefined> {
  const user = await db.kysely
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return user && { kind: 'session', userId: user.id };
}

/**
 * For calling repeatedly during a long operation.
 * @returns a function that says whether access is to be looked up again: something has been taken away, the key has expired, or so much
 *   time has passed
 */
export function createAccessClock(
  { access, now }: Pick<Deps, 'access' | 'now'>,
  caller: Uploader,
  projectId: string,
  everyMilliseconds = foundCacheMilliseconds,
): () => boolean {
  const names = namesBehind(caller, projectId);
  const expiresAt = caller.kind === 'apiKey' ? caller.expiresAt : undefined;
  let checkedAt = now();
  let moment = access.changes.moment();
  return () => {
    const hasChanged = names.some((name) => access.changes.isForgotten(moment, name));
    const hasExpired = expiresAt !== undefined && expiresAt <= now();
    if (!hasChanged && !hasExpired && isFresh(checkedAt, now(), everyMilliseconds)) return false;
    checkedAt = now();
    moment = access.changes.moment();
    return true;
  };
}

/** What a caller's access to a project depends on, as `changes` calls it. */
function namesBehind(caller: Uploader, projectId: string): string[] {
  const names = [projectId, userOf(caller)];
  if (caller.kind !== 'ticket') names.push(toAsker(caller).id);
  else names.push(caller.ticketId, ...(caller.madeByKey ? [caller.madeByKey.id] : []));
  const folderId = caller.kind === 'ticket' ? caller.folderId : caller.kind === 'apiKey' && caller.tied?.folderId;
  if (folderId) names.push(foldersOf(projectId));
  return names;
}

/**
 * For calling during a long operation, as often as need be: looks up whether the caller still has the right, at once when access has
 * changed, and otherwise at most this often.
 * @returns a function that throws a Problem if the caller has not: invalid_api_key, invalid_ticket, session_required, and those of
 *   `openProject`
 */
export function createAccessCheck(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Uploader,
  projectId: string,
  right: Right,
  everyMilliseconds = foundCacheMilliseconds,
): () => Promise<void> {
  const isDue = createAccessClock(deps, caller, projectId, everyMilliseconds);
  return async () => {
    if (!isDue()) return;
    if (caller.kind === 'ticket') await openProject(deps, await requireTicketAgain(deps, caller), projectId, right);
    else await requireAgain(deps, toAsker(caller), projectId, right);
  };
}

/** @throws Problem invalid_ticket */
async function requireTicketAgain(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { projectId, ticketId }: TicketCaller,
): Promise<TicketCaller> {
  const again = await findTicketCaller(db.pool, now(), { project_id: projectId, ticket_id: ticketId });
  if (!again) throw invalidTicket();
  return again;
}
