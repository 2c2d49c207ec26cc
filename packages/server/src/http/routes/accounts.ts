import {
  ChangePasswordRequest,
  PasswordResetRequest,
  ResetPasswordRequest,
  SessionParams,
  SignInRequest,
  SignUpRequest,
} from '@cadiz/contract';
import { changePassword } from '../../features/accounts/change-password.ts';
import { endOtherSessions, endSession, listSessions } from '../../features/accounts/own-sessions.ts';
import { requestPasswordReset } from '../../features/accounts/request-password-reset.ts';
import { resetPassword } from '../../features/accounts/reset-password.ts';
import { accountHeaders } from '../account-headers.ts';
import { requireSameSite, requireSession } from '../caller.ts';
import { clientAddress } from '../client-address.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams } from '../input.ts';
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

export const listSignInMethods: Handler = ({ accounts, config }) => ({
  passkeys: config.passkeys,
  secondFactor: config.secondFactor,
  oidc: accounts.oidc ? { name: accounts.oidc.name } : null,
});

export const requestPasswordResetRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  const request = await readBody(exchange, PasswordResetRequest);
  return requestPasswordReset(deps, clientAddress(deps, exchange), request);
};

export const resetPasswordRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return resetPassword(deps, clientAddress(deps, exchange), await readBody(exchange, ResetPasswordRequest));
};

export const changePasswordRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return changePassword(deps, caller, await readBody(exchange, ChangePasswordRequest));
};

export const listSessionsRoute: Handler = async (deps, exchange) =>
  listSessions(deps, await requireSession(deps, exchange));

export const endSessionRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return endSession(deps, caller, readParams(exchange, SessionParams).sessionId);
};

export const endOtherSessionsRoute: Handler = async (deps, exchange) =>
  endOtherSessions(deps, await requireSession(deps, exchange));
