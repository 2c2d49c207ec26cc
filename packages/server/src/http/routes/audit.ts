import { AuditParams, AuditQuery } from '@cadiz/contract';
import { listEvents } from '../../features/audit/list-events.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readParams, readQuery } from '../input.ts';

export const listEventsRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, AuditParams);
  return listEvents(deps, caller, projectId, readQuery(exchange, AuditQuery));
};
