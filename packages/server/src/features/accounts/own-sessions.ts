import type { EndedSession, EndedSessions, Input, SessionList } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { longestMilliseconds } from '../../access/session-lifetime.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { endSessions } from './end-sessions.ts';
import { lockAccount } from './lock-account.ts';

/** The caller's sessions that are alive, the latest first. */
export async function listSessions(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
): Promise<z.output<typeof SessionList>> {
  const rows = await db.kysely
    .selectFrom('sessions')
    .select(['id', 'created_at', 'expires_at', 'ip_address', 'user_agent'])
    .where('user_id', '=', caller.userId)
    .where('expires_at', '>', new Date(now()))
    .where('created_at', '>', new Date(now() - longestMilliseconds))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
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

/** @throws Problem session_not_found, also when it is somebody else's */
export async function endSession(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
  { sessionId: id }: Input<'endSession'>,
): Promise<z.output<typeof EndedSession>> {
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
  return { id, ended: true };
}

/** Ends all but the one that asks. */
export async function endOtherSessions(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
): Promise<z.output<typeof EndedSessions>> {
  return db.transaction(async (trx) => {
    await lockAccount(trx, caller.userId);
    const endedSessions = await endSessions(trx, caller.userId, caller.sessionId);
    const subject = { endedSessions };
    await recordEvent(trx, now(), { type: 'session.revoked', projectId: null, by: caller, subject });
    return { endedSessions };
  });
}
