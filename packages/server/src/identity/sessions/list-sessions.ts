import type { Answer } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { longestMilliseconds } from '../../access/session-lifetime.ts';
import type { Deps } from '../../deps.ts';
import { maxSessions } from './start-session.ts';

/** The caller's live sessions, the latest first. */
export async function listSessions(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
): Promise<Answer<'listSessions'>> {
  const rows = await db.kysely
    .selectFrom('sessions')
    .select(['id', 'created_at', 'expires_at', 'ip_address', 'user_agent'])
    .where('user_id', '=', caller.userId)
    .where('expires_at', '>', new Date(now()))
    .where('created_at', '>', new Date(now() - longestMilliseconds))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxSessions)
    .execute();
  return {
    sessions: rows.map((row) => ({
      id: row.id,
      createdAt: row.created_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
      ipAddress: row.ip_address || null,
      userAgent: row.user_agent || null,
      current: row.id === caller.sessionId,
    })),
  };
}
