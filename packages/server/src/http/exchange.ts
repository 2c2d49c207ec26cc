import type { OperationId } from '@cadiz/contract';
import type { Deps } from '../deps.ts';

/** One request, however it came in. */
export interface Exchange {
  method: string;
  /** The path without the query, as it was sent. */
  path: string;
  /** What stands between the braces of the route's path, decoded. */
  params: Record<string, string>;
  /** What it is for; undefined while that is not known, and where there is nothing. */
  operation: OperationId | undefined;
  /**
   * Makes the caller what they are by now, once there is one: a body may take its time, and their access end meanwhile.
   * @throws Problem invalid_api_key, session_required
   */
  refreshCaller: (() => Promise<void>) | undefined;
  /** What its answer bears besides, whether it succeeds or fails, as name, value, name, value … */
  readonly extraHeaders: string[];
  /** The query, decoded; the first of a name counts. */
  query(): Record<string, string>;
  /** The other end of the connection, as the socket names it; undefined where nobody knows it. */
  remoteAddress(): string | undefined;
  /** @param name in lower case */
  header(name: string): string | undefined;
  /** The whole body. @throws Problem body_too_large as soon as it is over `maxBytes` */
  readBytes(maxBytes: number): Promise<Buffer>;
  /** Calls when the client closes the connection, or has been answered. */
  onClose(listener: () => void): void;
}

/**
 * A body that is complete before the answer begins: it is sent in one piece, with its length, which costs a fraction
 * of what a stream does. What is the same for everybody is made once and kept as bytes.
 */
export class Whole {
  readonly body: string | Buffer;
  readonly type: string;
  /** Further headers as name, value, name, value …; none that every answer bears. */
  readonly headers: readonly string[];

  constructor(body: string | Buffer, type: string, headers: readonly string[] = []) {
    this.body = body;
    this.type = type;
    this.headers = headers;
  }
}

/**
 * Answers one operation: reads who is asking and what was sent, calls the feature, and gives back its answer, which
 * becomes JSON with 200. A Whole is sent with 200 as it is, and a Response stands for itself.
 */
export type Handler = (
  deps: Deps,
  exchange: Exchange,
) => Promise<object | Whole | Response> | object | Whole | Response;

/** What goes back: a whole body with its headers (name, value, name, value …), or a Response that speaks for itself. */
export type Answer = { status: number; headers: string[]; body: string | Buffer } | Response;
