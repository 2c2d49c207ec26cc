import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type BatchOperationId,
  type CookieOperationId,
  type JsonOperationId,
  type OperationId,
  type Route,
  routes,
} from '@cadiz/contract';
import { toLocal } from '@cadiz/http-server';
import type { Deps } from '../deps.ts';
import { batchOperations, cookieOperations, operations } from '../operations.ts';
import type { Problem } from '../problem.ts';
import type { Answered } from '../telemetry/observed.ts';
import type { OpenTrace } from '../telemetry/trace.ts';
import { withinTrace } from '../telemetry/within-trace.ts';
import { allowOrigins, answerPreflight, toCommonHeaders } from './answer-headers.ts';
import { toBatchHandler, toCookieHandler, toHandler } from './dispatch.ts';
import { type Answer, type Exchange, type Handler, Whole, type WholeAnswer } from './exchange.ts';
import { fromFetch, toFetch } from './fetch.ts';
import { requireSmallBody } from './input.ts';
import { toLoggedRequest } from './logged-request.ts';
import { toMalformed, toUnmatched } from './malformed.ts';
import { NodeExchange, writeTo } from './node.ts';
import { toProblem, toProblemDocument } from './problem-document.ts';
import { limitAddress } from './rate-limit.ts';
import { findRoute, type Match } from './router.ts';
import { downloadArchive, redirectToContent } from './routes/downloads.ts';
import { readEvents } from './routes/events.ts';
import { openImage, redirectToImage } from './routes/images.ts';
import { openLink } from './routes/links.ts';
import { errorPage, openapi } from './routes/operation.ts';
import { list } from './routes/storage.ts';
import { createSite } from './site.ts';

/** The operations that handle HTTP themselves: they stream, redirect, or send text that was made beforehand. */
const ownHandlers: Record<Exclude<OperationId, JsonOperationId | BatchOperationId | CookieOperationId>, Handler> = {
  list,
  readEvents,
  redirectToContent,
  downloadArchive,
  openLink,
  redirectToImage,
  openImage,
  openapi,
  errorPage,
};

/** The handler of every operation. `operations.ts`, or the list above, says what it does. */
export const handlers = {
  ...ownHandlers,
  ...Object.fromEntries((Object.keys(operations) as JsonOperationId[]).map((id) => [id, toHandler(id)])),
  ...Object.fromEntries((Object.keys(batchOperations) as BatchOperationId[]).map((id) => [id, toBatchHandler(id)])),
  ...Object.fromEntries((Object.keys(cookieOperations) as CookieOperationId[]).map((id) => [id, toCookieHandler(id)])),
} as Record<OperationId, Handler>;

/** The HTTP API in two forms: for Node's server, and as a fetch handler to mount elsewhere. */
export interface App {
  /** Answers a request. The promise is undefined for a file of the site. */
  listener(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined;
  /** @param remoteAddress of the client, for the limits by address; without it, all clients count as one */
  fetch(request: Request, remoteAddress?: string): Promise<Response>;
  /** The answer to bytes that Node could not parse as a request, or that arrived too slowly. */
  refuse(error: NodeJS.ErrnoException): WholeAnswer;
}

/**
 * The whole HTTP API with the console and the API reference, for Node's server (`listener`) and for web-standard
 * requests (`fetch`).
 */
export function createApp(deps: Deps): App {
  const common = toCommonHeaders(deps.config.publicUrl);
  const site = createSite(common, deps.config.objectStore.publicEndpoint);
  return {
    listener(request, response) {
      request.url = toLocal(request.url);
      if (site(request, response)) return undefined;
      return answer(deps, common, new NodeExchange(request, response), (answered) => {
        // The next request on this connection would find no process.
        if (deps.draining()) response.shouldKeepAlive = false;
        return writeTo(response, answered, deps.log);
      });
    },
    refuse(error) {
      const unread = { requestId: randomUUID(), trace: undefined, extraHeaders: ['Connection', 'close'] };
      return toFailure(toMalformed(error), common, unread, deps.config.publicUrl);
    },
    fetch: (request, remoteAddress) =>
      answer(deps, common, fromFetch(request, remoteAddress), (answered) => toFetch(answered, request.method)),
  };
}

/**
 * Handles any request: gives it an id, runs its handler, turns failures into problems in one place, adds the headers
 * of every answer, and passes it to `send`.
 */
async function answer<T>(
  deps: Deps,
  common: readonly string[],
  exchange: Exchange,
  send: (answer: Answer) => Promise<T> | T,
): Promise<T> {
  const requestId = randomUUID();
  exchange.requestId = requestId;
  const started = performance.now();
  deps.onRequest();
  const match = findRoute(exchange.method, exchange.path);
  const operation = match?.operation ?? 'unmatched';
  exchange.operation = match?.operation;
  if (operation !== 'list') deps.db.listing.giveWay();
  // Probes are asked for all the time, and answer nobody's question about one request.
  const observed = !isProbe(match?.operation);
  if (observed) exchange.trace = findTrace(deps, exchange, operation);
  let failure: Problem | undefined;
  let result: Answer;
  try {
    allowOrigins(exchange);
    requireSmallBody(exchange, match?.maxBodyBytes);
    if (!match || isLimitedByAddress(match.operation)) await limitAddress(deps, exchange);
    const body = match ? await handle(withTrace(deps, exchange), exchange, match) : answerUnmatched(exchange);
    result =
      body instanceof Response
        ? withHeaders(body, [...common, 'X-Request-Id', requestId, ...exchange.extraHeaders])
        : toAnswer(200, toWhole(body), common, requestId, exchange.extraHeaders);
  } catch (error) {
    failure = toProblem(error);
    result = toFailure(failure, common, exchange, deps.config.publicUrl);
  }
  const answered = { operation, method: exchange.method, status: result.status, requestId, started };
  deps.observe(answered);
  if (observed) endObserved(deps, exchange, answered, failure);
  return send(result);
}

function findTrace({ tracing }: Deps, exchange: Exchange, operation: string): OpenTrace | undefined {
  return tracing.ofRequest(operation, exchange.headers.traceparent, () => ({
    'cadiz.request_id': exchange.requestId,
    'http.request.method': exchange.method,
  }));
}

function withTrace(deps: Deps, { trace }: Exchange): Deps {
  return trace ? withinTrace(deps, trace) : deps;
}

/** A stream may go on: what the log and the trace tell is how long its first byte took. */
function endObserved(deps: Deps, exchange: Exchange, answered: Answered, failure: Problem | undefined): void {
  deps.accessLog.answered(answered, () => toLoggedRequest(exchange), failure);
  const { trace } = exchange;
  if (!trace) return;
  trace.set({ 'http.response.status_code': answered.status });
  // What a client has done wrong is no error of the service.
  trace.end(failure && failure.status >= 500 ? failure : undefined);
}

function handle(deps: Deps, exchange: Exchange, match: Match): ReturnType<Handler> {
  exchange.params = match.params;
  return handlers[match.operation](deps, exchange);
}

/** Routes that identify their caller limit the caller instead. Probes are never limited. */
function isLimitedByAddress(operation: OperationId): boolean {
  return routes[operation].access === 'anybody' && !isProbe(operation);
}

function isProbe(operation: OperationId | undefined): boolean {
  return operation !== undefined && (routes[operation] as Route).isProbe === true;
}

function answerUnmatched(exchange: Exchange): Response {
  const preflight = answerPreflight(exchange);
  if (preflight) return preflight;
  throw toUnmatched(exchange.path);
}

function toFailure(
  problem: Problem,
  common: readonly string[],
  exchange: Pick<Exchange, 'requestId' | 'trace' | 'extraHeaders'>,
  publicUrl: string,
): WholeAnswer {
  const document = toProblemDocument(problem, exchange, publicUrl);
  const whole = new Whole(JSON.stringify(document), 'application/problem+json', Object.entries(problem.headers).flat());
  return toAnswer(problem.status, whole, common, exchange.requestId, exchange.extraHeaders);
}

function toWhole(body: object): Whole {
  return body instanceof Whole ? body : new Whole(JSON.stringify(body), 'application/json');
}

function toAnswer(
  status: number,
  { body, type, headers: own }: Whole,
  common: readonly string[],
  requestId: string,
  extra: readonly string[],
): WholeAnswer {
  // One array for all headers, since every answer passes through here.
  const headers = [...common, 'Content-Type', type, 'X-Request-Id', requestId, ...extra, ...own];
  return { status, headers, body };
}

/** Headers that the response sets itself take precedence. */
function withHeaders(response: Response, headers: readonly string[]): Response {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (!response.headers.has(name)) response.headers.set(name, headers[i + 1] ?? '');
  }
  return response;
}
