import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import type { SessionCaller } from './caller.ts';

/** Whether the caller is the owner of the service, as of now: this is not cached. */
export async function isServiceOwner({ db }: Pick<Deps, 'db'>, { userId }: SessionCaller): Promise<boolean> {
  const user = await db.kysely.selectFrom('users').select('role').where('id', '=', userId).executeTakeFirst();
  return user?.role === 'owner';
}

/** @throws Problem owner_required */
export async function requireServiceOwner(deps: Pick<Deps, 'db'>, caller: SessionCaller): Promise<void> {
  if (!(await isServiceOwner(deps, caller))) throw new Problem('owner_required');
}
