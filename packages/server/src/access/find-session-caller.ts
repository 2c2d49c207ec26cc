import type { Deps } from '../deps.ts';
import type { SessionCaller } from './caller.ts';
import { longestMilliseconds } from './session-lifetime.ts';

/**
 * The caller a session stands for now, by the session's id; undefined if it has ended or expired, or its account is
 * disabled.
 */
export async function findSessionCaller(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  sessionId: string,
): Promise<SessionCaller | undefined> {
  const { rows } = await db.pool.query<{ user_id: string }>({
    name: 'find-session-caller',
    text: `select user_id from sessions join users on users.id = user_id and disabled_at is null
           where sessions.id = $1 and expires_at > $2 and sessions.created_at > $3`,
    values: [sessionId, new Date(now()), new Date(now() - longestMilliseconds)],
  });
  return rows[0] && { kind: 'session', userId: rows[0].user_id, sessionId };
}
