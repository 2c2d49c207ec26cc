import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/**
 * For a session that leaves something behind which outlives it, such as an API key. Whoever takes an account back ends its
 * sessions, and then removes what they have left: in a transaction this makes them wait for what is being left at that
 * moment, and once they have begun, nothing more is.
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
