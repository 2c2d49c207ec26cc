import type { LoggedRequest } from '../telemetry/access-log.ts';
import type { Exchange } from './exchange.ts';

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** What the log tells of a request. */
export function toLoggedRequest(exchange: Exchange): LoggedRequest {
  const { requestId, trace, operation, keyId } = exchange;
  return {
    requestId,
    traceId: trace?.traceId,
    operation: operation ?? 'unmatched',
    projectId: findProject(exchange),
    keyId,
  };
}

/** Nobody has checked what a path says. */
function findProject({ params, input, keyProjectId }: Exchange): string | undefined {
  const named = params.projectId ?? (input as { projectId?: unknown } | undefined)?.projectId;
  return typeof named === 'string' && uuid.test(named) ? named : keyProjectId;
}
