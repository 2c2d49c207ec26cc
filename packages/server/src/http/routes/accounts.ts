import { SignInRequest, SignUpRequest } from '@cadiz/contract';
import { accountHeaders } from '../account-headers.ts';
import { requireSameSite } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody } from '../input.ts';
import { withCookies } from '../with-cookies.ts';

export const signUp: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(
    await deps.accounts.signUp(accountHeaders(deps, exchange), await readBody(exchange, SignUpRequest)),
  );
};

export const signIn: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(
    await deps.accounts.signIn(accountHeaders(deps, exchange), await readBody(exchange, SignInRequest)),
  );
};

export const signOut: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(await deps.accounts.signOut(accountHeaders(deps, exchange)));
};

export const getSession: Handler = async (deps, exchange) =>
  withCookies(await deps.accounts.getSession(accountHeaders(deps, exchange)));
