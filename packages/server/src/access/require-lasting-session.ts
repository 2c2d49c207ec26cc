import type { Kysely } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import type { SessionCaller } from './caller.ts';

/**
 * Guards what outlives a session, such as an API key. Taking an account back first ends its sessions and then removes what
 * they made. Called in the transaction that makes something, this makes the take-over wait for that transaction, and
 * refuses once the take-over has ended the session, so that nothing slips past it.
 * @throws Problem session_required when the session has ended since the request was let in
 */
export async function requireLastingSession(trx: Kysely<Schema>, { userId, sessionId }: SessionCaller): Promise<void> {
  // The account before what belongs to it, as everywhere.
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
