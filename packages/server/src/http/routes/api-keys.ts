import { ApiKeyParams, CreateApiKeyRequest, ListApiKeysQuery } from '@cadiz/contract';
import { createApiKey } from '../../features/api-keys/create-api-key.ts';
import { listApiKeys } from '../../features/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../features/api-keys/revoke-api-key.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const createApiKeyRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  return createApiKey(deps, caller, await readBody(c, CreateApiKeyRequest));
};

export const listApiKeysRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  return listApiKeys(deps, caller, readQuery(c, ListApiKeysQuery));
};

export const revokeApiKeyRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  return revokeApiKey(deps, caller, readParams(c, ApiKeyParams).id);
};
