import { ChangePasswordRequest, ResetPasswordRequest, SignInRequest, SignUpRequest } from '@cadiz/contract';
import { changePassword } from '../../features/accounts/change-password.ts';
import { resetPassword } from '../../features/accounts/reset-password.ts';
import { signUp } from '../../features/accounts/sign-up.ts';
import { accountHeaders } from '../account-headers.ts';
import { requireSameSite, requireSession } from '../caller.ts';
import { clientAddress } from '../client-address.ts';
import type { Handler } from '../exchange.ts';
import { readBody } from '../input.ts';
import { withCookies } from '../with-cookies.ts';

export const signUpRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  return withCookies(await signUp(deps, accountHeaders(deps, exchange), await readBody(exchange, SignUpRequest)));
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

export const resetPasswordRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  const request = await readBody(exchange, ResetPasswordRequest);
  return withCookies(await resetPassword(deps, { kind: 'visitor', address: clientAddress(deps, exchange) }, request));
};

export const changePasswordRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const body = await changePassword(deps, caller, await readBody(exchange, ChangePasswordRequest));
  return withCookies({ body, cookies: await deps.accounts.devices.remember(caller.userId) });
};
