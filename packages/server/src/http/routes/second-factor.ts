import { BackupCodeRequest, EnableSecondFactorRequest, PasswordAndCode, TotpRequest } from '@cadiz/contract';
import { requireProvenEmailOfEverybody } from '../../access/require-proven-email.ts';
import { accountHeaders } from '../account-headers.ts';
import { requireSameSite, requireSession } from '../caller.ts';
import { clientAddress } from '../client-address.ts';
import type { Handler } from '../exchange.ts';
import { readBody } from '../input.ts';
import { withCookies } from '../with-cookies.ts';

export const enableSecondFactorRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { password } = await readBody(exchange, EnableSecondFactorRequest);
  await requireProvenEmailOfEverybody(deps, caller);
  return withCookies(await deps.accounts.secondFactor.enable(accountHeaders(deps, exchange), caller, password));
};

export const verifyTotpRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  const { code } = await readBody(exchange, TotpRequest);
  const address = clientAddress(deps, exchange);
  return withCookies(await deps.accounts.secondFactor.verify(accountHeaders(deps, exchange), code, address));
};

export const verifyBackupCodeRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  const { code } = await readBody(exchange, BackupCodeRequest);
  const address = clientAddress(deps, exchange);
  return withCookies(await deps.accounts.secondFactor.verifyBackupCode(accountHeaders(deps, exchange), code, address));
};

export const renewBackupCodesRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const proof = await readBody(exchange, PasswordAndCode);
  return deps.accounts.secondFactor.renewBackupCodes(accountHeaders(deps, exchange), caller, proof);
};

export const disableSecondFactorRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const proof = await readBody(exchange, PasswordAndCode);
  return withCookies(await deps.accounts.secondFactor.disable(accountHeaders(deps, exchange), caller, proof));
};
