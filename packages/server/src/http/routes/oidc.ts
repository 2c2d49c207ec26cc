import { OidcAnswerQuery, OidcRequest } from '@cadiz/contract';
import type { Deps } from '../../deps.ts';
import type { Oidc } from '../../features/accounts/oidc.ts';
import { Problem } from '../../problem.ts';
import { accountHeaders } from '../account-headers.ts';
import { requireSameSite, requireSession } from '../caller.ts';
import { clientAddress } from '../client-address.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readQuery } from '../input.ts';
import { withCookies } from '../with-cookies.ts';

export const signInWithOidcRoute: Handler = async (deps, exchange) => {
  requireSameSite(deps, exchange);
  const oidc = requireOidc(deps);
  return withCookies(await oidc.begin(accountHeaders(deps, exchange), await readBody(exchange, OidcRequest)));
};

export const linkOidcRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const oidc = requireOidc(deps);
  return withCookies(await oidc.begin(accountHeaders(deps, exchange), await readBody(exchange, OidcRequest), caller));
};

/** The issuer's page is another site: what ties this request to its beginning is the cookie, with the state. */
export const finishOidcRoute: Handler = async (deps, exchange) => {
  const oidc = requireOidc(deps);
  const query = readQuery(exchange, OidcAnswerQuery);
  const { location, cookies } = await oidc.finish(accountHeaders(deps, exchange), query, clientAddress(deps, exchange));
  const headers = new Headers({ Location: location, 'Referrer-Policy': 'no-referrer' });
  for (const cookie of cookies) headers.append('Set-Cookie', cookie);
  return new Response(null, { status: 302, headers });
};

function requireOidc({ accounts }: Deps): Oidc {
  if (!accounts.oidc) throw new Problem('sign_in_method_off', 'OIDC_ISSUER is not set.');
  return accounts.oidc;
}
