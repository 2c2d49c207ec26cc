import type {
  Answer,
  BatchOperationId,
  CookieOperationId,
  Input,
  JsonOperationId,
  OperationId,
  routes,
} from '@cadiz/contract';
import type { Caller, SessionCaller, TicketCaller, Uploader, Visitor } from './access/caller.ts';
import type { Deps } from './deps.ts';
import type { InBrowser, Keeping } from './identity/browser.ts';
import type { Problem } from './problem.ts';

/** The caller of a route, by the access that it requires. Only routes that admit tickets have operations that are called with one. */
interface CallerWith {
  anybody: Visitor;
  session: SessionCaller;
  serviceOwner: SessionCaller;
  keyOrSession: Caller;
  uploader: Uploader;
  ticket: TicketCaller;
  objectStore: Visitor;
}

/** The caller of an operation, according to the access that its route requires. */
export type CallerOf<O extends OperationId> = (typeof routes)[O] extends { access: infer A }
  ? CallerWith[A & keyof CallerWith]
  : never;

/**
 * One operation of the contract. It knows nothing of HTTP: its caller has been identified and its input checked before,
 * for a request by `http/dispatch.ts`. It throws only a Problem with one of the codes that its entry in the contract
 * lists: every answer in the tests is checked against that list.
 */
export type Operation<O extends OperationId> = (
  deps: Deps,
  caller: CallerOf<O>,
  input: Input<O>,
) => Promise<Answer<O>> | Answer<O>;

/**
 * Every operation that answers JSON. If one is missing, takes a different caller or answers something different, this
 * does not compile.
 */
export type Operations = { readonly [O in JsonOperationId]: Operation<O> };

/** An entry of an answer as the operation gives it: a failed one has its Problem, of which HTTP makes the document. */
type Outcome<E> = E extends { problem: unknown } ? Omit<E, 'problem'> & { problem: Problem } : E;

/** One operation that answers each entry of a list by itself. */
export type BatchOperation<O extends BatchOperationId> = (
  deps: Deps,
  caller: CallerOf<O>,
  input: Input<O>,
) => Promise<{ [K in keyof Answer<O>]: Answer<O>[K] extends (infer E)[] ? Outcome<E>[] : Answer<O>[K] }>;

/** Every operation that answers each entry of a list by itself. */
export type BatchOperations = { readonly [O in BatchOperationId]: BatchOperation<O> };

/** The answer of an operation that redirects: the URL to redirect to. */
type Answered<O extends OperationId> = (typeof routes)[O] extends { redirectsTo: string }
  ? { location: string }
  : Answer<O>;

/** One operation that starts or ends a session, or otherwise reads or changes what the browser keeps. */
export type CookieOperation<O extends CookieOperationId> = (
  deps: Deps,
  caller: InBrowser<CallerOf<O>>,
  input: Input<O>,
) => Promise<Keeping<Answered<O>>>;

/** Every operation that reads or changes what the browser keeps. */
export type CookieOperations = { readonly [O in CookieOperationId]: CookieOperation<O> };
