import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { requirePasskeys } from './require-passkeys.ts';

/** Deletes a passkey of the caller. */
export async function deletePasskey(
  deps: Pick<Deps, 'db' | 'now' | 'config'>,
  caller: SessionCaller,
  { id }: Input<'deletePasskey'>,
): Promise<Answer<'deletePasskey'>> {
  requirePasskeys(deps);
  const { userId } = caller;
  await deps.db.transaction(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('passkeys')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .executeTakeFirst();
    if (numDeletedRows === 0n) throw new Problem('passkey_not_found');
    const subject = { userId, passkeyId: id };
    await recordEvent(trx, deps.now(), { type: 'passkey.removed', projectId: null, by: caller, subject });
  });
  return { id, deleted: true };
}
