import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';

/** Ends one session of the caller. */
export async function endSession(
  { db, now, accessChanges }: Pick<Deps, 'db' | 'now' | 'accessChanges'>,
  caller: SessionCaller,
  { sessionId: id }: Input<'endSession'>,
): Promise<Answer<'endSession'>> {
  await db.transaction(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('sessions')
      .where('id', '=', id)
      .where('user_id', '=', caller.userId)
      .executeTakeFirst();
    if (numDeletedRows === 0n) throw new Problem('session_not_found');
    const subject = { sessionId: id };
    await recordEvent(trx, now(), { type: 'session.revoked', projectId: null, by: caller, subject });
  });
  await accessChanges.publish({ kind: 'sessions', id: caller.userId });
  return { id, ended: true };
}
