import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { Asker, Caller } from './caller.ts';
import { findApiKeyCaller } from './find-api-key-caller.ts';
import { findSessionCaller } from './find-session-caller.ts';
import { foundCacheMilliseconds, isFresh } from './found-cache.ts';
import { type OpenProject, openProject, type Right } from './open-project.ts';

/**
 * The project as whoever asked for something reaches it by now: the key or the session, the account and the role are
 * looked up again. Undefined when they may not do it any more.
 */
export async function reopenProject<R extends Right>(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  asker: Asker,
  projectId: string,
  right: R,
): Promise<{ project: OpenProject<R>; caller: Caller } | undefined> {
  try {
    const caller = await findCaller(deps, asker);
    return caller && { project: await openProject(deps, caller, projectId, right), caller };
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined;
    throw error;
  }
}

function findCaller(deps: Pick<Deps, 'db' | 'now'>, { kind, id }: Asker): Promise<Caller | undefined> {
  return kind === 'apiKey' ? findApiKeyCaller(deps, id) : findSessionCaller(deps, id);
}

/**
 * To be called again and again while something is read: looks up, at most this often, whether whoever asked for it may
 * still read it.
 * @returns a function that throws an Error when they may not
 */
export function createAccessCheck(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
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
