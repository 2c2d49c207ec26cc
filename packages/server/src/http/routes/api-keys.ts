import { ApiKeyParams, CreateApiKeyRequest, ListApiKeysQuery, RotateApiKeyRequest } from '@cadiz/contract';
import { createApiKey } from '../../features/api-keys/create-api-key.ts';
import { listApiKeys } from '../../features/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../features/api-keys/revoke-api-key.ts';
import { rotateApiKey } from '../../features/api-keys/rotate-api-key.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const createApiKeyRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return createApiKey(deps, caller, await readBody(exchange, CreateApiKeyRequest));
};

export const listApiKeysRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return listApiKeys(deps, caller, readQuery(exchange, ListApiKeysQuery));
};

export const revokeApiKeyRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return revokeApiKey(deps, caller, readParams(exchange, ApiKeyParams).id);
};

export const rotateApiKeyRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { id } = readParams(exchange, ApiKeyParams);
  return rotateApiKey(deps, caller, id, await readBody(exchange, RotateApiKeyRequest));
};
