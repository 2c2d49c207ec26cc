import {
  CreateQuarantineRequest,
  EndQuarantineRequest,
  KeyUploadsParams,
  KeyUploadsQuery,
  ProjectParams,
  QuarantineParams,
} from '@cadiz/contract';
import { createQuarantine } from '../../features/quarantines/create-quarantine.ts';
import { endQuarantine } from '../../features/quarantines/end-quarantine.ts';
import { listKeyUploads } from '../../features/quarantines/list-key-uploads.ts';
import { listQuarantines } from '../../features/quarantines/list-quarantines.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const listKeyUploadsRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return listKeyUploads(deps, caller, readParams(exchange, KeyUploadsParams), readQuery(exchange, KeyUploadsQuery));
};

export const createQuarantineRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, ProjectParams);
  return createQuarantine(deps, caller, projectId, await readBody(exchange, CreateQuarantineRequest));
};

export const listQuarantinesRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return listQuarantines(deps, caller, readParams(exchange, ProjectParams).projectId);
};

export const releaseQuarantineRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const params = readParams(exchange, QuarantineParams);
  return endQuarantine(deps, caller, params, 'release', await readBody(exchange, EndQuarantineRequest));
};

export const trashQuarantineRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const params = readParams(exchange, QuarantineParams);
  return endQuarantine(deps, caller, params, 'trash', await readBody(exchange, EndQuarantineRequest));
};
