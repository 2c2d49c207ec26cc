import type { OperationId } from '@cadiz/contract';
import type { Deps } from '../deps.ts';
import type { OpenTrace } from '../telemetry/trace.ts';

/** One request, whatever it arrived through. */
export interface Exchange {
  /** Identifies the request, in its answer and in the log; set as soon as it is being answered. */
  requestId: string;
  method: string;
  /** The path without the query, as it was sent. */
  path: string;
  /** The values of the placeholders in the route's path, decoded. */
  params: Record<string, string>;
  /** The operation requested; undefined until that is known, and for paths without one. */
  operation: OperationId | undefined;
  /** The trace that it belongs to, if any. */
  trace: OpenTrace | undefined;
  /** The API key that it came with, once that is accepted, and the project of the key. For the log. */
  keyId: string | undefined;
  keyProjectId: string | undefined;
  /** The last part of the input that was accepted: of the path, query or body. For the log. */
  input: unknown;
  /**
   * Updates the caller to their present access, once there is a caller: their access may end while a slow body arrives.
   * @throws Problem invalid_api_key, session_required
   */
  refreshCaller: (() => Promise<void>) | undefined;
  /** Additional headers of the answer, whether it succeeds or fails, as name, value, name, value … */
  readonly extraHeaders: string[];
  /** Of the request, by their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  query(): Query;
  /** The other end of the connection, as the socket names it; undefined if it is not known. */
  remoteAddress(): string | undefined;
  /** The whole body. @throws Problem body_too_large as soon as it is over `maxBytes` */
  readBytes(maxBytes: number): Promise<Buffer>;
  /** Calls the listener when the client closes the connection or the answer has been sent; at once if that has happened. */
  onClose(listener: () => void): void;
  /** Calls the listener when the client has the answer or is gone; at once if it is gone already, or the answer stays in this process. */
  onSent(listener: () => void): void;
}

/** The method of the URL to which a request is redirected: a client that asks with HEAD goes on with HEAD. */
export function redirectedMethod({ method }: Pick<Exchange, 'method'>): 'GET' | 'HEAD' {
  return method === 'HEAD' ? 'HEAD' : 'GET';
}

/** What stands after the `?`, decoded. */
export interface Query {
  /** The first value of each name. */
  values: Record<string, string>;
  /** The names that have more. */
  repeated: readonly string[];
  /** The names with a value that is not UTF-8: in `values` it has U+FFFD for what is not. */
  undecodable: readonly string[];
}

/**
 * A body that is complete before the answer begins. It is sent in one piece, with its length, which costs a fraction of
 * what a stream does. A body that is the same for everybody is made once and kept as bytes.
 */
export class Whole {
  readonly body: string | Buffer;
  readonly type: string;
  /** Further headers as name, value, name, value …, except those that every answer has. */
  readonly headers: readonly string[];

  constructor(body: string | Buffer, type: string, headers: readonly string[] = []) {
    this.body = body;
    this.type = type;
    this.headers = headers;
  }
}

/**
 * Answers one operation: identifies the caller, reads the input, calls the feature, and returns its answer, which is
 * sent as JSON with 200. A Whole is sent as it is with 200, and a Response is sent unchanged.
 */
export type Handler = (
  deps: Deps,
  exchange: Exchange,
) => Promise<object | Whole | Response> | object | Whole | Response;

/** The answer to send: a complete body with its headers (name, value, name, value …), or a Response. */
export type Answer = WholeAnswer | Response;

/** An answer that is complete before it is sent; its headers are without Content-Length. */
export interface WholeAnswer {
  status: number;
  headers: string[];
  body: string | Buffer;
}
