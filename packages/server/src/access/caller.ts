import type { Role, Scope } from '@cadiz/contract';

/** A signed-in user. */
export interface SessionCaller {
  kind: 'session';
  userId: string;
  /** The id of the session, if there is one. */
  sessionId?: string | undefined;
  /** The address the request came from, if known. */
  address?: string | undefined;
  /** The id of the request, if there is one. */
  requestId?: string | undefined;
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
  /** When the key expires (Unix milliseconds); undefined if it does not. */
  expiresAt?: number | undefined;
  /** The address the request came from, if known. */
  address?: string | undefined;
  /** The id of the request, if there is one. */
  requestId?: string | undefined;
}

/**
 * An upload ticket: it may do what its maker may at that moment, and of that only upload files within its limits. Only
 * operations whose route admits tickets get one (`Uploader`).
 */
export interface TicketCaller {
  kind: 'ticket';
  ticketId: string;
  projectId: string;
  /** The folder that it uploads into; null for the whole project. */
  folderId: string | null;
  /** The account that it acts for. */
  createdBy: string;
  /** The current role of that account in the project. */
  role: Role;
  /** The API key that made it, with the folder that the key is tied to; null if a signed-in user made it. */
  madeByKey: { id: string; folderId: string | null } | null;
  /** Null for no limit of its own. */
  maxFileSize: number | null;
  /** Media types and whole kinds such as `image/*`; null for all. */
  mimeTypes: readonly string[] | null;
  /** Whether the service records what arrives and nobody records. */
  autoRecord: boolean;
  /** The origins of the pages that may use it; null for all. */
  origins: readonly string[] | null;
  /** When it stops reserving uploads (Unix milliseconds). It can finish those that it began for an hour more. */
  expiresAt: number;
  /** The address the request came from, if known. */
  address?: string | undefined;
  /** The id of the request, if there is one. */
  requestId?: string | undefined;
}

/** A request that shows no credential and needs none. */
export interface Visitor {
  kind: 'visitor';
  /** The address the request came from. */
  address: string;
  /** The id of the request, if there is one. */
  requestId?: string | undefined;
}

/** Who is asking. */
export type Caller = SessionCaller | ApiKeyCaller;

/** Whoever may upload: every caller, and a ticket as well. */
export type Uploader = Caller | TicketCaller;

/** The account behind a caller: the user's own, or that of the user who made the key or ticket. */
export function userOf(caller: Uploader): string {
  return caller.kind === 'session' ? caller.userId : caller.createdBy;
}

/** Who made a row, as its columns say it. What a ticket makes counts as made by whoever made the ticket. */
export interface Maker {
  created_by_user: string | null;
  created_by_key: string | null;
}

export function toMaker(caller: Uploader): Maker {
  const keyId = caller.kind === 'apiKey' ? caller.keyId : caller.kind === 'ticket' ? caller.madeByKey?.id : undefined;
  return { created_by_user: keyId === undefined ? userOf(caller) : null, created_by_key: keyId ?? null };
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
