import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
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
  const caller = asker.kind === 'session' ? await findUser(deps, asker.id) : await findApiKeyCaller(deps, asker.id);
  if (!caller) return undefined;
  try {
    return await openProject(deps, caller, projectId, right);
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined;
    throw error;
  }
}

async function findUser({ db }: Deps, id: string): Promise<Caller | undefined> {
  const user = await db.kysely
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return user && { kind: 'session', userId: user.id };
}
