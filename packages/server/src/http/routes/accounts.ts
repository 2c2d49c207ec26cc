import { SignInRequest, SignUpRequest } from '@cadiz/contract';
import { requireSameSite } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody } from '../input.ts';
import { withCookies } from '../with-cookies.ts';

export const signUp: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(await deps.accounts.signUp(exchange.headers(), await readBody(exchange, SignUpRequest)));
};

export const signIn: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(await deps.accounts.signIn(exchange.headers(), await readBody(exchange, SignInRequest)));
};

export const signOut: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(await deps.accounts.signOut(exchange.headers()));
};

export const getSession: Handler = async (deps, exchange) =>
  withCookies(await deps.accounts.getSession(exchange.headers()));

export const listSignInMethods: Handler = ({ accounts }) => ({
  oidc: accounts.oidc ? { name: accounts.oidc.name } : null,
});
