import type { ApiKeyCaller, Caller, SessionCaller, TicketCaller, Uploader } from '../access/caller.ts';
import { findSessionCallerByToken } from '../access/find-session-caller.ts';
import { invalidApiKey } from '../access/invalid-api-key.ts';
import { invalidTicket } from '../access/invalid-ticket.ts';
import { sameText } from '../access/same-text.ts';
import { isTicket } from '../access/ticket-token.ts';
import { createBoundedCache } from '../bounded-cache.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { isLoopback } from '../settings/loopback.ts';
import { clientAddress } from './client-address.ts';
import { readCookie } from './cookies.ts';
import type { Exchange } from './exchange.ts';
import { hasSentManyInvalidKeys, limitAddress, limitCaller, limitInvalidKeys } from './rate-limit.ts';
import { addWarning } from './unknown-names.ts';

const bearer = /^Bearer +([^\s]+) *$/i;

/**
 * Identifies the caller of a storage route: by API key, or by session if there is no Authorization header. Returns a
 * promise only if it has to look something up.
 * @throws Problem invalid_api_key, invalid_ticket, ticket_not_allowed, cross_site_request, rate_limited
 */
export function requireKeyOrSession(deps: Deps, exchange: Exchange): Promise<Caller> | Caller {
  return requireCaller(deps, exchange, refuseTicket);
}

/**
 * Identifies the caller of a route that uploads: the same, or a ticket.
 * @throws Problem invalid_api_key, invalid_ticket, origin_not_allowed, cross_site_request, rate_limited
 */
export function requireUploader(deps: Deps, exchange: Exchange): Promise<Uploader> | Uploader {
  return requireCaller(deps, exchange, admitTicket);
}

function requireCaller<T>(
  deps: Deps,
  exchange: Exchange,
  withTicket: (deps: Deps, exchange: Exchange, token: string) => Promise<T>,
): Promise<Caller | T> | Caller {
  const authorization = exchange.headers.authorization;
  if (authorization === undefined) return requireSessionOrKey(deps, exchange);
  const token = bearer.exec(authorization)?.[1];
  if (token === undefined) return refuseKey(deps, exchange);
  return isTicket(token) ? withTicket(deps, exchange, token) : requireKey(deps, exchange, token);
}

/** Identifies the caller of a route that is for tickets alone. @throws Problem invalid_ticket, origin_not_allowed, rate_limited */
export async function requireTicket(deps: Deps, exchange: Exchange): Promise<TicketCaller> {
  return admitTicket(deps, exchange, readBearer(exchange) ?? '');
}

async function admitTicket(deps: Deps, exchange: Exchange, token: string): Promise<TicketCaller> {
  const ticket = await findTicket(deps, exchange, token);
  if (!ticket) throw invalidTicket();
  const origin = exchange.headers.origin;
  if (origin !== undefined && ticket.origins && !ticket.origins.includes(origin)) {
    throw new Problem('origin_not_allowed', `The ticket accepts no requests from pages of ${origin.slice(0, 255)}.`);
  }
  const asking = { ...ticket, address: clientAddress(deps, exchange), requestId: exchange.requestId };
  exchange.refreshCaller = async () => {
    const again = await deps.tickets.find(token);
    if (!again) throw invalidTicket();
    Object.assign(asking, again);
  };
  return asking;
}

function readBearer(exchange: Exchange): string | undefined {
  return bearer.exec(exchange.headers.authorization ?? '')?.[1];
}

/**
 * Makes sure that a request comes from the object store: it has the secret as a bearer token, as MinIO sends it, or as the
 * password of HTTP Basic, as Ceph RGW takes it from the URL of an endpoint.
 * @throws Problem store_events_off, invalid_store_events_secret, rate_limited
 */
export async function requireObjectStore(deps: Deps, exchange: Exchange): Promise<void> {
  const { storeEventsSecret } = deps.config;
  if (storeEventsSecret === undefined) throw new Problem('store_events_off');
  if (sameText(readStoreSecret(exchange), storeEventsSecret)) return;
  await limitInvalidKeys(deps, exchange, undefined);
  throw new Problem('invalid_store_events_secret', undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

function readStoreSecret(exchange: Exchange): string | undefined {
  const [, scheme, credentials = ''] = /^(Bearer|Basic) +(.*)$/i.exec(exchange.headers.authorization ?? '') ?? [];
  if (scheme?.toLowerCase() !== 'basic') return credentials;
  const text = Buffer.from(credentials, 'base64').toString();
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) : undefined;
}

/** For a route that does not admit tickets. @throws Problem ticket_not_allowed, invalid_ticket, rate_limited */
async function refuseTicket(deps: Deps, exchange: Exchange, token: string): Promise<never> {
  throw (await findTicket(deps, exchange, token)) ? new Problem('ticket_not_allowed') : invalidTicket();
}

/** Undefined for a ticket that is not accepted, which is counted like an invalid key. @throws Problem rate_limited */
async function findTicket(deps: Deps, exchange: Exchange, token: string): Promise<TicketCaller | undefined> {
  const ticket = await deps.tickets.find(token, () => hasSentManyInvalidKeys(deps, exchange));
  if (ticket) await limitCaller(deps, exchange, ticket.ticketId);
  else await limitInvalidKeys(deps, exchange, deps.tickets.findDead(token));
  return ticket;
}

function requireKey(deps: Deps, exchange: Exchange, token: string): Promise<ApiKeyCaller> | ApiKeyCaller {
  const found = deps.apiKeys.find(token, () => hasSentManyInvalidKeys(deps, exchange));
  return found instanceof Promise
    ? found.then((later) => admitKey(deps, exchange, token, later))
    : admitKey(deps, exchange, token, found);
}

async function requireSessionOrKey(deps: Deps, exchange: Exchange): Promise<Caller> {
  const session = await findSession(deps, exchange);
  if (session) return session;
  await limitAddress(deps, exchange);
  throw invalidApiKey();
}

function admitKey(
  deps: Deps,
  exchange: Exchange,
  token: string,
  caller: ApiKeyCaller | undefined,
): Promise<ApiKeyCaller> | ApiKeyCaller {
  if (!caller) return refuseKey(deps, exchange, deps.apiKeys.findDead(token));
  const limited = limitCaller(deps, exchange, caller.keyId);
  return limited
    ? limited.then(() => toAsking(deps, exchange, token, caller))
    : toAsking(deps, exchange, token, caller);
}

async function refuseKey(deps: Deps, exchange: Exchange, deadKeyId?: string): Promise<never> {
  await limitInvalidKeys(deps, exchange, deadKeyId);
  throw invalidApiKey();
}

/** The caller of this request, updated if its access changes while the request is being read. */
function toAsking(deps: Deps, exchange: Exchange, token: string, caller: ApiKeyCaller): ApiKeyCaller {
  warnOfBrowser(deps, exchange, caller);
  // Field by field: spreading an object costs a presign some 3 µs here.
  const { kind, keyId, tied, createdBy, scopes, expiresAt } = caller;
  exchange.keyId = keyId;
  exchange.keyProjectId = tied?.projectId;
  const address = clientAddress(deps, exchange);
  const asking = { kind, keyId, tied, createdBy, scopes, expiresAt, address, requestId: exchange.requestId };
  exchange.refreshCaller = async () => {
    const again = await deps.apiKeys.find(token);
    if (!again) throw invalidApiKey();
    Object.assign(asking, again);
  };
  return asking;
}

/**
 * For everything that only people may do.
 * @throws Problem session_required, ticket_not_allowed, cross_site_request, rate_limited
 */
export async function requireSession(deps: Deps, exchange: Exchange): Promise<SessionCaller> {
  const session = exchange.headers.authorization === undefined ? await findSession(deps, exchange) : undefined;
  if (session) return session;
  const token = readBearer(exchange);
  if (token !== undefined && isTicket(token) && (await findTicket(deps, exchange, token))) {
    throw new Problem('ticket_not_allowed');
  }
  await limitAddress(deps, exchange);
  throw new Problem('session_required');
}

async function findSession(deps: Deps, exchange: Exchange): Promise<SessionCaller | undefined> {
  const token = readCookie(deps, exchange, 'session');
  if (token === undefined) return undefined;
  requireSameSite(deps, exchange);
  const session = await findSessionCallerByToken(deps, token);
  if (!session) return undefined;
  await limitCaller(deps, exchange, session.sessionId);
  exchange.refreshCaller = async () => {
    if (!(await findSessionCallerByToken(deps, token))) throw new Problem('session_required');
  };
  return { ...session, address: clientAddress(deps, exchange), requestId: exchange.requestId };
}

/**
 * Refuses cross-site request forgery, in the order of Go's CrossOriginProtection: browsers send the origin of a request
 * in Sec-Fetch-Site, or in Origin if they are old or there is no TLS; a client that sends neither is not a browser, and
 * has no cookie that somebody else set. Unlike in Go, Origin is not compared with `Host`: under DNS rebinding, both
 * carry the attacker's name.
 * @throws Problem cross_site_request
 * @see https://pkg.go.dev/net/http#CrossOriginProtection
 */
export function requireSameSite({ config }: Deps, exchange: Exchange): void {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return;
  const site = exchange.headers['sec-fetch-site'];
  const origin = exchange.headers.origin;
  const isSame =
    site === undefined
      ? origin === undefined || isOwnOrigin(config.publicUrl, origin)
      : site === 'same-origin' || site === 'none';
  if (!isSame) throw new Problem('cross_site_request');
}

/**
 * Whether an origin is that of the public URL. On loopback, all names of this machine count, since an attacker controls
 * none of them.
 */
function isOwnOrigin(publicUrl: string, origin: string): boolean {
  const own = new URL(publicUrl);
  if (origin === own.origin) return true;
  if (!isLoopback(own.hostname) || !URL.canParse(origin)) return false;
  const { protocol, hostname, port } = new URL(origin);
  return isLoopback(hostname) && protocol === own.protocol && port === own.port;
}

/** Keys that have been warned of already. */
const seenInBrowsers = createBoundedCache<true>(10_000);

/**
 * Anybody who opens a page with a key in it can take the key. The warning is sent with every answer and logged once for
 * each key.
 */
function warnOfBrowser({ log }: Deps, exchange: Exchange, { keyId }: ApiKeyCaller): void {
  const origin = exchange.headers.origin;
  if (origin === undefined) return;
  addWarning(exchange, 'An API key was sent by a browser: everybody who opens that page can take it.');
  if (seenInBrowsers.has(keyId)) return;
  seenInBrowsers.set(keyId, true);
  log.warn({ keyId, origin }, 'An API key was sent by a browser: everybody who opens that page can take it');
}
