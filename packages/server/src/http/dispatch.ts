import { type Access, type JsonOperationId, type Route, routes } from '@cadiz/contract';
import type { Caller, Visitor } from '../access/caller.ts';
import { requireScope } from '../access/open-project.ts';
import { requireServiceOwner } from '../access/service-owner.ts';
import type { Deps } from '../deps.ts';
import { operations } from '../operations.ts';
import { requireKeyOrSession, requireSameSite, requireSession } from './caller.ts';
import { clientAddress } from './client-address.ts';
import type { Exchange, Handler } from './exchange.ts';
import { createInputReader } from './input.ts';

const findCaller: Record<Access, (deps: Deps, exchange: Exchange) => Promise<Caller> | Caller | Visitor> = {
  keyOrSession: requireKeyOrSession,
  session: requireSession,
  serviceOwner: requireSession,
  anybody(deps, exchange) {
    requireSameSite(deps, exchange);
    return { kind: 'visitor', address: clientAddress(deps, exchange) };
  },
};

/**
 * Answers an operation as its entry in the contract says: finds who is asking, checks what was sent, then whether they may
 * ask for it, and calls the operation. What an operation may do in a project, `openProject` checks.
 */
export function toHandler(operation: JsonOperationId): Handler {
  const route: Route = routes[operation];
  // The compiler has matched each operation with its route (`Operations`); here it is any of them.
  const run = operations[operation] as (deps: Deps, caller: Caller | Visitor, input: unknown) => Promise<object>;
  const readInput = createInputReader(route);
  return async (deps, exchange) => {
    const caller = await findCaller[route.access](deps, exchange);
    const input = await readInput(exchange);
    if (caller.kind === 'apiKey') requireScopeOf(route, caller, input);
    if (route.access === 'serviceOwner' && caller.kind === 'session') await requireServiceOwner(deps, caller);
    return run(deps, caller, input);
  };
}

/** @throws Problem scope_missing */
function requireScopeOf({ scope, scopeOf }: Route, caller: Caller, input: unknown): void {
  const needed = scopeOf ? scopeOf.find(input as never) : scope;
  if (needed) requireScope(caller, needed);
}
