import { isIP } from 'node:net';

/**
 * What a limit by IP address counts: an IPv4 address, or in IPv6 the /64 of one customer, who could otherwise use another
 * address for each request.
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

/**
 * The /48 that contains a /64 of `toAddressBlock`: the block of one network, which could otherwise use another /64 for each
 * request. Undefined for everything else.
 */
export function toWideBlock(block: string): string | undefined {
  if (!block.endsWith('::/64')) return undefined;
  return `${block.split(':').slice(0, 3).join(':')}::/48`;
}

/** The limit of a whole /48 is that of one /64 times this factor: it can be an office, or the mobile phones of a town. */
export const wideBlockFactor = 16;
