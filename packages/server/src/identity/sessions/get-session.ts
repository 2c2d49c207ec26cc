import type { Answer } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { findSessionCallerByToken } from '../../access/find-session-caller.ts';
import { idleSeconds } from '../../access/session-lifetime.ts';
import type { Deps } from '../../deps.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { toUserView } from '../user-view.ts';

/** A session that was used less than this ago is not prolonged, so that most requests write nothing. */
const prolongedAfterMilliseconds = 3600_000;

/** The session of a browser with its account; null if there is none. It is prolonged to a week from now. */
export async function getSession(
  deps: Pick<Deps, 'db' | 'now'>,
  { browser }: InBrowser<Visitor>,
): Promise<Keeping<Answer<'getSession'>>> {
  const { session: token } = browser.kept;
  if (token === undefined) return { answer: null, keep: {} };
  const caller = await findSessionCallerByToken(deps, token);
  const found = caller && (await findWithUser(deps, caller.sessionId));
  if (!found) return { answer: null, keep: { session: null } };
  const { session, user } = found;
  const { isProlonged, expiresAt } = await prolong(deps, session.id, session.expires_at);
  return {
    answer: {
      session: { id: session.id, userId: user.id, expiresAt: expiresAt.toISOString() },
      user: toUserView(user),
    },
    keep: isProlonged ? { session: token } : {},
  };
}

async function findWithUser({ db }: Pick<Deps, 'db'>, sessionId: string) {
  const { kysely } = db;
  const query = kysely.selectFrom('sessions').select(['id', 'user_id', 'expires_at']).where('id', '=', sessionId);
  const session = await query.executeTakeFirst();
  if (!session) return undefined;
  const user = await kysely.selectFrom('users').selectAll().where('id', '=', session.user_id).executeTakeFirst();
  return user && { session, user };
}

async function prolong(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  sessionId: string,
  expiresAt: Date,
): Promise<{ isProlonged: boolean; expiresAt: Date }> {
  const at = now();
  const longer = new Date(at + idleSeconds * 1000);
  if (longer.getTime() - expiresAt.getTime() < prolongedAfterMilliseconds) return { isProlonged: false, expiresAt };
  await db.kysely
    .updateTable('sessions')
    .set({ expires_at: longer, updated_at: new Date(at) })
    .where('id', '=', sessionId)
    .execute();
  return { isProlonged: true, expiresAt: longer };
}
