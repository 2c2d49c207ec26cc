import type { Deps } from '../deps.ts';
import { clientAddressHeader } from '../features/accounts/auth.ts';
import { clientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';

/** A session remembers this much of what the browser calls itself. */
const longestUserAgent = 300;

/** What Better Auth is to see: our word for where the request comes from, whatever the request says. */
export function accountHeaders(deps: Deps, exchange: Exchange): Headers {
  const headers = new Headers(exchange.headers());
  headers.set(clientAddressHeader, clientAddress(deps, exchange));
  const userAgent = headers.get('user-agent');
  if (userAgent !== null) headers.set('user-agent', userAgent.slice(0, longestUserAgent));
  return headers;
}
