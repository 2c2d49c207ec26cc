import { ChangeFileRequest, FileParams } from '@cadiz/contract';
import { changeFile } from '../../features/files/change-file.ts';
import { getFile } from '../../features/files/get-file.ts';
import { removeFile } from '../../features/files/remove-file.ts';
import { restoreFile } from '../../features/files/restore-file.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams } from '../input.ts';

export const getFileRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return getFile(deps, caller, readParams(exchange, FileParams).id);
};

export const changeFileRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FileParams);
  return changeFile(deps, caller, id, await readBody(exchange, ChangeFileRequest));
};

export const deleteFileRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return removeFile(deps, caller, readParams(exchange, FileParams).id);
};

export const restoreFileRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return restoreFile(deps, caller, readParams(exchange, FileParams).id);
};
