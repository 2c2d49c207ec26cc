import { CadizError, invalid, readRetryAfter, toProblemError } from './error.ts';
import { anyOf, type Patience, retrying, sleep, toCadizError } from './retry.ts';
import type { Problem } from './types.ts';

/**
 * A secret, or a function that gets one: it is called when the first is needed, and again when the last is refused. If it
 * throws what `fetch` throws of a broken connection, it is called again like any other request; anything else is final.
 */
export type Secret = string | (() => string | Promise<string>);

/** A ticket, as the service answers when it is created: with its project and folder, which need not be asked for then. */
export interface GrantedTicket {
  ticket: string;
  projectId?: string | undefined;
  folderId?: string | null | undefined;
}

type Granted = string | GrantedTicket;

/** How to reach the service, and as whom. Exactly one of `apiKey`, `ticket` and `session`. */
export interface ClientOptions {
  /** The URL of the service, such as `https://media.example.com`. In a page, '' is the page's own origin. */
  baseUrl: string | URL;
  /** The project that everything is about; by default the one that the key or the ticket is for. */
  projectId?: string | undefined;
  /** `cz_live_…`, for servers only: whoever has it can do all that the key may. */
  apiKey?: Secret | undefined;
  /** `cz_ticket_…`, for browsers and phones. A function is asked for another one when a ticket is used up or has ended. */
  ticket?: Granted | (() => Granted | Promise<Granted>) | undefined;
  /**
   * `true`: the browser's cookie, for pages of the service's own origin. A server gives the cookie as a browser sends it:
   * `cadiz.session_token=…`.
   */
  session?: true | Secret | undefined;
  /** How often a request or a piece of a file is repeated after a failure; 6 by default. */
  retries?: number | undefined;
  /** How long the service may take for one answer, in milliseconds; 60,000 by default. */
  timeout?: number | undefined;
  /** Instead of the global `fetch`, for requests to the service. */
  fetch?: typeof fetch | undefined;
}

/** One request to the service. */
export interface Call extends Partial<Patience> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With everything encoded that must be, and with its query. */
  path: string;
  body?: unknown;
  /** Beside those of every request. */
  headers?: Record<string, string> | undefined;
  /** Whether a request that is under way is not aborted any more: what it does cannot be known otherwise. */
  isFinal?: boolean;
  /** Throws if an answer is a refusal all the same. */
  verify?: ((answer: unknown) => void) | undefined;
  /** The ticket with which this began, where another would not find it. */
  secret?: string | undefined;
}

/** An answer, and the ticket that it was given to, if any: what one ticket begins, no other goes on with. */
export interface Answered<T> {
  answer: T;
  secret: string | undefined;
}

export interface Sender {
  retries: number;
  /** @throws CadizError */
  send<T>(call: Call): Promise<Answered<T>>;
  /** Asks a storage route about the caller's project; the path from there on. @throws CadizError */
  post<T>(path: string, body: object, call?: Partial<Call>): Promise<Answered<T>>;
  /** The project that the caller's requests are about. @throws CadizError */
  project(): Promise<string>;
  /** The folder of it that is the root for this caller; null for the project's own. @throws CadizError */
  root(): Promise<string | null>;
}

/** What a refused secret looks like; a new one may be accepted. */
const refusals: readonly string[] = ['invalid_api_key', 'invalid_ticket', 'session_required', 'ticket_exhausted'];

/** Sends requests as one caller, with another secret once one is refused. @throws CadizError invalid_argument */
export function createSender(options: ClientOptions): Sender {
  const { projectId, apiKey, ticket, session, retries = 6, timeout = 60_000 } = options;
  const base = `${options.baseUrl ?? ''}`.replace(/\/+$/, '') || globalThis.location?.origin;
  const [source, another] = [apiKey, ticket, session].filter((one) => one !== undefined);
  if (!source || another) throw invalid('Give exactly one of apiKey, ticket and session, not undefined or empty.');

  /** However many requests are refused at the same time, one new secret is asked for. */
  const grant = once(async (): Promise<Grant> => {
    if (source === true) return {};
    let given: unknown = source;
    try {
      if (typeof source === 'function') given = await source();
    } catch (error) {
      // What fetch throws of a broken connection, or the reader of a broken answer, may pass: those have other names.
      throw (error as Error).name === 'Error' ? invalid(`The secret failed: ${error}`) : error;
    }
    const granted =
      typeof given === 'string' ? { ticket: given } : (given as (GrantedTicket & { error?: string }) | null);
    if (typeof granted?.ticket === 'string') return granted;
    // The value may still be a secret, so it is not shown. The `error` of `createTicketHandler` never is one.
    throw invalid(granted?.error ?? `The secret must be a string, not ${typeof given}.`);
  });

  /** What the key or ticket is for: asked only by those that need it, since the project may be given. */
  const purpose = once(async (): Promise<Grant> => {
    if (session) return {};
    const granted = ticket ? await retrying({ retries }, () => grant()) : {};
    if (granted.projectId && granted.folderId !== undefined) return granted;
    return (await send<Grant>({ method: 'GET', path: `/api/storage/${ticket ? 'tickets/current' : 'key'}` })).answer;
  });

  async function project(): Promise<string> {
    const found = projectId || (await purpose()).projectId;
    if (!found) throw invalid('Give projectId: the key or session has none.');
    return found;
  }

  async function attempt<T>({ method, path, body, headers, verify }: Call, secret?: string, signal?: AbortSignal) {
    if (!/^https?:\/\/[^@?#]+$/.test(base)) throw invalid('baseUrl must be https://HOST');
    let init: RequestInit;
    try {
      init = {
        method,
        headers: new Headers({
          ...headers,
          ...(secret && (session ? { cookie: secret } : { authorization: `Bearer ${secret}` })),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        } as Record<string, string>),
        body: JSON.stringify(body),
        signal: anyOf(signal, AbortSignal.timeout(timeout)),
        credentials: session === true ? 'include' : 'omit',
        cache: 'no-store',
      };
    } catch {
      // What was thrown may show the secret.
      throw invalid('Invalid secret, header, timeout or body');
    }
    const answer = await (options.fetch ?? fetch)(base + path, init);
    // No secret goes to another origin, so whatever it says of that, it is no answer.
    const isElsewhere = answer.redirected && !answer.url.startsWith(`${base}/`);
    const read = readAnswer<T>(answer, isElsewhere ? '' : await answer.text());
    verify?.(read);
    return read;
  }

  const send = <T>(call: Call) =>
    retrying({ retries, ...call }, async (stop) => {
      const ask = async (secret: string | undefined): Promise<Answered<T>> => ({
        answer: await attempt<T>(call, secret, call.isFinal ? undefined : stop),
        secret: ticket && secret,
      });
      if (call.secret) return ask(call.secret);
      const granting = grant();
      const { ticket: secret } = await sleep(stop, granting);
      try {
        return await ask(secret);
      } catch (error) {
        if (!refusals.includes(toCadizError(error).code)) throw error;
        const { ticket: next } = await sleep(stop, grant(granting));
        if (next === secret) throw error;
        return ask(next);
      }
    });

  return {
    retries,
    project,
    root: async () => (await purpose()).folderId ?? null,
    send,
    async post<T>(path: string, body: object, call?: Partial<Call>) {
      const projectId = await sleep(call?.signal, project());
      return send<T>({ method: 'POST', path: `/api/storage/${path}`, body: { projectId, ...body }, ...call });
    },
  };
}

/** A secret, if there is one, and what came with it. */
type Grant = { [K in keyof GrantedTicket]?: GrantedTicket[K] | undefined };

/** Asks once for all who want to know, and anew after a failure and for those who have an answer that is stale. */
function once<T>(ask: () => Promise<T>) {
  let known: Promise<T> | undefined;
  return (stale?: Promise<T>): Promise<T> => {
    if (known === stale) known = undefined;
    known ??= ask().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

function readAnswer<T>({ ok, status, headers, url }: Response, text: string): T {
  const retryAfter = readRetryAfter(headers.get('retry-after'));
  let body: Problem | null | undefined;
  try {
    body = JSON.parse(text);
  } catch (error) {
    // What ends in the middle was cut off by a proxy: the connection broke. Anything else is said below.
    if (ok && text[0] === '{') throw error;
  }
  // Gateways answer problems of their own (RFC 9457), without a code of the service.
  if (typeof body?.code === 'string' && headers.get('content-type')?.includes('problem'))
    throw toProblemError(body, retryAfter);
  // The service answers objects, and null for a session that is not there.
  if (ok && typeof body === 'object') return body as T;
  const message = `Not Cadiz: is baseUrl right? ${status} ${url} ${text.slice(0, 200)}`;
  throw new CadizError('unexpected_answer', message, { status, retryAfter });
}
