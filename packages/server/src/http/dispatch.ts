import {
  type Access,
  type BatchOperationId,
  type CookieOperationId,
  type JsonOperationId,
  type Route,
  routes,
} from '@cadiz/contract';
import type { Caller, Uploader, Visitor } from '../access/caller.ts';
import { requireScope } from '../access/open-project.ts';
import { requireServiceOwner } from '../access/service-owner.ts';
import type { Deps } from '../deps.ts';
import type { Keeping } from '../identity/browser.ts';
import { batchOperations, cookieOperations, operations } from '../operations.ts';
import { Problem } from '../problem.ts';
import { readBrowser } from './browser.ts';
import {
  requireKeyOrSession,
  requireObjectStore,
  requireSameSite,
  requireSession,
  requireTicket,
  requireUploader,
} from './caller.ts';
import { clientAddress } from './client-address.ts';
import { toCookieHeaders } from './cookies.ts';
import { type Exchange, type Handler, Whole } from './exchange.ts';
import { createInputReader } from './input.ts';
import { toLoggedRequest } from './logged-request.ts';
import { toProblemDocument } from './problem-document.ts';
import { limitBatch } from './rate-limit.ts';

const findCaller: Record<Access, (deps: Deps, exchange: Exchange) => Promise<Uploader | Visitor> | Uploader | Visitor> =
  {
    keyOrSession: requireKeyOrSession,
    uploader: requireUploader,
    ticket: requireTicket,
    session: requireSession,
    serviceOwner: requireSession,
    async objectStore(deps, exchange) {
      await requireObjectStore(deps, exchange);
      return { kind: 'visitor', address: clientAddress(deps, exchange), requestId: exchange.requestId };
    },
    anybody(deps, exchange) {
      requireSameSite(deps, exchange);
      return { kind: 'visitor', address: clientAddress(deps, exchange), requestId: exchange.requestId };
    },
  };

/**
 * Makes the handler of an operation from its entry in the contract: it identifies the caller, checks the input, checks
 * the caller's scope, and calls the operation. `openProject` checks what the caller may do in a project.
 */
export function toHandler(operation: JsonOperationId): Handler {
  // The compiler has matched each operation with its route (`Operations`); here it can be any of them.
  const run = operations[operation] as (deps: Deps, caller: Uploader | Visitor, input: unknown) => Promise<object>;
  return createHandler(routes[operation], (deps, _exchange, caller, input) => run(deps, caller, input));
}

/** Like `toHandler`, for an operation that answers each entry of a list by itself. */
export function toBatchHandler(operation: BatchOperationId): Handler {
  const route: Route = routes[operation];
  const run = batchOperations[operation] as (deps: Deps, caller: object, input: unknown) => Promise<Outcomes>;
  const list = route.batchOf ?? '';
  return createHandler(route, async (deps, exchange, caller, input) => {
    const entries = toEntries(input, list);
    const valid = entries.filter((entry) => !(entry instanceof Problem));
    if (valid.length === entries.length) return toDocuments(deps, exchange, await run(deps, caller, input));
    const answer = await run(deps, caller, { ...(input as object), [list]: valid });
    return toDocuments(deps, exchange, withInvalid(answer, entries));
  });
}

function toEntries(input: unknown, list: string): readonly unknown[] {
  return (input as Record<string, readonly unknown[]>)[list] ?? [];
}

/** Puts the invalid entries of a batch among the outcomes of the others, in the order of the request. */
function withInvalid(answer: Outcomes, entries: readonly unknown[]): Outcomes {
  const place = (outcomes: Outcomes[string]) => {
    const others = outcomes.values();
    return entries.map((entry) => (entry instanceof Problem ? { problem: entry } : (others.next().value ?? {})));
  };
  return Object.fromEntries(Object.entries(answer).map(([name, outcomes]) => [name, place(outcomes)]));
}

/** An answer with a list of outcomes. */
type Outcomes = Record<string, { problem?: Problem }[]>;

/** Makes the document of every problem in an answer. */
function toDocuments(deps: Deps, exchange: Exchange, answer: Outcomes): object {
  const toDocument = (outcome: { problem?: Problem }) =>
    outcome.problem instanceof Problem
      ? { ...outcome, problem: toProblemDocument(outcome.problem, exchange, deps.config.publicUrl) }
      : outcome;
  const broken = Object.values(answer)
    .flat()
    .find(({ problem }) => problem && problem.status >= 500)?.problem;
  if (broken) deps.accessLog.failed(toLoggedRequest(exchange), broken);
  return Object.fromEntries(Object.entries(answer).map(([name, outcomes]) => [name, outcomes.map(toDocument)]));
}

/** Like `toHandler`, for an operation that reads what the browser keeps and may change it. */
export function toCookieHandler(operation: CookieOperationId): Handler {
  const route: Route = routes[operation];
  const run = cookieOperations[operation] as (deps: Deps, caller: object, input: unknown) => Promise<Keeping<unknown>>;
  return createHandler(route, async (deps, exchange, caller, input) => {
    const { answer, keep } = await run(deps, { ...caller, browser: readBrowser(deps, exchange) }, input);
    const setCookies = toCookieHeaders(deps, keep);
    if (route.redirectsTo === undefined) return new Whole(JSON.stringify(answer), 'application/json', setCookies);
    return redirect((answer as { location: string }).location, setCookies);
  });
}

function createHandler(
  route: Route,
  run: (deps: Deps, exchange: Exchange, caller: Uploader | Visitor, input: unknown) => Promise<object>,
): Handler {
  const readInput = createInputReader(route);
  const find = findCaller[route.access];
  const count = toCount(route);
  return async (deps, exchange) => {
    // Every request passes here: a caller that is cached is not awaited, and an awaited result is returned sooner than
    // a promise of it.
    const found = find(deps, exchange);
    const caller = found instanceof Promise ? await found : found;
    const input = await readInput(exchange);
    if (caller.kind === 'apiKey') requireScopeOf(route, caller, input);
    if (route.access === 'serviceOwner' && caller.kind === 'session') await requireServiceOwner(deps, caller);
    if (count) await limitBatch(deps, exchange, caller, count(input));
    return await run(deps, exchange, caller, input);
  };
}

/** How many requests an input counts as; undefined if always as one. */
function toCount({ batchOf: list, countOf }: Route): ((input: unknown) => number) | undefined {
  if (list !== undefined) return (input) => toEntries(input, list).length;
  return countOf && ((input) => countOf(input as never));
}

function redirect(location: string, setCookies: readonly string[]): Response {
  const headers = new Headers({ Location: location });
  for (let i = 0; i + 1 < setCookies.length; i += 2) headers.append(setCookies[i] ?? '', setCookies[i + 1] ?? '');
  return new Response(null, { status: 302, headers });
}

/** @throws Problem scope_missing */
function requireScopeOf({ scope, scopeOf }: Route, caller: Caller, input: unknown): void {
  const needed = scopeOf ? scopeOf.find(input as never) : scope;
  if (needed) requireScope(caller, needed);
}
