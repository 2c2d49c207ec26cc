import { ChangeUserRequest, UserParams, UsersQuery } from '@cadiz/contract';
import {
  changeUser,
  endUserSessions,
  listUsers,
  removeUser,
  requireServiceOwner,
} from '../../features/accounts/manage-users.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const listUsersRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const query = readQuery(exchange, UsersQuery);
  await requireServiceOwner(deps, caller);
  return listUsers(deps, query);
};

export const changeUserRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { userId } = readParams(exchange, UserParams);
  const change = await readBody(exchange, ChangeUserRequest);
  await requireServiceOwner(deps, caller);
  return changeUser(deps, caller, userId, change);
};

export const removeUserRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { userId } = readParams(exchange, UserParams);
  await requireServiceOwner(deps, caller);
  return removeUser(deps, caller, userId);
};

export const endUserSessionsRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { userId } = readParams(exchange, UserParams);
  await requireServiceOwner(deps, caller);
  return endUserSessions(deps, caller, userId);
};
