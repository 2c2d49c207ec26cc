import { ChangeFolderRequest, CreateFolderRequest, DeleteFolderQuery, FolderParams } from '@cadiz/contract';
import { changeFolder } from '../../features/folders/change-folder.ts';
import { createFolder } from '../../features/folders/create-folder.ts';
import { getFolder } from '../../features/folders/get-folder.ts';
import { removeFolder } from '../../features/folders/remove-folder.ts';
import { restoreFolder } from '../../features/folders/restore-folder.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const createFolderRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return createFolder(deps, caller, await readBody(exchange, CreateFolderRequest));
};

export const getFolderRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return getFolder(deps, caller, readParams(exchange, FolderParams).id);
};

export const changeFolderRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FolderParams);
  return changeFolder(deps, caller, id, await readBody(exchange, ChangeFolderRequest));
};

export const deleteFolderRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FolderParams);
  return removeFolder(deps, caller, id, readQuery(exchange, DeleteFolderQuery));
};

export const restoreFolderRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return restoreFolder(deps, caller, readParams(exchange, FolderParams).id);
};
