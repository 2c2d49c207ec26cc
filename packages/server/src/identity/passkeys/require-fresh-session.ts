import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

const freshMilliseconds = 3600_000;

/**
 * Guards adding a passkey: a session that was left open is not enough.
 * @throws Problem session_required, session_not_fresh if the session began more than an hour ago
 */
export async function requireFreshSession(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { sessionId }: SessionCaller,
): Promise<void> {
  if (sessionId === undefined) throw new Problem('session_required');
  const query = db.kysely.selectFrom('sessions').select('created_at').where('id', '=', sessionId);
  const session = await query.executeTakeFirst();
  if (!session) throw new Problem('session_required');
  if (now() - session.created_at.getTime() >= freshMilliseconds) throw new Problem('session_not_fresh');
}
