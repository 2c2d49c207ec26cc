import type { Answer, CookieOperationId, Input, JsonOperationId, OperationId, routes } from '@cadiz/contract';
import type { Caller, SessionCaller, Visitor } from './access/caller.ts';
import type { Deps } from './deps.ts';
import type { InBrowser, Keeping } from './identity/browser.ts';

/** Who asks for an operation, by the access that its route says. */
export type CallerOf<O extends OperationId> = (typeof routes)[O] extends { access: infer A }
  ? A extends 'keyOrSession'
    ? Caller
    : A extends 'anybody'
      ? Visitor
      : SessionCaller
  : never;

/**
 * One operation of the contract. It knows no HTTP: whoever calls it has found out who is asking and has checked the input,
 * as `http/dispatch.ts` does for a request.
 * It throws a Problem with one of the codes that its entry in the contract lists, and no other: every answer in the tests is checked
 * against that list.
 */
export type Operation<O extends OperationId> = (
  deps: Deps,
  caller: CallerOf<O>,
  input: Input<O>,
) => Promise<Answer<O>> | Answer<O>;

/** Every operation that answers JSON. One that is missing, asks for another caller, or answers something else does not compile. */
export type Operations = { readonly [O in JsonOperationId]: Operation<O> };

/** What an operation answers that redirects: where to. */
type Answered<O extends OperationId> = (typeof routes)[O] extends { redirectsTo: string }
  ? { location: string }
  : Answer<O>;

/** One operation that starts or ends a session, or otherwise reads or changes what the browser keeps. */
export type CookieOperation<O extends CookieOperationId> = (
  deps: Deps,
  caller: InBrowser<CallerOf<O>>,
  input: Input<O>,
) => Promise<Keeping<Answered<O>>>;

/** Every such operation. */
export type CookieOperations = { readonly [O in CookieOperationId]: CookieOperation<O> };
