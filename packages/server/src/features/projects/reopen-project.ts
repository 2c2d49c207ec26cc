import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { requireEnabled } from '../accounts/require-enabled.ts';
import { findApiKeyCaller } from '../api-keys/find-api-key-caller.ts';
import { type OpenProject, openProject, type Right } from './open-project.ts';

/** Who asked for something that takes its time: by an API key, or as a user. */
export interface Asker {
  kind: Caller['kind'];
  /** Of the key, or the user. */
  id: string;
}

export function toAsker(caller: Caller): Asker {
  return { kind: caller.kind, id: caller.kind === 'session' ? caller.userId : caller.keyId };
}

/**
 * The project as whoever asked for something reaches it by now: the key, the account and the role are looked up again.
 * Undefined when they may not do it any more.
 */
export async function reopenProject(
  deps: Deps,
  asker: Asker,
  projectId: string,
  right: Right,
): Promise<OpenProject | undefined> {
  try {
    const caller = await findCaller(deps, asker);
    return caller && (await openProject(deps, caller, projectId, right));
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined;
    throw error;
  }
}

/** @throws Problem account_disabled */
async function findCaller(deps: Deps, { kind, id }: Asker): Promise<Caller | undefined> {
  if (kind === 'apiKey') return findApiKeyCaller(deps, id);
  await requireEnabled(deps.db, id);
  return { kind, userId: id };
}
