import { CadizError, readRetryAfter, toProblemError } from './error.ts';
import { anyOf, type Pace, retrying, toCadizError } from './retry.ts';
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
export interface Call extends Pace {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With everything encoded that must be. */
  path: string;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  /** How often it is repeated after a failure that passes; by default as the options say. */
  retries?: number;
  /** Beside those of every request. */
  headers?: Record<string, string> | undefined;
  /**
   * Whether the request changes something more if it is repeated, so that it is repeated only when it certainly was not
   * done.
   */
  isOnce?: boolean;
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

/** What a refused secret looks like; a new one may be accepted. */
const refusals: readonly string[] = ['invalid_api_key', 'invalid_ticket', 'session_required', 'ticket_exhausted'];

const problemType = 'application/problem+json';

export function createSender(options: ClientOptions): Sender {
  const { projectId, apiKey, ticket, session, retries = 6, timeout = 60_000 } = options;
  const base = options.baseUrl.replace(/\/+$/, '') || globalThis.location?.origin;
  const given = [apiKey, ticket, session].filter((one) => one !== undefined);
  if (given.length !== 1) throw new CadizError('invalid_argument', 'Give exactly one of apiKey, ticket and session.');
  const source = given[0] === true ? undefined : given[0];

  let granted: Promise<Granted> | undefined;
  /** The secret of `granted`, once it is there. */
  let current: string | undefined;

  /** However many requests are refused at the same time, one new secret is asked for. */
  async function grant(refused?: string): Promise<Granted | undefined> {
    if (typeof source !== 'function') return source;
    if (refused !== undefined && refused === current) granted = current = undefined;
    granted ??= Promise.resolve()
      .then(source)
      .then((answer) => {
        current = toSecret(answer);
        return answer;
      })
      .catch((error: unknown) => {
        granted = undefined;
        throw error;
      });
    return granted;
  }

  const secret = async (refused?: string) => toSecret(await grant(refused));

  let known: Promise<Place> | undefined;

  function place(): Promise<Place> {
    known ??= findPlace().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  }

  async function findPlace(): Promise<Place> {
    if (ticket === undefined && projectId !== undefined) return { projectId, root: null };
    if (session !== undefined) throw new CadizError('invalid_argument', 'A session needs projectId.');
    const given = ticket && (await grant());
    const told = typeof given === 'object' ? { projectId, ...given } : undefined;
    const path = ticket ? '/api/storage/tickets/current' : '/api/storage/key';
    const isEnough = told?.projectId && told.folderId !== undefined;
    const found = isEnough ? told : (await sendAs<GrantedTicket>({ method: 'GET', path })).answer;
    if (!found.projectId) throw new CadizError('invalid_argument', 'This key needs projectId.');
    return { projectId: found.projectId, root: found.folderId ?? null };
  }

  async function attempt<T>(
    { method, path, query = {}, body, headers, verify }: Call,
    own: string | undefined,
    signal?: AbortSignal,
  ) {
    if (!base) throw new CadizError('invalid_argument', 'baseUrl is empty.');
    const url = new URL(base + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    const timer = AbortSignal.timeout(timeout);
    const credential = session === undefined ? { authorization: `Bearer ${own}` } : { cookie: own };
    const asked: RequestInit = {
      method,
      headers: {
        ...headers,
        ...(own !== undefined && credential),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      } as Record<string, string>,
      body: JSON.stringify(body),
      signal: anyOf(signal, timer),
      credentials: session === true ? 'include' : 'omit',
      cache: 'no-store',
    };
    try {
      const answer = await (options.fetch ?? fetch)(url.href, asked);
      const read = readAnswer<T>(answer, await answer.text());
      verify?.(read);
      return read;
    } catch (cause) {
      if (!timer.aborted) throw cause;
      throw new CadizError('timed_out', `No answer within ${timeout} ms.`, { retryable: true, cause });
    }
  }

  function sendAs<T>(call: Call): Promise<Answered<T>> {
    const isPassing = call.isOnce ? isCertainlyUndone : undefined;
    return retrying({ retries, ...call, isPassing }, async (stop) => {
      const ask = async (own: string | undefined): Promise<Answered<T>> => ({
        answer: await attempt<T>(call, own, call.isFinal ? undefined : stop),
        secret: ticket === undefined ? undefined : own,
      });
      const own = call.secret ?? (await secret());
      try {
        return await ask(own);
      } catch (error) {
        const isRefused = call.secret === undefined && refusals.includes(toCadizError(error).code);
        const next = isRefused ? await secret(own) : own;
        if (next === own) throw error;
        return ask(next);
      }
    });
  }

  return { sendAs, send: async <T>(call: Call) => (await sendAs<T>(call)).answer, place };
}

/** @throws CadizError invalid_argument */
function toSecret(granted: Granted | undefined): string | undefined {
  const secret = typeof granted === 'object' ? granted?.ticket : granted;
  if (granted === undefined || typeof secret === 'string') return secret;
  throw new CadizError('invalid_argument', `This is no ticket or key: ${JSON.stringify(granted)}`);
}

/** 429 and 503 with Retry-After are answered before anything is done. */
const isCertainlyUndone = ({ status, retryAfter }: CadizError): boolean =>
  status === 429 || (status === 503 && retryAfter !== undefined);

function readAnswer<T>({ ok, status, headers }: Response, text: string): T {
  const retryAfter = readRetryAfter(headers.get('retry-after'));
  const body = parse(text);
  if (body && headers.get('content-type')?.startsWith(problemType)) throw toProblemError(body as Problem, retryAfter);
  if (!ok || body === undefined) {
    const message = `Not an answer of Cadiz; is baseUrl right? ${status} ${text.slice(0, 200)}`;
    throw new CadizError('unexpected_answer', message, { status, retryAfter });
  }
  return body as T;
}

function parse(text: string): object | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
