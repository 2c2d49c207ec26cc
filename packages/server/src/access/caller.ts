import type { Role, Scope } from '@cadiz/contract';

/** A signed-in user. */
export interface SessionCaller {
  kind: 'session';
  userId: string;
  /** The id of the session, if there is one. */
  sessionId?: string | undefined;
  /** The address the request came from, if known. */
  address?: string | undefined;
}

/** An API key: tied to one project, or (null) to the projects that its creator can reach. */
export interface ApiKeyCaller {
  kind: 'apiKey';
  keyId: string;
  /**
   * The tied project, with its creator's current role there and the folder it is tied to, or null for the whole
   * project.
   */
  tied: { projectId: string; folderId: string | null; role: Role } | null;
  createdBy: string;
  scopes: readonly Scope[];
  /** The address the request came from, if known. */
  address?: string | undefined;
}

/** A request that shows no credential and needs none. */
export interface Visitor {
  kind: 'visitor';
  /** The address the request came from. */
  address: string;
}

/** Who is asking. */
export type Caller = SessionCaller | ApiKeyCaller;

/** The account behind a caller: the user's own, or that of the user who made the key. */
export function userOf(caller: Caller): string {
  return caller.kind === 'session' ? caller.userId : caller.createdBy;
}

/** The API key or session that asked for a long operation; the operation loses access when it does. */
export interface Asker {
  kind: Caller['kind'];
  /** The id of the key or session. */
  id: string;
}

/** @throws Error for a caller without a session, which no request produces: each has a session or a key */
export function toAsker(caller: Caller): Asker {
  if (caller.kind === 'apiKey') return { kind: 'apiKey', id: caller.keyId };
  if (caller.sessionId === undefined) throw new Error('Only a session or an API key can start a long operation.');
  return { kind: 'session', id: caller.sessionId };
}
