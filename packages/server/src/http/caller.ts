import type { Context } from 'hono';
import type { Caller, Deps, SessionCaller } from '../deps.ts';
import { Problem } from '../problem.ts';

const bearer = /^Bearer +([^\s]+) *$/i;

/**
 * For the storage routes: an API key, or a session when there is no Authorization header.
 * @throws Problem invalid_api_key, cross_site_request
 */
export async function requireKeyOrSession(deps: Deps, c: Context): Promise<Caller> {
  const authorization = c.req.header('authorization');
  if (authorization === undefined) {
    const session = await findSession(deps, c);
    if (session) return session;
    throw invalidApiKey();
  }
  const token = bearer.exec(authorization)?.[1];
  const found = token === undefined ? undefined : deps.apiKeys.find(token);
  const caller = found instanceof Promise ? await found : found;
  if (!caller) throw invalidApiKey();
  return caller;
}

/** For all that only people do. @throws Problem session_required, cross_site_request */
export async function requireSession(deps: Deps, c: Context): Promise<SessionCaller> {
  if (c.req.header('authorization') !== undefined) throw new Problem('session_required');
  const session = await findSession(deps, c);
  if (!session) throw new Problem('session_required');
  return session;
}

async function findSession(deps: Deps, c: Context): Promise<SessionCaller | undefined> {
  if (!c.req.header('cookie')?.includes('cadiz.session_token=')) return undefined;
  requireSameSite(deps, c);
  return deps.accounts.findCaller(c.req.raw.headers);
}

/**
 * Cross-site request forgery, in the order of Go's CrossOriginProtection: browsers say where a request comes from in
 * Sec-Fetch-Site, older ones in Origin; what sends neither is no browser, and has no cookie that somebody else set.
 * @throws Problem cross_site_request
 * @see https://pkg.go.dev/net/http#CrossOriginProtection
 */
export function requireSameSite({ config }: Deps, c: Context): void {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return;
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined) {
    if (site === 'same-origin' || site === 'none') return;
    throw new Problem('cross_site_request');
  }
  const origin = c.req.header('origin');
  if (origin === undefined || origin === new URL(config.publicUrl).origin) return;
  if (URL.canParse(origin) && new URL(origin).host === c.req.header('host')) return;
  throw new Problem('cross_site_request');
}

function invalidApiKey(): Problem {
  return new Problem('invalid_api_key', undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
