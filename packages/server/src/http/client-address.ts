import { type BlockList, isIP } from 'node:net';
import { createBoundedCache } from '../bounded-cache.ts';
import type { Deps } from '../deps.ts';
import type { Exchange } from './exchange.ts';

/**
 * The address that a request comes from: the other end of the connection or, if that is a trusted proxy
 * (TRUSTED_PROXIES), the last hop in `X-Forwarded-For` that is not one. Hops further left are not trusted: the sender
 * of the request may have written them. An IPv4 address in IPv6 is returned as IPv4. `unknown` if there is no address.
 */
export function clientAddress(deps: Pick<Deps, 'config' | 'log'>, exchange: Exchange): string {
  let client = ofConnection(exchange.remoteAddress() ?? '');
  if (!client) return 'unknown';
  const forwarded = exchange.headers['x-forwarded-for'];
  if (forwarded === undefined) return client;
  const { config } = deps;
  if (!isTrusted(config.trustedProxies, client)) {
    warnOfForwarder(deps, client);
    return client;
  }
  const hops = forwarded.split(',');
  while (hops.length > 0 && isTrusted(config.trustedProxies, client)) {
    const hop = toPlain(hops.pop()?.trim() ?? '');
    // A trusted proxy that names no address hides its clients, so it counts as the client itself.
    if (!hop) return client;
    client = hop;
  }
  return client;
}

/** Anybody can send the header, so unlimited warnings could fill the log. */
const maxWarned = 10;
const warnedOf = new WeakMap<Deps['config'], Set<string>>();

/**
 * Behind a proxy that no setting names, the limits count all people as one address. Warns once about each of the first
 * few such proxies.
 */
function warnOfForwarder({ config, log }: Pick<Deps, 'config' | 'log'>, peer: string): void {
  const warned = warnedOf.get(config) ?? new Set();
  if (warned.has(peer) || warned.size >= maxWarned) return;
  warnedOf.set(config, warned.add(peer));
  log.warn(
    { peer },
    'X-Forwarded-For came from an address that TRUSTED_PROXIES does not name, and was not believed. If that is your proxy, name it there: until then the limits count everybody behind it as one address',
  );
}

function isTrusted(proxies: BlockList, address: string): boolean {
  return proxies.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

/** Every request needs this, mostly for the same few addresses, so parsed ones are cached. */
const connections = createBoundedCache<{ address: string | undefined }>(10_000);

function ofConnection(text: string): string | undefined {
  const known = connections.get(text);
  if (known) return known.address;
  const address = toPlain(text);
  connections.set(text, { address });
  return address;
}

/** Without a zone, a port or brackets, and IPv4 in its own form; undefined if the text is not an address. */
function toPlain(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, withPort] = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text) ?? [];
  const address = (bracketed ?? withPort ?? text).replace(/%.*$/, '').toLowerCase();
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  return isIP(address) === 0 ? undefined : address;
}
