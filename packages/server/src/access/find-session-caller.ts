import type { Deps } from '../deps.ts';
import type { SessionCaller } from './caller.ts';
import { longestMilliseconds } from './session-lifetime.ts';
import { hashSessionToken } from './session-token.ts';

/** A caller whose session is known. */
export type SignedInCaller = SessionCaller & { sessionId: string };

/** A session counts until it has expired, or is too old, or its account is disabled. Asked at every use. */
const aliveSession = `select sessions.id, user_id from sessions join users on users.id = user_id and disabled_at is null
  where expires_at > $2 and sessions.created_at > $3`;

/** The caller that a session stands for now, by the session's id; undefined if the session no longer counts. */
export function findSessionCaller(
  deps: Pick<Deps, 'db' | 'now'>,
  sessionId: string,
): Promise<SignedInCaller | undefined> {
  return find(deps, { name: 'find-session-caller', text: `${aliveSession} and sessions.id = $1` }, sessionId);
}

/** The same, by the token that the browser keeps. */
export function findSessionCallerByToken(
  deps: Pick<Deps, 'db' | 'now'>,
  token: string,
): Promise<SignedInCaller | undefined> {
  const query = { name: 'find-session-caller-by-token', text: `${aliveSession} and token = $1` };
  return find(deps, query, hashSessionToken(token));
}

async function find(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  query: { name: string; text: string },
  key: string,
): Promise<SignedInCaller | undefined> {
  const at = now();
  const values = [key, new Date(at), new Date(at - longestMilliseconds)];
  const { rows } = await db.pool.query<{ id: string; user_id: string }>({ ...query, values });
  return rows[0] && { kind: 'session', userId: rows[0].user_id, sessionId: rows[0].id };
}
