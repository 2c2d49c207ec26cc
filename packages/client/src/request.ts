import { CadizError, isCadizError, isPassing, readRetryAfter, toProblemError } from './error.ts';
import { type Gate, retrying } from './retry.ts';
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
export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With everything encoded that must be. */
  path: string;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  gate?: Gate | undefined;
  /**
   * Whether the request changes something more if it is repeated, so that it is repeated only when it certainly was not
   * done.
   */
  isOnce?: boolean;
  /** Whether a request that is under way is not aborted any more: what it does cannot be known otherwise. */
  isFinal?: boolean;
  /** The ticket with which this began, where another would not find it. */
  secret?: string | undefined;
  /** A ticket that is used up: another one is asked for. */
  refused?: string | undefined;
}

/** An answer, and the ticket that it was given to, if any: what one ticket begins, no other goes on with. */
export interface Answered<T> {
  answer: T;
  secret: string | undefined;
}

export interface Sender {
  /** @throws CadizError */
  send<T>(call: Call): Promise<T>;
  /** Like `send`. @throws CadizError */
  sendAs<T>(call: Call): Promise<Answered<T>>;
  /** The project and folder that the caller's requests are about. @throws CadizError */
  place(): Promise<Place>;
}

/** A project, and the folder of it that is the root for this caller; null for the project's own. */
export interface Place {
  projectId: string;
  root: string | null;
}

/** A secret that was asked for, and what it is once it is there. */
interface Asked {
  promise: Promise<Granted>;
  value?: string | undefined;
}

/** What a refused secret looks like; a new one may be accepted. */
const refusals: readonly string[] = ['invalid_api_key', 'invalid_ticket', 'session_required', 'ticket_exhausted'];

const problemType = 'application/problem+json';

export function createSender(options: ClientOptions): Sender {
  const { baseUrl, retries = 6, timeout = 60_000 } = options;
  const base = baseUrl.replace(/\/+$/, '') || globalThis.location?.origin;
  const given = [options.apiKey, options.ticket, options.session].filter((one) => one !== undefined);
  if (given.length !== 1) throw new CadizError('invalid_argument', 'Give exactly one of apiKey, ticket and session.');
  const source = given[0] === true ? undefined : given[0];

  let current: Asked | undefined;

  /** However many requests are refused at the same time, one new secret is asked for. */
  async function grant(refused?: string): Promise<Granted | undefined> {
    if (typeof source !== 'function') return source;
    if (!current || (refused !== undefined && current.value === refused)) {
      const ask = async () => {
        const granted = await source();
        asked.value = toSecret(granted);
        return granted;
      };
      const asked: Asked = { promise: Promise.resolve().then(ask) };
      current = asked;
      asked.promise.catch(() => {
        if (current === asked) current = undefined;
      });
    }
    return current.promise;
  }

  const secret = async (refused?: string) => toSecret(await grant(refused));

  let known: Promise<Place> | undefined;
  async function findPlace(): Promise<Place> {
    const { projectId } = options;
    if (options.ticket === undefined && projectId !== undefined) return { projectId, root: null };
    const granted = options.ticket === undefined ? undefined : await grant();
    if (typeof granted === 'object' && granted.folderId !== undefined && (granted.projectId ?? projectId) !== undefined)
      return { projectId: (granted.projectId ?? projectId) as string, root: granted.folderId };
    if (options.session !== undefined) throw new CadizError('invalid_argument', 'With a session, projectId is needed.');
    const path = options.ticket === undefined ? '/api/storage/key' : '/api/storage/tickets/current';
    const { answer } = await sendAs<{ projectId: string | null; folderId: string | null }>({ method: 'GET', path });
    if (answer.projectId === null)
      throw new CadizError('invalid_argument', 'The key is for any project: give projectId.');
    return { projectId: answer.projectId, root: answer.folderId };
  }

  function place(): Promise<Place> {
    known ??= findPlace();
    known.catch(() => {
      known = undefined;
    });
    return known;
  }

  async function attempt<T>(call: Call, signal: AbortSignal | undefined, own: string | undefined): Promise<T> {
    if (!base) throw new CadizError('invalid_argument', 'baseUrl is empty; only a page may leave it so.');
    // Anything else could become part of the host's name, and so show the credential to another host.
    if (!call.path.startsWith('/'))
      throw new CadizError('invalid_argument', `The path must begin with /: ${call.path}`);
    const timer = AbortSignal.timeout(timeout);
    const query = toQuery(call.query);
    const headers: Record<string, string> = {};
    if (own !== undefined && options.session === undefined) headers.authorization = `Bearer ${own}`;
    else if (own !== undefined) headers.cookie = own;
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    let answer: Response;
    let text: string;
    try {
      answer = await (options.fetch ?? fetch)(base + call.path + query, {
        method: call.method,
        headers,
        body: call.body === undefined ? null : JSON.stringify(call.body),
        signal: signal ? AbortSignal.any([signal, timer]) : timer,
        credentials: options.session === true ? 'include' : 'omit',
        cache: 'no-store',
      });
      text = await answer.text();
    } catch (cause) {
      if (!timer.aborted) throw cause;
      throw new CadizError('timed_out', `No answer within ${timeout} ms.`, { retryable: true, cause });
    }
    return readAnswer<T>(answer, text);
  }

  function sendAs<T>(call: Call): Promise<Answered<T>> {
    const { gate, isOnce, isFinal } = call;
    const isPassing = isOnce ? isCertainlyUndone : undefined;
    return retrying({ retries, signal: call.signal, gate, isPassing }, async (stop) => {
      const signal = isFinal ? undefined : stop;
      const own = call.secret ?? (await secret(call.refused));
      try {
        return toAnswered(await attempt<T>(call, signal, own), own);
      } catch (error) {
        const isRefused = isCadizError(error) && refusals.includes(error.code);
        const next = isRefused && call.secret === undefined ? await secret(own) : own;
        if (next === own) throw error;
        return toAnswered(await attempt<T>(call, signal, next), next);
      }
    });
  }

  const toAnswered = <T>(answer: T, own: string | undefined): Answered<T> => ({
    answer,
    secret: options.ticket === undefined ? undefined : own,
  });

  return { sendAs, send: async <T>(call: Call) => (await sendAs<T>(call)).answer, place };
}

/** @throws CadizError invalid_argument */
function toSecret(granted: Granted | undefined): string | undefined {
  const secret = typeof granted === 'object' ? granted?.ticket : granted;
  if (granted === undefined || typeof secret === 'string') return secret;
  throw new CadizError('invalid_argument', `No ticket or key was given, but ${JSON.stringify(granted)}.`);
}

/** 429 and 503 with Retry-After are answered before anything is done. */
function isCertainlyUndone({ status, retryAfter }: CadizError): boolean {
  return status === 429 || (status === 503 && retryAfter !== undefined);
}

function readAnswer<T>(answer: Response, text: string): T {
  const { status, headers } = answer;
  const requestId = headers.get('x-request-id') ?? undefined;
  const retryAfter = readRetryAfter(headers.get('retry-after'));
  const body = parse(text);
  if (answer.ok && body !== undefined) return body as T;
  const facts = { status, requestId, retryAfter, retryable: isPassing(status) };
  const type = headers.get('content-type') ?? '';
  if (body !== undefined && type.startsWith(problemType)) {
    throw toProblemError(body as Problem, facts);
  }
  const message = `Status ${status}, and no answer of Cadiz: is baseUrl right? ${text.slice(0, 200)}`;
  throw new CadizError('unexpected_answer', message, facts);
}

function parse(text: string): object | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toQuery(query: Record<string, unknown> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return entries.length > 0 ? `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}` : '';
}
