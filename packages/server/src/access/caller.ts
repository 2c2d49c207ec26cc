import type { Role, Scope } from '@cadiz/contract';

/** A signed-in user. */
export interface SessionCaller {
  kind: 'session';
  userId: string;
  /** Which session of theirs it is, when there is one. */
  sessionId?: string | undefined;
  /** Where the request came from, when somebody knows. */
  address?: string | undefined;
}

/** An API key: tied to one project, or (null) to the projects that its creator can reach. */
export interface ApiKeyCaller {
  kind: 'apiKey';
  keyId: string;
  /** With the role that its creator has there now; and tied to one folder of the project, or (null) to all of it. */
  tied: { projectId: string; folderId: string | null; role: Role } | null;
  createdBy: string;
  scopes: readonly Scope[];
  /** Where the request came from, when somebody knows. */
  address?: string | undefined;
}

/** Somebody who shows no credential, and needs none. */
export interface Visitor {
  kind: 'visitor';
  /** Where the request came from. */
  address: string;
}

/** Who is asking. */
export type Caller = SessionCaller | ApiKeyCaller;

/** Whose account a caller is: their own, or that of whoever made the key. */
export function userOf(caller: Caller): string {
  return caller.kind === 'session' ? caller.userId : caller.createdBy;
}

/** Who asked for something that takes its time: the API key or the session, with which their access to it ends. */
export interface Asker {
  kind: Caller['kind'];
  /** Of the key or the session. */
  id: string;
}

/** @throws Error for somebody who has no session yet; every request has one, or a key */
export function toAsker(caller: Caller): Asker {
  if (caller.kind === 'apiKey') return { kind: 'apiKey', id: caller.keyId };
  if (caller.sessionId === undefined) throw new Error('Only a session or an API key can ask for what takes its time.');
  return { kind: 'session', id: caller.sessionId };
}
