import type { Answer } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { findSessionCallerByToken } from '../../access/find-session-caller.ts';
import { expiryOf } from '../../access/session-lifetime.ts';
import type { Deps } from '../../deps.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { toUserView } from '../user-view.ts';

/** A session that was used less than this ago is not prolonged, so that most requests write nothing. */
const prolongedAfterMilliseconds = 3600_000;

/**
 * The browser's session with its account, or null without one. Prolongs the session to a week from now, but not past its
 * thirty days. A session that is over leaves the cookie alone: the browser may have been given another one since it sent this request.
 */
export async function getSession(
  deps: Pick<Deps, 'db' | 'now'>,
  { browser }: InBrowser<Visitor>,
): Promise<Keeping<Answer<'getSession'>>> {
  const { session: token } = browser.kept;
  if (token === undefined) return { answer: null, keep: {} };
  const caller = await findSessionCallerByToken(deps, token);
  const found = caller && (await findWithUser(deps, caller.sessionId));
  if (!found) return { answer: null, keep: {} };
  const { isProlonged, expiresAt } = await prolong(deps, caller.sessionId, found.started_at, found.expires_at);
  return {
    answer: {
      session: { id: caller.sessionId, userId: found.id, expiresAt: expiresAt.toISOString() },
      user: toUserView(found),
    },
    keep: isProlonged ? { session: token } : {},
  };
}

function findWithUser({ db }: Pick<Deps, 'db'>, sessionId: string) {
  return db.kysely
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll('users')
    .select(['sessions.created_at as started_at', 'sessions.expires_at'])
    .where('sessions.id', '=', sessionId)
    .executeTakeFirst();
}

async function prolong(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  sessionId: string,
  startedAt: Date,
  expiresAt: Date,
): Promise<{ isProlonged: boolean; expiresAt: Date }> {
  const at = now();
  const longer = expiryOf(startedAt, at);
  if (longer.getTime() - expiresAt.getTime() < prolongedAfterMilliseconds) return { isProlonged: false, expiresAt };
  const { numUpdatedRows } = await db.kysely
    .updateTable('sessions')
    .set({ expires_at: longer, updated_at: new Date(at) })
    .where('id', '=', sessionId)
    .executeTakeFirst();
  return { isProlonged: numUpdatedRows > 0n, expiresAt: longer };
}
