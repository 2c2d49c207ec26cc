import type { Caller, Deps } from '../../deps.ts';
import { foundCacheMilliseconds, isFresh } from '../../found-cache.ts';
import { Problem } from '../../problem.ts';
import { findSessionCaller } from '../accounts/find-session-caller.ts';
import { findApiKeyCaller } from '../api-keys/find-api-key-caller.ts';
import { type OpenProject, openProject, type Right } from './open-project.ts';

/** Who asked for something that takes its time: the API key or the session, with which their access to it ends. */
export interface Asker {
  kind: Caller['kind'];
  /** Of the key or the session. */
  id: string;
}

/** @throws Error for somebody who has no session yet; every request has one, or a key */
export function toAsker(caller: Caller): Asker {
  if (caller.kind === 'apiKey') return { kind: 'apiKey', id: caller.keyId };
  if (caller.sessionId === undefined) throw new Error('Only a session or an API key can ask for what takes its time.');
  return { kind: 'session', id: caller.sessionId };
}

/**
 * The project as whoever asked for something reaches it by now: the key or the session, the account and the role are
 * looked up again. Undefined when they may not do it any more.
 */
export async function reopenProject(
  deps: Deps,
  asker: Asker,
  projectId: string,
  right: Right,
): Promise<{ project: OpenProject; caller: Caller } | undefined> {
  try {
    const caller = await findCaller(deps, asker);
    return caller && { project: await openProject(deps, caller, projectId, right), caller };
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined;
    throw error;
  }
}

function findCaller(deps: Deps, { kind, id }: Asker): Promise<Caller | undefined> {
  return kind === 'apiKey' ? findApiKeyCaller(deps, id) : findSessionCaller(deps, id);
}

/**
 * To be called again and again while something is read: looks up, at most this often, whether whoever asked for it may
 * still read it.
 * @returns a function that throws an Error when they may not
 */
export function createAccessCheck(
  deps: Deps,
  asker: Asker,
  projectId: string,
  everyMilliseconds = foundCacheMilliseconds,
): () => Promise<void> {
  let looked = deps.now();
  return async () => {
    if (isFresh(looked, deps.now(), everyMilliseconds)) return;
    looked = deps.now();
    if (await reopenProject(deps, asker, projectId, 'files:read')) return;
    throw new Error('Whoever asked for this has lost their access.');
  };
}
