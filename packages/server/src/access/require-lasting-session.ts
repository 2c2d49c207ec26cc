import type { Kysely } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import type { SessionCaller } from './caller.ts';

/**
 * Guards the creation of anything that outlives a session, such as an API key. Recovering an account first ends its
 * sessions and then removes what they made. Called in the creating transaction, this makes the recovery wait for that
 * transaction, and refuses once the recovery has ended the session, so nothing slips past it.
 * @throws Problem session_required if the session has ended since the request was admitted
 */
export async function requireLastingSession(trx: Kysely<Schema>, { userId, sessionId }: SessionCaller): Promise<void> {
  // Lock order: the account before its sessions, as everywhere.
  await trx.selectFrom('users').select('id').where('id', '=', userId).forKeyShare().execute();
  const session =
    sessionId === undefined
      ? undefined
      : await trx
          .selectFrom('sessions')
          .select('id')
          .where('id', '=', sessionId)
          .where('user_id', '=', userId)
          .forShare()
          .executeTakeFirst();
  if (!session) throw new Problem('session_required');
}
