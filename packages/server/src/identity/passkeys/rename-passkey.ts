import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { findOwnPasskey } from './own-passkey.ts';
import { requirePasskeys } from './require-passkeys.ts';

/** Renames a passkey of the caller. */
export async function renamePasskey(
  deps: Pick<Deps, 'db' | 'config'>,
  caller: SessionCaller,
  { id, name }: Input<'renamePasskey'>,
): Promise<Answer<'renamePasskey'>> {
  requirePasskeys(deps);
  const { kysely } = deps.db;
  await kysely
    .updateTable('passkeys')
    .set({ name })
    .where('id', '=', id)
    .where('user_id', '=', caller.userId)
    .execute();
  return findOwnPasskey(kysely, caller, id);
}
