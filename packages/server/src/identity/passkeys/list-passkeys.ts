import type { Answer } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { passkeyColumns, toPasskeyView } from './own-passkey.ts';
import { requirePasskeys } from './require-passkeys.ts';

/** The passkeys of the caller, the oldest first. */
export async function listPasskeys(
  deps: Pick<Deps, 'db' | 'config'>,
  { userId }: SessionCaller,
): Promise<Answer<'listPasskeys'>> {
  requirePasskeys(deps);
  const query = deps.db.kysely.selectFrom('passkeys').select(passkeyColumns).where('user_id', '=', userId);
  return { passkeys: (await query.orderBy('id').execute()).map(toPasskeyView) };
}
