import { BulkRequest, EmptyTrashQuery, TrashQuery } from '@cadiz/contract';
import { changeMany } from '../../features/bulk/change-many.ts';
import { emptyTrash } from '../../features/trash/empty-trash.ts';
import { listTrash } from '../../features/trash/list-trash.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readQuery } from '../input.ts';

export const listTrashRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return listTrash(deps, caller, readQuery(exchange, TrashQuery));
};

export const emptyTrashRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return emptyTrash(deps, caller, readQuery(exchange, EmptyTrashQuery));
};

export const bulk: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return changeMany(deps, caller, await readBody(exchange, BulkRequest));
};
