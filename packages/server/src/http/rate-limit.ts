import type { OperationId, Route } from '@cadiz/contract';
import { routes } from '@cadiz/contract';
import { toAsker, type Uploader, type Visitor } from '../access/caller.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { toAddressBlock } from '../rate-limits/address-block.ts';
import { type Quota, type RateLimitPolicy, rateLimitWindowSeconds } from '../rate-limits/rate-limits.ts';
import { clientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';

const policies = new Map(
  (Object.entries(routes) as [OperationId, Route][]).map(([operation, { method, rate }]) => [
    operation,
    rate ?? (method === 'GET' ? 'reads' : 'changes'),
  ]),
) as ReadonlyMap<OperationId, RateLimitPolicy>;

/**
 * Counts a request of an identified caller; returns a promise only if there is a limit.
 * @param id of the key or session
 * @throws Problem rate_limited
 */
export function limitCaller(deps: Deps, exchange: Exchange, id: string): Promise<void> | undefined {
  if (!deps.config.rateLimits) return undefined;
  return limit(deps, exchange, policyOf(exchange), id);
}

/**
 * Counts what a request asks for beyond one thing, so that a batch costs as much as its entries one by one. A batch that
 * does not fit is refused and not counted: a smaller one may fit.
 * @throws Problem rate_limited
 */
export async function limitBatch(
  deps: Deps,
  exchange: Exchange,
  caller: Uploader | Visitor,
  entries: number,
): Promise<void> {
  if (!deps.config.rateLimits || caller.kind === 'visitor' || entries < 2) return;
  await limit(deps, exchange, policyOf(exchange), subjectOf(caller), entries - 1);
}

/** What the requests of a caller are counted by: its key, ticket or session. */
function subjectOf(caller: Uploader): string {
  return caller.kind === 'ticket' ? caller.ticketId : toAsker(caller).id;
}

function policyOf({ operation }: Exchange): RateLimitPolicy {
  return (operation && policies.get(operation)) ?? 'changes';
}

/** Counts a request without an identified caller. @throws Problem rate_limited */
export function limitAddress(deps: Deps, exchange: Exchange): Promise<void> {
  return limit(deps, exchange, 'address', blockOf(deps, exchange));
}

/**
 * Counts an invalid key. An unknown one counts against its address. A dead one counts by itself, so that a program that
 * still uses it costs its neighbours nothing.
 * @param deadKeyId of a key that was revoked, has expired, or whose creator is gone
 * @throws Problem rate_limited
 */
export function limitInvalidKeys(deps: Deps, exchange: Exchange, deadKeyId: string | undefined): Promise<void> {
  return limit(deps, exchange, 'invalid-keys', deadKeyId ?? blockOf(deps, exchange));
}

/** Whether the address of a request has used up its attempts with unknown keys. */
export async function hasSentManyInvalidKeys(deps: Deps, exchange: Exchange): Promise<boolean> {
  const quota = await deps.rateLimits.look('invalid-keys', blockOf(deps, exchange));
  return quota?.isExceeded ?? false;
}

function blockOf(deps: Deps, exchange: Exchange): string {
  return toAddressBlock(clientAddress(deps, exchange));
}

async function limit(
  deps: Deps,
  exchange: Exchange,
  policy: RateLimitPolicy,
  subject: string,
  requests = 1,
): Promise<void> {
  const quota = await deps.rateLimits.take(policy, subject, requests);
  if (!quota) return;
  if (quota.isExceeded) refuse(exchange, quota);
  tell(exchange, quota);
}

function refuse(exchange: Exchange, quota: Quota): never {
  tell(exchange, quota);
  const { policy, limit, resetSeconds } = quota;
  throw new Problem('rate_limited', `${sentences[policy]}, ${limit} a minute, is used up.`, {
    headers: { 'Retry-After': String(resetSeconds) },
  });
}

const sentences: Record<RateLimitPolicy, string> = {
  uploads: 'What one API key or session may upload',
  reads: 'What one API key or session may read',
  changes: 'What one API key or session may change',
  address: 'What one address may ask without a credential',
  'invalid-keys':
    'How often keys that are not accepted may be sent from one address, or one that is dead from anywhere',
};

/** @see https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10 */
function tell({ extraHeaders }: Exchange, { policy, limit, remaining, resetSeconds }: Quota): void {
  const headers = [
    'RateLimit-Policy',
    `"${policy}";q=${limit};w=${rateLimitWindowSeconds}`,
    'RateLimit',
    `"${policy}";r=${remaining};t=${resetSeconds}`,
  ];
  // A batch is counted twice, and tells what is left at last.
  const earlier = extraHeaders.indexOf('RateLimit-Policy');
  if (earlier === -1) extraHeaders.push(...headers);
  else extraHeaders.splice(earlier, headers.length, ...headers);
}
