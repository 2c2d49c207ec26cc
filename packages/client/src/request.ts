import { CadizError, readRetryAfter, toProblemError } from './error.ts';
import { anyOf, type Patience, retrying, toCadizError } from './retry.ts';
import type { Problem } from './types.ts';

/** A secret, or a function that gets one: it is called when the first is needed, and again when the last is refused. */
export type Secret = string | (() => string | Promise<string>);

/** A ticket, as the service answers when it is created: with its project and folder, which need not be asked for then. */
export interface GrantedTicket {
  ticket: string;
  projectId?: string;
  folderId?: string | null;
}

type Granted = string | GrantedTicket;

/** How to reach the service, and as whom. Exactly one of `apiKey`, `ticket` and `session`. */
export interface ClientOptions {
  /** The address of the service, such as `https://media.example.com`. In a page, '' is the page's own origin. */
  baseUrl: string;
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
  retries?: number;
  /** How long the service may take for one answer, in milliseconds; 60,000 by default. */
  timeout?: number;
  /** Instead of the global `fetch`, for requests to the service. */
  fetch?: typeof fetch;
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
  /** @throws CadizError */
  send<T>(call: Call): Promise<Answered<T>>;
  /** Asks a storage route about the caller's project; the path from there on. @throws CadizError */
  post<T>(path: string, body: object, call?: Partial<Call>): Promise<Answered<T>>;
  /** The project and folder that the caller's requests are about. @throws CadizError */
  place(): Promise<Place>;
}

/** A project, and the folder of it that is the root for this caller; null for the project's own. */
export interface Place {
  projectId: string;
  folderId: string | null;
}

/** What a refused secret looks like; a new one may be accepted. */
const refusals: readonly string[] = ['invalid_api_key', 'invalid_ticket', 'session_required', 'ticket_exhausted'];

export function createSender(options: ClientOptions): Sender {
  const { projectId, apiKey, ticket, session, retries = 6, timeout = 60_000 } = options;
  const base = options.baseUrl?.replace(/\/+$/, '') || globalThis.location?.origin;
  const [source, another] = [apiKey, ticket, session].filter((one) => one !== undefined);
  if (!source || another) throw new CadizError('invalid_argument', 'Give exactly one of apiKey, ticket and session.');

  /** However many requests are refused at the same time, one new secret is asked for. */
  const grant = once(async (): Promise<Grant> => {
    if (source === true) return {};
    const given = typeof source === 'function' ? await source() : source;
    const granted = typeof given === 'string' ? { ticket: given } : given;
    if (typeof granted?.ticket === 'string') return granted;
    throw new CadizError('invalid_argument', `This is no ticket or key: ${JSON.stringify(given)}`);
  });

  const place = once(async (): Promise<Place> => {
    // A key with a given project need not be asked; neither can a session.
    let found: Grant = { projectId, ...(ticket ? await grant() : { folderId: null }) };
    if (!session && (!found.projectId || found.folderId === undefined)) {
      const path = `/api/storage/${ticket ? 'tickets/current' : 'key'}`;
      found = (await send<Grant>({ method: 'GET', path })).answer;
    }
    if (!found.projectId) throw new CadizError('invalid_argument', 'Give projectId: the key or session has none.');
    return found as Place;
  });

  async function attempt<T>({ method, path, body, headers, verify }: Call, secret?: string, signal?: AbortSignal) {
    if (!base?.startsWith('http')) throw new CadizError('invalid_argument', 'baseUrl must begin with https://.');
    const answer = await (options.fetch ?? fetch)(base + path, {
      method,
      headers: {
        ...headers,
        ...(secret && (session ? { cookie: secret } : { authorization: `Bearer ${secret}` })),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      } as Record<string, string>,
      body: JSON.stringify(body),
      signal: anyOf(signal, AbortSignal.timeout(timeout)),
      credentials: session === true ? 'include' : 'omit',
      cache: 'no-store',
    });
    const read = readAnswer<T>(answer, await answer.text());
    verify?.(read);
    return read;
  }

  const send = <T>(call: Call) =>
    retrying({ retries, ...call }, async (stop) => {
      const grants = call.secret ? async (): Promise<Grant> => ({ ticket: call.secret }) : grant;
      const ask = async (secret: string | undefined): Promise<Answered<T>> => ({
        answer: await attempt<T>(call, secret, call.isFinal ? undefined : stop),
        secret: ticket && secret,
      });
      const granting = grants();
      const { ticket: secret } = await granting;
      try {
        return await ask(secret);
      } catch (error) {
        if (!refusals.includes(toCadizError(error).code)) throw error;
        const { ticket: next } = await grants(granting);
        if (next === secret) throw error;
        return ask(next);
      }
    });

  return {
    place,
    send,
    async post<T>(path: string, body: object, call?: Partial<Call>) {
      const { projectId } = await place();
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

function readAnswer<T>({ ok, status, headers }: Response, text: string): T {
  const retryAfter = readRetryAfter(headers.get('retry-after'));
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Said below.
  }
  if (body && headers.get('content-type')?.includes('problem')) throw toProblemError(body as Problem, retryAfter);
  if (ok && body !== undefined) return body as T;
  const message = `Not an answer of Cadiz; is baseUrl right? ${status} ${text.slice(0, 200)}`;
  throw new CadizError('unexpected_answer', message, { status, retryAfter });
}
