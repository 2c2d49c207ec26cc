import { RegisterPasskeyRequest, SignInWithPasskeyRequest } from '@cadiz/contract';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { requirePasskeys } from '../../features/accounts/own-passkeys.ts';
import { accountHeaders } from '../account-headers.ts';
import { requireSameSite, requireSession } from '../caller.ts';
import { clientAddress } from '../client-address.ts';
import type { Handler } from '../exchange.ts';
import { readBody } from '../input.ts';
import { withCookies } from '../with-cookies.ts';

export const passkeyRegistrationOptionsRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const passkeys = requirePasskeys(deps);
  await requireProvenEmail(deps, caller);
  return withCookies(await passkeys.registrationOptions(accountHeaders(deps, exchange)));
};

export const registerPasskeyRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const passkeys = requirePasskeys(deps);
  const request = await readBody(exchange, RegisterPasskeyRequest);
  await requireProvenEmail(deps, caller);
  return passkeys.register(accountHeaders(deps, exchange), caller, request);
};

export const passkeySignInOptionsRoute: Handler = async (deps, exchange) =>
  withCookies(await requirePasskeys(deps).signInOptions(accountHeaders(deps, exchange), clientAddress(deps, exchange)));

export const signInWithPasskeyRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  const passkeys = requirePasskeys(deps);
  const request = await readBody(exchange, SignInWithPasskeyRequest);
  return withCookies(await passkeys.signIn(accountHeaders(deps, exchange), request, clientAddress(deps, exchange)));
};
