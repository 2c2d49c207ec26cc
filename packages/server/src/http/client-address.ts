import { type BlockList, isIP } from 'node:net';
import type { Deps } from '../deps.ts';
import type { Exchange } from './exchange.ts';

/**
 * The address that a request comes from: the other end of the connection, or, when that is a trusted proxy
 * (TRUSTED_PROXIES), the last hop in `X-Forwarded-For` that is none. What stands further left was written by whoever
 * sent the request, and is believed by nobody. IPv4 in IPv6 is IPv4. Where nobody knows the address, `unknown`.
 */
export function clientAddress({ config }: Pick<Deps, 'config'>, exchange: Exchange): string {
  let client = toPlain(exchange.remoteAddress() ?? '');
  if (!client) return 'unknown';
  const hops = exchange.header('x-forwarded-for')?.split(',') ?? [];
  while (hops.length > 0 && isTrusted(config.trustedProxies, client)) {
    const hop = toPlain(hops.pop()?.trim() ?? '');
    // A trusted proxy that writes no address hides who is behind it: then it is the client itself.
    if (!hop) return client;
    client = hop;
  }
  return client;
}

/**
 * What a limit by address counts: an IPv4 address, or the /64 that one customer of a network has in IPv6, where a
 * client could take another address for each request.
 */
export function toAddressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

function isTrusted(proxies: BlockList, address: string): boolean {
  return proxies.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

/** Without a zone, a port or brackets, and IPv4 as itself; undefined for what is no address. */
function toPlain(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, withPort] = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text) ?? [];
  const address = (bracketed ?? withPort ?? text).replace(/%.*$/, '').toLowerCase();
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  return isIP(address) === 0 ? undefined : address;
}
